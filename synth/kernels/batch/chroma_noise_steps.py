"""Noise of pixels whose chroma is smoothed: blurred along columns, then along rows."""

from __future__ import annotations

import numpy as np

from ..arrays import f32, i64, u32
from ..compiling.compile import scalar
from ..curves import LUMA
from ..level_noise import ROUNDING
from .image_state import row_and_column
from .map_planes import BLURRED, LEVEL, LIGHT, NOISE, NOISE_LINEAR, light_of_level

DOUBLE_PRECISION = True  # of roots and whole numbers, for `compiling.for_cuda`
_LUMA = f32(LUMA[0]), f32(LUMA[1]), f32(LUMA[2])
_ZERO, _ONE, _TWO, _WHITE = f32(0), f32(1), f32(2), f32(255)


@scalar
def at_edge(place, size, taps, weights):
    """Return a pixel's own weight in its blur along a line of so many, and the sum of squares.

    Both of those far from the line's ends, beyond which its last pixels are repeated.
    """
    beneath = size - 1 - place
    if min(place, beneath) >= taps - 1:
        return _ONE, _ONE
    before = after = full = squares = _ZERO
    for d in range(taps):
        weight = weights[d]
        full += weight * weight * (_ONE if d == 0 else _TWO)
        before += weight if d > place else _ZERO
        after += weight if d > beneath else _ZERO
    own = _ZERO
    for d in range(-min(place, taps - 1), min(beneath, taps - 1) + 1):
        weight = weights[abs(d)]
        weight += before if d == -place else _ZERO
        weight += after if d == beneath else _ZERO
        squares += weight * weight
        own = weight if d == 0 else own
    return own / weights[0], squares / full


@scalar
def column_step(number, place, batch, maps):
    """Blur levels and variances of a pixel along its column; see `chroma_steps.blur_step`."""
    image = batch.images[number]
    taps, weights = batch.draws[image.draw].taps, batch.blur[image.draw]
    width = i64(image.span_columns)
    y = i64(u32(place) // u32(width)) + image.made_top
    pixel = i64(place) + i64(image.made_top - image.span_top) * width
    beneath, at = image.height - 1 - y, maps.first[number]
    for k in range(BLURRED):
        own = k * maps.stride + at + pixel
        line = width, y, beneath
        maps.blurred[own] = _along_line(k, maps.pixels, own, line, taps, weights)


@scalar
def _along_line(k, planes, at, line, taps, weights):
    """Return a number of a pixel, blurred along a line.

    k: its plane. line: how far apart its pixels are, and how many lie on either side.
    """
    total = _ZERO
    for d in range(taps):
        own = planes[at - min(d, line[1]) * line[0]]
        if d > 0:
            own += planes[at + min(d, line[2]) * line[0]]
        weight = weights[d]
        total += (weight if k < 3 else weight * weight) * own
    return total


@scalar
def smooth_thread_count(image, draw, maps):
    """Count the pixels of a window whose chroma is smoothed."""
    return u32(image.rows * image.columns if draw.taps > 0 else 0)


@scalar
def smooth_step(number, place, batch, maps):
    """Find level, light and noise of a pixel whose chroma is smoothed."""
    image = batch.images[number]
    draw, weights = batch.draws[image.draw], batch.blur[image.draw]
    row, column = row_and_column(u32(place), u32(image.columns))
    y, x = i64(row) + image.top, i64(column) + image.left
    pixel = i64(y - image.span_top) * image.span_columns + i64(x - image.span_left)
    at, roots, taps = maps.first[number] + pixel, maps.roots[number], draw.taps
    line = i64(1), i64(x), i64(image.width - 1 - x)
    share = at_edge(i64(y), i64(image.height), taps, weights)[1]
    share *= at_edge(i64(x), i64(image.width), taps, weights)[1]
    squares = _ZERO
    for d in range(taps):
        squares += (_ONE if d == 0 else _TWO) * weights[d] * weights[d]
    share /= squares * squares
    smooth = (
        _along_line(0, maps.blurred, at, line, taps, weights),
        _along_line(1, maps.blurred, maps.stride + at, line, taps, weights),
        _along_line(2, maps.blurred, 2 * maps.stride + at, line, taps, weights),
    )
    bright = smooth_bright = _ZERO
    for c in range(3):
        bright += _LUMA[c] * maps.pixels[(LEVEL + c) * maps.stride + at]
        smooth_bright += _LUMA[c] * smooth[c]
    for c in range(3):
        own = (LEVEL + c) * maps.stride + at
        difference = smooth[c] - smooth_bright - (maps.pixels[own] - bright)
        level = maps.pixels[own] + draw.isp_chroma_strength * difference
        level = min(max(level, _ZERO), _WHITE)
        spread, rest = (LIGHT + c) * maps.stride + at, (NOISE + c) * maps.stride + at
        variance = share * _along_line(3 + c, maps.blurred, spread, line, taps, weights)
        variance = max(maps.pixels[rest] + variance, _ZERO)
        maps.pixels[own], maps.pixels[spread] = level, light_of_level(level, roots)
        maps.pixels[rest] = np.sqrt(variance + ROUNDING)
        maps.pixels[(NOISE_LINEAR + c) * maps.stride + at] *= maps.pixels[rest]
