"""Windows of pictures, resized, flipped and turned, as what a model trains on, on the CPU.

The filter along one axis, of CPU and GPU, is a triangle as wide as an output pixel where a picture
shrinks, and linear interpolation where it grows, with edges repeated: DALI's antialiased linear
resize. The same on a GPU, with the same samples: `batch.resize_steps`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Pixels, Window, f32, f64, i64, u8
from .compiling.compile import fma, inlined, kernel, row_kernel, scalar
from .compiling.vectors import ROWS, add_pixels

DOUBLE_PRECISION = True  # of taps, all that a GPU takes from here; for `compiling.for_cuda`


@scalar
def radius_of(before, after):
    """Return how far the filter reaches, in input pixels."""
    return max(f64(before) / f64(after), 1.0)


@scalar
def tap_count(before, after):
    """Return of how many input pixels an output pixel is the sum, at most."""
    return i64(np.floor(2.0 * radius_of(before, after))) + i64(1)


@scalar
def fill_taps(before, after, at, weights, place, step):
    """Write the weights of an output pixel's inputs; return the first of them, maybe off the edge.

    before, after: pixels of the input and of the output.
    at: the output pixel.
    weights: float32 array, gets `tap_count` of them, which sum to 1, at `place`, `place + step` and
      so on.
    place, step: int.
    """
    radius = radius_of(before, after)
    centre = (f64(at) + 0.5) * (f64(before) / f64(after)) - 0.5
    first = -np.floor(radius - centre)  # rounded up
    total = 0.0
    for k in range(tap_count(before, after)):
        total += max(1.0 - abs(first + f64(k) - centre) / radius, 0.0)
    for k in range(tap_count(before, after)):
        weight = max(1.0 - abs(first + f64(k) - centre) / radius, 0.0)
        weights[place + k * step] = f32(weight / total)
    return i64(first)


class Taps(NamedTuple):
    """The filter of an axis: the weighted inputs of each of n output pixels."""

    first: npt.NDArray[np.int64]  # (n), the first input pixel; it may lie beyond the edge
    weights: npt.NDArray[np.float32]  # (n, k) of it and the next ones; they sum to 1


@kernel
def _filter(before, after):
    """Return the filter of an axis, as `Taps` have it."""
    count = tap_count(before, after)
    first = np.empty(after, np.int64)
    weights = np.empty((after, count), np.float32)
    flat = weights.reshape(after * count)
    for at in range(after):
        first[at] = fill_taps(before, after, at, flat, at * count, 1)
    return first, weights


@lru_cache(maxsize=1024)
def resize_taps(before: int, after: int) -> Taps:
    """Return the filter that brings so many pixels to another number of them.

    Examples
    --------
    >>> taps = resize_taps(4, 2)
    >>> taps.first.tolist(), taps.weights[0].tolist()
    ([-1, 1], [0.125, 0.375, 0.375, 0.125])
    """
    first, weights = _filter(before, after)
    used = np.flatnonzero(weights.any(axis=0))
    kept = slice(int(used[0]), int(used[-1]) + 1)
    return Taps(first + kept.start, np.ascontiguousarray(weights[:, kept]))


@inlined
def _rows_of(rows, window, y, down, k):
    """Return a window's part of an input row, and its weight for a tap: 0 beyond the last one."""
    taps = down.weights.shape[1]
    weight = down.weights[y, k] if k < taps else f32(0)
    at = window.top + min(max(down.first[y] + k, 0), window.height - 1)
    return weight, rows[at][3 * window.left : 3 * (window.left + window.width)]


@inlined
def _sum_rows(rows, window, y, down, line):
    """Fill a flat row of float32 pixels with the weighted sum of rows, two at a time."""
    for k in range(0, down.weights.shape[1], 2):
        w0, r0 = _rows_of(rows, window, y, down, k)
        w1, r1 = _rows_of(rows, window, y, down, k + 1)
        if k == 0:
            for x in range(line.shape[0]):
                line[x] = fma(w1, f32(r1[x]), w0 * f32(r0[x]))
        else:
            for x in range(line.shape[0]):
                line[x] = fma(w1, f32(r1[x]), fma(w0, f32(r0[x]), line[x]))


@row_kernel
def _interleave_rows(lines, rows):
    """Fill `rows` (4 N) with the samples of four lines (N) in turns."""
    one, two, three, four = lines
    for x in range(one.shape[0]):
        rows[4 * x] = one[x]
        rows[4 * x + 1] = two[x]
        rows[4 * x + 2] = three[x]
        rows[4 * x + 3] = four[x]


