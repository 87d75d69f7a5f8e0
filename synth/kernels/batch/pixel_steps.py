"""From the normals of a batch to its lows, a pixel or a sensor site at a time.

The scalar functions are the same as those of `camera`, in the same order.

    images that have red, green and blue at each pixel    row_step -> quad_step
    images behind a mosaic                                 row_step -> site_step -> mosaic_step
    where developed light has noise, before either         gaussian_step
    where chroma is smoothed, after either                 -> those of `chroma_steps`
    where JPEG follows                                     -> those of `jpeg_steps`

A window of an image is made of the pixels that it depends on, its span: where chroma is smoothed,
that is wider. Places count within the span; what is random is drawn by the place in the whole.
"""

from __future__ import annotations

from ..arrays import f32, f64, i16, i32, u32, u64
from ..channel_noise import (
    gaussian_at,
    patchy_normal,
    plain_normal,
    row_noise,
    steps_to_rows,
    with_noise,
)
from ..chroma import split_pixel
from ..compiling.compile import scalar
from ..demosaic import BILINEAR, BINNED, BORDER, MALVAR, Around, demosaic_site
from ..develop import developed_light, encoding_cell
from ..exposure import GUIDES, band_factor, between, expose_pixel, guide_of, near, row_above
from ..illumination import CELLS
from ..numbers.random_bits import channel_sample, mosaic_sample
from ..sensor import row_offset, sense_greens, sense_site
from .arrays import gaussian_count, pack_halves
from .image_state import image_sensor, noise_of_image, row_and_column

# Places are unsigned, and of 32 bits within an image: signed ones might count from an array's end,
# and wider ones cost a GPU twice as much.


@scalar
def column_left(x, width):
    """Return the last cell left of a pixel's column, and how far on to the next one it lies."""
    position = (f64(x) + 0.5) * (CELLS / f64(width)) - 0.5
    position = min(max(position, 0.0), f64(CELLS - 1))
    left = min(i32(position), i32(CELLS - 2))
    return left, f32(position - f64(left))


@scalar
def grid_value(grid, row, column, k=0):
    """Interpolate a grid (1024) float32 at a row and a column: first along rows, as the CPU does.

    Row and column are each a cell and the share of the way to the next one. k: which of several
    grids it is, one after another.
    """
    at = u32((k * CELLS + row[0]) * CELLS + column[0])
    upper = grid[at] + (grid[u32(at + u32(1))] - grid[at]) * column[1]
    at = u32(at + u32(CELLS))
    lower = grid[at] + (grid[u32(at + u32(1))] - grid[at]) * column[1]
    return between(upper, lower, row[1])


@scalar
def levels_at(light, y, x, batch):
    """Fetch the levels of a pixel of the normal."""
    at = light.normal + u64(u32(3) * u32(y * light.width + x))
    return batch.normal[at], batch.normal[at + u64(1)], batch.normal[at + u64(2)]


@scalar
def scene_light(light, place, row, column, levels, batch):
    """Return the light of a pixel of such levels, and the factor on it.

    place: where `spread_step` put its light, if it did.
    """
    if light.spread:
        at = u64(3) * (light.lit + u64(place))
        r, g, b = batch.lit[at], batch.lit[at + u64(1)], batch.lit[at + u64(2)]
    else:
        r = batch.linear[u32(light.linear + levels[0])]
        g = batch.linear[u32(u32(light.linear + light.apart) + levels[1])]
        b = batch.linear[u32(u32(light.linear + u32(2) * light.apart) + levels[2])]
    if light.coloured:
        r = r * grid_value(light.colour[0], row, column)
        g = g * grid_value(light.colour[1], row, column)
        b = b * grid_value(light.colour[2], row, column)
    if light.sliced:
        guide = guide_of(r, g, b, light.exposure.per_white)
        k = min(i32(guide), i32(GUIDES - 2))
        bright = grid_value(light.grid, row, column, k) * near(guide, k)
        bright += grid_value(light.grid, row, column, k + 1) * near(guide, k + 1)
    else:
        bright = grid_value(light.grid, row, column)
    return (r, g, b), bright


@scalar
def mean_electrons(light, place, y, x, levels, batch):
    """Return the mean electrons of red, green and blue sites under a pixel of such levels.

    place: where `spread_step` put its light, if it did.
    """
    row, column = row_above(y, light.height, CELLS), column_left(x, light.width)
    (r, g, b), bright = scene_light(light, place, row, column, levels, batch)
    if light.bands.depth > f32(0):
        bright = bright * band_factor(y, light.height, light.bands)
    return expose_pixel(r, g, b, bright, light.exposure)


