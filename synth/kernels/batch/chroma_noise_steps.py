"""Noise of pixels whose chroma is smoothed: blurred along columns, then along rows."""

from __future__ import annotations

from ..compiling.compile import scalar
from ..curves import LUMA
from ..types import f32, i64, u32
from .image_state import row_and_column
from .level_steps import light_of_level
from .map_planes import BLURRED, fill_pixel, three_of

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
def _along_row(k, at, line, taps, weights, maps):
    """Return a number of a pixel, blurred along its column before, and now along its row."""
    return _along_line(k, maps.blurred, k * maps.stride + at, line, taps, weights)


@scalar
def _dot(factors, values):
    return factors[0] * values[0] + factors[1] * values[1] + factors[2] * values[2]


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
    at, levels = maps.first[number] + pixel, maps.levels[number]
    own, rest = three_of(0, at, maps), three_of(6, at, maps)
    strength = draw.isp_chroma_strength
    line, taps = (i64(1), i64(x), i64(image.width - 1 - x)), draw.taps
    smooth = (
        _along_row(0, at, line, taps, weights, maps),
        _along_row(1, at, line, taps, weights, maps),
        _along_row(2, at, line, taps, weights, maps),
    )
    spread = (
        _along_row(3, at, line, taps, weights, maps),
        _along_row(4, at, line, taps, weights, maps),
        _along_row(5, at, line, taps, weights, maps),
    )
    bright, smooth_bright = _dot(_LUMA, own), _dot(_LUMA, smooth)
    level = (
        _merged(bright, own[0] - bright, smooth[0] - smooth_bright, strength),
        _merged(bright, own[1] - bright, smooth[1] - smooth_bright, strength),
        _merged(bright, own[2] - bright, smooth[2] - smooth_bright, strength),
    )
    light = (
        light_of_level(level[0], levels),
        light_of_level(level[1], levels),
        light_of_level(level[2], levels),
    )
    _, down = at_edge(i64(y), i64(image.height), taps, weights)
    _, across = at_edge(i64(x), i64(image.width), taps, weights)
    squares = weights[0] * weights[0]
    for d in range(1, taps):
        squares += _TWO * weights[d] * weights[d]
    share = down * across / (squares * squares)
    variance = (
        max(rest[0] + share * spread[0], _ZERO),
        max(rest[1] + share * spread[1], _ZERO),
        max(rest[2] + share * spread[2], _ZERO),
    )
    fill_pixel(
        number, at, level, light, (variance, three_of(9, at, maps), three_of(12, at, maps)), maps
    )


@scalar
def _merged(bright, difference, smooth, strength):
    """Return the level of a channel whose difference to brightness is smoothed."""
    return min(max(bright + difference + strength * (smooth - difference), _ZERO), _WHITE)
