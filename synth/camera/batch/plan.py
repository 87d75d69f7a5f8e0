"""A batch of images of any sizes, laid out for the kernels that make all their lows at once.

It says where the pixels of each image lie and which steps it takes part in, and has room to work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...degradations.spread import Spread
from ...kernels.batch.arrays import FIELD, IMAGE, Batch
from ...kernels.batch.places import PLACES, STEPS, place_images
from ...kernels.curves import log_light
from ...kernels.degradations.jpeg import COSINES, all_quantisers
from ...kernels.develop import ENCODE_CELLS
from ...kernels.numbers.poisson_table import poisson_alias_table
from ..illumination import CHANNEL_LIGHT, blur_weights
from ..recipe import MAX_LIGHTS
from .pack import Packed, all_cubic_weights

Shape = tuple[int, ...]
New = Callable[[str, Shape, Any], Any]
"""Gives an array of a name, a shape (or longer) and a type, where kernels are to find it."""
Move = Callable[[str, npt.NDArray[Any]], Any]
"""Brings an array of a name there."""
Whole = npt.NDArray[np.integer[Any]]
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
    packed: Packed,
    sizes: Whole,
    places: tuple[Whole, Whole],
    *,
    firsts: Whole | None = None,
    numbers: Whole | None = None,
    windows: Whole | None = None,
    formed: tuple[Whole, Whole] | None = None,
) -> Plan:
    """Lay out a batch of N images.

    Parameters
    ----------
    packed : Packed
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
    place_images(images, packed.draws, packed.befallen, most, totals)
    if formed is None:
        most[STEPS.index("forms")] = 0
    needed = {name: places for name, places in zip(STEPS, most.tolist(), strict=True) if places}
    return Plan(images, needed, dict(zip(PLACES, totals.tolist(), strict=True)))


class Tables:
    """The arrays that all batches share, where kernels are to find them."""

    def __init__(self, move: Move) -> None:
        self.alias = move("alias", poisson_alias_table())
        self.cubic = move("cubic", all_cubic_weights())
        self.binomial = move("binomial", blur_weights())
        self.channel_light = move("channel_light", CHANNEL_LIGHT)
        self.log_light = move("log_light", log_light())
        self.quantisers = move("quantisers", all_quantisers())
        self.cosines = move("cosines", COSINES)


class Moved:
    """Draws, where kernels are to find them."""

    def __init__(self, packed: Packed, move: Move) -> None:
        lights = packed.lights if len(packed.lights) else np.zeros((1, 7))
        smooth = packed.smooth if len(packed.smooth) else np.zeros(1)
        spread = packed.spread if len(packed.spread.weights) else Spread.nowhere()
        self.draws = move("draws", packed.draws)
        self.linear = move("linear", packed.linear)
        self.read = move("read", packed.read)
        self.blur = move("blur", packed.blur)
        self.smooth = move("smooth", smooth)
        self.lights = move("lights", lights)
        self.spread_places = move("spread_places", spread.places)
        self.spread_weights = move("spread_weights", spread.weights)


def lay_out(
    plan: Plan, images: Any, pixels: tuple[Any, Any], tables: Tables, draws: Moved, new: New
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
        mean=new("mean", (count,), np.float64),
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