@scalar
def write_made(output, place, levels, batch):
    """Write a pixel of the made window: of the low, or of what JPEG follows."""
    at = output.first + u64(u32(3) * place)
    if output.coded:
        batch.made[at], batch.made[at + u64(1)], batch.made[at + u64(2)] = levels
    else:
        batch.low[at], batch.low[at + u64(1)], batch.low[at + u64(2)] = levels


@scalar
def gaussian_thread_count(image, draw, beside):
    """Count the normal numbers that pixels of an image share: of rows, and of neighbours."""
    own = draw.noisy > 0 and image.height > 0
    return u32(gaussian_count(image.span_rows, image.span_columns, draw.grainy) if own else 0)


@scalar
def gaussian_step(number, place, batch):
    """Draw a normal number of a row, or of a pixel of a span or beside it, of a channel."""
    image = batch.images[number]
    noise, pixels = noise_of_image(image, batch), u32(image.height * image.width)
    rows, across = u32(image.span_rows), u32(image.span_columns + 2)
    at = image.gaussians + u64(place)
    if place < u32(3) * rows:
        row, channel = row_and_column(place, u32(3))
        batch.gaussians[at] = row_noise(u32(row + u32(image.span_top)), channel, pixels, noise)
    else:
        place = u32(place - u32(3) * rows)
        row, column = row_and_column(place, across)
        channel, row = row_and_column(row, u32(rows + u32(2)))
        above, own, below = steps_to_rows(pixels, u32(image.width))
        y = min(max(i32(row) - i32(1), i32(0)), i32(rows) - i32(1))
        step = above if row == u32(0) else (below if row > rows else own)
        pixel = u32((u32(y) + u32(image.span_top)) * u32(image.width) + u32(image.span_left))
        batch.gaussians[at] = gaussian_at(channel, u32(pixel + column), step, pixels, noise)


@scalar
def _gaussians_around(channel, own, batch):
    """Fetch the normal numbers of a channel around a pixel, three of each of three rows."""
    row, column, output = own
    across, n = u64(output.across), batch.gaussians
    above = output.gaussians + u64(channel) * output.apart + u64(row) * across + u64(column)
    above += u64(3) * u64(output.rows)
    middle = above + across
    below = middle + across
    one, two = u64(1), u64(2)
    return (
        (n[above], n[above + one], n[above + two]),
        (n[middle], n[middle + one], n[middle + two]),
        (n[below], n[below + one], n[below + two]),
    )


@scalar
def develop_to(image, place, y, x, samples, batch):
    """Write a pixel of the low, or of the planes of an image whose chroma is to be smoothed.

    place: of it in the span; y, x: in the picture.
    """
    output = image.output
    r, g, b = developed_light(samples[0], samples[1], samples[2], output.colour)
    if output.noise.there:
        noise, width = output.noise, u32(image.light.width)
        at = u32(u32(y) * width + u32(x)), u32(u32(image.light.height) * width), width
        row, column = u32(y - image.top), u32(x - image.left)
        first = output.gaussians + u64(u32(3) * row)
        some = batch.gaussians
        rows = some[first], some[first + u64(1)], some[first + u64(2)]
        if noise.grainy:
            own = row, column, output
            normals = (
                patchy_normal(_gaussians_around(0, own, batch), 0, at, noise),
                patchy_normal(_gaussians_around(1, own, batch), 1, at, noise),
                patchy_normal(_gaussians_around(2, own, batch), 2, at, noise),
            )
        else:
            normals = (
                plain_normal(0, 0, at, noise),
                plain_normal(0, 1, at, noise),
                plain_normal(0, 2, at, noise),
            )
        r, g, b = with_noise((r, g, b), normals, noise.form, at, rows, noise)
    red, green, blue = encoding_cell(r), encoding_cell(g), encoding_cell(b)
    if output.smoothed:
        table = output.fine_table
        bright, r, b = split_pixel(
            i32(table[u32(red)]), i32(table[u32(green)]), i32(table[u32(blue)])
        )
        at = output.plane + u64(place)
        batch.bright[at] = i16(bright)
        batch.differences[at] = pack_halves(r, b)
    else:
        levels = output.table
        made = levels[u32(red)], levels[u32(green)], levels[u32(blue)]
        write_made(output, place, made, batch)


@scalar
def row_thread_count(image, draw, beside):
    """Count the rows of the sensor."""
    rows = image.span_rows + 2 * BORDER if draw.method >= BILINEAR else 2 * image.span_rows
    return u32(rows if image.height > 0 else 0)


