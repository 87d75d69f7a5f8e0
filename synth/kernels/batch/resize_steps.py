"""The steps of `resize` for the windows of a batch's pairs, with the same samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import f32, i32, i64, u32, u64
from ..compiling.compile import fma, scalar
from ..resize import fill_taps, tap_count
from .image_state import row_and_column


class OutputLayout(NamedTuple):
    """The memory that the pairs of a batch of N images go to, all of one size.

    channel, pixel: steps from a channel to the next, and from a pixel: (rows * columns, 1) for CHW,
    (1, 3) for HWC.
    """

    low: npt.NDArray[Any]  # uint8 or float32 arrays
    normal: npt.NDArray[Any]  # uint8 or float32 arrays
    shift: np.float32  # a sample becomes (sample - shift) * scale
    scale: np.float32  # a sample becomes (sample - shift) * scale
    channel: int
    pixel: int


class Resizing(NamedTuple):
    """The filters that bring the windows of a batch of N images to one size.

    first: int32 array (N * (rows + columns)), the first input pixel of each row, then of each
    column, of each image. weights: float32 array (N * (rows + columns) * most) of each image: of
    the rows, one tap after the other, then of the columns.
    """

    rows: int  # the size
    columns: int  # the size
    most: int  # of no image are there more taps
    first: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]  # (2 N), taps of the rows and of the columns of each image
    weights: npt.NDArray[np.float32]


@scalar
def flip_thread_count(image, draw, forms):
    """Count the pixels of an image's window."""
    return u32(image.rows * image.columns if image.height > 0 else 0)


@scalar
def _taken_from(image, place, rows, columns):
    """Return which pixel (y, x) of a picture comes to a place, flipped and turned."""
    y, x = row_and_column(place, u32(rows if image.turned else columns))
    if image.turned:
        y, x = x, y
    if image.down:
        y = u32(rows - u32(1) - y)
    if image.across:
        x = u32(columns - u32(1) - x)
    return y, x


@scalar
def goes_to(image, y, x, rows, columns):
    """Return row and column that a pixel (y, x) of a picture comes to, flipped and turned."""
    if image.down:
        y = u32(rows - u32(1) - y)
    if image.across:
        x = u32(columns - u32(1) - x)
    return (x, y) if image.turned else (y, x)


@scalar
def flip_step(number, place, batch, forms):
    """Copy a pixel of a pair's window to where it belongs."""
    image = batch.images[number]
    columns = u32(image.columns)
    y, x = _taken_from(image, place, u32(image.rows), columns)
    low = image.low + u64(u32(3) * u32(y * columns + x))
    y, x = u32(y + u32(image.top)), u32(x + u32(image.left))
    normal = image.normal + u64(u32(3) * u32(y * u32(image.width) + x))
    for channel in range(3):
        to = u64(u32(forms.pixel) * place) + u64(u32(forms.channel) * u32(channel))
        value = f32(batch.low[low + u64(channel)])
        forms.low[image.formed_low + to] = (value - forms.shift) * forms.scale
        value = f32(batch.normal[normal + u64(channel)])
        forms.normal[image.formed_normal + to] = (value - forms.shift) * forms.scale


@scalar
def tap_thread_count(image, draw, resizing):
    """Count the rows and columns that a window is brought to."""
    return u32(resizing.rows + resizing.columns if image.height > 0 else 0)


@scalar
def tap_step(number, place, batch, forms, resizing):
    """Find the filter of a row or a column."""
    image = batch.images[number]
    sides = i64(resizing.rows) + i64(resizing.columns)
    at = i64(number) * sides
    down = i64(place) < i64(resizing.rows)
    before = i64(image.rows if down else image.columns)
    after = i64(resizing.rows if down else resizing.columns)
    within = i64(place) if down else i64(place) - i64(resizing.rows)
    begin = at if down else at + i64(resizing.rows)
    to = begin * i64(resizing.most) + within
    resizing.first[at + i64(place)] = i32(
        fill_taps(before, after, within, resizing.weights, to, after)
    )
    if within == 0:
        side = i64(2) * i64(number) + i64(0 if down else 1)
        resizing.counts[side] = i32(tap_count(before, after))


