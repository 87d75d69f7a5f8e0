"""Maps of a batch: where steps find and leave what they know of its pixels, and the last step.

    noise_steps    curves of an image, levels and noise of its pixels
    map_step       each place of what comes out, moved as the pixels are

Steps follow those of `illumination_steps`, and where light is spread, of `degradation_steps`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..args import glare_of
from ..arrays import f32, f64, i32, i64, u32
from ..compiling.compile import scalar
from ..demosaic import BILINEAR, BORDER
from ..emitters import shine
from ..exposure import row_above
from ..illumination import CELLS
from ..numbers.elementary import log2
from .image_state import light_of, row_and_column
from .pixel_steps import column_left, levels_at, scene_light
from .resize_steps import goes_to

DOUBLE_PRECISION = True  # of roots and whole numbers, for `compiling.for_cuda`
_ZERO, _ONE = f32(0), f32(1)
LEVEL, LIGHT, NOISE, NOISE_LINEAR = 0, 3, 6, 9
PLANES, BLURRED = 12, 6
"""Planes of pixels, three of each: level, light, and the noise's deviation in levels and in light.

Before chroma is smoothed, the first two are blurred: levels, and variances of what the blur takes
of a pixel; the third are those of the rest, the last the deviation in light for that in levels."""
FIELD, MASK, EMITTERS = 12, 13, 14
"""Numbers of maps that are no such planes; the last are three, of red, green and blue."""


class Maps(NamedTuple):
    """Maps of a batch of N images, and the memory that their steps share.

    into: float32 array (N * planes * rows * columns), of zeros.
    rows, columns: room for each image. high, wide: size that windows are resized to, or 0.
    around: by method, what a pixel takes of the sites around it, and which of them scatter, by
      parity of row and column.
    """

    into: npt.NDArray[np.float32]
    kinds: npt.NDArray[np.int32]  # (planes), what each plane shows, by the numbers above
    change: npt.NDArray[np.float32]  # (planes, 2), a value becomes (value - first) * second
    rows: int
    columns: int
    high: int
    wide: int
    in_light: int  # whether noise in light is asked for
    levels: npt.NDArray[np.float32]  # (N, ENCODE_CELLS)
    roots: npt.NDArray[np.float32]  # (N, ROOTS)
    shared: npt.NDArray[np.float32]  # of `render.site_noise.SiteNoise`
    light: npt.NDArray[np.float32]
    smoothed: npt.NDArray[np.float32]
    channels: npt.NDArray[np.float32]  # (N, 3, 3, LIGHTS), of `level_noise.noisy_level`
    first: npt.NDArray[np.int64]  # (N), the first pixel of an image's span among all
    stride: int  # P, pixels of all spans
    pixels: npt.NDArray[np.float32]  # (PLANES * P)
    blurred: npt.NDArray[np.float32]  # (BLURRED * P), along columns
    normal: npt.NDArray[np.float32]  # (2, n), nodes and weights
    laguerre: npt.NDArray[np.float32]  # (2, n)
    around: npt.NDArray[np.float32]  # (2, 2, 4, 3, 5, 5), of `render.site_noise`


@scalar
def map_thread_count(image, draw, maps):
    """Count the pixels that come out of a window."""
    count = maps.high * maps.wide if maps.high > 0 else i64(image.rows) * i64(image.columns)
    return u32(count if image.height > 0 else 0)


@scalar
def _reach(place, before, after):
    """Return the first and last of `before` pixels that one of `after` is made of."""
    if before == after:
        return place, place
    scale = before / after
    if after < before:
        last = -i64(np.floor(-(place + 1) * scale)) - 1
        return i64(np.floor(place * scale)), min(last, before - 1)
    first = i64(np.floor((place + 0.5) * scale - 0.5))
    return max(first, 0), min(first + 1, before - 1)


@scalar
def _share(place, pixel, before, after):
    """Return the share of a pixel in one that comes out: areas of larger, lines of smaller ones."""
    if before == after:
        return 1.0
    scale = before / after
    if after < before:
        end, begin = min(pixel + 1.0, (place + 1) * scale), max(1.0 * pixel, place * scale)
        return max(end - begin, 0.0) * (after / before)
    middle = min(max((place + 0.5) * scale - 0.5, 0.0), before - 1.0)
    return max(1.0 - abs(pixel - middle), 0.0)


@scalar
def _of_lamps(kind, number, y, x, batch):
    """Return whether a pixel is of a lamp, or a channel's light of all lamps there."""
    draw, total = batch.draws[batch.images[number].draw], _ZERO
    for k in range(draw.emitters_count):
        lamp = batch.lamps[number, k]
        if kind == MASK:
            down, across, radius = f64(y) - f64(lamp[0]), f64(x) - f64(lamp[1]), f64(lamp[2])
            total = _ONE if down * down + across * across <= radius * radius else total
        else:
            tint = lamp[10] if kind == EMITTERS else (lamp[11] if kind > EMITTERS + 1 else _ONE)
            total += f32(shine(y, x, lamp, glare_of(draw))) * tint
    return total


