"""A batch of draws as the records and columns that a GPU's kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...degradations.jpeg import HALVED
from ...degradations.spread import Spread, Spreads, spread_key
from ...kernels.batch.arrays import DRAW
from ...kernels.chroma import MOST_TAPS, blur_weights
from ...kernels.curves import linear_table
from ...kernels.demosaic import METHODS
from ...kernels.illumination import CELLS
from ...kernels.numbers.random_bits import pixel_seed
from ..draw import CameraDraw
from ..illumination import coloured, cubic_weights, direction_of, lights_of
from ..recipe import MAX_CELLS
from ..render import bands, optics, pattern, read_noise, shown_tone


@dataclass(frozen=True)
class Packed:
    """What a batch of N draws is to kernels: see `kernels.batch.arrays.Batch`.

    Attributes
    ----------
    draws : array (N) of DRAW
    linear : float32 array (T, 256)
    read : float32 array (N, 2, 10)
    blur : float32 array (N, MOST_TAPS)
    smooth : float64 array
    lights : float64 array (L, 7)
    spread : Spread
        Of all draws, one after another's.
    """

    draws: npt.NDArray[Any]
    linear: npt.NDArray[np.float32]
    read: npt.NDArray[np.float32]
    blur: npt.NDArray[np.float32]
    smooth: npt.NDArray[np.float64]
    lights: npt.NDArray[np.float64]
    spread: Spread

    @cached_property
    def befallen(self) -> npt.NDArray[np.bool_]:
        """Whether any draw has spread light, a fixed pattern, JPEG."""
        return np.array([self.draws[name].any() for name in ("spread", "patterned", "quality")])

    def take(self, numbers: Sequence[int]) -> Packed:
        """Return the draws of some images, in that order."""
        draws = self.draws[numbers].copy()
        nodes = draws["cells"].astype(np.int64) ** 2
        smooth = self.smooth[_ranges(draws["smooth"], nodes)]
        lights = self.lights[_ranges(draws["first_light"], draws["lights"])]
        places = _ranges(draws["first_spread"], draws["spread"])
        spread = Spread(self.spread.places[places], self.spread.weights[places])
        draws["smooth"] = np.cumsum(nodes) - nodes
        draws["first_light"] = np.cumsum(draws["lights"]) - draws["lights"]
        draws["first_spread"] = np.cumsum(draws["spread"]) - draws["spread"]
        own = self.read[numbers], self.blur[numbers]
        return Packed(draws, self.linear, *own, smooth, lights, spread)


def joined(parts: Sequence[Packed]) -> Packed:
    """Join draws, those of one part after another's."""
    draws = np.concatenate([part.draws for part in parts])
    ends = np.cumsum([len(part.draws) for part in parts])
    nodes = lights = tables = places = 0
    for part, end in zip(parts, ends, strict=True):
        own = draws[end - len(part.draws) : end]
        own["smooth"] += nodes
        own["first_light"] += lights
        own["linear"] += tables
        own["first_spread"] += places
        nodes, lights = nodes + len(part.smooth), lights + len(part.lights)
        places += len(part.spread.weights)
        tables += len(part.linear)
    linear, place = np.unique(
        np.concatenate([p.linear for p in parts]), axis=0, return_inverse=True
    )
    draws["linear"] = place.reshape(-1)[draws["linear"]]
    return Packed(
        draws,
        linear,
        np.concatenate([part.read for part in parts]),
        np.concatenate([part.blur for part in parts]),
        np.concatenate([part.smooth for part in parts]),
        np.concatenate([part.lights for part in parts]),
        Spread.joined(part.spread for part in parts),
    )


def _ranges(first: npt.NDArray[Any], counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the numbers of `counts` consecutive things from each of `first` on."""
    counts = counts.astype(np.int64)
    before = np.cumsum(counts) - counts
    total = int(counts.sum())
    return np.arange(total) + np.repeat(first.astype(np.int64) - before, counts)


def pack(draws: Sequence[CameraDraw]) -> Packed:
    """Pack draws: computed in float64, rounded once, as for the CPU."""
    rows, read, lights = [], [], []
    smooth: list[float] = []
    tables: dict[tuple[float, float], int] = {}
    blur = np.zeros((len(draws), MOST_TAPS), np.float32)
    spreads = Spreads()
    nodes = first_light = 0
    for number, draw in enumerate(draws):
        field, sensor, isp = draw.illumination, draw.camera.sensor, draw.isp
        weights = blur_weights(isp.chroma.sigma) if isp.chroma.strength > 0 else blur[0, :0]
        blur[number, : len(weights)] = weights
        exposure, colour = optics(draw)
        own = lights_of(field)
        spread, first_spread = spreads.place(*spread_key(draw.degradations))
        banded, fixed = bands(draw), pattern(draw)
        last = draw.degradations.jpeg if draw.degradations else None
        rows.append(
            (
                draw.exposure.ev,
                field.scene.strength,
                field.vignette.ev,
                field.gradient.ev,
                *direction_of(field.gradient),
                isp.contrast,
                shown_tone(draw),
                draw.tone.exponent,
                first_spread,
                METHODS[isp.demosaic],
                int(np.count_nonzero(weights)),
                tables.setdefault((draw.tone.strength, draw.tone.exponent), len(tables)),
                field.smooth.cells,
                nodes,
                len(own.place),
                first_light,
                coloured(field),
                spread,
                fixed.there,
                last.quality if last else 0,
                bool(last and last.chroma == HALVED),
                *pixel_seed(draw.pixel_seed),
                *fixed.seed,
                fixed.share,
                *exposure.to_camera,
                *colour.to_srgb,
                exposure.electrons,
                exposure.highlights,
                sensor.gain,
                sensor.black,
                sensor.white,
                sensor.row_sigma,
                colour.red_gain,
                colour.green_gain,
                colour.blue_gain,
                isp.chroma.strength,
                *banded,
                fixed.columns,
                fixed.hot,
            )
        )
        read.append(read_noise(sensor))
        smooth += field.smooth.values
        lights.append(np.column_stack([own.place, own.ev, own.radius, own.falloff, own.tint]))
        nodes, first_light = nodes + len(field.smooth.values), first_light + len(own.place)
    return Packed(
        np.array(rows, DRAW),
        np.stack([linear_table(*key) for key in tables]),
        np.array(read, np.float32),
        blur,
        np.array(smooth, np.float64),
        np.concatenate(lights),
        spreads.joined(),
    )


@lru_cache(maxsize=1)
def all_cubic_weights() -> npt.NDArray[np.float64]:
    """Return what of its nodes each cell takes, for each number of them a side: (17, 32, 16)."""
    weights = np.zeros((MAX_CELLS + 1, CELLS, MAX_CELLS))
    for n in range(1, MAX_CELLS + 1):
        weights[n, :, :n] = cubic_weights(n)
    return weights
