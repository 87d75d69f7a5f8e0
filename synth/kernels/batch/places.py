"""Where the images of a batch lie in the memory that its steps share, and how many places each has.

It is as `pixel_steps` and `illumination_steps` count them, on the host.
"""

from __future__ import annotations

from ..compiling.compile import kernel
from ..demosaic import BILINEAR, BORDER
from ..develop import ENCODE_CELLS
from .arrays import FIELD

STEPS = (
    "luminance",
    "lights",
    "fields",
    "means",
    "light",
    "tables",
    "rows",
    "quads",
    "sites",
    "mosaics",
    "blurs",
    "merges",
    "forms",
)
"""The columns of `most`."""


@kernel
def place_images(images, draws, most, totals):
    """Fill in the spans and places of a batch's images, whose sizes, windows and draws are known.

    Parameters
    ----------
    images : array (N) of IMAGE
    draws : array (T) of DRAW
    most : int64 array (13)
        Gets the most places of an image in each of `STEPS`.
    totals : int64 array (3)
        Gets the places in planes, mosaics and rows of all images.
    """
    most[:] = 0
    totals[:] = 0
    for i in range(images.shape[0]):
        image = images[i]
        draw = draws[image.draw]
        reach = max(draw.taps - 1, 0)
        top, left = max(image.top - reach, 0), max(image.left - reach, 0)
        rows = min(image.top + image.rows + reach, image.height) - top
        columns = min(image.left + image.columns + reach, image.width) - left
        images[i].span_top, images[i].span_left = top, left
        images[i].span_rows, images[i].span_columns = rows, columns
        images[i].plane, images[i].mosaic, images[i].row = totals[0], totals[1], totals[2]
        pixels, sites = rows * columns, (rows + 2 * BORDER) * (columns + 2 * BORDER)
        window = image.rows * image.columns
        if draw.lights > 0 or draw.scene != 0.0:
            most[0] = FIELD
        if draw.lights > 0:
            most[1] = 1
        most[2], most[3], most[4], most[5] = FIELD, 1, FIELD, ENCODE_CELLS
        if draw.method >= BILINEAR:
            most[6] = max(most[6], rows + 2 * BORDER)
            most[8], most[9] = max(most[8], sites), max(most[9], pixels)
            totals[1] += sites
            totals[2] += rows + 2 * BORDER
        else:
            most[6], most[7] = max(most[6], 2 * rows), max(most[7], pixels)
            totals[2] += 2 * rows
        if draw.taps > 0:
            most[10] = max(most[10], image.rows * columns)
            most[11] = max(most[11], window)
            totals[0] += pixels
        most[12] = max(most[12], window)
