"""The parameters that are fitted to each pair, as columns of an array, and recipes made of them.

Those are a table of the pairs, distributions, or a broad recipe to train on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..camera.illumination import cell_luminance
from ..camera.recipe import CameraRecipe
from ..kernels.arrays import FloatArray, IntArray, Pixels
from ..kernels.curves import CURVE_LEVELS, toe_of
from ..kernels.exposure import GUIDES
from ..kernels.illumination import stops_above_grey
from ..measures.noise_and_tone import LEVELS
from ..parameters.keyed_random import KeyedRandom
from ..parameters.schema import within_of
from ..parameters.together import Together

CHANNELS = "red", "green", "blue"
PAIRS = "red_green", "green_blue", "red_blue"

COLUMNS = (
    "exposure.ev",
    "highlights.sigma_ev",
    *(f"tone.curve.{channel}.{k}" for channel in CHANNELS for k in range(len(CURVE_LEVELS))),
    *(
        f"noise.{part}.{channel}"
        for part in ("offset", "read", "shot", "tail", "rows")
        for channel in CHANNELS
    ),
    *(f"noise.correlation.{pair}" for pair in PAIRS),
    *(f"noise.grain.{channel}.{axis}" for channel in CHANNELS for axis in ("across", "down")),
    "noise.kurtosis",
    "illumination.smooth.sigma_ev",
    "degradations.shift.length",
    "degradations.jpeg.quality",
    *(f"illumination.scene_light.undone.{k}" for k in range(GUIDES)),
    "illumination.scene.strength",
    "illumination.scene_light.grid.sigma_ev",
)
GRID_CELLS = 3
"""Of the grid of light, along each side, whose spread is fitted."""
MIDDLES = [(a + b) / 2 for a, b in pairwise(LEVELS)]
"""Of the levels at which noise is measured."""
_PLACES = {name: place for place, name in enumerate(COLUMNS)}
_DIGITS = 4
_SHRUNK = 0.01  # of correlations: those of fewer pairs than columns stay positive when rounded
_STRONGEST = 32  # times the gain that was fitted
_STEPS = 21  # of a quarter of a stop, from 1 on
_PICTURES, _SENSORS, _CAMERAS = 0.7, 0.2, 0.1  # of the lows of a broad recipe
# Of the exposure, for each stop of the normal: bright ones are darkened less, as in recipe `train`
# (-2 of 6.2 EV), so that a low's brightness tells its normal's. `train` gained .56 dB on LOL's
# windows by -1.2, another .1 to .2 by -2 (benchmarks/results/worth.txt); that it goes with the
# exposure is an assumption.
_BY_BRIGHTNESS = -0.32
# Such exposures spread the lows' brightness further than the pairs' (1.7 times with -.2 of the
# exposure, on LOL's windows), so that their own spread is narrowed; with strong noise more often
# (`_LOUDER`), training came to its best optimum in five runs of five
# (benchmarks/results/worth.txt).
_EXPOSURE_SPREAD = 0.7
_LIGHT_SPREAD = 1.3  # of the pairs', of what was taken out of their light
_LOUDER = 0.75  # the power of a strength that its share goes with
_DEMOSAIC = "choice(binned, none, bilinear, malvar)"


def column_indices(*names: str) -> list[int]:
    """Return the indices of columns; `noise.read` means its three channels."""
    return [
        place
        for name in names
        for path, place in _PLACES.items()
        if path == name or path.startswith(f"{name}.")
    ]


def light_of_levels(toe: float) -> FloatArray:
    """Return the linear light (256) of a low's levels, in levels of its curve's straight part."""
    curve, level = toe_of(toe), np.arange(256) / 255
    straight = curve.slope * 2**curve.end
    power = (np.maximum(level, straight) + curve.a) / (1 + curve.a)
    return 255 * np.where(level <= straight, level, curve.slope * power**2.4)


def level_lights(toe: float) -> FloatArray:
    """Return the light (12) of `MIDDLES`, in levels of the straight part; at most a recipe's."""
    light = np.interp(MIDDLES, np.arange(256), light_of_levels(toe))
    return within_bounds("noise.curve.light.0", light).round(_DIGITS)


def width(mean: FloatArray, share: FloatArray | float) -> FloatArray:
    """Return the variance of read noise with a tail, over that without."""
    return 1 + 2 * share * mean**2 - (share * mean) ** 2


def within_bounds(path: str, values: FloatArray) -> FloatArray:
    """Return values cut to the bounds of a recipe's number."""
    bounds = within_of(CameraRecipe, path)
    return np.clip(values, bounds.low, bounds.high) if bounds else values


def clip_to_bounds(values: FloatArray) -> FloatArray:
    """Return values (N, C) cut to the bounds of recipes."""
    bounds = [within_of(CameraRecipe, path) for path in COLUMNS]
    return np.clip(values, [b.low for b in bounds if b], [b.high for b in bounds if b])


