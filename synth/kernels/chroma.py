"""Chroma noise reduction, as cameras do it after encoding.

Brightness keeps its noise, colour differences are smoothed.

It is what makes the noise of the channels correlate as in real pictures: the colour matrix alone
leaves that of red and green opposed. Values below black are cut before, as a camera's encoding cuts
them: smoothing then lifts some of them off zero, and the share of exact zeros falls to what real
low-light photographs have.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .arrays import f32, i16, i32, u8
from .compiling.compile import fma, inlined_in_row, kernel, row_kernel, scalar

UNIT = 8192
"""Encoded value 1 in the planes of this module: a step is 1/32 of a grey level."""
# Luma of ITU-R BT.601, which JPEG and cameras use.
_R, _G, _B = f32(0.299), f32(0.587), f32(0.114)
_R_OVER_G, _B_OVER_G = f32(0.299 / 0.587), f32(0.114 / 0.587)
_LEVEL = f32(255.0 / UNIT)
_TAPS = 3
MOST_TAPS = 16
"""Weights of the widest blur that a recipe may ask for, of 5 pixels."""


@lru_cache(maxsize=64)
def blur_weights(sigma: float) -> npt.NDArray[np.float32]:
    """Return weights of a Gaussian at distances 0, 1, .. ceil(3 sigma) pixels, and none beyond.

    Both sides together sum to 1. There are as many as the kernels take at once, three a side, or a
    multiple, and the middle.
    """
    reach = math.ceil(3 * sigma)
    weights = [math.exp(-(d**2) / (2 * sigma**2)) for d in range(reach + 1)]
    total = math.fsum(weights[1:]) * 2 + weights[0]
    made = [w / total for w in weights]
    return np.array(made + [0.0] * (taken_at_once(len(made)) - len(made)), dtype=np.float32)


def taken_at_once(count: int) -> int:
    """Return how many weights the kernels take where so many are not 0; the rest are."""
    return count + (1 - count) % _TAPS if count else 0


@scalar
def grey_level(value):
    """Return the 8-bit level of an encoded value in UNITs."""
    return u8(i32(min(max(np.rint(value * _LEVEL), f32(0)), f32(255))))


@scalar
def split_pixel(r, g, b):
    """Return brightness of three encoded values, and red and blue less it: int32, in UNITs."""
    bright = i32(np.rint(_R * f32(r) + _G * f32(g) + _B * f32(b)))
    return bright, r - bright, b - bright


@scalar
def smoothed(difference, smooth, strength):
    """Take a colour difference the share `strength` of the way to its blur."""
    return fma(strength, smooth - difference, difference)


@scalar
def merge_pixel(bright, red_difference, blue_difference):
    """Return 8-bit red, green and blue of brightness and smoothed colour differences (float32)."""
    green = bright - (_R_OVER_G * red_difference + _B_OVER_G * blue_difference)
    return (
        grey_level(bright + red_difference),
        grey_level(green),
        grey_level(bright + blue_difference),
    )


@row_kernel
def split(cells, table, planes):
    """Turn encoding table places, three rows (N), into brightness and colour differences.

    Those are the differences of red and blue to it. All are int16 rows (N) in UNITs.
    """
    red, green, blue = cells
    y, red_difference, blue_difference = planes
    for x in range(y.shape[0]):
        r, g, b = i32(table[red[x]]), i32(table[green[x]]), i32(table[blue[x]])
        bright, r, b = split_pixel(r, g, b)
        y[x], red_difference[x], blue_difference[x] = i16(bright), i16(r), i16(b)


@row_kernel
def _add_rows(out, middle, north, south, weights):
    """Add three pairs of int16 rows, each weighted, to a row's own weighted middle, or to `out`.

    The latter if `middle` is None, by which the compiler chooses. Differences lie within UNIT of
    zero, so the sum of two fits into int16, in which a CPU adds twice as many at once.
    """
    n1, n2, n3 = north
    s1, s2, s3 = south
    w0, w1, w2, w3 = weights
    for x in range(out.shape[0]):
        begun = out[x] if middle is None else w0 * f32(middle[x])
        near = fma(w1, f32(i16(n1[x] + s1[x])), begun)
        out[x] = fma(w3, f32(i16(n3[x] + s3[x])), fma(w2, f32(i16(n2[x] + s2[x])), near))


@row_kernel
def _add_columns(out, middle, west, east, weights):
    e1, e2, e3 = west
    f1, f2, f3 = east
    w0, w1, w2, w3 = weights
    for x in range(out.shape[0]):
        begun = out[x] if middle is None else w0 * middle[x]
        near = fma(w1, e1[x] + f1[x], begun)
        out[x] = fma(w3, e3[x] + f3[x], fma(w2, e2[x] + f2[x], near))


@inlined_in_row
def interleave(levels, flat):
    """Fill flat pixels (3 W) from rows (W) of R, G, B; with two dimensions it is no vector."""
    red, green, blue = levels
    for x in range(red.shape[0]):
        flat[3 * x] = red[x]
        flat[3 * x + 1] = green[x]
        flat[3 * x + 2] = blue[x]


@inlined_in_row
def _blurred_row(plane, y, weights, padded, out):
    """Blur row `y` of an int16 plane (H, W), edges repeated, into `out` (W).

    `padded` (W + 2 reach) is scratch memory.
    """
    height, width = plane.shape
    reach = weights.shape[0] - 1
    column = padded[reach : reach + width]
    for d in range(1, reach, _TAPS):
        north = plane[max(y - d, 0)], plane[max(y - d - 1, 0)], plane[max(y - d - 2, 0)]
        south = (
            plane[min(y + d, height - 1)],
            plane[min(y + d + 1, height - 1)],
            plane[min(y + d + 2, height - 1)],
        )
        taps = weights[0], weights[d], weights[d + 1], weights[d + 2]
        if d == 1:
            _add_rows(column, plane[y], north, south, taps)
        else:
            _add_rows(column, None, north, south, taps)
    padded[:reach] = column[0]
    padded[reach + width :] = column[width - 1]
    for d in range(1, reach, _TAPS):
        a, b, c = reach - d, reach - d - 1, reach - d - 2
        west = padded[a : a + width], padded[b : b + width], padded[c : c + width]
        a, b, c = reach + d, reach + d + 1, reach + d + 2
        east = padded[a : a + width], padded[b : b + width], padded[c : c + width]
        taps = weights[0], weights[d], weights[d + 1], weights[d + 2]
        if d == 1:
            _add_columns(out, column, west, east, taps)
        else:
            _add_columns(out, None, west, east, taps)


@inlined_in_row
def _merge(planes, smooth, strength, levels):
    """Fill rows (W) of 8-bit R, G, B from brightness, colour differences and their blur."""
    y, red_difference, blue_difference = planes
    red_smooth, blue_smooth = smooth
    red, green, blue = levels
    for x in range(y.shape[0]):
        r = smoothed(f32(red_difference[x]), red_smooth[x], strength)
        b = smoothed(f32(blue_difference[x]), blue_smooth[x], strength)
        red[x], green[x], blue[x] = merge_pixel(f32(y[x]), r, b)


@kernel
def reduce_chroma(planes, weights, strength, low):
    """Fill 8-bit pixels (H, W, 3) from brightness and colour differences (3, H, W).

    Each difference goes the share `strength` of the way to its Gaussian blur.
    """
    width = planes.shape[2]
    padded = np.empty(width + 2 * (weights.shape[0] - 1), np.float32)
    smooth = np.empty(width, np.float32), np.empty(width, np.float32)
    levels = np.empty(width, np.uint8), np.empty(width, np.uint8), np.empty(width, np.uint8)
    _reduce_rows(planes, weights, strength, low, (padded, smooth, levels))


@row_kernel
def _reduce_rows(planes, weights, strength, low, scratch):
    height, width = planes.shape[1], planes.shape[2]
    padded, smooth, levels = scratch
    rows = low.reshape(height, 3 * width)
    for y in range(height):
        _blurred_row(planes[1], y, weights, padded, smooth[0])
        _blurred_row(planes[2], y, weights, padded, smooth[1])
        _merge((planes[0, y], planes[1, y], planes[2, y]), smooth, strength, levels)
        interleave(levels, rows[y])
