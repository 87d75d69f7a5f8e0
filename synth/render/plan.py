"""A batch of images of any sizes, laid out for the kernels that make all their lows at once.

It says where the pixels of each image lie and which steps it takes part in, and has room to work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..camera.illumination import CHANNEL_LIGHT, blur_weights, cubic_weights
from ..camera.recipe import MAX_CELLS, MAX_LIGHTS
from ..degradations.spread import Spread
from ..draws.table import DrawTable
from ..kernels.batch.arrays import FIELD, IMAGE, Batch
from ..kernels.batch.layout import PLACES, STEPS, lay_out_images
from ..kernels.curves import log_light
from ..kernels.degradations.jpeg import COSINES, all_quantisers
from ..kernels.develop import ENCODE_CELLS
from ..kernels.emitters import LAMP, MOST_EMITTERS
from ..kernels.illumination import CELLS
from ..kernels.numbers.poisson_table import poisson_alias_table

Shape = tuple[int, ...]
Allocate = Callable[[str, Shape, Any], Any]
"""Gives an array of a name, a shape (or longer) and a type, where kernels are to find it."""
Upload = Callable[[str, npt.NDArray[Any]], Any]
"""Brings an array of a name there."""
IntArray = npt.NDArray[np.integer[Any]]
WINDOW = ("top", "left", "rows", "columns", "across", "down", "turned")
"""The columns of a batch's windows, as `loaders.forms.Change` has them."""


@dataclass(frozen=True)
class Plan:
    """Where a batch's pixels lie, and what is to be done.

    Attributes
    ----------
    images : array (N) of IMAGE
    places : dict of step to int
        Most places of an image in each step that is needed.
    totals : dict of name to int
        Places of all images in each of `places.PLACES`.
    """

    images: npt.NDArray[Any]
    places: dict[str, int]
    totals: dict[str, int]


def plan_batch(
    table: DrawTable,
    sizes: IntArray,
    places: tuple[IntArray, IntArray],
    *,
    firsts: IntArray | None = None,
    numbers: IntArray | None = None,
    windows: IntArray | None = None,
    formed: tuple[IntArray, IntArray] | None = None,
) -> Plan:
    """Lay out a batch of N images.

    Parameters
    ----------
    table : DrawTable
    sizes : array (N, 2)
        Height, width.
    places : two arrays (N)
        Where the first sample of each normal and of each low lies.
    firsts : array (N), optional
        Where that of the normal lies, of the same size, that each image is lit as: of the first
        frame of its clip. Its own where it is not given.
    numbers : array (N), optional
        The draw of each image; one after the other where it is not given.
    windows : array (N, 7), optional
        `WINDOW`: what lows are made of; the whole where it is not given.
    formed : two arrays (N), optional
        Where windows of lows and of normals go that are to be brought into form.
    """
    count = len(sizes)
    images = np.zeros(count, IMAGE)
    images["draw"] = np.arange(count) if numbers is None else numbers
    images["height"], images["width"] = sizes[:, 0], sizes[:, 1]
    images["normal"], images["low"] = places
    images["first"] = images["normal"] if firsts is None else firsts
    if formed is not None:
        images["formed_low"], images["formed_normal"] = formed
    if windows is None:
        images["rows"], images["columns"] = sizes[:, 0], sizes[:, 1]
    else:
        for name, column in zip(WINDOW, windows.T, strict=True):
            images[name] = column
    most, totals = np.empty(len(STEPS), np.int64), np.empty(len(PLACES), np.int64)
    lay_out_images(images, table.draws, table.has_degradations, most, totals)
    if formed is None:
        most[STEPS.index("forms")] = 0
    needed = {name: places for name, places in zip(STEPS, most.tolist(), strict=True) if places}
    return Plan(images, needed, dict(zip(PLACES, totals.tolist(), strict=True)))


@lru_cache(maxsize=1)
def all_cubic_weights() -> npt.NDArray[np.float64]:
    """Return what of its nodes each cell takes, for each number of them a side: (17, 32, 16)."""
    weights = np.zeros((MAX_CELLS + 1, CELLS, MAX_CELLS))
    for n in range(1, MAX_CELLS + 1):
        weights[n, :, :n] = cubic_weights(n)
    return weights