@row_kernel
def _round_rows(sums, rows):
    """Fill four rows (N) of levels from their sums in turns (4 N)."""
    one, two, three, four = rows
    for x in range(one.shape[0]):
        one[x] = _level(sums[4 * x])
        two[x] = _level(sums[4 * x + 1])
        three[x] = _level(sums[4 * x + 2])
        four[x] = _level(sums[4 * x + 3])


@scalar
def _level(value):
    return u8(min(max(np.rint(value), f32(0)), f32(255)))


@kernel
def _resize(image, window, down, across, made):
    """Fill a picture (h, w, 3) with a resized window; `down` and `across` are its `Taps`."""
    width, taps = window.width, across.weights.shape[1]
    height, columns = made.shape[0], 3 * made.shape[1]
    reach = max(0, -across.first[0], across.first[-1] + taps - width)
    lines = np.empty((ROWS, 3 * width), np.float32)
    padded = np.zeros(ROWS * (3 * (width + 2 * reach) + 1), np.float32)
    pixel, first = 3 * ROWS, 3 * ROWS * reach
    last = first + pixel * (width - 1)
    sums = np.empty(ROWS * (columns + 1), np.float32)
    starts = pixel * (across.first + reach)
    weights = across.weights.reshape(across.weights.size)
    rows = image.reshape(image.shape[0], 3 * image.shape[1])
    out = made.reshape(height, columns)
    for y in range(0, height, ROWS):
        for i in range(ROWS):  # beyond the last row it is made again
            _sum_rows(rows, window, min(y + i, height - 1), down, lines[i])
        _interleave_rows((lines[0], lines[1], lines[2], lines[3]), padded[first : last + pixel])
        for x in range(reach):
            for i in range(pixel):
                padded[pixel * x + i] = padded[first + i]
                padded[last + pixel * (1 + x) + i] = padded[last + i]
        for x in range(made.shape[1]):
            add_pixels(padded, weights, sums, (starts[x], x * taps, pixel * x), taps)
        below = min(y + 1, height - 1), min(y + 2, height - 1), min(y + 3, height - 1)
        _round_rows(sums, (out[y], out[below[0]], out[below[1]], out[below[2]]))


def resized(image: Pixels, window: Window, size: tuple[int, int]) -> Pixels:
    """Return a window of an image, brought to a size (height, width)."""
    made = np.empty((*size, 3), np.uint8)
    down, across = resize_taps(window.height, size[0]), resize_taps(window.width, size[1])
    _resize(image, window, down, across, made)
    return made


@kernel
def flip_normalize(image, flips, shift, scale, steps, out):
    """Fill flat samples with a picture (H, W, 3), flipped and turned.

    flips: three int, whether it is flipped across, down, and turned: rows become columns, after the
      flips.
    shift, scale: float32, a level becomes (level - shift) * scale.
    steps: three int, from a channel of `out` to the next, from a row, and from a column.
    """
    across, down, turned = flips
    channel, row_step, column_step = steps
    height, width = image.shape[0], image.shape[1]
    flat = image.reshape(3 * height * width)
    first = (3 * width * (height - 1) if down else 0) + (3 * (width - 1) if across else 0)
    beside, below = -3 if across else 3, -3 * width if down else 3 * width
    rows, columns = height, width
    if turned:
        rows, columns, beside, below = width, height, below, beside
    for y in range(rows):
        for c in range(3):
            source, at = first + c + y * below, c * channel + y * row_step
            if column_step != 1:
                for x in range(columns):
                    level = f32(flat[source + x * beside])
                    out[at + x * column_step] = (level - shift) * scale
                continue
            line = out[at : at + columns]
            if beside == 3:
                levels = flat[source : source + 3 * columns - 2]
                for x in range(columns):
                    line[x] = (f32(levels[3 * x]) - shift) * scale
            elif beside == -3:
                levels = flat[source - 3 * (columns - 1) : source + 1]
                for x in range(columns):
                    line[columns - 1 - x] = (f32(levels[3 * x]) - shift) * scale
            else:
                for x in range(columns):
                    line[x] = (f32(flat[source + x * beside]) - shift) * scale


@kernel
def normalize(levels, shift, scale, out):
    """Fill samples with (level - shift) * scale of flat levels."""
    for i in range(len(levels)):
        out[i] = (f32(levels[i]) - shift) * scale
