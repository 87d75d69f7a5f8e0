"""From the normals of a batch to its lows, a pixel or a sensor site at a time.

The scalar functions are the same as those of `camera`, in the same order.

    images that have red, green and blue at each pixel    row_step -> quad_step
    images behind a mosaic                                 row_step -> site_step -> mosaic_step
    where chroma is smoothed, after either                 -> blur_step -> merge_step
    where JPEG follows                                     -> those of `jpeg_steps`

A window of an image is made of the pixels that it depends on, its span: where chroma is smoothed,
that is wider. Places count within the span; what is random is drawn by the place in the whole. Each
step has as many places in an image as its function `..._places` says.
"""

from __future__ import annotations

import numpy as np

from ..chroma import merge_pixel, smoothed, split_pixel
from ..compiling.compile import fma, scalar
from ..demosaic import BILINEAR, BINNED, BORDER, MALVAR, Around, demosaic_site
from ..develop import develop_pixel
from ..exposure import band_factor, between, expose_pixel, row_above
from ..illumination import CELLS
from ..numbers.random_bits import channel_sample, mosaic_sample
from ..sensor import row_offset, sense_greens, sense_site
from .arrays import bands_of, colour_of, exposure_of, sensor_of

i16 = np.int16
i32 = np.int32
u32 = np.uint32
u64 = np.uint64
f32 = np.float32
f64 = np.float64

# Places are unsigned, and of 32 bits within an image: signed ones might count from an array's end,
# and wider ones cost a GPU twice as much.


@scalar
def column_left(x, width):
    """Return the last cell of a row left of a pixel's column.

    Beside it return how far the column lies on the way to the next cell.
    """
    position = (f64(x) + 0.5) * (CELLS / f64(width)) - 0.5
    position = min(max(position, 0.0), f64(CELLS - 1))
    left = min(i32(position), i32(CELLS - 2))
    return left, f32(position - f64(left))


@scalar
def grid_value(grid, row, column):
    """Interpolate a grid (1024) float32 at a row and a column: first along rows, as the CPU does.

    Row and column are each a cell and the share of the way to the next one.
    """
    at = u32(row[0] * CELLS + column[0])
    upper = grid[at] + (grid[u32(at + u32(1))] - grid[at]) * column[1]
    at = u32(at + u32(CELLS))
    lower = grid[at] + (grid[u32(at + u32(1))] - grid[at]) * column[1]
    return between(upper, lower, row[1])


@scalar
def mean_electrons(number, place, y, x, batch):
    """Return the mean electrons of red, green and blue sites under a pixel.

    place: where `spread_step` put its light, if it did.
    """
    image = batch.images[number]
    draw = batch.draws[image.draw]
    row, column = row_above(y, image.height, CELLS), column_left(x, image.width)
    highlights = draw.highlights
    if draw.spread > 0:
        at = u64(3) * (image.lit + u64(place))
        r, g, b = batch.lit[at], batch.lit[at + u64(1)], batch.lit[at + u64(2)]
        highlights = f32(0)
    else:
        at = image.normal + u64(u32(3) * u32(y * image.width + x))
        linear = batch.linear[draw.linear]
        r = linear[batch.normal[at]]
        g = linear[batch.normal[at + u64(1)]]
        b = linear[batch.normal[at + u64(2)]]
    if draw.coloured:
        r = r * grid_value(batch.colour[number, 0], row, column)
        g = g * grid_value(batch.colour[number, 1], row, column)
        b = b * grid_value(batch.colour[number, 2], row, column)
    light = grid_value(batch.light[number], row, column)
    if draw.band_depth > f32(0):
        light = light * band_factor(y, image.height, bands_of(draw))
    return expose_pixel(r, g, b, light, exposure_of(draw, highlights))


@scalar
def write_made(image, draw, place, levels, batch):
    """Write a pixel of the made window: of the low, or of what JPEG follows."""
    if draw.quality > 0:
        at = u64(3) * (image.made + u64(place))
        batch.made[at], batch.made[at + u64(1)], batch.made[at + u64(2)] = levels
    else:
        at = image.low + u64(u32(3) * place)
        batch.low[at], batch.low[at + u64(1)], batch.low[at + u64(2)] = levels


