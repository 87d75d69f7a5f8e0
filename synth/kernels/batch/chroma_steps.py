"""The smoothing of a batch's chroma, a pixel at a time: down first, then across and into the low.

It is what `chroma` does to one image, from the planes that `pixel_steps` fills.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import f32, i32, i64, u32
from ..chroma import merge_pixel, smoothed
from ..compiling.compile import fma, scalar
from .arrays import high_half, low_half, pack_floats, unpack_floats
from .image_state import Output, output_of
from .pixel_steps import write_made


class Smoothing(NamedTuple):
    """An image whose chroma is smoothed."""

    height: np.uint32  # of the picture
    width: np.uint32  # of the picture
    top: np.uint32  # of the made window in it
    left: np.uint32  # of the made window in it
    beside: np.uint32  # columns of its span left of that window
    above: np.uint32  # rows of its span above it
    columns: np.uint32  # places in a row: the span's pixels, or the window's
    span_columns: np.uint32
    taps: np.uint32
    weights: npt.NDArray[np.float32]  # float32 array
    bright: npt.NDArray[np.int16]  # arrays of `Batch`, from the span's first pixel on
    differences: npt.NDArray[np.int32]  # arrays of `Batch`, from the span's first pixel on
    blurred: npt.NDArray[np.uint64]  # arrays of `Batch`, from the span's first pixel on
    strength: np.float32
    output: Output


@scalar
def _smoothing_of(number, columns, batch):
    image = batch.images[number]
    draw = batch.draws[image.draw]
    return Smoothing(
        u32(image.height),
        u32(image.width),
        u32(image.made_top),
        u32(image.made_left),
        u32(image.made_left - image.span_left),
        u32(image.made_top - image.span_top),
        u32(columns),
        u32(image.span_columns),
        u32(draw.taps),
        batch.blur[image.draw],
        batch.bright[i64(image.plane) :],
        batch.differences[i64(image.plane) :],
        batch.columns[i64(image.plane) :],
        draw.isp_chroma_strength,
        output_of(number, batch),
    )


@scalar
def blurred_image(number, batch):
    """Return an image whose chroma is blurred along columns, all of its span's."""
    return _smoothing_of(number, batch.images[number].span_columns, batch)


@scalar
def merged_image(number, batch):
    """Return an image whose chroma is blurred along rows, in the made window."""
    return _smoothing_of(number, batch.images[number].made_columns, batch)


@scalar
def blur_thread_count(image, draw, beside):
    """Count the pixels of an image whose chroma is smoothed: the made window's rows, wider."""
    return u32(image.made_rows * image.span_columns if draw.taps > 0 else 0)


@scalar
def blur_step(image, place, row, column, fetched, batch):
    """Blur both colour differences of a pixel along its column."""
    width, weights, differences = image.span_columns, image.weights, image.differences
    y = u32(row + image.top)
    pixel = u32(place + u32(image.above * width))
    below = u32(image.height - y - u32(1))
    own = differences[pixel]
    red, blue = weights[0] * f32(low_half(own)), weights[0] * f32(high_half(own))
    d = u32(1)
    while d < image.taps:
        up = differences[u32(pixel - u32(min(d, y) * width))]
        down = differences[u32(pixel + u32(min(d, below) * width))]
        weight = weights[d]
        red = fma(weight, f32(i32(low_half(up) + low_half(down))), red)
        blue = fma(weight, f32(i32(high_half(up) + high_half(down))), blue)
        d = u32(d + u32(1))
    image.blurred[pixel] = pack_floats(red, blue)


@scalar
def merge_thread_count(image, draw, beside):
    """Count the made window's pixels of an image whose chroma is smoothed."""
    return u32(image.made_rows * image.made_columns if draw.taps > 0 else 0)


@scalar
def merge_step(image, place, row, column, fetched, batch):
    """Make a pixel of the low, from its planes and their blur along the row."""
    x = u32(column + image.left)
    pixel = u32(u32(u32(row + image.above) * image.span_columns) + u32(column + image.beside))
    weights, blurred = image.weights, image.blurred
    beyond = u32(image.width - x - u32(1))
    red, blue = unpack_floats(blurred[pixel])
    red, blue = weights[0] * red, weights[0] * blue
    d = u32(1)
    while d < image.taps:
        left = unpack_floats(blurred[u32(pixel - min(d, x))])
        right = unpack_floats(blurred[u32(pixel + min(d, beyond))])
        weight = weights[d]
        red = fma(weight, left[0] + right[0], red)
        blue = fma(weight, left[1] + right[1], blue)
        d = u32(d + u32(1))
    own = image.differences[pixel]
    r = smoothed(f32(low_half(own)), red, image.strength)
    b = smoothed(f32(high_half(own)), blue, image.strength)
    made = merge_pixel(f32(image.bright[pixel]), r, b)
    write_made(image.output, place, made, batch)
