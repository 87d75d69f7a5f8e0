"""The arrays of a batch that steps read and write: a record an image, and columns for all.

And their layout: how many places each image has, on the host as `pixel_steps` and
`illumination_steps` count them.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..arrays import f32, i32, u32, u64
from ..compiling.compile import kernel, scalar
from ..degradations.jpeg import BESIDE, UNIT
from ..demosaic import BILINEAR, BORDER
from ..develop import ENCODE_CELLS
from ..emitters import LAMP, MOST_EMITTERS
from ..exposure import GUIDES
from ..illumination import CELLS, MAX_LIGHTS, luminance_matters

FIELD = CELLS * CELLS

_ADDRESSES = (
    *("normal", "first", "low", "plane", "mosaic", "row", "gaussians", "lit", "pattern", "made"),
    *("coded", "formed_low", "formed_normal"),
)
_NUMBERS = (
    *("draw", "height", "width", "top", "left", "rows", "columns"),
    *("made_top", "made_left", "made_rows", "made_columns"),
    *("span_top", "span_left", "span_rows", "span_columns", "across", "down", "turned"),
)
IMAGE = np.dtype(
    [*((name, "u8") for name in _ADDRESSES), *((name, "i4") for name in _NUMBERS)], align=True
)
"""One image of a batch.

normal, low: where its first sample lies in `Batch.normal`, and that of its window in `.low`. first:
where that of the normal lies whose light it has, which is as large: its own, or that of the first
frame of its clip. plane, mosaic, row: its first place in the planes of chroma noise reduction and
in the mosaics, where it has such, and in the sensors' rows. gaussians, lit, pattern, made, coded:
likewise where developed light has noise, where light is spread, where the sensor has a pattern, and
where JPEG follows. formed_...: where its window goes in `resize_steps.OutputLayout`. draw: number
of its draw. height, width: pixels of the normal; 0 for no image. top, left, rows, columns: the
window that a low is made of, mostly the whole. made_...: what is made before JPEG, else the window.
span_...: of the pixels that that depends on. across, down, turned: what `resize_steps` does to it.

