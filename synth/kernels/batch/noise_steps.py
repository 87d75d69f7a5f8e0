"""Levels of each pixel of a batch without noise, and the noise that they should have.

    level_step, root_step    the encoding curve: levels of light, and back
    channel_step    noise of channels of an image
    mean_step       where there is a mosaic: its sites
    moment_step     pixels
    column_step, smooth_step    where chroma is smoothed: blurred along columns, then along rows

They stand in `launch_cuda.MAPS`.
"""

from __future__ import annotations

import math

import numpy as np

from ..args import colour_of, encoded_of, pattern_of
from ..arrays import f32, f64, i32, i64, u32, u64
from ..channel_noise import factor_and_bend, width_of_noise
from ..compiling.compile import scalar
from ..curves import LUMA
from ..degradations.pattern import hot_offset
from ..demosaic import BILINEAR, BINNED, BORDER
from ..develop import ENCODE_CELLS
from ..level_noise import (
    LIGHTS,
    ROUNDING,
    Curve,
    channel_noise,
    level_at,
    light_of_place,
    light_without_noise,
    noisy_level,
    sensor_noise,
    smoothed_variance,
)
from ..numbers.random_bits import HOT, HOT_BELOW, channel_sample, mosaic_sample
from .image_state import GAUSSIAN, light_of, noise_of_image, row_and_column, site_state
from .map_steps import BLURRED, LEVEL, LIGHT, NOISE, NOISE_LINEAR
from .pixel_steps import levels_at, mean_electrons, site_levels, site_mean

DOUBLE_PRECISION = True  # of roots and whole numbers, for `compiling.for_cuda`
_LUMA = f32(LUMA[0]), f32(LUMA[1]), f32(LUMA[2])
_ZERO, _HALF, _ONE, _TWO, _WHITE = f32(0), f32(0.5), f32(1), f32(2), f32(255)
_ROOT_HALF = f32(math.sqrt(0.5))
PER_LEVEL = 8
ROOTS = 255 * PER_LEVEL + 1
"""Levels that a root of light is found of."""
_PER_LEVEL = f32(PER_LEVEL)


@scalar
def light_of_level(level, roots):
    """Return the light of a level."""
    place = min(max(level, _ZERO), _WHITE) * _PER_LEVEL
    cell = u32(min(i32(place), i32(ROOTS - 2)))
    root = roots[cell] + (roots[u32(cell + u32(1))] - roots[cell]) * (place - f32(cell))
    return root * root


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
    curve = Curve(maps.levels[number], maps.normal[0], maps.normal[1])
    light, tail = light_of_place(k), (maps.laguerre[0], maps.laguerre[1])
    factor, bend = factor_and_bend(light, c, noise.form, noise)
    wide = width_of_noise(light, c, noise.form, True, noise)
    form = factor, bend, wide, width_of_noise(light, c, noise.form, False, noise)
    found = noisy_level(light, own, form, noise.wide_odds, curve, tail)
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
def _hot_count(c, index, method, gain, pattern):
    """Return the electrons that scatter by what a hot site of a channel adds, mostly none.

    Their places are known: that is no noise to a sensor, but to a low it is, and far from normal.
    """
    added = hot_offset(index, HOT, pattern)
    if method == BINNED and c == 1:  # of two sites, which count half each
        added = (added + hot_offset(index, HOT_BELOW, pattern)) * _ROOT_HALF
    return (added / gain) * (added / gain)


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
                count += _hot_count(0, index, draw.method, gain, pattern)
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
        red += _hot_count(0, channel_sample(0, pixel, pixels), method, gain, pattern)
        green += _hot_count(1, channel_sample(1, pixel, pixels), method, gain, pattern)
        blue += _hot_count(2, channel_sample(2, pixel, pixels), method, gain, pattern)
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
def at_edge(place, size, taps, weights):
    """Return a pixel's own weight in its blur along a line of so many, and the sum of squares.

    Both of those far from the line's ends, beyond which its last pixels are repeated.
    """
    beneath = size - 1 - place
    if min(place, beneath) >= taps - 1:
        return _ONE, _ONE
    before = after = full = squares = _ZERO
    for d in range(taps):
        weight = weights[d]
        full += weight * weight * (_ONE if d == 0 else _TWO)
        before += weight if d > place else _ZERO
        after += weight if d > beneath else _ZERO
    own = _ZERO
    for d in range(-min(place, taps - 1), min(beneath, taps - 1) + 1):
        weight = weights[abs(d)]
        weight += before if d == -place else _ZERO
        weight += after if d == beneath else _ZERO
        squares += weight * weight
        own = weight if d == 0 else own
    return own / weights[0], squares / full


