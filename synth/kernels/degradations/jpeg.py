"""JPEG's effect on a picture: baseline, with the example tables of the standard.

    rgb -> samples (Y, Cb, Cr; chroma of 2 x 2 pixels or of each) -> transform down, across
        -> quantise -> transform back across, down -> samples -> rgb

as ITU-T T.81 and T.871 (JFIF) define it, chroma brought back by a triangle filter as libjpeg does.
Nothing is entropy coded, which would change no sample. All arithmetic is float32 in a fixed order,
with the same bits on every CPU and GPU; an encoder's library and version decide nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..arrays import f32, u8
from ..chroma import interleave
from ..compiling.compile import fma, inlined, kernel, scalar

SIDE = 8
"""Samples of a block along each side."""
UNIT = 2 * SIDE
"""Pixels of a block of chroma along each side, where it is of 2 x 2 pixels: grids of blocks of all
sorts begin anew there."""
BESIDE = 2
"""Pixels beyond a window from whose chroma it takes."""
_BRIGHT = (
    *(16, 11, 10, 16, 24, 40, 51, 61),
    *(12, 12, 14, 19, 26, 58, 60, 55),
    *(14, 13, 16, 24, 40, 57, 69, 56),
    *(14, 17, 22, 29, 51, 87, 80, 62),
    *(18, 22, 37, 56, 68, 109, 103, 77),
    *(24, 35, 55, 64, 81, 104, 113, 92),
    *(49, 64, 78, 87, 103, 121, 120, 101),
    *(72, 92, 95, 98, 112, 100, 103, 99),
)
"""T.81, table K.1: of Y, row by row."""
_COLOUR = (
    *(17, 18, 24, 47, 99, 99, 99, 99),
    *(18, 21, 26, 66, 99, 99, 99, 99),
    *(24, 26, 56, 99, 99, 99, 99, 99),
    *(47, 66, 99, 99, 99, 99, 99, 99),
    *(99,) * 32,
)
"""T.81, table K.2: of Cb and Cr."""
# T.871: luma is that of ITU-R BT.601.
_Y_R, _Y_G, _Y_B = f32(0.299), f32(0.587), f32(0.114)
_CB_R, _CB_G = f32(-0.299 / 1.772), f32(-0.587 / 1.772)
_CR_G, _CR_B = f32(-0.587 / 1.402), f32(-0.114 / 1.402)
_R_CR, _B_CB = f32(1.402), f32(1.772)
_G_CB, _G_CR = f32(-0.114 * 1.772 / 0.587), f32(-0.299 * 1.402 / 0.587)
_MIDDLE_AND_HALF = f32(128.5 + 2**-10)
_MIDDLE_HALVES_DOWN = f32(128.5 - 2**-10)  # or blue of odd levels would be brighter by a level
_HALF, _WHITE = f32(0.5), f32(255)
MIDDLE = f32(128)
"""Middle of samples: what is transformed lies about 0."""


def _cosines() -> npt.NDArray[np.float32]:
    """Return the transform of 8 samples (8, 8): by frequency, then by place."""
    table = np.empty((SIDE, SIDE), np.float32)
    for u in range(SIDE):
        scale = math.sqrt(0.125) if u == 0 else 0.5
        for x in range(SIDE):
            table[u, x] = scale * math.cos((2 * x + 1) * u * math.pi / 16)
    table.flags.writeable = False
    return table


COSINES = _cosines()


@lru_cache(maxsize=128)
def quantisers(quality: int) -> npt.NDArray[np.float32]:
    """Return the steps that coefficients are rounded to.

    quality: 1 to 100, of the scale that the Independent JPEG Group's library introduced.

    Returns float32 array (2, 64) of Y and of chroma, row by row: whole, 1 to 255.
    """
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    tables = np.array([_BRIGHT, _COLOUR], np.int64)
    return np.clip((tables * percent + 50) // 100, 1, 255).astype(np.float32)


@lru_cache(maxsize=1)
def all_quantisers() -> npt.NDArray[np.float32]:
    """Return the steps of each quality, (101, 2, 64); nothing of 0."""
    none = np.ones((2, SIDE * SIDE), np.float32)
    return np.stack([none, *(quantisers(quality) for quality in range(1, 101))])


@scalar
def y_of(r, g, b):
    """Return the whole brightness of a pixel, 0 to 255."""
    return np.rint(fma(_Y_R, r, fma(_Y_G, g, _Y_B * b)))


@scalar
def cb_of(r, g, b):
    """Return the whole Cb of a pixel, 0 to 255."""
    return np.floor(fma(_CB_R, r, fma(_CB_G, g, fma(_HALF, b, _MIDDLE_HALVES_DOWN))))


@scalar
def cr_of(r, g, b):
    """Return the whole Cr of a pixel, 0 to 255."""
    return np.floor(fma(_CR_B, b, fma(_CR_G, g, fma(_HALF, r, _MIDDLE_HALVES_DOWN))))


@scalar
def mean_of_four(total, odd):
    """Return the whole mean of four samples by their sum, halves up in odd columns, else down."""
    return np.floor(f32(0.25) * (total + (f32(2) if odd else f32(1))))


@scalar
def quantised(coefficient, step):
    """Return the multiple of its step that is nearest to a coefficient, of two the larger one.

    Coefficients are rounded to eighths before, as encoders of whole numbers do: areas of one level,
    of which the dark has many, lie in the middle of two multiples, and must not go either way.
    """
    size = np.rint(f32(8) * abs(coefficient))
    whole = step * np.floor((size + f32(4) * step) / (f32(8) * step))
    return -whole if coefficient < f32(0) else whole


@scalar
def sample_of(value):
    """Return the sample, 0 to 255, of a value about 0 that was transformed back, halves up.

    Areas of one level often lie at a half, as near as the arithmetic's last bits.
    """
    return min(max(np.floor(value + _MIDDLE_AND_HALF), f32(0)), _WHITE)


@scalar
def between_chroma(total, odd):
    """Return the chroma of a pixel: 9, 3, 3 and 1 sixteenths of the four samples around it.

    `total` is nine times the one of the 2 x 2 pixels that it is one of, three times those beside
    and above or below, and the one at the corner. Halves are rounded as libjpeg does: up in even
    columns, down in odd ones.
    """
    return np.floor(f32(0.0625) * (total + (f32(7) if odd else f32(8))))


@scalar
def _level(value):
    return u8(min(max(np.rint(value), f32(0)), _WHITE))


@scalar
def rgb_of(y, cb, cr):
    """Return the 8-bit red, green and blue of a pixel."""
    blue, red = cb - MIDDLE, cr - MIDDLE
    return (
        _level(fma(_R_CR, red, y)),
        _level(fma(_G_CB, blue, fma(_G_CR, red, y))),
        _level(fma(_B_CB, blue, y)),
    )


@scalar
def sum_of_eight(weights, values):
    """Return the weighted sum of eight values, from the first on."""
    a, b, c, d, e, f, g, h = values
    total = fma(weights[1], b, weights[0] * a)
    total = fma(weights[3], d, fma(weights[2], c, total))
    total = fma(weights[5], f, fma(weights[4], e, total))
    return fma(weights[7], h, fma(weights[6], g, total))


@scalar
def _eight(values):
    return values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]


@kernel
def _transform(rows, weights, out):
    """Fill rows (8, N) with weighted sums of rows (8, N): those of row k by `weights` (8, 8)[k]."""
    r0, r1, r2, r3, r4, r5, r6, r7 = _eight(rows)
    for k in range(SIDE):
        made, w = out[k], _eight(weights[k])
        for x in range(made.shape[0]):
            made[x] = sum_of_eight(w, (r0[x], r1[x], r2[x], r3[x], r4[x], r5[x], r6[x], r7[x]))


@kernel
def _turn(rows, out):
    """Turn each block of rows (8, N) over its diagonal."""
    for k in range(SIDE):
        made = out[k]
        for block in range(made.shape[0] // SIDE):
            for x in range(SIDE):
                made[SIDE * block + x] = rows[x, SIDE * block + k]


@kernel
def _quantise(row, steps):
    """Round coefficients (N) to multiples of steps (N), in place."""
    for x in range(row.shape[0]):
        row[x] = quantised(row[x], steps[x])


@kernel
def _shift(row):
    for x in range(row.shape[0]):
        row[x] -= MIDDLE


@kernel
def _round(row):
    for x in range(row.shape[0]):
        row[x] = sample_of(row[x])


@kernel
def _code(plane, steps, forth, back):
    """Quantise the blocks of a plane of samples (H, W), sides multiples of 8, in place."""
    width = plane.shape[1]
    one, other = np.empty((SIDE, width), np.float32), np.empty((SIDE, width), np.float32)
    turned = np.empty((SIDE, width), np.float32)
    for k in range(SIDE):
        for x in range(width):
            turned[k, x] = steps[SIDE * (x % SIDE) + k]
    for top in range(0, plane.shape[0], SIDE):
        rows = plane[top : top + SIDE]
        for k in range(SIDE):
            _shift(rows[k])
        _transform(rows, forth, one)
        _turn(one, other)
        _transform(other, forth, one)
        for k in range(SIDE):
            _quantise(one[k], turned[k])
        _transform(one, back, other)
        _turn(other, one)
        _transform(one, back, rows)
        for k in range(SIDE):
            _round(rows[k])


@kernel
def _samples(flat, y, cb, cr):
    for x in range(y.shape[0]):
        r, g, b = f32(flat[3 * x]), f32(flat[3 * x + 1]), f32(flat[3 * x + 2])
        y[x], cb[x], cr[x] = y_of(r, g, b), cb_of(r, g, b), cr_of(r, g, b)


@inlined
def _split_row(flat, y, cb, cr):
    """Fill rows (N) with the samples of pixels, flat (3 n), the last one repeated."""
    count = flat.shape[0] // 3
    _samples(flat, y[:count], cb[:count], cr[:count])
    y[count:], cb[count:], cr[count:] = y[count - 1], cb[count - 1], cr[count - 1]


@kernel
def _halve(upper, lower, out):
    """Fill a row (N) with means of 2 x 2 samples of two rows (2 N)."""
    for x in range(out.shape[0]):
        total = (upper[2 * x] + upper[2 * x + 1]) + (lower[2 * x] + lower[2 * x + 1])
        out[x] = mean_of_four(total, x & 1)


@kernel
def _blend(near, far, out):
    for x in range(out.shape[0]):
        out[x] = f32(3) * near[x] + far[x]


@kernel
def _widen(left, own, right, out):
    for x in range(own.shape[0]):
        middle = f32(3) * own[x]
        out[2 * x] = between_chroma(middle + left[x], 0)
        out[2 * x + 1] = between_chroma(middle + right[x], 1)


@inlined
def _double(near, far, column, out):
    """Fill a row (2 n) of chroma from the two nearest rows (n); column: room (n + 2)."""
    count = near.shape[0]
    _blend(near, far, column[1 : count + 1])
    column[0], column[count + 1] = column[1], column[count]
    _widen(column[:count], column[1 : count + 1], column[2:], out[: 2 * count])


@kernel
def _join_row(y, cb, cr, levels):
    red, green, blue = levels
    for x in range(red.shape[0]):
        red[x], green[x], blue[x] = rgb_of(y[x], cb[x], cr[x])


@kernel
def code_and_decode(rgb, steps, halved, cosines, inverse, out):
    """Fill 8-bit pixels (H, W, 3) with what JPEG makes of others.

    rgb, out: uint8 arrays (H, W, 3), may be the same. Blocks begin in the upper left corner; those
      that are cut are filled up with the last row and column, as encoders do.
    steps: float32 array (2, 64), `quantisers`.
    halved: whether chroma is of 2 x 2 pixels (4:2:0), else of each (4:4:4).
    cosines, inverse: float32 arrays (8, 8), `COSINES`, and turned over its diagonal.
    """
    height, width = rgb.shape[0], rgb.shape[1]
    rows, columns = (height + UNIT - 1) // UNIT * UNIT, (width + UNIT - 1) // UNIT * UNIT
    y = np.empty((rows, columns), np.float32)
    share = 2 if halved else 1
    blue = np.empty((rows // share, columns // share), np.float32)
    red = np.empty((rows // share, columns // share), np.float32)
    pair_blue, pair_red = np.empty((2, columns), np.float32), np.empty((2, columns), np.float32)
    flat, made = rgb.reshape(height, 3 * width), out.reshape(height, 3 * width)
    for row in range(rows):
        pixels = flat[min(row, height - 1)]
        if halved:
            half = row & 1
            _split_row(pixels, y[row], pair_blue[half], pair_red[half])
            if half:
                _halve(pair_blue[0], pair_blue[1], blue[row >> 1])
                _halve(pair_red[0], pair_red[1], red[row >> 1])
        else:
            _split_row(pixels, y[row], blue[row], red[row])
    _code(y, steps[0], cosines, inverse)
    _code(blue, steps[1], cosines, inverse)
    _code(red, steps[1], cosines, inverse)
    last, half = (height - 1) >> 1, (width + 1) >> 1
    column = np.empty(half + 2, np.float32)
    levels = np.empty(width, np.uint8), np.empty(width, np.uint8), np.empty(width, np.uint8)
    for row in range(height):
        if halved:
            own = row >> 1
            far = min(own + 1, last) if row & 1 else max(own - 1, 0)
            _double(blue[own, :half], blue[far, :half], column, pair_blue[0])
            _double(red[own, :half], red[far, :half], column, pair_red[0])
            _join_row(y[row], pair_blue[0], pair_red[0], levels)
        else:
            _join_row(y[row], blue[row], red[row], levels)
        interleave(levels, made[row])