@scalar
def develop_to(number, pixel, samples, batch):
    """Write a pixel of the low, or of the planes of an image whose chroma is to be smoothed."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    red, green, blue = develop_pixel(samples[0], samples[1], samples[2], colour_of(draw))
    if draw.taps > 0:
        table = batch.fine_table[number]
        bright, r, b = split_pixel(
            i32(table[u32(red)]), i32(table[u32(green)]), i32(table[u32(blue)])
        )
        at = image.plane + u64(pixel)
        batch.bright[at] = i16(bright)
        batch.differences[u64(2) * at] = i16(r)
        batch.differences[u64(2) * at + u64(1)] = i16(b)
    else:
        levels = batch.table[number]
        made = levels[u32(red)], levels[u32(green)], levels[u32(blue)]
        write_made(image, draw, pixel, made, batch)


@scalar
def row_places(image, batch):
    """Count the rows of the sensor."""
    mosaic = batch.draws[image.draw].method >= BILINEAR
    rows = image.span_rows + 2 * BORDER if mosaic else 2 * image.span_rows
    return u32(rows if image.height > 0 else 0)


@scalar
def row_step(number, place, batch):
    """Draw the black level plus noise of a row of the sensor."""
    image = batch.images[number]
    mosaic = batch.draws[image.draw].method >= BILINEAR
    row = u32(place + u32(image.span_top if mosaic else 2 * image.span_top))
    rows = image.height + 2 * BORDER if mosaic else 2 * image.height
    samples = rows * (image.width + 2 * BORDER) if mosaic else 3 * image.height * image.width
    offset = row_offset(row, samples, sensor_of(image, batch))
    batch.rows[image.row + u64(place)] = offset


@scalar
def quad_places(image, batch):
    """Count the pixels of an image that has no mosaic."""
    mosaic = batch.draws[image.draw].method >= BILINEAR
    return u32(0 if mosaic else image.span_rows * image.span_columns)


@scalar
def quad_step(number, place, batch):
    """Make a pixel of a sensor with a quad of sites for each, or red, green and blue at one."""
    image = batch.images[number]
    columns = u32(image.span_columns)
    row = u32(place // columns)
    y = i32(row) + image.span_top
    x = i32(place - u32(row * columns)) + image.span_left
    pixel, pixels = u32(y * image.width + x), u32(image.height * image.width)
    sensor = sensor_of(image, batch)
    red, green, blue = mean_electrons(number, place, y, x, batch)
    at = image.row + u64(u32(u32(2) * row))
    upper = batch.rows[at]
    lower = batch.rows[at + u64(1)]
    if sensor.method == BINNED:
        above, both, below = upper, upper + lower, lower
    else:
        above, both, below = upper, upper, upper
    if batch.draws[image.draw].patterned > 0:
        site = image.pattern + u64(3) * u64(place)
        above = above + batch.pattern[site]
        both = both + batch.pattern[site + u64(1)]
        below = below + batch.pattern[site + u64(2)]
    first, second, third = (
        channel_sample(0, pixel, pixels),
        channel_sample(1, pixel, pixels),
        channel_sample(2, pixel, pixels),
    )
    r = sense_site(red, first, above, sensor)
    if sensor.method == BINNED:
        g = sense_greens(green, second, both, sensor)
    else:
        g = f32(2) * sense_site(green, second, both, sensor)
    b = sense_site(blue, third, below, sensor)
    develop_to(number, place, (r, g, b), batch)


@scalar
def site_places(image, batch):
    """Count the sites of a mosaic."""
    mosaic = batch.draws[image.draw].method >= BILINEAR
    sites = (image.span_rows + 2 * BORDER) * (image.span_columns + 2 * BORDER)
    return u32(sites if mosaic and image.height > 0 else 0)


@scalar
def site_step(number, site, batch):
    """Fill a site of a mosaic, two sites wider to each side than the span."""
    image = batch.images[number]
    columns = u32(image.span_columns + 2 * BORDER)
    local = u32(site // columns)
    row = i32(local) + image.span_top
    column = i32(site - u32(local * columns)) + image.span_left
    y = min(max(i32(row - BORDER), i32(0)), i32(image.height - 1))
    x = min(max(i32(column - BORDER), i32(0)), i32(image.width - 1))
    red, green, blue = mean_electrons(number, site, y, x, batch)
    odd = row & 1
    mean = green if ((column + odd) & 1) == 1 else (blue if odd else red)
    index = mosaic_sample(row, column, u32(image.width + 2 * BORDER))
    offset = batch.rows[image.row + u64(local)]
    if batch.draws[image.draw].patterned > 0:
        offset = offset + batch.pattern[image.pattern + u64(site)]
    dn = sense_site(mean, index, offset, sensor_of(image, batch))
    batch.mosaic[image.mosaic + u64(site)] = dn


@scalar
def mosaic_places(image, batch):
    """Count the pixels of an image behind a mosaic."""
    mosaic = batch.draws[image.draw].method >= BILINEAR
    return u32(image.span_rows * image.span_columns if mosaic else 0)


@scalar
def mosaic_step(number, pixel, batch):
    """Make a pixel out of a mosaic."""
    image = batch.images[number]
    width = u32(image.span_columns)
    y = u32(pixel // width)
    x = u32(pixel - y * width)
    m, first, w = batch.mosaic, image.mosaic, u32(width + u32(2 * BORDER))
    two = u32(BORDER)
    c = u32((y + two) * w + x + two)
    north, south = first + u64(u32(c - w)), first + u64(u32(c + w))
    north2, south2 = first + u64(u32(c - two * w)), first + u64(u32(c + two * w))
    own = first + u64(c)
    one = u64(1)
    around = Around(
        m[north] + m[south],
        m[own - one] + m[own + one],
        m[north2] + m[south2],
        m[own - u64(2)] + m[own + u64(2)],
        (m[north - one] + m[north + one]) + (m[south - one] + m[south + one]),
    )
    odd = i32(y + u32(image.span_top)) & 1
    across = i32(x + u32(image.span_left))
    sharp = f32(1) if batch.draws[image.draw].method == MALVAR else f32(0)
    samples = demosaic_site(m[own], around, ((across + odd) & 1) == 1, odd, sharp)
    develop_to(number, pixel, samples, batch)


@scalar
def blur_places(image, batch):
    """Count the pixels of an image whose chroma is smoothed: the made window's rows, wider."""
    return u32(image.made_rows * image.span_columns if batch.draws[image.draw].taps > 0 else 0)