@scalar
def resized_thread_count(image, draw, resizing):
    """Count the pixels that a window is brought to."""
    return u32(resizing.rows * resizing.columns if image.height > 0 else 0)


@scalar
def resized_step(number, place, batch, forms, resizing):
    """Find a pixel of a resized pair, and put it where it belongs.

    Pixels are counted as they lie before the picture is turned: threads that are neighbours then
    read neighbours, of which each reads more than it writes.

    It is of sums down, which `resize` has for a whole row, sums across. Both pictures are summed in
    one loop, whose places are of 32 bits within a picture: filters and edges are found once.
    """
    image = batch.images[number]
    y, x = row_and_column(place, u32(resizing.columns))
    rows, columns = u64(resizing.rows), u64(resizing.columns)
    at, most = u64(number) * (rows + columns), u64(resizing.most)
    down, beside = at * most + u64(y), (at + rows) * most + u64(x)
    top, column = resizing.first[at + u64(y)], resizing.first[at + rows + u64(x)]
    count_down = u32(resizing.counts[u64(2) * u64(number)])
    count_across = u32(resizing.counts[u64(2) * u64(number) + u64(1)])
    bottom, right = i32(image.rows - i32(1)), i32(image.columns - i32(1))
    low_row, normal_row = u32(u32(3) * u32(image.columns)), u32(u32(3) * u32(image.width))
    low, one, two = image.low, u64(1), u64(2)
    normal = image.normal + u64(image.top) * u64(normal_row) + u64(3) * u64(image.left)
    r = g = b = red = green = blue = f32(0)
    i = u32(0)  # `while`, as Numba's ranges count in 64 bits, and a GPU is slow at that
    while i < count_across:
        share = resizing.weights[beside]
        left = u32(u32(3) * u32(min(max(column, i32(0)), right)))
        r_down = g_down = b_down = red_down = green_down = blue_down = f32(0)
        row, tap, j = top, down, u32(0)
        while j < count_down:
            weight = resizing.weights[tap]
            inside = u32(min(max(row, i32(0)), bottom))
            sample = low + u64(u32(u32(inside * low_row) + left))
            r_down = fma(weight, f32(batch.low[sample]), r_down)
            g_down = fma(weight, f32(batch.low[sample + one]), g_down)
            b_down = fma(weight, f32(batch.low[sample + two]), b_down)
            sample = normal + u64(u32(u32(inside * normal_row) + left))
            red_down = fma(weight, f32(batch.normal[sample]), red_down)
            green_down = fma(weight, f32(batch.normal[sample + one]), green_down)
            blue_down = fma(weight, f32(batch.normal[sample + two]), blue_down)
            row, tap, j = i32(row + i32(1)), tap + rows, u32(j + u32(1))
        r, g, b = fma(share, r_down, r), fma(share, g_down, g), fma(share, b_down, b)
        red = fma(share, red_down, red)
        green = fma(share, green_down, green)
        blue = fma(share, blue_down, blue)
        column, beside, i = i32(column + i32(1)), beside + columns, u32(i + u32(1))
    lows, normals = (r, g, b), (red, green, blue)
    goes_y, goes_x = goes_to(image, y, x, u32(resizing.rows), u32(resizing.columns))
    across = u32(resizing.rows if image.turned else resizing.columns)
    to = u64(u32(forms.pixel) * u32(u32(goes_y * across) + goes_x))
    for channel in range(3):
        into = to + u64(u32(forms.channel) * u32(channel))
        value = _level(lows[channel])
        forms.low[image.formed_low + into] = (value - forms.shift) * forms.scale
        value = _level(normals[channel])
        forms.normal[image.formed_normal + into] = (value - forms.shift) * forms.scale


@scalar
def _level(value):
    return min(max(np.rint(value), f32(0)), f32(255))