@dataclass(frozen=True)
class Shared:
    """Parameters that all pairs share.

    toe: of the lows' curve. curve: float array (3, 12), the log of noise at `light`, over
    that of read and shot noise. share: float array (3), of the samples that have a tail. wide: of
    those that are of the wider of two widths. skewness, kurtosis: like `curve`; what is added to
    one, and the log of the other's factor.
    """

    toe: float
    curve: FloatArray = field(default_factory=lambda: np.zeros((3, len(MIDDLES))))
    share: FloatArray = field(default_factory=lambda: np.full(3, 0.1))
    wide: float = 0.1
    skewness: FloatArray = field(default_factory=lambda: np.zeros((3, len(MIDDLES))))
    kurtosis: FloatArray = field(default_factory=lambda: np.zeros((3, len(MIDDLES))))

    @cached_property
    def light(self) -> FloatArray:
        """The nodes of curves: light of the levels that noise is measured at."""
        return level_lights(self.toe)


def recipe_values(shared: Shared, *, uneven: bool = False) -> dict[str, Any]:
    """Return the values common to all pairs, nested; uneven: light goes with place and level."""
    made: dict[str, Any] = {
        "tone": {"toe": shared.toe},
        "noise": {
            "tail_share": dict(zip(CHANNELS, np.round(shared.share, 4).tolist(), strict=True)),
            "wide_share": round(shared.wide, 4),
        },
    }
    if shared.curve.any():
        curve, skewness, kurtosis = (
            {name: np.round(one, 4).tolist() for name, one in zip(CHANNELS, many, strict=True)}
            for many in (shared.curve, shared.skewness, shared.kurtosis)
        )
        made["noise"]["curve"] = {"light": shared.light.tolist()} | curve
        if shared.skewness.any():
            made["noise"]["curve"] |= {"skewness": skewness, "kurtosis": kurtosis}
    if uneven:
        made["illumination"] = {"scene_light": {"grid": {"cells": GRID_CELLS, "levels": 2}}}
    return made


class _OwnRows(Together):
    """Rows of which each image has its own, in order."""

    def _draw(self, random: KeyedRandom, purpose: str) -> FloatArray:
        return np.array(self.rows)


def recipe_of_columns(values: FloatArray, shared: Shared) -> CameraRecipe:
    """Return the recipe that has constants (N, C) for parameters of N images, in their order.

    All have the same ones that are not neutral.
    """
    some = fitted(values)
    rows = tuple(tuple(row) for row in values[:, some].tolist())
    pair = _OwnRows(columns=tuple(COLUMNS[i] for i in some), rows=rows)
    made = recipe_values(shared, uneven=is_uneven(values)) | {"together": {"pair": pair}}
    return CameraRecipe.model_validate(made)


def fitted(values: FloatArray) -> list[int]:
    """Return the exposure's and all columns of values (..., C) that some pair has."""
    some = values.reshape(-1, len(COLUMNS)).any(axis=0)
    return sorted({*column_indices("exposure.ev"), *np.flatnonzero(some).tolist()})


def is_uneven(values: FloatArray) -> bool:
    """Return whether parameters (..., C) have light by lightness."""
    return bool(values[..., column_indices("illumination.scene_light")].any())


def brightness(normals: Sequence[Pixels]) -> FloatArray:
    """Return by how many stops each normal (N) is brighter than middle grey."""
    return np.array([stops_above_grey(cell_luminance(one)) for one in normals])


def by_brightness(values: FloatArray, bright: FloatArray) -> tuple[FloatArray, float]:
    """Return values (N, C) without what exposure owes to the normal's brightness, and how much.

    It is stops for each stop, by least squares; nothing of fewer than ten pairs.
    """
    made = values.copy()
    spread = np.var(bright)
    if len(values) < 10 or spread < 0.01:
        return made, 0.0
    exposure = column_indices("exposure.ev")[0]
    slope = float(np.cov(bright, values[:, exposure])[0, 1] / np.var(bright, ddof=1))
    slope = float(_rounded(np.clip(slope, -2, 2)))
    made[:, exposure] -= slope * bright
    return made, slope


def table_values(values: FloatArray, shared: Shared, slope: float) -> dict[str, Any]:
    """Return the recipe that takes one of the pairs' parameters (N, C) for each image."""
    some = fitted(values)
    rows = _rows([COLUMNS[i] for i in some], values[:, some])
    return _common(shared, slope, values) | {"together": {"pairs": rows}}


def distribution_values(
    values: FloatArray, shared: Shared, slope: float, groups: IntArray
) -> dict[str, Any]:
    """Return the recipe with settings and their shares, and means and covariances of the rest."""
    of_setting = column_indices(
        "noise.read", "noise.shot", "noise.tail", "noise.rows", "noise.grain"
    )
    of_setting += column_indices("degradations.jpeg")
    numbers, counts = np.unique(groups, return_counts=True)
    middles = [np.median(values[groups == number][:, of_setting], axis=0) for number in numbers]
    settings = _rows([COLUMNS[i] for i in of_setting], np.array(middles))
    if len(numbers) > 1:
        settings["weights"] = counts.tolist()
    rest = [i for i in fitted(values) if i not in of_setting]
    return _common(shared, slope, values) | {
        "together": {"settings": settings, "pictures": _normal(rest, values)}
    }


