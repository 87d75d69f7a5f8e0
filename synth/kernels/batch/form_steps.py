"""The windows of a batch's pairs, resized, flipped and turned, as what a model trains on.

It is what `forms` does to one image, with the same samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiling.compile import fma, scalar
from ..taps import fill_taps, tap_count

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
    width = i64(image.width)
    normal = image.normal + u64(i64(3) * (i64(image.top) * width + i64(image.left)))
    levels = _resized(batch.low, image.low, i64(image.columns), pixel, number, image, resizing)
    for channel in range(3):
        at = image.formed_low + to + u64(u32(forms.channel) * u32(channel))
        forms.low[at] = (levels[channel] - forms.shift) * forms.scale
    levels = _resized(batch.normal, normal, width, pixel, number, image, resizing)
    for channel in range(3):
        at = image.formed_normal + to + u64(u32(forms.channel) * u32(channel))
        forms.normal[at] = (levels[channel] - forms.shift) * forms.scale


@scalar
def _resized(samples, begin, across, pixel, number, image, resizing):
    """Return the levels of a pixel: of sums down, which `forms` has for a whole row, sums across.

    Parameters
    ----------
    samples : uint8 array
    begin : int
        Where the window's first sample lies.
    across : int
        Pixels from a row to the next.
    pixel : (y, x)
    number : int
        Of the image.
    """
    y, x = i64(pixel[0]), i64(pixel[1])
    rows, columns = i64(resizing.rows), i64(resizing.columns)
    at = i64(number) * (rows + columns)
    top, left = resizing.first[at + y], resizing.first[at + rows + x]
    down = at * i64(resizing.most) + y
    beside = (at + rows) * i64(resizing.most) + x
    height, width = i64(image.rows), i64(image.columns)
    red = green = blue = f32(0)
    for i in range(tap_count(width, columns)):
        share = resizing.weights[beside + i * columns]
        column = i64(3) * min(max(left + i, i64(0)), width - i64(1))
        red_down = green_down = blue_down = f32(0)
        for j in range(tap_count(height, rows)):
            weight = resizing.weights[down + j * rows]
            row = min(max(top + j, i64(0)), height - i64(1))
            sample = begin + u64(i64(3) * row * across + column)
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