@scalar
def _field_at(number, y, x, batch):
    """Return what falls on a pixel in EV, against the exposure."""
    image, light = batch.images[number], light_of(number, batch)
    border = BORDER if batch.draws[image.draw].method >= BILINEAR else 0
    place = u32(y - image.span_top + border) * u32(image.span_columns + 2 * border)
    place = u32(place + u32(x - image.span_left + border))
    row, column = row_above(y, image.height, CELLS), column_left(x, image.width)
    factor = scene_light(light, place, row, column, levels_at(light, y, x, batch), batch)[1]
    return log2(max(f64(factor), 1e-30)) + batch.exposure[number]


@scalar
def _value(kind, number, y, x, batch, maps):
    """Return what a plane of such a kind shows of a pixel."""
    if kind == FIELD:
        return f32(_field_at(number, y, x, batch))
    if kind > FIELD:
        return _of_lamps(kind, number, y, x, batch)
    image = batch.images[number]
    first = kind * maps.stride + maps.first[number]
    own = i64(y - image.span_top) * image.span_columns + i64(x - image.span_left)
    return maps.pixels[first + own]


@scalar
def _of_window(kind, number, place, batch, maps):
    """Return what a plane shows at a place of a window that is resized: a mean of its pixels."""
    image, total = batch.images[number], 0.0
    rows, columns = i64(image.rows), i64(image.columns)
    top, bottom = _reach(place[0], rows, maps.high)
    left, right = _reach(place[1], columns, maps.wide)
    for i in range(top, bottom + 1):
        down = _share(place[0], i, rows, maps.high)
        for j in range(left, right + 1):
            value = _value(kind, number, i32(image.top + i), i32(image.left + j), batch, maps)
            total += down * _share(place[1], j, columns, maps.wide) * value
    return f32(total)


@scalar
def map_step(number, place, batch, maps):
    """Find what comes out at a place of all planes, from one pixel or more."""
    image = batch.images[number]
    high = u32(maps.high if maps.high > 0 else image.rows)
    wide = u32(maps.wide if maps.high > 0 else image.columns)
    row, column = row_and_column(u32(place), wide)
    y, x = i32(image.top + i32(row)), i32(image.left + i32(column))
    to_y, to_x = goes_to(image, row, column, high, wide)
    planes = maps.kinds.shape[0]
    to = (i64(number) * planes * maps.rows + i64(to_y)) * maps.columns + i64(to_x)
    for plane in range(planes):
        kind = maps.kinds[plane]
        if maps.high > 0:
            value = _of_window(kind, number, (i64(row), i64(column)), batch, maps)
        else:
            value = _value(kind, number, y, x, batch, maps)
        changed = (value - maps.change[plane, 0]) * maps.change[plane, 1]
        maps.into[to + plane * maps.rows * maps.columns] = changed