def broad_recipe(
    values: FloatArray, shared: Shared, slope: float, bright: FloatArray
) -> dict[str, Any]:
    """Return the recipe to train on: the pairs' tone, noise as at 1 to 32 times their gain.

    The exposure in `values` (N, C) is without the `slope` times `bright` (N) that the normals'
    brightness adds (`by_brightness`); normals as bright as theirs are as dark in the mean.
    Most lows have the noise that pictures show; the others have a sensor's, of sites as large as
    the green of the pairs shows, so that it can be demosaiced in any way; red's and blue's part of
    it is their white balance.
    """
    # Stronger noise has other curves.
    shared = Shared(shared.toe, share=shared.share, wide=shared.wide)
    unit = 255 * toe_of(shared.toe).slope
    of_setting = column_indices("noise.read", "noise.shot", "noise.tail", "noise.rows")
    middle = np.median(values, axis=0)
    read, shot, tail = (
        middle[column_indices(f"noise.{part}")] for part in ("read", "shot", "tail")
    )
    strengths = np.geomspace(1, _STRONGEST, _STEPS)
    rows = np.tile(middle, (_STEPS, 1))
    rows[:, column_indices("noise.read", "noise.shot")] *= strengths[:, None]
    rows = clip_to_bounds(rows)[:, of_setting]
    black = read**2 * width(tail, shared.share)
    # Green is the mean of two sites; gains raise shot noise's variance once, read noise's twice.
    gains = np.sqrt(shot / (2 * shot[1]) * np.sqrt(black / (2 * black[1])))
    sites = 2 * shot[1] / unit, 2 * black[1] / unit**2
    points = [[_rounded(v) for v in (100 * s, s * sites[0], s * s * sites[1])] for s in strengths]
    settings = _rows([COLUMNS[i] for i in of_setting], rows)
    settings["weights"] = [_rounded(v) for v in strengths**_LOUDER]
    rest = [i for i in fitted(values) if i not in of_setting]
    at = column_indices("exposure.ev")[0]
    less = _rounded(np.clip(_BY_BRIGHTNESS * middle[at], -2, 0))
    pairs = values.copy()
    mean = values[:, at].mean()
    pairs[:, at] = mean + _EXPOSURE_SPREAD * (values[:, at] - mean)
    pairs[:, at] += (slope - less) * bright.mean()
    light = column_indices("illumination.scene_light.undone", "illumination.scene.strength")
    pairs[:, light] = values[:, light].mean(axis=0) + _LIGHT_SPREAD * (
        values[:, light] - values[:, light].mean(axis=0)
    )
    return _common(shared, less, values) | {
        "together": {"pairs": _rows([COLUMNS[i] for i in rest], clip_to_bounds(pairs)[:, rest])},
        "mixture": {
            "pictures": {
                "recipe": {},
                "weight": _PICTURES,
                "together": {"settings": settings},
            },
            "sensors": {
                "recipe": {},
                "weight": _SENSORS,
                "camera": {
                    "name": "fitted",
                    "iso": f"loguniform(100, {100 * _STRONGEST})",
                    "matrix": "random",
                    "own": {"fitted": {"heteroscedastic": points}},
                },
                "white_balance": {
                    name: f"uniform({_rounded(0.9 * gain):g}, {_rounded(1.1 * gain):g})"
                    for name, gain in (("red", gains[0]), ("blue", gains[2]))
                },
                "isp": {
                    "demosaic": _DEMOSAIC,
                    "chroma": {"strength": "uniform(0, 1)", "sigma": "uniform(0.7, 1.5)"},
                },
            },
            # Other cameras, as recipe `train` has.
            "cameras": {
                "recipe": {},
                "weight": _CAMERAS,
                "camera": {
                    "name": "choice(canon-5d4, canon-70d, canon-700d, nikon-d850)",
                    "iso": "loguniform(400, 6400)",
                    "matrix": "random",
                },
                "white_balance": {"red": "uniform(1.9, 2.4)", "blue": "uniform(1.5, 1.9)"},
                "isp": {"demosaic": _DEMOSAIC},
            },
        },
    }


def _common(shared: Shared, slope: float, values: FloatArray) -> dict[str, Any]:
    return {"exposure": {"by_brightness": slope}} | recipe_values(shared, uneven=is_uneven(values))


def _rows(columns: Sequence[str], values: FloatArray) -> dict[str, Any]:
    return {"columns": list(columns), "rows": [[_rounded(v) for v in row] for row in values]}


def _normal(chosen: Sequence[int], values: FloatArray) -> dict[str, Any]:
    some = values[:, chosen]
    covariance = (
        np.atleast_2d(np.cov(some, rowvar=False))
        if len(some) > 1
        else np.zeros((len(chosen), len(chosen)))
    )
    covariance = np.where(np.eye(len(chosen)) > 0, 1, 1 - _SHRUNK) * covariance
    return {
        "columns": [COLUMNS[i] for i in chosen],
        "mean": [_rounded(v) for v in some.mean(axis=0)],
        "covariance": [[_rounded(v) for v in row] for row in covariance],
    }


def _rounded(value: Any) -> float:
    return float(f"{float(value):.{_DIGITS}g}")