@scalar
def moment_thread_count(image, draw, maps):
    """Count the pixels of a span."""
    return u32(image.span_rows * image.span_columns if image.height > 0 else 0)


@scalar
def moment_step(number, place, batch, maps):
    """Find level, light and noise of a pixel; where chroma is smoothed, what it does so of."""
    image = batch.images[number]
    draw, at = batch.draws[image.draw], maps.first[number] + i64(place)
    y, x, electrons = _electrons_at(number, place, batch, maps)
    parity, levels = 2 * (y & 1) + (x & 1), maps.levels[number]
    light = light_without_noise(electrons[0], draw.camera_sensor_gain, colour_of(draw))
    if draw.noisy > 0:
        noise = noise_of_image(image, batch)
        light = (
            light[0] + noise.red.offset,
            light[1] + noise.green.offset,
            light[2] + noise.blue.offset,
        )
        found = channel_noise(light, maps.channels[number])
    else:
        curve = Curve(levels, maps.normal[0], maps.normal[1])
        shared, shares = maps.shared[number], maps.light[number, parity]
        found = sensor_noise(light, electrons, shared, shares, draw, curve)
    for c in range(3):
        own = min(max(light[c], _ZERO), _ONE)
        level, variance = level_at(own, levels), found.variances[c]
        maps.pixels[(LEVEL + c) * maps.stride + at] = level
        if draw.taps == 0:
            maps.pixels[(LIGHT + c) * maps.stride + at] = own
            maps.pixels[(NOISE + c) * maps.stride + at] = np.sqrt(variance + ROUNDING)
        if maps.in_light > 0:
            roots, in_light = maps.roots[number], found.light_variances[c]
            wide = light_of_level(level + _HALF, roots) - light_of_level(level - _HALF, roots)
            in_light += ROUNDING * wide * wide
            in_light /= variance + ROUNDING if draw.taps > 0 else _ONE
            maps.pixels[(NOISE_LINEAR + c) * maps.stride + at] = np.sqrt(in_light)
    if draw.taps > 0:
        weights, shares = batch.blur[image.draw], maps.smoothed[number, parity]
        edge = at_edge(i64(y), i64(image.height), draw.taps, weights)[0]
        edge *= at_edge(i64(x), i64(image.width), draw.taps, weights)[0]
        for c in range(3):
            rest = smoothed_variance(found, shares[0, c])
            rest += edge * smoothed_variance(found, shares[1, c])
            maps.pixels[(NOISE + c) * maps.stride + at] = rest
            maps.pixels[(LIGHT + c) * maps.stride + at] = smoothed_variance(found, shares[2, c])


