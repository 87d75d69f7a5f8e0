"""A batch of images of any sizes, laid out for the kernels that make all their lows at once.

It says where the pixels of each image lie and which steps it takes part in, and has room to work.
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
from ..kernels.numbers.poisson_table import poisson_alias_table
from ..kernels.numbers.quantiles import normal_quantile, scaled
from .illumination import CHANNEL_LIGHT, blur_weights
from .pack import Packed, all_cubic_weights

Shape = tuple[int, ...]
New = Callable[[str, Shape, Any], Any]
"""Gives an array of a name, a shape (or longer) and a type, where kernels are to find it."""
Move = Callable[[str, npt.NDArray[Any]], Any]
"""Brings an array of a name there."""


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
        """How many blocks each step has."""
        return {name: int(work.first[-1]) for name, work in self.work.items()}


def plan_batch(
    packed: Packed,
    sizes: Sequence[tuple[int, int]],
    normal_at: Sequence[int] | None = None,
    low_at: Sequence[int] | None = None,
) -> Plan:
    """Lay out a batch.

    Parameters
    ----------
    packed : Packed
    sizes : sequence of (height, width)
    normal_at, low_at : sequences of int, optional
        Where each image's first sample lies; by default one image after the other.
    """
    images = packed.images.copy()
    images["height"], images["width"] = np.array(sizes, np.int64).T
    pixels = np.array(sizes, np.int64).prod(axis=1)
    sites = (np.array(sizes, np.int64) + 2 * BORDER).prod(axis=1)
    mosaic, smooth = images["method"] >= BILINEAR, images["taps"] > 0
    images["normal"] = 3 * _before(pixels) if normal_at is None else normal_at
    images["low"] = 3 * _before(pixels) if low_at is None else low_at
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
        self.gaussian = move("gaussian", scaled(normal_quantile(), 1.0))
        self.alias = move("alias", poisson_alias_table())
        self.cubic = move("cubic", all_cubic_weights())
        self.binomial = move("binomial", blur_weights())
        self.channel_light = move("channel_light", CHANNEL_LIGHT)
        self.log_light = move("log_light", log_light())


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
        length=count,
        images=move("images", plan.images),
        normal=pixels[0],
        low=pixels[1],
        linear=move("linear", packed.linear),
        read=move("read", packed.read),
        gaussian=tables.gaussian,
        alias=tables.alias,
        blur=move("blur", packed.blur),
        smooth=move("smooth", smooth),
        lights=move("lights", lights),
        cubic=tables.cubic,
        binomial=tables.binomial,
        channel_light=tables.channel_light,
        log_light=tables.log_light,
        luminance=new("luminance", (count, FIELD), np.float64),
        cumulative=new("cumulative", (count, FIELD), np.float64),
        field=new("field", (count, FIELD), np.float64),
        light_cell=new("light_cell", (len(lights),), np.int32),
        mean=new("mean", (count,), np.float64),
        light=new("light", (count, FIELD), np.float32),
        colour=new("colour", (count, 3, FIELD), np.float32),
        table=new("table", (count, ENCODE_CELLS), np.uint8),
        fine_table=new("fine_table", (count, ENCODE_CELLS), np.int16),
        bright=new("bright", (work,), np.int16),
        differences=new("differences", (2 * work,), np.int16),
        columns=new("columns", (2 * work,), np.float32),
        mosaic=new("mosaic", (max(plan.sites, 1),), np.float32),
        rows=new("rows", (plan.rows,), np.float32),
    )