@scalar
def blur_step(number, place, batch):
    """Blur both colour differences of a pixel along its column."""
    image = batch.images[number]
    width = u32(image.span_columns)
    y = u32(u32(place // width) + u32(image.made_top))
    pixel = u32(place + u32(u32(image.made_top - image.span_top) * width))
    weights, plane, two, one = batch.blur[image.draw], image.plane, u64(2), u64(1)
    below = u32(u32(image.height) - y - u32(1))
    at = two * (plane + u64(pixel))
    red = weights[0] * f32(batch.differences[at])
    blue = weights[0] * f32(batch.differences[at + one])
    for tap in range(u32(1), u32(batch.draws[image.draw].taps)):
        d = u32(tap)
        up = two * (plane + u64(u32(pixel - min(d, y) * width)))
        down = two * (plane + u64(u32(pixel + min(d, below) * width)))
        pair = i32(batch.differences[up]) + i32(batch.differences[down])
        red = fma(weights[d], f32(i32(pair)), red)
        pair = i32(batch.differences[up + one]) + i32(batch.differences[down + one])
        blue = fma(weights[d], f32(i32(pair)), blue)
    batch.columns[at], batch.columns[at + one] = red, blue


@scalar
def merge_places(image, batch):
    """Count the made window's pixels of an image whose chroma is smoothed."""
    return u32(image.made_rows * image.made_columns if batch.draws[image.draw].taps > 0 else 0)


@scalar
def merge_step(number, place, batch):
    """Make a pixel of the low, from its planes and their blur along the row."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    columns = u32(image.made_columns)
    row = u32(place // columns)
    within = u32(place - u32(row * columns))
    x = u32(within + u32(image.made_left))
    pixel = u32(
        u32(row + u32(image.made_top - image.span_top)) * u32(image.span_columns)
        + u32(within + u32(image.made_left - image.span_left))
    )
    weights, plane, two, one = batch.blur[image.draw], image.plane, u64(2), u64(1)
    beyond = u32(u32(image.width) - x - u32(1))
    at = two * (plane + u64(pixel))
    red = weights[0] * batch.columns[at]
    blue = weights[0] * batch.columns[at + one]
    for tap in range(u32(1), u32(draw.taps)):
        d = u32(tap)
        left = two * (plane + u64(u32(pixel - min(d, x))))
        right = two * (plane + u64(u32(pixel + min(d, beyond))))
        red = fma(weights[d], batch.columns[left] + batch.columns[right], red)
        blue = fma(weights[d], batch.columns[left + one] + batch.columns[right + one], blue)
    r = smoothed(f32(batch.differences[at]), red, draw.strength)
    b = smoothed(f32(batch.differences[at + one]), blue, draw.strength)
    made = merge_pixel(f32(batch.bright[plane + u64(pixel)]), r, b)
    write_made(image, draw, place, made, batch)
