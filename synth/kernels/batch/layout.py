"""Where the images of a batch lie in the memory that its steps share, and how many places each has.

It is as `pixel_steps` and `illumination_steps` count them, on the host.
"""

from __future__ import annotations

from ..compiling.compile import kernel, scalar
from ..degradations.jpeg import BESIDE, UNIT
from ..demosaic import BILINEAR, BORDER
from ..develop import ENCODE_CELLS
from ..illumination import luminance_matters
from .arrays import FIELD

STEPS = (
    "luminance",
    "lights",
    "fields",
    "means",
    "light",
    "lures",
    "emitters",
    "tables",
    "spreads",
    "patterns",
    "rows",
    "quads",
    "sites",
    "mosaics",
    "blurs",
    "merges",
    "samples",
    "transforms",
    "quantisations",
    "restorations",
    "returns",
    "decodes",
    "forms",
)
"""The columns of `most`."""
PLACES = ("plane", "mosaic", "row", "lit", "pattern", "made", "coded")
"""The columns of `totals`."""
(
    _LUMINANCE,
    _LIGHTS,
    _FIELDS,
    _MEANS,
    _LIGHT,
    _LURES,
    _EMITTERS,
    _TABLES,
    _SPREADS,
    _PATTERNS,
    _ROWS,
    _QUADS,
    _SITES,
    _MOSAICS,
    _BLURS,
    _MERGES,
    _SAMPLES,
    _TRANSFORMS,
    _QUANTISATIONS,
    _RESTORATIONS,
    _RETURNS,
    _DECODES,
    _FORMS,
) = range(len(STEPS))


@kernel
def lay_out_images(images, draws, has_degradations, most, totals):
    """Fill in the spans and places of a batch's images, whose sizes, windows and draws are known.

    Parameters
    ----------
    images : array (N) of IMAGE
    draws : array (T) of DRAW
    has_degradations : bool array (3)
        Whether any draw, of other batches too, has spread light, a pattern, JPEG. Their steps are
        counted by all images then, so that batches of about the same sizes have the same launches,
        whatever was drawn.
    most : int64 array
        Gets the most places of an image in each of `STEPS`.
    totals : int64 array
        Gets the places of all images in each of `PLACES`.
    """
    most[:] = 0
    totals[:] = 0
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
        images[i].plane, images[i].mosaic, images[i].row = totals[0], totals[1], totals[2]
        images[i].lit, images[i].pattern = totals[3], totals[4]
        images[i].made, images[i].coded = totals[5], totals[6]
        pixels, sites = rows * columns, (rows + 2 * BORDER) * (columns + 2 * BORDER)
        window, made = image.rows * image.columns, image.made_rows * image.made_columns
        if luminance_matters(draw):
            most[_LUMINANCE] = FIELD
        if draw.lights > 0:
            most[_LIGHTS] = 1
        if draw.emitters_count > 0:
            most[_LURES] = FIELD
            most[_EMITTERS] = max(most[_EMITTERS], draw.emitters_count)
        most[_FIELDS], most[_MEANS], most[_LIGHT] = FIELD, 1, FIELD
        most[_TABLES] = ENCODE_CELLS
        mosaic = draw.method >= BILINEAR
        if mosaic:
            most[_ROWS] = max(most[_ROWS], rows + 2 * BORDER)
            most[_SITES] = max(most[_SITES], sites)
            most[_MOSAICS] = max(most[_MOSAICS], pixels)
            totals[1] += sites
            totals[2] += rows + 2 * BORDER
        else:
            most[_ROWS], most[_QUADS] = max(most[_ROWS], 2 * rows), max(most[_QUADS], pixels)
            totals[2] += 2 * rows
        sensed = sites if mosaic else pixels
        if has_degradations[0]:
            most[_SPREADS] = max(most[_SPREADS], sensed)
            totals[3] += sensed if draw.spread > 0 else 0
        if has_degradations[1]:
            most[_PATTERNS] = max(most[_PATTERNS], sensed)
            totals[4] += (sites if mosaic else 3 * pixels) if draw.patterned > 0 else 0
        if draw.taps > 0:
            most[_BLURS] = max(most[_BLURS], image.made_rows * columns)
            most[_MERGES] = max(most[_MERGES], made)
            totals[0] += pixels
        if has_degradations[2]:
            padded = _padded(image.made_rows) * _padded(image.made_columns)
            for step in range(_SAMPLES, _DECODES):
                most[step] = max(most[step], 3 * padded)
            most[_DECODES] = max(most[_DECODES], window)
            if draw.degradations_jpeg_quality > 0:
                totals[5] += made
                totals[6] += padded + (padded // 2 if draw.halved > 0 else 2 * padded)
        most[_FORMS] = max(most[_FORMS], window)


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