Places of samples are counted modulo 2^64 from the beginning of an array: on a GPU images may lie
anywhere, before it too.
"""


GIVEN = (
    "images",  # (N) of IMAGE
    "draws",  # (T) of DRAW
    "normal",  # uint8 pixels of all images, RGB
    "low",  # uint8 pixels of all images, RGB
    "linear",  # float32 (256 K), table after table
    "grains",  # float32 (T, 3, GRAIN) of noise
    "curves",  # float32 (C, 9, FACTORS), of noise by light, the first of nobody
    "read",  # float32 (T, 2, 10), quantiles of a site's read noise, of the sum of two
    "alias",  # uint32 as of `sensor.Noise`
    "blur",  # float32 (T, MOST_TAPS)
    "smooth",  # float64 the smooth fields' nodes
    "lights",  # float64 (L, 7), place, EV, radius, falloff, and tint of each light
    "emitters",  # float64 (E, 7), as of `emitters.resolve`
    # Of each draw the most light at each of GUIDES, where the photograph's own is 1; then factors
    # on light at each of them, of cells x cells parts of the image.
    "grids",  # float64
    "pools",  # float64 (P, 12), place among cells, EV, radius, falloff, what falls on each GUIDE
    "spread_places",  # int32 (S, 2)
    "spread_weights",  # float32 (S) as of `degradations.blur`, of all draws
    "quantisers",  # float32 (101, 2, 64) of JPEG's qualities
    "cosines",  # float32 (64) of JPEG's transform
    "cubic",  # float64 (17, 32, 16), weights of nodes for each number of them
    "binomial",  # float64 (32, 32), weights of neighbours
    "channel_light",  # float64 (3, 256)
    "log_light",  # float64 (ENCODE_CELLS)
)
"""Arrays of a batch of N images that are given. They may be longer than the batch needs; it may
take its draws out of many more (T)."""
WORK: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "luminance": ("f8", "image", (FIELD,)),
    "cumulative": ("f8", "image", (FIELD,)),
    "field": ("f8", "image", (FIELD,)),
    "light_cell": ("i4", "image", (2 * MAX_LIGHTS,)),
    "shining": ("f8", "image", (FIELD,)),  # how likely a pool is in each cell; then summed
    "pool_cell": ("i4", "image", (MAX_LIGHTS,)),
    "own": ("f8", "image", (FIELD,)),  # the field at each cell's own lightness
    "lures": ("f8", "image", (FIELD,)),  # how likely an emitter is in each cell
    "lamps": ("f4", "image", (MOST_EMITTERS, LAMP)),
    "mean": ("f8", "image", ()),
    "exposure": ("f8", "image", ()),
    "light": ("f4", "image", (GUIDES * FIELD,)),  # of each lightness, or the first 1024
    "colour": ("f4", "image", (3, FIELD)),
    "table": ("u1", "image", (ENCODE_CELLS,)),
    "fine_table": ("i2", "image", (ENCODE_CELLS,)),
    "bright": ("i2", "plane", ()),
    "differences": ("i4", "plane", ()),  # of red, and of blue, as two of 16 bits: `pack_halves`
    "columns": ("u8", "plane", ()),  # their blur along columns, as two float32: `pack_floats`
    "mosaic": ("f4", "mosaic", ()),
    "rows": ("f4", "row", ()),  # black level plus noise of the sensors' rows
    "gaussians": ("f4", "gaussians", ()),  # of noise: a row's, and pixels' that share them
    "lit": ("f4", "lit", (3,)),  # red, green and blue of spread light, pixel by pixel
    "pattern": ("f4", "pattern", ()),  # what sites add, three a pixel or site by site
    "made": ("u1", "made", (3,)),  # pixels of images before JPEG, RGB
    "samples": ("f4", "coded", ()),  # of JPEG: Y, then Cb, then Cr
    "coefficients": ("f4", "coded", ()),  # of JPEG: Y, then Cb, then Cr
}
"""Arrays that steps hand on: their type, of what there are so many (images, or places of `TOTALS`),
and what there is for each."""

_NAMES = (*GIVEN, *WORK)
Batch: Any = namedtuple("Batch", _NAMES)  # type: ignore[misc]
"""The arrays of a batch, with all that is given and all that steps hand on."""


@scalar
def pack_halves(first, second):
    """Join two whole numbers of 16 bits in one of 32."""
    return i32(i32(i32(second) << i32(16)) | i32(i32(first) & i32(0xFFFF)))


@scalar
def low_half(pair):
    """Return the first of two `pack_halves` numbers."""
    return i32(i32(pair << i32(16)) >> i32(16))


@scalar
def high_half(pair):
    """Return the second of two `pack_halves` numbers."""
    return i32(pair >> i32(16))


@scalar
def pack_floats(first, second):
    """Join two float32 numbers in one of 64 bits."""
    bits = u64(f32(second).view(np.uint32)) << u64(32)
    return bits | u64(f32(first).view(np.uint32))


@scalar
def unpack_floats(pair):
    """Return two float32 numbers that are `pack_floats`."""
    first = u32(pair & u64(0xFFFFFFFF))
    return first.view(np.float32), u32(pair >> u64(32)).view(np.float32)


_STEPS = (
    *("luminance", "lights", "fields", "means", "light", "lures", "emitters", "tables", "spreads"),
    *("patterns", "rows", "gaussians", "quads", "sites", "mosaics", "blurs", "merges", "samples"),
    *("transforms", "quantisations", "restorations", "returns", "decodes", "forms"),
)
MOST = np.dtype([(name, "i8") for name in _STEPS])
"""Most places of an image in each step."""
_PLACES = ("plane", "mosaic", "row", "gaussians", "lit", "pattern", "made", "coded")
TOTALS = np.dtype([(name, "i8") for name in _PLACES])
"""Places of all images, where they have such."""


@scalar
def gaussian_count(rows, columns, grainy):
    """Return how many normal numbers pixels of a span share, of three channels.

    One a row; with grain one a pixel, too, and of those beside the span.
    """
    return 3 * rows + (3 * (rows + 2) * (columns + 2) if grainy else 0)


@kernel
def lay_out_images(images, draws, has_degradations, most, totals):
    """Fill in the spans and places of a batch's images, whose sizes, windows and draws are known.

    images: array (N) of IMAGE.
    draws: array (T) of DRAW.
    has_degradations: bool array (5), whether any draw, of other batches too, has spread light, a
      pattern, JPEG, noise of developed light, and grain. Their steps are counted by all images
      then, so that batches of about the same sizes have the same launches, whatever was drawn.
    most: array (1) of MOST, of zeros, to be filled.
    totals: array (1) of TOTALS, likewise.
    """
    for i in range(images.shape[0]):
        image = images[i]
        draw = draws[image.draw]
        _make_window(images, i, draw.degradations_jpeg_quality > 0)
        image = images[i]
        reach = max(draw.taps - 1, 0)
        top, left = max(image.made_top - reach, 0), max(image.made_left - reach, 0)
        rows = min(image.made_top + image.made_rows + reach, image.height) - top
        columns = min(image.made_left + image.made_columns + reach, image.width) - left
        images[i].span_top, images[i].span_left = top, left
        images[i].span_rows, images[i].span_columns = rows, columns
        images[i].plane, images[i].mosaic = totals[0].plane, totals[0].mosaic
        images[i].row, images[i].gaussians = totals[0].row, totals[0].gaussians
        images[i].lit, images[i].pattern = totals[0].lit, totals[0].pattern
        images[i].made, images[i].coded = totals[0].made, totals[0].coded
        pixels, sites = rows * columns, (rows + 2 * BORDER) * (columns + 2 * BORDER)
        window, made = image.rows * image.columns, image.made_rows * image.made_columns
        if luminance_matters(draw):
            most[0].luminance = FIELD
        if draw.lights > 0 or draw.pools > 0:
            most[0].lights = 1
        if draw.emitters_count > 0:
            most[0].lures = FIELD
            most[0].emitters = max(most[0].emitters, draw.emitters_count)
        most[0].fields, most[0].means, most[0].light = FIELD, 1, FIELD
        most[0].tables = ENCODE_CELLS
        mosaic = draw.method >= BILINEAR
        if mosaic:
            most[0].rows = max(most[0].rows, rows + 2 * BORDER)
            most[0].sites = max(most[0].sites, sites)
            most[0].mosaics = max(most[0].mosaics, pixels)
            totals[0].mosaic += sites
            totals[0].row += rows + 2 * BORDER
        else:
            most[0].rows, most[0].quads = max(most[0].rows, 2 * rows), max(most[0].quads, pixels)
            totals[0].row += 2 * rows
        sensed = sites if mosaic else pixels
        if has_degradations[0]:
            most[0].spreads = max(most[0].spreads, sensed)
            totals[0].lit += sensed if draw.spread > 0 else 0
        if has_degradations[1]:
            most[0].patterns = max(most[0].patterns, sensed)
            totals[0].pattern += (sites if mosaic else 3 * pixels) if draw.patterned > 0 else 0
        if has_degradations[3]:
            count = gaussian_count(rows, columns, has_degradations[4])
            most[0].gaussians = max(most[0].gaussians, count)
            own = gaussian_count(rows, columns, draw.grainy)
            totals[0].gaussians += own if draw.noisy > 0 else 0
        if draw.taps > 0:
            most[0].blurs = max(most[0].blurs, image.made_rows * columns)
            most[0].merges = max(most[0].merges, made)
            totals[0].plane += pixels
        if has_degradations[2]:
            padded = _padded(image.made_rows) * _padded(image.made_columns)
            coded = max(most[0].samples, 3 * padded)
            most[0].samples, most[0].transforms, most[0].quantisations = coded, coded, coded
            most[0].restorations, most[0].returns = coded, coded
            most[0].decodes = max(most[0].decodes, window)
            if draw.degradations_jpeg_quality > 0:
                totals[0].made += made
                totals[0].coded += padded + (padded // 2 if draw.halved > 0 else 2 * padded)
        most[0].forms = max(most[0].forms, window)


@kernel
def _make_window(images, i, coded):
    """Fill in what of an image is made, before JPEG if that follows: whole blocks."""
    image = images[i]
    top, left = image.top, image.left
    bottom, right = top + image.rows, left + image.columns
    if coded:
        top, left = max(top - BESIDE, 0) // UNIT * UNIT, max(left - BESIDE, 0) // UNIT * UNIT
        bottom = min(_padded(bottom + BESIDE), image.height)
        right = min(_padded(right + BESIDE), image.width)
    images[i].made_top, images[i].made_left = top, left
    images[i].made_rows, images[i].made_columns = max(bottom - top, 0), max(right - left, 0)


@scalar
def _padded(side):
    return (side + UNIT - 1) // UNIT * UNIT
