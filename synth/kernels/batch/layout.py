"""The layout of a batch in the memory that its steps share, and how many places each image has.

It is as `pixel_steps` and `illumination_steps` count them, on the host.
"""

from __future__ import annotations

import numpy as np

from ..compiling.compile import kernel, scalar
from ..degradations.jpeg import BESIDE, UNIT
from ..demosaic import BILINEAR, BORDER
from ..develop import ENCODE_CELLS
from ..illumination import luminance_matters
from .arrays import FIELD

_STEPS = (
    *("luminance", "lights", "fields", "means", "light", "lures", "emitters", "tables", "spreads"),
    *("patterns", "rows", "quads", "sites", "mosaics", "blurs", "merges", "samples", "transforms"),
    *("quantisations", "restorations", "returns", "decodes", "forms"),
)
MOST = np.dtype([(name, "i8") for name in _STEPS])
"""Most places of an image in each step."""
_PLACES = ("plane", "mosaic", "row", "lit", "pattern", "made", "coded")
TOTALS = np.dtype([(name, "i8") for name in _PLACES])
"""Places of all images, where they have such."""


@kernel
def lay_out_images(images, draws, has_degradations, most, totals):
    """Fill in the spans and places of a batch's images, whose sizes, windows and draws are known.

    images: array (N) of IMAGE.
    draws: array (T) of DRAW.
    has_degradations: bool array (3), whether any draw, of other batches too, has spread light, a
      pattern, JPEG. Their steps are counted by all images then, so that batches of about the same
      sizes have the same launches, whatever was drawn.
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
        images[i].row = totals[0].row
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