@scalar
def row_step(number, place, batch):
    """Draw the black level plus noise of a row of the sensor."""
    image = batch.images[number]
    mosaic = batch.draws[image.draw].method >= BILINEAR
    row = u32(place + u32(image.span_top if mosaic else 2 * image.span_top))
    rows = image.height + 2 * BORDER if mosaic else 2 * image.height
    samples = rows * (image.width + 2 * BORDER) if mosaic else 3 * image.height * image.width
    offset = row_offset(row, samples, image_sensor(image, batch))
    batch.rows[image.row + u64(place)] = offset


@scalar
def quad_thread_count(image, draw, beside):
    """Count the pixels of an image that has no mosaic."""
    return u32(0 if draw.method >= BILINEAR else image.span_rows * image.span_columns)


@scalar
def quad_levels(image, row, column, batch):
    """Fetch the levels of a pixel."""
    return levels_at(image.light, i32(row) + image.top, i32(column) + image.left, batch)


@scalar
def quad_step(image, place, row, column, levels, batch):
    """Make a pixel of a sensor with a quad of sites for each, or red, green and blue at one."""
    y, x = i32(row) + image.top, i32(column) + image.left
    height, width, sensor = image.light.height, image.light.width, image.sensor
    pixel, pixels = u32(y * width + x), u32(height * width)
    red, green, blue = mean_electrons(image.light, place, y, x, levels, batch)
    at = image.row + u64(u32(u32(2) * row))
    upper = batch.rows[at]
    lower = batch.rows[at + u64(1)]
    if sensor.method == BINNED:
        above, both, below = upper, upper + lower, lower
    else:
        above, both, below = upper, upper, upper
    if image.patterned:
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
    develop_to(image, place, y, x, (r, g, b), batch)


@scalar
def site_thread_count(image, draw, beside):
    """Count the sites of a mosaic."""
    sites = (image.span_rows + 2 * BORDER) * (image.span_columns + 2 * BORDER)
    return u32(sites if draw.method >= BILINEAR and image.height > 0 else 0)


@scalar
def _under_site(image, local, across):
    """Return the pixel under a site of a mosaic."""
    y = min(max(i32(local) + image.top - i32(BORDER), i32(0)), i32(image.light.height - i32(1)))
    x = min(max(i32(across) + image.left - i32(BORDER), i32(0)), i32(image.light.width - i32(1)))
    return i32(y), i32(x)


@scalar
def site_levels(image, local, across, batch):
    """Fetch the levels of the pixel under a site."""
    y, x = _under_site(image, local, across)
    return levels_at(image.light, y, x, batch)


@scalar
def site_mean(image, site, local, across, levels, batch):
    """Return the mean electrons of a site of a mosaic."""
    y, x = _under_site(image, local, across)
    red, green, blue = mean_electrons(image.light, site, y, x, levels, batch)
    odd = (i32(local) + image.top) & 1
    column = i32(across) + image.left
    return green if ((column + odd) & 1) == 1 else (blue if odd else red)


@scalar
def site_step(image, site, local, across, levels, batch):
    """Fill a site of a mosaic, two sites wider to each side than the span."""
    row, column = i32(local) + image.top, i32(across) + image.left
    width = image.light.width
    mean = site_mean(image, site, local, across, levels, batch)
    index = mosaic_sample(row, column, u32(width + 2 * BORDER))
    offset = batch.rows[image.row + u64(local)]
    if image.patterned:
        offset = offset + batch.pattern[image.pattern + u64(site)]
    batch.mosaic[image.sites + u64(site)] = sense_site(mean, index, offset, image.sensor)


@scalar
def mosaic_thread_count(image, draw, beside):
    """Count the pixels of an image behind a mosaic."""
    return u32(image.span_rows * image.span_columns if draw.method >= BILINEAR else 0)


@scalar
def demosaiced(image, method, y, x, batch):
    """Return red, twice green and blue of a pixel of a span, out of its mosaic."""
    m, first, w = batch.mosaic, image.sites, u32(image.columns + u32(2 * BORDER))
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
    odd = i32(y + u32(image.top)) & 1
    across = i32(x + u32(image.left))
    sharp = f32(1) if method == MALVAR else f32(0)
    return demosaic_site(m[own], around, ((across + odd) & 1) == 1, odd, sharp)


@scalar
def mosaic_step(image, pixel, y, x, fetched, batch):
    """Make a pixel out of a mosaic."""
    samples = demosaiced(image, image.sensor.method, y, x, batch)
    down, across = i32(y + u32(image.top)), i32(x + u32(image.left))
    develop_to(image, pixel, down, across, samples, batch)
