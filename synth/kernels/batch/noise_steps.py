"""Moments of the noise of each pixel of a batch; see `kernels.moments`.

    channel_step    noise of channels of an image
    mean_step       where there is a mosaic: its sites
    grain_step      pixels where noise is of channels alone
    moment_step     all others

They stand in `launch_cuda.MAPS`.
"""

from __future__ import annotations

from ..args import colour_of, pattern_of
from ..channel_noise import factor_at
from ..compiling.compile import scalar
from ..demosaic import BILINEAR, BORDER
from ..level_moments import LIGHTS, light_of_place, noisy_level
from ..mean_electrons import hot_counts
from ..moments import SiteNoise, moments_of, noisy_moments_of, scattered
from ..numbers.random_bits import channel_sample, mosaic_sample
from ..smoothed_moments import smoothed_parts
from ..types import f32, i32, i64, u32, u64
from .chroma_noise_steps import at_edge
from .image_state import GAUSSIAN, light_of, noise_of_image, row_and_column, site_state
from .map_planes import fill_pixel, fill_three
from .pixel_steps import levels_at, mean_electrons, site_levels, site_mean

DOUBLE_PRECISION = True  # of roots and whole numbers, for `compiling.for_cuda`
_ZERO, _ONE = f32(0), f32(1)


@scalar
def channel_thread_count(image, draw, maps):
    """Count the lights of three channels of an image with noise of channels."""
    return u32(3 * LIGHTS if image.height > 0 and draw.noisy > 0 else 0)


@scalar
def channel_step(number, place, batch, maps):
    """Find what noise of a channel does to a light."""
    c, k = i64(place) // LIGHTS, i64(place) % LIGHTS
    noise = noise_of_image(batch.images[number], batch)
    own = noise.red if c == 0 else (noise.green if c == 1 else noise.blue)
    curve = maps.levels[number], maps.normal[0], maps.normal[1]
    tail, factors = (maps.laguerre[0], maps.laguerre[1]), (noise.wide, noise.narrow)
    light = light_of_place(k)
    found = noisy_level(
        light, own, factors, factor_at(light, noise.curves[noise.curve, c]), curve, tail
    )
    for i in range(3):
        maps.channels[number, c, i, k] = found[i]


@scalar
def mean_step(number, place, batch, maps):
    """Fill a site of a mosaic with its mean electrons."""
    image = site_state(number, batch)
    row, column = row_and_column(place, image.columns)
    levels = site_levels(image, row, column, batch)
    batch.mosaic[image.sites + u64(place)] = site_mean(image, place, row, column, levels, batch)


