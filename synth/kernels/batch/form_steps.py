"""The windows of a batch's pairs, resized, flipped and turned, as what a model trains on.

It is what `forms` does to one image, with the same samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiling.compile import fma, scalar
from ..taps import fill_taps, tap_count

i32 = np.int32
i64 = np.int64
u32 = np.uint32
u64 = np.uint64
f32 = np.float32


class Forms(NamedTuple):
    """Where the pairs of a batch of N images go, all of one size.

    Attributes
    ----------
    low, normal : uint8 or float32 arrays
    shift, scale : float32
        A sample becomes (sample - shift) * scale.
    channel, pixel : int
        Steps from a channel to the next, and from a pixel: (rows * columns, 1) for CHW, (1, 3) for
        HWC.
    """

    low: npt.NDArray[Any]
    normal: npt.NDArray[Any]
    shift: np.float32
    scale: np.float32
    channel: int
    pixel: int


class Resizing(NamedTuple):
    """The filters that bring the windows of a batch of N images to one size.

    Attributes
    ----------
    rows, columns : int
        The size.
    most : int
        Of no image are there more taps.
    first : int64 array (N * (rows + columns))
        The first input pixel of each row, then of each column, of each image.
    weights : float32 array (N * (rows + columns) * most)
        Of each image: of the rows, one tap after the other, then of the columns.
    """

    rows: int
    columns: int
    most: int
    first: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]


@scalar
def form_places(image, batch):
    """Count the pixels of an image's window."""
    return u32(image.rows * image.columns if image.height > 0 else 0)


@scalar
def _taken_from(image, place, rows, columns):
    """Return which pixel (y, x) of a picture comes to a place, flipped and turned."""
    across = u32(rows if image.turned else columns)
    y = u32(place // across)
    x = u32(place - u32(y * across))
    if image.turned:
        y, x = x, y
    if image.down:
        y = u32(rows - u32(1) - y)
    if image.across:
        x = u32(columns - u32(1) - x)
    return y, x


@scalar
def form_step(number, place, batch, forms):
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
def tap_places(image, resizing):
    """Count the rows and columns that a window is brought to."""
    return u32(resizing.rows + resizing.columns if image.height > 0 else 0)


@scalar
def tap_step(number, place, batch, resizing):
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
    first = fill_taps(before, after, within, resizing.weights, to, after)
    resizing.first[at + i64(place)] = first


@scalar
def resized_places(image, resizing):
    """Count the pixels that a window is brought to."""
    return u32(resizing.rows * resizing.columns if image.height > 0 else 0)


@scalar
def resized_step(number, place, batch, forms, resizing):
    """Find a pixel of a resized pair, and put it where it belongs."""
    image = batch.images[number]
    pixel = _taken_from(image, place, u32(resizing.rows), u32(resizing.columns))
    to = u64(u32(forms.pixel) * place)
    across = i32(image.width)
    begin = image.normal + u64(i64(3) * (i64(image.top) * i64(image.width) + i64(image.left)))
    low = _resized(batch.low, (image.low, i32(image.columns)), pixel, number, image, resizing)
    normal = _resized(batch.normal, (begin, across), pixel, number, image, resizing)
    for channel in range(3):
        beside = to + u64(u32(forms.channel) * u32(channel))
        forms.low[image.formed_low + beside] = (low[channel] - forms.shift) * forms.scale
        forms.normal[image.formed_normal + beside] = (normal[channel] - forms.shift) * forms.scale


@scalar
def _resized(samples, window, pixel, number, image, resizing):
    """Return the levels of a pixel: of sums down, which `forms` has for a whole row, sums across.

    Parameters
    ----------
    samples : uint8 array
    window : (int, int)
        Where its first sample lies, and the pixels from a row to the next.
    pixel : (y, x)
    number : int
        Of the image.
    """
    y, x = i64(pixel[0]), i64(pixel[1])
    rows, columns = i64(resizing.rows), i64(resizing.columns)
    at, most = i64(number) * (rows + columns), i64(resizing.most)
    down, beside = at * most + y, (at + rows) * most + x
    top, left = i32(resizing.first[at + y]), i32(resizing.first[at + rows + x])
    height, width = i32(image.rows), i32(image.columns)
    begin, across = window
    count_down, count_across = tap_count(height, rows), tap_count(width, columns)
    red = green = blue = f32(0)
    # 32 bits within a window, which a GPU counts in faster.
    for i in range(count_across):
        share = resizing.weights[beside + i * columns]
        column = i32(min(max(i32(left + i32(i)), i32(0)), i32(width - i32(1))))
        red_down = green_down = blue_down = f32(0)
        for j in range(count_down):
            weight = resizing.weights[down + j * rows]
            row = i32(min(max(i32(top + i32(j)), i32(0)), i32(height - i32(1))))
            sample = begin + u64(u32(u32(3) * u32(u32(row * across) + u32(column))))
            red_down = fma(weight, f32(samples[sample]), red_down)
            green_down = fma(weight, f32(samples[sample + u64(1)]), green_down)
            blue_down = fma(weight, f32(samples[sample + u64(2)]), blue_down)
        red = fma(share, red_down, red)
        green = fma(share, green_down, green)
        blue = fma(share, blue_down, blue)
    return _level(red), _level(green), _level(blue)


@scalar
def _level(value):
    return min(max(np.rint(value), f32(0)), f32(255))
