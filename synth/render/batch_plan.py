"""A batch of images of any sizes, laid out for the kernels that make all their lows at once.

It says where the pixels of each image lie and which steps it takes part in, and has room to work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..camera.illumination import CHANNEL_LIGHT, blur_weights, cubic_weights
from ..camera.recipe import MAX_CELLS
from ..draws.table import DrawTable
from ..kernels.batch.arrays import IMAGE, MOST, TOTALS, WORK, Batch, lay_out_images
from ..kernels.batch.image_state import KINDS
from ..kernels.curves import log_light
from ..kernels.degradations.jpeg import COSINES, all_quantisers
from ..kernels.illumination import CELLS
from ..kernels.numbers.shot_and_read_noise import poisson_alias_table

Shape = tuple[int, ...]
Allocate = Callable[[str, Shape, Any], Any]
"""Gives an array of a name, a shape (or longer) and a type, where kernels are to find it."""
Upload = Callable[[str, npt.NDArray[Any]], Any]
"""Brings an array of a name there."""
IntArray = npt.NDArray[np.integer[Any]]
WINDOW = ("top", "left", "rows", "columns", "across", "down", "turned")
"""The columns of a batch's windows, as `loaders.augment.CropFlip` has them."""


@dataclass(frozen=True)
class BatchPlan:
    """The layout of a batch's pixels, and the steps that it needs.

    places: dict of step to int, most places of an image in each step that is needed.
    """

    images: npt.NDArray[Any]  # (N) of IMAGE
    places: dict[str, int]
    totals: dict[str, int]  # dict of name to int, places of all images in each of `arrays.TOTALS`


def plan_batch(
    table: DrawTable,
    sizes: IntArray,
    places: tuple[IntArray, IntArray],
    *,
    firsts: IntArray | None = None,
    numbers: IntArray | None = None,
    windows: IntArray | None = None,
    formed: tuple[IntArray, IntArray] | None = None,
) -> BatchPlan:
    """Lay out a batch of N images.

    sizes: array (N, 2), height, width.
    places: two arrays (N), where the first sample of each normal and of each low lies.
    firsts: array (N), where that of the normal lies, of the same size, that each image is lit as:
      of the first frame of its clip. Its own where it is not given.
    numbers: array (N), the draw of each image; one after the other where it is not given.
    windows: array (N, 7), `WINDOW`: what lows are made of; the whole where it is not given.
    formed: two arrays (N), where windows of lows and of normals go that are to be transformed.
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
    most, totals = np.zeros(1, MOST), np.zeros(1, TOTALS)
    lay_out_images(images, table.draws, table.has_degradations, most, totals)
    if formed is None:
        most["forms"] = 0
    steps, total = (dict(zip(a.dtype.names or (), a.item(), strict=True)) for a in (most, totals))
    if table.has_emitters:
        steps["emitter_spreads"] = steps.pop("spreads")
    for name in "quads", "mosaics":
        steps[KINDS[table.pixel_kind][0] + name] = steps.pop(name)
    return BatchPlan(images, {name: places for name, places in steps.items() if places}, total)


def upload_tables(upload: Upload) -> dict[str, Any]:
    """Bring the arrays that all batches share to where kernels are to find them."""
    cubic = np.zeros((MAX_CELLS + 1, CELLS, MAX_CELLS))  # for each number of nodes a side
    for n in range(1, MAX_CELLS + 1):
        cubic[n, :, :n] = cubic_weights(n)
    tables: dict[str, npt.NDArray[Any]] = {
        "alias": poisson_alias_table(),
        "cubic": cubic,
        "binomial": blur_weights(),
        "channel_light": CHANNEL_LIGHT,
        "log_light": log_light(),
        "quantisers": all_quantisers(),
        "cosines": COSINES.reshape(-1),
    }
    return {name: upload(name, table) for name, table in tables.items()}


def upload_draws(table: DrawTable, upload: Upload) -> dict[str, Any]:
    """Bring the columns of a draw table to where kernels are to find them."""
    columns = vars(table) | {"linear": table.linear.reshape(-1)}
    some = ((one.name, columns[one.name]) for one in fields(table))
    # Devices hold no empty arrays: a row that nobody reads.
    return {
        name: upload(name, one if len(one) else np.zeros((1, *one.shape[1:]), one.dtype))
        for name, one in some
    }


def lay_out(
    plan: BatchPlan, images: Any, pixels: tuple[Any, Any], uploaded: dict[str, Any], new: Allocate
) -> Any:
    """Bring a batch together.

    images: array (N) of IMAGE, the plan's, in their place.
    pixels: (normal, low), flat uint8 arrays, in their place.
    uploaded: what `upload_tables` and `upload_draws` return.
    new: makes an array there.
    """
    rows = {"image": len(plan.images)} | {of: max(n, 1) for of, n in plan.totals.items()}
    made = {}
    for name, (kind, of, sides) in WORK.items():
        flat = (rows[of] * math.prod(sides),)
        made[name] = new(name, (rows[of], *sides) if of == "image" else flat, np.dtype(kind))
    own = {"images": images, "normal": pixels[0], "low": pixels[1]}
    return Batch(**own, **uploaded, **made)
