"""A batch of images of any sizes, laid out for the kernels that make all their lows at once: where
the pixels of each lie, which steps it takes part in, and room to work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels.batch.arrays import FIELD, Batch, Work, work_of
from ..kernels.curves import log_light
from ..kernels.demosaic import BILINEAR, BORDER
from ..kernels.develop import ENCODE_CELLS
from ..kernels.numbers.poisson import poisson_alias_table
from ..kernels.numbers.quantiles import normal_quantile, scaled
from .illumination import CHANNEL_LIGHT, blur_weights
from .pack import Packed, all_cubic_weights

Shape = tuple[int, ...]
New = Callable[[Shape, Any], Any]
"""Makes an uninitialised array of a shape and type, where kernels are to find it."""
Move = Callable[[npt.NDArray[Any]], Any]
"""Brings an array there."""


@dataclass(frozen=True)
class Plan:
    """Where a batch's pixels lie, and what is to be done.

    Attributes
    ----------
    images : array (N) of IMAGE
        Whole.
    work : dict of step to Work
    pixels, planes, sites, rows : int
        Of all images; of those whose chroma is smoothed; of mosaics; of sensors.
    """

    images: npt.NDArray[Any]
    work: dict[str, Work]
    pixels: int
    planes: int
    sites: int
    rows: int

    @property
    def blocks(self) -> dict[str, int]:
        """Of each step."""
        return {name: int(work.first[-1]) for name, work in self.work.items()}


def plan_batch(packed: Packed, sizes: Sequence[tuple[int, int]]) -> Plan:
    """Lay out a batch: normals and lows one after the other.

    Parameters
    ----------
    packed : Packed
    sizes : sequence of (height, width)
    """
    images = packed.images.copy()
    images["height"], images["width"] = np.array(sizes, np.int64).T
    pixels = np.array(sizes, np.int64).prod(axis=1)
    sites = (np.array(sizes, np.int64) + 2 * BORDER).prod(axis=1)
    mosaic, smooth = images["method"] >= BILINEAR, images["taps"] > 0
    images["normal"] = images["low"] = 3 * _before(pixels)
    images["plane"] = _before(np.where(smooth, pixels, 0))
    images["mosaic"] = _before(np.where(mosaic, sites, 0))
    heights = images["height"].astype(np.int64)
    rows = np.where(mosaic, heights + 2 * BORDER, 2 * heights)
    images["row"] = _before(rows)
    work = {
        "rows": work_of(rows, np.arange(len(images))),
        "quads": work_of(pixels, np.flatnonzero(~mosaic)),
        "sites": work_of(sites, np.flatnonzero(mosaic)),
        "mosaics": work_of(pixels, np.flatnonzero(mosaic)),
        "blurs": work_of(pixels, np.flatnonzero(smooth)),
    }
    return Plan(
        images,
        work,
        int(pixels.sum()),
        int(pixels[smooth].sum()),
        int(sites[mosaic].sum()),
        int(rows.sum()),
    )


def _before(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.cumsum(counts) - counts


class Tables:
    """The arrays that all batches share, where kernels are to find them."""

    def __init__(self, move: Move) -> None:
        self.gaussian = move(scaled(normal_quantile(), 1.0))
        self.alias = move(poisson_alias_table())
        self.cubic = move(all_cubic_weights())
        self.binomial = move(blur_weights())
        self.channel_light = move(CHANNEL_LIGHT)
        self.log_light = move(log_light())


def lay_out(
    plan: Plan, packed: Packed, pixels: tuple[Any, Any], tables: Tables, move: Move, new: New
) -> Batch:
    """Bring a batch together.

    Parameters
    ----------
    plan : Plan
    packed : Packed
    pixels : (normal, low)
        Flat uint8 arrays, in their place already.
    tables : Tables
    move, new : functions
        That bring an array to its place, and make one there.
    """
    count, work = len(plan.images), max(plan.planes, 1)
    lights = packed.lights if len(packed.lights) else np.zeros((1, 7))
    smooth = packed.smooth if len(packed.smooth) else np.zeros(1)
    return Batch(
        images=move(plan.images),
        normal=pixels[0],
        low=pixels[1],
        linear=move(packed.linear),
        read=move(packed.read),
        gaussian=tables.gaussian,
        alias=tables.alias,
        blur=move(packed.blur),
        smooth=move(smooth),
        lights=move(lights),
        cubic=tables.cubic,
        binomial=tables.binomial,
        channel_light=tables.channel_light,
        log_light=tables.log_light,
        luminance=new((count, FIELD), np.float64),
        cumulative=new((count, FIELD), np.float64),
        field=new((count, FIELD), np.float64),
        light_cell=new((len(lights),), np.int32),
        mean=new((count,), np.float64),
        light=new((count, FIELD), np.float32),
        colour=new((count, 3, FIELD), np.float32),
        table=new((count, ENCODE_CELLS), np.uint8),
        fine_table=new((count, ENCODE_CELLS), np.int16),
        bright=new((work,), np.int16),
        differences=new((2 * work,), np.int16),
        columns=new((2 * work,), np.float32),
        mosaic=new((max(plan.sites, 1),), np.float32),
        rows=new((plan.rows,), np.float32),
    )