@scalar
def column_step(number, place, batch, maps):
    """Blur levels and variances of a pixel along its column; see `chroma_steps.blur_step`."""
    image = batch.images[number]
    taps, weights = batch.draws[image.draw].taps, batch.blur[image.draw]
    width = i64(image.span_columns)
    y = i64(u32(place) // u32(width)) + image.made_top
    pixel = i64(place) + i64(image.made_top - image.span_top) * width
    beneath, at = image.height - 1 - y, maps.first[number]
    for k in range(BLURRED):
        own = k * maps.stride + at + pixel
        line = width, y, beneath
        maps.blurred[own] = _along_line(k, maps.pixels, own, line, taps, weights)


@scalar
def _along_line(k, planes, at, line, taps, weights):
    """Return a number of a pixel, blurred along a line.

    k: its plane. line: how far apart its pixels are, and how many lie on either side.
    """
    total = _ZERO
    for d in range(taps):
        own = planes[at - min(d, line[1]) * line[0]]
        if d > 0:
            own += planes[at + min(d, line[2]) * line[0]]
        weight = weights[d]
        total += (weight if k < 3 else weight * weight) * own
    return total


@scalar
def smooth_thread_count(image, draw, maps):
    """Count the pixels of a window whose chroma is smoothed."""
    return u32(image.rows * image.columns if draw.taps > 0 else 0)


@scalar
def smooth_step(number, place, batch, maps):
    """Find level, light and noise of a pixel whose chroma is smoothed."""
    image = batch.images[number]
    draw, weights = batch.draws[image.draw], batch.blur[image.draw]
    row, column = row_and_column(u32(place), u32(image.columns))
    y, x = i64(row) + image.top, i64(column) + image.left
    pixel = i64(y - image.span_top) * image.span_columns + i64(x - image.span_left)
    at, roots, taps = maps.first[number] + pixel, maps.roots[number], draw.taps
    line = i64(1), i64(x), i64(image.width - 1 - x)
    share = at_edge(i64(y), i64(image.height), taps, weights)[1]
    share *= at_edge(i64(x), i64(image.width), taps, weights)[1]
    squares = _ZERO
    for d in range(taps):
        squares += (_ONE if d == 0 else _TWO) * weights[d] * weights[d]
    share /= squares * squares
    smooth = (
        _along_line(0, maps.blurred, at, line, taps, weights),
        _along_line(1, maps.blurred, maps.stride + at, line, taps, weights),
        _along_line(2, maps.blurred, 2 * maps.stride + at, line, taps, weights),
    )
    bright = smooth_bright = _ZERO
    for c in range(3):
        bright += _LUMA[c] * maps.pixels[(LEVEL + c) * maps.stride + at]
        smooth_bright += _LUMA[c] * smooth[c]
    for c in range(3):
        own = (LEVEL + c) * maps.stride + at
        difference = smooth[c] - smooth_bright - (maps.pixels[own] - bright)
        level = maps.pixels[own] + draw.isp_chroma_strength * difference
        level = min(max(level, _ZERO), _WHITE)
        spread, rest = (LIGHT + c) * maps.stride + at, (NOISE + c) * maps.stride + at
        variance = share * _along_line(3 + c, maps.blurred, spread, line, taps, weights)
        variance = max(maps.pixels[rest] + variance, _ZERO)
        maps.pixels[own], maps.pixels[spread] = level, light_of_level(level, roots)
        maps.pixels[rest] = np.sqrt(variance + ROUNDING)
        maps.pixels[(NOISE_LINEAR + c) * maps.stride + at] *= maps.pixels[rest]


@scalar
def level_step(number, place, batch, maps):
    """Fill a level of the encoding table.

    An 8-bit table steps from cell to cell. Levels whose pixels are rounded by it are those whose
    rounding is at the very light where the low's is: the variance of a level a dozen cells wide
    were off by some percent else. Chroma smoothing takes finer levels, and rounds after it.
    """
    cell, last = i64(place), i64(ENCODE_CELLS - 1)
    draw = batch.draws[batch.images[number].draw]
    if draw.taps > 0:
        maps.levels[number, cell] = f32(255.0 * encoded_of(draw, cell, batch.log_light))
        return
    table = batch.table[number]
    below, above = cell, cell  # the cells before the steps on both sides
    while below > 0 and table[below - 1] == table[below]:
        below -= 1
    while above < last and table[above] == table[above + 1]:
        above += 1
    left, right = f64(below) - 0.5, f64(above) + 0.5
    if below == 0:
        left, lower = 0.0, 0.0
    else:
        lower = (f64(table[below - 1]) + f64(table[below])) / 2
    if above == last:
        right, upper = f64(last), 255.0 * encoded_of(draw, last, batch.log_light)
    else:
        upper = (f64(table[above]) + f64(table[above + 1])) / 2
    share = (f64(cell) - left) / (right - left)
    maps.levels[number, cell] = f32(lower + (upper - lower) * share)


@scalar
def root_thread_count(image, draw, maps):
    """Count the places of an image's table of roots."""
    return u32(ROOTS if image.height > 0 else 0)


@scalar
def root_step(number, place, batch, maps):
    """Find the root of the light of a level, of which there are `PER_LEVEL` from one to the next.

    Maps look a pixel's light up there: among the encoding table's places it is searched for.
    """
    levels, level = maps.levels[number], f64(place) / PER_LEVEL
    first, end = 0, levels.shape[0]  # of the places above it
    while first < end:
        middle = (first + end) // 2
        if levels[middle] <= level:
            first = middle + 1
        else:
            end = middle
    cell = min(max(first - 1, 0), levels.shape[0] - 2)
    rise = f64(levels[cell + 1]) - f64(levels[cell])
    share = (level - f64(levels[cell])) / rise if rise > 0.0 else 1.0  # of the last one
    maps.roots[number, place] = (cell + min(max(share, 0.0), 1.0)) / (levels.shape[0] - 1)
