"""Blur and fixed patterns of a batch, before the sensor's steps of `pixel_steps`.

Only images that have them take part; what the steps find is read there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..args import glare_of, pattern_of
from ..arrays import f32, i32, u32, u64
from ..compiling.compile import fma, scalar
from ..degradations.blur import brightened
from ..degradations.pattern import pixel_pattern, site_pattern
from ..demosaic import BILINEAR, BORDER
from ..emitters import per_light, shine
from ..exposure import GUIDES, row_above
from ..illumination import CELLS
from .image_state import GAUSSIAN, row_and_column
from .pixel_steps import column_left, grid_value


class Spreading(NamedTuple):
    """An image whose light is spread; see `arrays.IMAGE` and `args.DRAW`."""

    columns: np.uint32  # places in a row
    top: np.int32  # of the picture's first place
    left: np.int32
    number: np.int64
    height: np.int32
    width: np.int32
    normal: np.uint64
    lit: np.uint64
    linear: np.uint32  # where in `Batch.linear` its table begins
    apart: np.uint32
    first: np.uint32  # where in `Batch.spread_places` it begins
    places: np.uint32
    highlights: np.float32
    knee: np.float32
    emitters: np.int32


@scalar
def sensor_thread_count(image, draw):
    """Count the pixels of a span, or the sites of its mosaic."""
    border = 2 * BORDER if draw.method >= BILINEAR else 0
    return u32((image.span_rows + border) * (image.span_columns + border))


@scalar
def sensor_place(image, draw, place):
    """Return the row and column that a pixel of a span has in the picture, or a site in its mosaic.

    A mosaic's lie `BORDER` further.
    """
    border = 2 * BORDER if draw.method >= BILINEAR else 0
    row, column = row_and_column(place, u32(image.span_columns + border))
    return i32(row) + image.span_top, i32(column) + image.span_left


@scalar
def spread_thread_count(image, draw, beside):
    """Count the places of an image whose light is spread."""
    return u32(sensor_thread_count(image, draw) if draw.spread > 0 and image.height > 0 else 0)


@scalar
def _with_emitters(light, y, x, number, batch):
    """Return light of a pixel with that of emitters, which the illumination is yet to change."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    glare = glare_of(draw)
    red, green, blue = f32(0), f32(0), f32(0)
    for k in range(draw.emitters_count):
        lamp = batch.lamps[number, k]
        own = shine(y, x, lamp, glare)
        red += own * lamp[10]
        green += own
        blue += own * lamp[11]
    row, column = row_above(y, image.height, CELLS), column_left(x, image.width)
    # Of white, where lightness counts.
    k = GUIDES - 1 if draw.grid_cells > 0 else 0
    bright = grid_value(batch.light[number], row, column, k)
    r = g = b = bright
    if draw.coloured > 0:
        colour = batch.colour[number]
        r = bright * grid_value(colour[0], row, column)
        g = bright * grid_value(colour[1], row, column)
        b = bright * grid_value(colour[2], row, column)
    return (
        light[0] + red * per_light(r),
        light[1] + green * per_light(g),
        light[2] + blue * per_light(b),
    )


@scalar
def _spread_state(number, batch, emitters):
    image = batch.images[number]
    draw = batch.draws[image.draw]
    border = BORDER if draw.method >= BILINEAR else 0
    return Spreading(
        u32(image.span_columns + 2 * border),
        image.span_top - border,
        image.span_left - border,
        number,
        image.height,
        image.width,
        image.normal,
        image.lit,
        u32(256 * draw.linear),
        u32(256 * draw.linear_apart),
        u32(draw.first_spread),
        u32(draw.spread),
        draw.highlights,
        draw.knee,
        draw.emitters_count if emitters else i32(0),
    )


@scalar
def spread_state(number, batch):
    """Return an image whose light is spread, of draws without emitters."""
    return _spread_state(number, batch, False)


@scalar
def emitter_spread_state(number, batch):
    """Return an image whose light is spread, with that of emitters."""
    return _spread_state(number, batch, True)


@scalar
def spread_place(image, place, row, column, fetched, batch):
    """Gather the light that comes to a pixel, or to a site of a mosaic."""
    y = min(max(i32(row) + image.top, i32(0)), i32(image.height - 1))
    x = min(max(i32(column) + image.left, i32(0)), i32(image.width - 1))
    red, green, blue = f32(0), f32(0), f32(0)
    for k in range(image.places):
        p = u32(image.first + u32(k))
        down, across = batch.spread_places[p, 0], batch.spread_places[p, 1]
        from_y = min(max(i32(y + down), i32(0)), i32(image.height - 1))
        from_x = min(max(i32(x + across), i32(0)), i32(image.width - 1))
        at = image.normal + u64(u32(3) * u32(from_y * image.width + from_x))
        r = batch.linear[u32(image.linear + batch.normal[at])]
        g = batch.linear[u32(u32(image.linear + image.apart) + batch.normal[at + u64(1)])]
        b = batch.linear[u32(u32(image.linear + u32(2) * image.apart) + batch.normal[at + u64(2)])]
        if image.highlights != f32(0):
            r, g, b = brightened(r, g, b, image.highlights, image.knee)
        if image.emitters > 0:
            r, g, b = _with_emitters((r, g, b), from_y, from_x, image.number, batch)
        weight = batch.spread_weights[p]
        red, green, blue = fma(weight, r, red), fma(weight, g, green), fma(weight, b, blue)
    to = u64(3) * (image.lit + u64(place))
    batch.lit[to], batch.lit[to + u64(1)], batch.lit[to + u64(2)] = red, green, blue


@scalar
def spread_step(number, place, batch):
    """Do what `spread_place` does."""
    image = emitter_spread_state(number, batch)
    row, column = row_and_column(place, image.columns)
    spread_place(image, place, row, column, 0, batch)


@scalar
def pattern_thread_count(image, draw, beside):
    """Count the places of an image whose sensor has a fixed pattern."""
    return u32(sensor_thread_count(image, draw) if draw.patterned > 0 and image.height > 0 else 0)


@scalar
def pattern_step(number, place, batch):
    """Find what the sites of a pixel add, or a site of a mosaic."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    row, column = sensor_place(image, draw, place)
    pattern = pattern_of(draw, GAUSSIAN)
    if draw.method >= BILINEAR:
        sites = u32(image.width + 2 * BORDER)
        batch.pattern[image.pattern + u64(place)] = site_pattern(row, column, sites, pattern)
    else:
        picture = image.height, image.width
        red, green, blue = pixel_pattern(draw.method, row, column, picture, pattern)
        to = image.pattern + u64(3) * u64(place)
        batch.pattern[to] = red
        batch.pattern[to + u64(1)] = green
        batch.pattern[to + u64(2)] = blue
