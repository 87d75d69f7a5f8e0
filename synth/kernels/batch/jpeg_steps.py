"""JPEG of a batch: what `degradations.jpeg` does to a picture, a sample at a time.

    made -> sample_step -> transform_step (down) -> quantise_step (across)
         -> restore_step (across) -> return_step (down) -> decode_step -> low

The samples of an image are those of Y, then of Cb and Cr, each a plane of whole blocks.
"""

from __future__ import annotations

from ..arrays import f32, u32, u64
from ..compiling.compile import scalar
from ..degradations.jpeg import (
    MIDDLE,
    SIDE,
    UNIT,
    between_chroma,
    cb_of,
    cr_of,
    mean_of_four,
    quantised,
    rgb_of,
    sample_of,
    sum_of_eight,
    y_of,
)
from .image_state import row_and_column


@scalar
def padded(side):
    """Return a side of the made part of a picture, in whole blocks."""
    return u32((u32(side) + u32(UNIT - 1)) // u32(UNIT) * u32(UNIT))


@scalar
def sample_thread_count(image, draw, beside):
    """Count the samples of an image that JPEG follows."""
    y = u32(padded(image.made_rows) * padded(image.made_columns))
    chroma = u32(y // u32(2) if draw.halved > 0 else u32(2) * y)
    return u32(y + chroma if draw.degradations_jpeg_quality > 0 and image.height > 0 else u32(0))


@scalar
def sample_at(image, draw, place):
    """Return of a sample: its plane, where that begins, its width, its row and column in it."""
    rows, columns = padded(image.made_rows), padded(image.made_columns)
    bright = u32(rows * columns)
    if place < bright:
        row, column = row_and_column(place, columns)
        return u32(0), u32(0), columns, row, column
    share = u32(2 if draw.halved > 0 else 1)
    width = u32(columns // share)
    size = u32(u32(rows // share) * width)
    plane = u32(u32(1) + u32(place - bright) // size)
    begin = u32(bright + u32(plane - u32(1)) * size)
    row, column = row_and_column(u32(place - begin), width)
    return plane, begin, width, row, column


@scalar
def made_sample(image, plane, y, x, batch):
    """Return Y, Cb or Cr of a made pixel; beyond the last one its row and column are repeated."""
    row, column = min(u32(y), u32(image.made_rows - 1)), min(u32(x), u32(image.made_columns - 1))
    at = image.made + u64(u32(row * u32(image.made_columns) + column))
    at = u64(3) * at
    r, g, b = (f32(batch.made[at]), f32(batch.made[at + u64(1)]), f32(batch.made[at + u64(2)]))
    if plane == u32(0):
        return y_of(r, g, b)
    return cb_of(r, g, b) if plane == u32(1) else cr_of(r, g, b)


@scalar
def sample_step(number, place, batch):
    """Find a sample, about 0."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    plane, _, _, row, column = sample_at(image, draw, place)
    if plane > u32(0) and draw.halved > 0:
        y, x = u32(2) * row, u32(2) * column
        upper = made_sample(image, plane, y, x, batch) + made_sample(
            image, plane, y, x + u32(1), batch
        )
        lower = made_sample(image, plane, y + u32(1), x, batch) + made_sample(
            image, plane, y + u32(1), x + u32(1), batch
        )
        value = mean_of_four(upper + lower, column & u32(1))
    else:
        value = made_sample(image, plane, row, column, batch)
    batch.samples[image.coded + u64(place)] = value - MIDDLE


@scalar
def eight_down(values, first, width):
    """Return eight values of a column of a block."""
    w = u64(width)
    return (
        values[first],
        values[first + w],
        values[first + u64(2) * w],
        values[first + u64(3) * w],
        values[first + u64(4) * w],
        values[first + u64(5) * w],
        values[first + u64(6) * w],
        values[first + u64(7) * w],
    )


@scalar
def transformed_value(number, place, values, down, back, batch):
    """Return a coefficient of eight samples, or a sample of eight coefficients (back).

    They are of the column of a block that a place lies in (down), or of the row.
    """
    image, side = batch.images[number], u32(SIDE)
    _, _, width, row, column = sample_at(image, batch.draws[image.draw], place)
    k, step = (u32(row % side), width) if down else (u32(column % side), u32(1))
    eight = eight_down(values, image.coded + u64(u32(place - u32(k * step))), step)
    weights = eight_down(batch.cosines, u64(k if back else side * k), side if back else u32(1))
    return sum_of_eight(weights, eight)


@scalar
def transform_step(number, place, batch):
    """Transform a column of a block of samples."""
    value = transformed_value(number, place, batch.samples, True, False, batch)
    batch.coefficients[batch.images[number].coded + u64(place)] = value


@scalar
def quantise_step(number, place, batch):
    """Transform a row of a block, and quantise."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    plane, _, _, row, column = sample_at(image, draw, place)
    value = transformed_value(number, place, batch.coefficients, False, False, batch)
    table = batch.quantisers[draw.degradations_jpeg_quality, u32(1) if plane > u32(0) else u32(0)]
    at = u32(SIDE) * u32(row % u32(SIDE)) + u32(column % u32(SIDE))
    batch.samples[image.coded + u64(place)] = quantised(value, table[at])


@scalar
def restore_step(number, place, batch):
    """Transform a row of a block back."""
    value = transformed_value(number, place, batch.samples, False, True, batch)
    batch.coefficients[batch.images[number].coded + u64(place)] = value


@scalar
def return_step(number, place, batch):
    """Transform a column of a block back, to a whole sample."""
    value = transformed_value(number, place, batch.coefficients, True, True, batch)
    batch.samples[batch.images[number].coded + u64(place)] = sample_of(value)


@scalar
def decode_thread_count(image, draw, beside):
    """Count the window's pixels of an image that JPEG follows."""
    coded = draw.degradations_jpeg_quality > 0 and image.height > 0
    return u32(image.rows * image.columns if coded else 0)


@scalar
def decode_step(number, place, batch):
    """Make a pixel of the low of its samples."""
    image = batch.images[number]
    row, column = row_and_column(place, u32(image.columns))
    y = u32(row + u32(image.top - image.made_top))
    x = u32(column + u32(image.left - image.made_left))
    rows, width = padded(image.made_rows), padded(image.made_columns)
    size = u32(rows * width)
    bright = batch.samples[image.coded + u64(u32(y * width + x))]
    blue = image.coded + u64(size)
    if batch.draws[image.draw].halved > 0:
        red = blue + u64(u32(size // u32(4)))
        last = u32(image.made_rows - 1) >> u32(1), u32(image.made_columns - 1) >> u32(1)
        cb = halved_at(batch.samples, blue, y, x, width >> u32(1), last)
        cr = halved_at(batch.samples, red, y, x, width >> u32(1), last)
    else:
        at = u64(u32(y * width + x))
        cb = batch.samples[blue + at]
        cr = batch.samples[blue + u64(size) + at]
    to = image.low + u64(u32(3) * place)
    r, g, b = rgb_of(bright, cb, cr)
    batch.low[to], batch.low[to + u64(1)], batch.low[to + u64(2)] = r, g, b


@scalar
def halved_at(samples, first, y, x, width, last):
    """Return the chroma of a pixel in a plane of samples of 2 x 2 pixels; `last` of row, column."""
    row, column = u32(y >> u32(1)), u32(x >> u32(1))
    far = min(u32(row + u32(1)), last[0]) if y & u32(1) else u32(max(row, u32(1)) - u32(1))
    beside = min(u32(column + u32(1)), last[1]) if x & u32(1) else u32(max(column, u32(1)) - u32(1))
    near_row, far_row = first + u64(u32(row * width)), first + u64(u32(far * width))
    own = f32(3) * samples[near_row + u64(column)] + samples[far_row + u64(column)]
    other = f32(3) * samples[near_row + u64(beside)] + samples[far_row + u64(beside)]
    return between_chroma(f32(3) * own + other, x & u32(1))
