"""Steps that make maps of what draws know of a batch's pixels, moved as the pixels are.

It is what `render.noise_map` and `render.emitters` do for one image.

    level_steps           curves of an image
    noise_steps           moments of its pixels
    chroma_noise_steps    where chroma is smoothed, blurred
    map_step              each place of what comes out

Steps follow those of `illumination_steps`, and where light is spread, of `degradation_steps`.
"""

from __future__ import annotations

import numpy as np

from ..args import glare_of
from ..compiling.compile import scalar
from ..demosaic import BILINEAR, BORDER
from ..emitters import shine
from ..exposure import row_above
from ..illumination import CELLS
from ..numbers.elementary import log2
from ..types import f32, f64, i32, i64, u32
from .image_state import light_of, row_and_column
from .map_planes import three_of
from .pixel_steps import column_left, levels_at, scene_light
from .resize_steps import goes_to

DOUBLE_PRECISION = True  # of roots and whole numbers, for `compiling.for_cuda`
_ZERO, _ONE = f32(0), f32(1)


@scalar
def map_thread_count(image, draw, maps):
    """Count the pixels that come out of a window."""
    count = maps.high * maps.wide if maps.high > 0 else i64(image.rows) * i64(image.columns)
    return u32(count if image.height > 0 else 0)


@scalar
def _reach(place, before, after):
    """Return the first and last of `before` pixels that one of `after` is made of."""
    scale = before / after
    if before == after:
        return place, place
    if after < before:
        last = -i64(np.floor(-(place + 1) * scale)) - 1
        return i64(np.floor(place * scale)), min(last, before - 1)
    first = i64(np.floor((place + 0.5) * scale - 0.5))
    return max(first, 0), min(first + 1, before - 1)


@scalar
def _share(place, pixel, before, after):
    """Return the share of a pixel in one that comes out: areas of larger, lines of smaller ones."""
    scale = before / after
    if before == after:
        return 1.0
    if after < before:
        end, begin = min(pixel + 1.0, (place + 1) * scale), max(1.0 * pixel, place * scale)
        return max(end - begin, 0.0) * (after / before)
    middle = min(max((place + 0.5) * scale - 0.5, 0.0), before - 1.0)
    return max(1.0 - abs(pixel - middle), 0.0)


@scalar
def _more(total, weight, values):
    return (
        total[0] + weight * values[0],
        total[1] + weight * values[1],
        total[2] + weight * values[2],
    )


@scalar
def _lamps_at(number, y, x, batch):
    """Return whether a pixel is of a lamp, and the light of all lamps there."""
    draw = batch.draws[batch.images[number].draw]
    glare, inside = glare_of(draw), _ZERO
    red = green = blue = _ZERO
    for k in range(draw.emitters_count):
        lamp = batch.lamps[number, k]
        down, across, radius = f64(y) - f64(lamp[0]), f64(x) - f64(lamp[1]), f64(lamp[2])
        if down * down + across * across <= radius * radius:
            inside = _ONE
        own = f32(shine(y, x, lamp, glare))
        red, green, blue = red + own * lamp[10], green + own, blue + own * lamp[11]
    return inside, (red, green, blue)


@scalar
def _put(plane, at, values, maps):
    """Fill three planes of a place of what comes out."""
    step = maps.rows * maps.columns
    for c in range(3):
        maps.into[at + (plane + c) * step] = f32(values[c])


@scalar
def map_step(number, place, batch, maps):
    """Find what comes out at a place of all maps, from one pixel or more."""
    image = batch.images[number]
    rows, columns, step = i64(image.rows), i64(image.columns), maps.rows * maps.columns
    high = i64(maps.high) if maps.high > 0 else rows
    wide = i64(maps.wide) if maps.high > 0 else columns
    own_row, own_column = row_and_column(u32(place), u32(wide))
    y, x = i64(own_row), i64(own_column)
    to_y, to_x = goes_to(image, u32(y), u32(x), u32(high), u32(wide))
    at = (i64(number) * maps.planes * maps.rows + i64(to_y)) * maps.columns + i64(to_x)
    top, bottom = _reach(y, rows, high)
    left, right = _reach(x, columns, wide)
    of_emitters = maps.mask >= 0 or maps.emitter_light >= 0
    level = light = noise = in_light = shining = (_ZERO, _ZERO, _ZERO)
    ev, masked = 0.0, _ZERO
    light_state = light_of(number, batch)
    border = BORDER if batch.draws[image.draw].method >= BILINEAR else 0
    wide_span = u32(image.span_columns + 2 * border)
    for i in range(top, bottom + 1):
        down, own_y = _share(y, i, rows, high), i32(image.top + i)
        first = maps.first[number] + i64(own_y - image.span_top) * image.span_columns
        row = row_above(own_y, image.height, CELLS)
        for j in range(left, right + 1):
            share, own_x = down * _share(x, j, columns, wide), i32(image.left + j)
            weight = f32(share)
            pixel = first + i64(own_x - image.span_left)
            if maps.light >= 0:
                column = column_left(own_x, image.width)
                own = u32(own_y - image.span_top + border) * wide_span
                own = u32(own + u32(own_x - image.span_left + border))
                levels = levels_at(light_state, own_y, own_x, batch)
                factor = scene_light(light_state, own, row, column, levels, batch)[1]
                ev += share * (log2(max(f64(factor), 1e-30)) + batch.exposure[number])
            if of_emitters:
                inside, shone = _lamps_at(number, own_y, own_x, batch)
                masked, shining = masked + weight * inside, _more(shining, weight, shone)
            if maps.clean >= 0:
                level = _more(level, weight, three_of(0, pixel, maps))
            if maps.linear >= 0:
                light = _more(light, weight, three_of(3, pixel, maps))
            if maps.noise >= 0:
                noise = _more(noise, weight, three_of(6, pixel, maps))
            if maps.noise_linear >= 0:
                in_light = _more(in_light, weight, three_of(9, pixel, maps))
    shift, scale = f32(maps.shift), f32(maps.scale)
    if maps.light >= 0:
        maps.into[at + maps.light * step] = f32(ev)
    if maps.mask >= 0:
        maps.into[at + maps.mask * step] = f32(masked)
    if maps.emitter_light >= 0:
        _put(maps.emitter_light, at, shining, maps)
    if maps.clean >= 0:
        values = (level[0] - shift) * scale, (level[1] - shift) * scale, (level[2] - shift) * scale
        _put(maps.clean, at, values, maps)
    if maps.linear >= 0:
        _put(maps.linear, at, light, maps)
    if maps.noise >= 0:
        _put(maps.noise, at, (noise[0] * scale, noise[1] * scale, noise[2] * scale), maps)
    if maps.noise_linear >= 0:
        _put(maps.noise_linear, at, in_light, maps)