class Tables:
    """The arrays that all batches share, where kernels are to find them."""

    def __init__(self, upload: Upload) -> None:
        self.alias = upload("alias", poisson_alias_table())
        self.cubic = upload("cubic", all_cubic_weights())
        self.binomial = upload("binomial", blur_weights())
        self.channel_light = upload("channel_light", CHANNEL_LIGHT)
        self.log_light = upload("log_light", log_light())
        self.quantisers = upload("quantisers", all_quantisers())
        self.cosines = upload("cosines", COSINES)


class DeviceDraws:
    """Columns of a draw table, where kernels are to find them."""

    def __init__(self, table: DrawTable, upload: Upload) -> None:
        lights = table.lights if len(table.lights) else np.zeros((1, 7))
        smooth = table.smooth if len(table.smooth) else np.zeros(1)
        spread = table.spread if len(table.spread.weights) else Spread.nowhere()
        self.draws = upload("draws", table.draws)
        self.linear = upload("linear", table.linear)
        self.read = upload("read", table.read)
        self.blur = upload("blur", table.blur)
        self.smooth = upload("smooth", smooth)
        self.lights = upload("lights", lights)
        emitters = table.emitters if len(table.emitters) else np.zeros((1, 7))
        self.emitters = upload("emitters", emitters)
        self.spread_places = upload("spread_places", spread.places)
        self.spread_weights = upload("spread_weights", spread.weights)


def lay_out(
    plan: Plan,
    images: Any,
    pixels: tuple[Any, Any],
    tables: Tables,
    draws: DeviceDraws,
    new: Allocate,
) -> Batch:
    """Bring a batch together.

    Parameters
    ----------
    plan : Plan
    images : array (N) of IMAGE
        The plan's, in their place.
    pixels : (normal, low)
        Flat uint8 arrays, in their place.
    tables, draws
    new : function
        That makes an array there.
    """
    count = len(plan.images)
    of = {name: max(places, 1) for name, places in plan.totals.items()}
    return Batch(
        images=images,
        draws=draws.draws,
        normal=pixels[0],
        low=pixels[1],
        linear=draws.linear,
        read=draws.read,
        alias=tables.alias,
        blur=draws.blur,
        smooth=draws.smooth,
        lights=draws.lights,
        emitters=draws.emitters,
        spread_places=draws.spread_places,
        spread_weights=draws.spread_weights,
        quantisers=tables.quantisers,
        cosines=tables.cosines,
        cubic=tables.cubic,
        binomial=tables.binomial,
        channel_light=tables.channel_light,
        log_light=tables.log_light,
        luminance=new("luminance", (count, FIELD), np.float64),
        cumulative=new("cumulative", (count, FIELD), np.float64),
        field=new("field", (count, FIELD), np.float64),
        light_cell=new("light_cell", (count, 2 * MAX_LIGHTS), np.int32),
        lures=new("lures", (count, FIELD), np.float64),
        lamps=new("lamps", (count, MOST_EMITTERS, LAMP), np.float32),
        mean=new("mean", (count,), np.float64),
        exposure=new("exposure", (count,), np.float64),
        light=new("light", (count, FIELD), np.float32),
        colour=new("colour", (count, 3, FIELD), np.float32),
        table=new("table", (count, ENCODE_CELLS), np.uint8),
        fine_table=new("fine_table", (count, ENCODE_CELLS), np.int16),
        bright=new("bright", (of["plane"],), np.int16),
        differences=new("differences", (of["plane"],), np.int32),
        columns=new("columns", (of["plane"],), np.uint64),
        mosaic=new("mosaic", (of["mosaic"],), np.float32),
        rows=new("rows", (of["row"],), np.float32),
        lit=new("lit", (3 * of["lit"],), np.float32),
        pattern=new("pattern", (of["pattern"],), np.float32),
        made=new("made", (3 * of["made"],), np.uint8),
        samples=new("samples", (of["coded"],), np.float32),
        coefficients=new("coefficients", (of["coded"],), np.float32),
    )