@scalar
def _of_mosaic(number, y, x, batch, maps):
    """Return mean electrons of a pixel behind a mosaic, and of what scatters there."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    gain, pattern = draw.camera_sensor_gain, pattern_of(draw, GAUSSIAN)
    full = f32((draw.camera_sensor_white - draw.camera_sensor_black) / draw.camera_sensor_gain)
    columns, parity = i64(image.span_columns + 2 * BORDER), 2 * (y & 1) + (x & 1)
    first = i64(image.mosaic) + i64(y - image.span_top) * columns + i64(x - image.span_left)
    taken, scatter = maps.around[draw.method - BILINEAR, 0], maps.around[draw.method - BILINEAR, 1]
    red = green = blue = count_red = count_green = count_blue = _ZERO
    for i in range(2 * BORDER + 1):
        for j in range(2 * BORDER + 1):
            electrons = batch.mosaic[first + i * columns + j]
            mean, count = min(electrons, full), electrons if electrons < full else _ZERO
            if pattern.there:
                index = mosaic_sample(y + i, x + j, image.width + 2 * BORDER)
                count += hot_counts(0, index, draw.method, gain, pattern)
            red += taken[parity, 0, i, j] * mean
            green += taken[parity, 1, i, j] * mean
            blue += taken[parity, 2, i, j] * mean
            count_red += scatter[parity, 0, i, j] * count
            count_green += scatter[parity, 1, i, j] * count
            count_blue += scatter[parity, 2, i, j] * count
    return (red, green, blue), (count_red, count_green, count_blue)


@scalar
def _of_sites(number, y, x, batch):
    """Return mean electrons of a pixel without mosaic, and of what scatters there."""
    image = batch.images[number]
    draw, light = batch.draws[image.draw], light_of(number, batch)
    place = u32((y - image.span_top) * image.span_columns + x - image.span_left)
    red, green, blue = mean_electrons(light, place, y, x, levels_at(light, y, x, batch), batch)
    means, pattern = (red, green, blue), pattern_of(draw, GAUSSIAN)
    if pattern.there:
        gain, method = draw.camera_sensor_gain, draw.method
        pixel, pixels = u32(y * image.width + x), u32(image.height * image.width)
        red += hot_counts(0, channel_sample(0, pixel, pixels), method, gain, pattern)
        green += hot_counts(1, channel_sample(1, pixel, pixels), method, gain, pattern)
        blue += hot_counts(2, channel_sample(2, pixel, pixels), method, gain, pattern)
    return means, (red, green, blue)


@scalar
def _electrons_at(number, place, batch, maps):
    """Return row and column of a place of a span, mean electrons there, and of what scatters."""
    image = batch.images[number]
    row = i32(place) // image.span_columns
    column = i32(place) - row * image.span_columns
    y, x = i32(row + image.span_top), i32(column + image.span_left)
    if batch.draws[image.draw].method >= BILINEAR:
        return y, x, _of_mosaic(number, y, x, batch, maps)
    return y, x, _of_sites(number, y, x, batch)


@scalar
def grain_thread_count(image, draw, maps):
    """Count the pixels of a span of an image whose noise is of channels alone, not smoothed."""
    grainy = image.height > 0 and draw.noisy > 0 and draw.taps == 0
    return u32(image.span_rows * image.span_columns if grainy else 0)


@scalar
def moment_thread_count(image, draw, maps):
    """Count the pixels of a span of any other."""
    other = image.height > 0 and (draw.noisy == 0 or draw.taps > 0)
    return u32(image.span_rows * image.span_columns if other else 0)


@scalar
def grain_step(number, place, batch, maps):
    """Find the moments of a pixel, as `moment_step`, in a third of the registers."""
    image = batch.images[number]
    draw, at = batch.draws[image.draw], maps.first[number] + i64(place)
    _, _, (means, _) = _electrons_at(number, place, batch, maps)
    channels = noise_of_image(image, batch), maps.channels[number]
    gain, colour, levels = draw.camera_sensor_gain, colour_of(draw), maps.levels[number]
    found = noisy_moments_of(means, gain, colour, channels, levels)
    fill_pixel(number, at, found[2], found[0], (found[3], found[1], found[3]), maps)


@scalar
def moment_step(number, place, batch, maps):
    """Find the moments of a pixel; see `noise_map._smoothed` where chroma is smoothed."""
    image = batch.images[number]
    draw, at = batch.draws[image.draw], maps.first[number] + i64(place)
    y, x, (means, counts) = _electrons_at(number, place, batch, maps)
    parity, own = 2 * (y & 1) + (x & 1), maps.sites[number]
    squares, powers = maps.squares[number, parity], maps.powers[number, parity]
    site = SiteNoise(draw.camera_sensor_gain, own, own[5], squares, powers)
    curve = maps.levels[number], maps.normal[0], maps.normal[1]
    channels = noise_of_image(image, batch), maps.channels[number]
    found = moments_of(means, counts, site, colour_of(draw), channels, curve)
    if draw.taps == 0:
        fill_pixel(number, at, found[2], found[0], (found[3], found[1], found[3]), maps)
        return
    by_source = scattered(counts, site)
    if draw.noisy > 0:
        by_source = _ONE, _ONE, _ONE, _ZERO, _ZERO
    moments, taken = (found[4], found[5], found[6]), maps.taken[number, parity]
    strength, weights = draw.isp_chroma_strength, batch.blur[image.draw]
    alone = smoothed_parts(0, by_source, moments, taken, strength)
    mixed = smoothed_parts(1, by_source, moments, taken, strength)
    blurred = smoothed_parts(2, by_source, moments, taken, strength)
    down, _ = at_edge(i64(y), i64(image.height), draw.taps, weights)
    across, _ = at_edge(i64(x), i64(image.width), draw.taps, weights)
    edge = down * across
    rest = alone[0] + mixed[0] * edge, alone[1] + mixed[1] * edge, alone[2] + mixed[2] * edge
    fill_three(0, at, found[2], maps)
    fill_three(3, at, blurred, maps)
    fill_three(6, at, rest, maps)
    fill_three(9, at, found[1], maps)
    fill_three(12, at, found[3], maps)
