"""What the draws of a batch know of its pixels: maps, moved as the pixels are.

It is what `render.noise_map` and `render.emitters` do for one image.

    level_step -> width_step                  curves of an image
    channel_step                              its noise of channels
    mean_step                                 where there is a mosaic: its sites
    grain_step                                its pixels, where noise is of channels alone
    moment_step -> column_step, smooth_step   or else; where chroma is smoothed, blurred
    map_step                                  each place of what comes out

Steps follow those of `illumination_steps`, and where light is spread, of `degradation_steps`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..args import colour_of, glare_of, noise_of, pattern_of
from ..compiling.compile import scalar
from ..curves import LUMA, Toe, encoded
from ..demosaic import BILINEAR, BORDER
from ..develop import ENCODE_CELLS
from ..emitters import shine
from ..exposure import row_above
from ..illumination import CELLS
from ..level_moments import LIGHTS, noisy_level
from ..level_moments import light_of as light_of_place
from ..moments import (
    ROUNDING,
    SiteNoise,
    hot_counts,
    moments_of,
    noisy_moments_of,
    scattered,
)
from ..numbers.elementary import log2
from ..numbers.random_bits import channel_sample, mosaic_sample
from ..smoothed_moments import smoothed_parts
from ..types import f32, f64, i32, i64, u32, u64
from .image_state import GAUSSIAN, Light, light_of, row_and_column
from .pixel_steps import (
    column_left,
    grid_value,
    levels_at,
    mean_electrons,
    site_levels,
    site_mean,
    site_thread_count,
)
from .resize_steps import goes_to

DOUBLE_PRECISION = True  # of roots and whole numbers, for `compiling.for_cuda`
PLANES, BLURRED = 15, 6
"""Planes of pixels, three of each: level, light, and the noise's deviation in levels and in light.

Before chroma is smoothed, its first two are blurred: level, variance of what is blurred, that of
the rest; then variance of light and of the level without smoothing."""
LEVELS = 256
_LUMA = f32(LUMA[0]), f32(LUMA[1]), f32(LUMA[2])
_ZERO, _ONE, _TWO, _WHITE = f32(0), f32(1), f32(2), f32(255)
_LEAST_WIDTH = f32(1e-9)


class Maps(NamedTuple):
    """Maps of a batch of N images, and the memory that their steps share.

    into: float32 array (N * planes * rows * columns), of zeros.
    rows, columns: room for each image. high, wide: size that windows are resized to, or 0.
    light, ...: the first plane of each map; -1 where nobody asks for it.
    normal, laguerre: nodes and weights of quadratures. around: by method, what a pixel takes of the
      sites around it, and which of them scatter, by parity of row and column.
    """

    into: npt.NDArray[np.float32]
    planes: int
    rows: int
    columns: int
    high: int
    wide: int
    shift: float  # levels and their deviation become (level - shift) * scale
    scale: float
    light: int
    clean: int
    linear: int
    noise: int
    noise_linear: int
    mask: int
    emitter_light: int
    levels: npt.NDArray[np.float32]  # (N, ENCODE_CELLS)
    widths: npt.NDArray[np.float32]  # (N, LEVELS), light that a level is wide
    sites: npt.NDArray[np.float32]  # (N, 6), `shared` and `fourth` of SiteNoise
    squares: npt.NDArray[np.float32]  # (N, 4, 3, 3, 5), of SiteNoise
    powers: npt.NDArray[np.float32]  # (N, 4, 2, 3, 3), of SiteNoise
    taken: npt.NDArray[np.float32]  # (N, 4, 3, 6, 3, 3), `kernels.site_noise`
    channels: npt.NDArray[np.float32]  # (N, 3, 3, LIGHTS), noise of channels
    first: npt.NDArray[np.int64]  # (N), the first pixel of an image's span among all
    stride: int  # P, pixels of all spans
    pixels: npt.NDArray[np.float32]  # (PLANES * P)
    blurred: npt.NDArray[np.float32]  # (BLURRED * P), along columns
    normal: npt.NDArray[np.float32]  # (2, n)
    laguerre: npt.NDArray[np.float32]  # (2, n)
    around: npt.NDArray[np.float32]  # (2, 2, 4, 3, 5, 5), of `mosaic_noise`


class Mosaic(NamedTuple):
    """What steps of maps take of an image behind a mosaic: fields of `ImageState`."""

    top: np.int32
    left: np.int32
    columns: np.uint32
    sites: np.uint64
    light: Light


@scalar
def level_thread_count(image, batch, maps):
    """Count the places of an image's encoding table."""
    return u32(ENCODE_CELLS if image.height > 0 else 0)


@scalar
def _encoded_level(draw, place, log_light):
    if place == 0:
        return 0.0
    toe = Toe(draw.tone_toe, draw.toe_slope, draw.toe_end)
    return 255.0 * encoded(log_light[place], draw.isp_contrast, draw.tone, draw.gamma, toe)


@scalar
def level_step(number, place, batch, maps):
    """Fill a level of the encoding table; see `noise_map.as_rounded` where pixels are rounded."""
    cell, last = i64(place), i64(ENCODE_CELLS - 1)
    draw = batch.draws[batch.images[number].draw]
    if draw.taps > 0:
        maps.levels[number, cell] = f32(_encoded_level(draw, cell, batch.log_light))
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
        right, upper = f64(last), _encoded_level(draw, last, batch.log_light)
    else:
        upper = (f64(table[above]) + f64(table[above + 1])) / 2
    share = (f64(cell) - left) / (right - left)
    maps.levels[number, cell] = f32(lower + (upper - lower) * share)


@scalar
def width_thread_count(image, batch, maps):
    """Count the levels of an image."""
    return u32(LEVELS if image.height > 0 else 0)


@scalar
def width_step(number, place, batch, maps):
    """Find the light that a level is wide; see `noise_map.lights_of_levels`."""
    levels, level = maps.levels[number], f64(place)
    width = _edge_of_level(level + 0.5, levels) - _edge_of_level(level - 0.5, levels)
    maps.widths[number, i64(place)] = f32(max(width, 1e-9))


@scalar
def channel_thread_count(image, batch, maps):
    """Count the lights of three channels of an image with noise of channels."""
    return u32(3 * LIGHTS if image.height > 0 and batch.draws[image.draw].noisy > 0 else 0)


@scalar
def channel_step(number, place, batch, maps):
    """Find what noise of a channel does to a light."""
    c, k = i64(place) // LIGHTS, i64(place) % LIGHTS
    noise = noise_of(batch.draws[batch.images[number].draw], GAUSSIAN)
    own = noise.red if c == 0 else (noise.green if c == 1 else noise.blue)
    curve = maps.levels[number], maps.normal[0], maps.normal[1]
    tail, factors = (maps.laguerre[0], maps.laguerre[1]), (noise.wide, noise.narrow)
    found = noisy_level(light_of_place(k), own, factors, curve, tail)
    for i in range(3):
        maps.channels[number, c, i, k] = found[i]


@scalar
def mean_thread_count(image, batch, maps):
    """Count the sites of a mosaic."""
    return site_thread_count(image, batch)


@scalar
def mean_step(number, place, batch, maps):
    """Fill a site of a mosaic with its mean electrons."""
    image = batch.images[number]
    columns = u32(image.span_columns + 2 * BORDER)
    light = light_of(number, batch)
    mosaic = Mosaic(image.span_top, image.span_left, columns, image.mosaic, light)
    row, column = row_and_column(place, columns)
    levels = site_levels(mosaic, row, column, batch)
    batch.mosaic[mosaic.sites + u64(place)] = site_mean(mosaic, place, row, column, levels, batch)


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
def _electrons_at(number, y, x, batch, maps):
    """Return mean electrons of a pixel, and of what scatters there."""
    if batch.draws[batch.images[number].draw].method >= BILINEAR:
        return _of_mosaic(number, y, x, batch, maps)
    return _of_sites(number, y, x, batch)


@scalar
def _at_edge(place, size, taps, weights):
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
def _is_grainy(image, batch):
    """Return whether an image has noise of channels, and no chroma of it is smoothed."""
    draw = batch.draws[image.draw]
    return draw.noisy > 0 and draw.taps == 0


@scalar
def grain_thread_count(image, batch, maps):
    """Count the pixels of a span of an image whose noise is of channels alone."""
    grainy = image.height > 0 and _is_grainy(image, batch)
    return u32(image.span_rows * image.span_columns if grainy else 0)


@scalar
def moment_thread_count(image, batch, maps):
    """Count the pixels of a span of any other."""
    other = image.height > 0 and not _is_grainy(image, batch)
    return u32(image.span_rows * image.span_columns if other else 0)


@scalar
def _place_in_picture(place, image):
    """Return row and column of a place of a span."""
    y = i32(place) // image.span_columns
    x = i32(place) - y * image.span_columns
    return i32(y + image.span_top), i32(x + image.span_left)


@scalar
def grain_step(number, place, batch, maps):
    """Find the moments of a pixel, as `moment_step`, in a third of the registers."""
    image = batch.images[number]
    draw, at = batch.draws[image.draw], maps.first[number] + i64(place)
    y, x = _place_in_picture(place, image)
    means, _ = _electrons_at(number, y, x, batch, maps)
    channels = noise_of(draw, GAUSSIAN), maps.channels[number]
    gain, colour, levels = draw.camera_sensor_gain, colour_of(draw), maps.levels[number]
    found = noisy_moments_of(means, gain, colour, channels, levels)
    _fill_all(number, at, found[2], found[0], (found[3], found[1], found[3]), maps)


@scalar
def _fill(plane, place, values, maps):
    """Fill three planes of a pixel."""
    for c in range(3):
        maps.pixels[(plane + c) * maps.stride + place] = f32(values[c])


@scalar
def _fill_all(number, place, level, light, variances, maps):
    """Fill what `map_step` adds up of a pixel.

    variances: of the level; and of light and of the level before chroma is smoothed.
    """
    variance, own, before = variances
    _fill(0, place, level, maps)
    _fill(3, place, light, maps)
    for c in range(3):
        width = maps.widths[number, i64(np.rint(f64(level[c])))]
        in_light = (own[c] + ROUNDING * width * width) / (before[c] + ROUNDING)
        deviation = np.sqrt(variance[c] + ROUNDING)
        maps.pixels[(6 + c) * maps.stride + place] = f32(deviation)
        maps.pixels[(9 + c) * maps.stride + place] = f32(deviation * np.sqrt(in_light))


@scalar
def moment_step(number, place, batch, maps):
    """Find the moments of a pixel; see `noise_map._smoothed` where chroma is smoothed."""
    image = batch.images[number]
    draw, at = batch.draws[image.draw], maps.first[number] + i64(place)
    y, x = _place_in_picture(place, image)
    means, counts = _electrons_at(number, y, x, batch, maps)
    parity, own = 2 * (y & 1) + (x & 1), maps.sites[number]
    squares, powers = maps.squares[number, parity], maps.powers[number, parity]
    site = SiteNoise(draw.camera_sensor_gain, own, own[5], squares, powers)
    curve = maps.levels[number], maps.normal[0], maps.normal[1]
    channels = noise_of(draw, GAUSSIAN), maps.channels[number]
    found = moments_of(means, counts, site, colour_of(draw), channels, curve)
    if draw.taps == 0:
        _fill_all(number, at, found[2], found[0], (found[3], found[1], found[3]), maps)
        return
    by_source = scattered(counts, site)
    if draw.noisy > 0:
        by_source = _ONE, _ONE, _ONE, _ZERO, _ZERO
    moments, taken = (found[4], found[5], found[6]), maps.taken[number, parity]
    strength, weights = draw.isp_chroma_strength, batch.blur[image.draw]
    alone = smoothed_parts(0, by_source, moments, taken, strength)
    mixed = smoothed_parts(1, by_source, moments, taken, strength)
    blurred = smoothed_parts(2, by_source, moments, taken, strength)
    down, _ = _at_edge(i64(y), i64(image.height), draw.taps, weights)
    across, _ = _at_edge(i64(x), i64(image.width), draw.taps, weights)
    edge = down * across
    rest = alone[0] + mixed[0] * edge, alone[1] + mixed[1] * edge, alone[2] + mixed[2] * edge
    _fill(0, at, found[2], maps)
    _fill(3, at, blurred, maps)
    _fill(6, at, rest, maps)
    _fill(9, at, found[1], maps)
    _fill(12, at, found[3], maps)


@scalar
def column_thread_count(image, batch, maps):
    """Count the pixels of an image whose chroma is smoothed: the made window's rows, wider."""
    return u32(image.made_rows * image.span_columns if batch.draws[image.draw].taps > 0 else 0)


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
        total = _ZERO
        for d in range(taps):
            up, down = pixel - min(d, y) * width, pixel + min(d, beneath) * width
            own = maps.pixels[k * maps.stride + at + up]
            if d > 0:
                own += maps.pixels[k * maps.stride + at + down]
            weight = weights[d]
            total += (weight if k < 3 else weight * weight) * own
        maps.blurred[k * maps.stride + at + pixel] = total


@scalar
def _along_row(k, at, beside, taps, weights, maps):
    """Return a number of a pixel, blurred; beside: pixels left and right of it in its row."""
    total, own_plane = _ZERO, k * maps.stride + at
    for d in range(taps):
        own = maps.blurred[own_plane - min(d, beside[0])]
        if d > 0:
            own += maps.blurred[own_plane + min(d, beside[1])]
        weight = weights[d]
        total += (weight if k < 3 else weight * weight) * own
    return total


@scalar
def _place_of_level(level, levels):
    """Return the encoding table's cell of a level, and the share of the way to the next one."""
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
    return cell, min(max(share, 0.0), 1.0)


@scalar
def _light_of_level(level, levels):
    """Return the light of a level."""
    cell, share = _place_of_level(level, levels)
    root = f32(cell + share) / f32(levels.shape[0] - 1)
    return root * root


@scalar
def _edge_of_level(level, levels):
    """Return the light of a level, on a straight line within a cell."""
    cell, share = _place_of_level(level, levels)
    last = f64(levels.shape[0] - 1)
    below, above = cell / last, (cell + 1) / last
    return below * below + (above * above - below * below) * share


@scalar
def _dot(factors, values):
    return factors[0] * values[0] + factors[1] * values[1] + factors[2] * values[2]


@scalar
def _three(plane, place, maps):
    """Return three planes of a pixel."""
    at = plane * maps.stride + place
    values, two = maps.pixels, 2 * maps.stride
    return values[at], values[at + maps.stride], values[at + two]


@scalar
def smooth_thread_count(image, batch, maps):
    """Count the pixels of a window whose chroma is smoothed."""
    return u32(image.rows * image.columns if batch.draws[image.draw].taps > 0 else 0)


@scalar
def smooth_step(number, place, batch, maps):
    """Find level, light and noise of a pixel whose chroma is smoothed."""
    image = batch.images[number]
    draw, weights = batch.draws[image.draw], batch.blur[image.draw]
    row, column = row_and_column(u32(place), u32(image.columns))
    y, x = i64(row) + image.top, i64(column) + image.left
    pixel = i64(y - image.span_top) * image.span_columns + i64(x - image.span_left)
    at, levels = maps.first[number] + pixel, maps.levels[number]
    own, rest = _three(0, at, maps), _three(6, at, maps)
    strength = draw.isp_chroma_strength
    beside, taps = (i64(x), i64(image.width - 1 - x)), draw.taps
    smooth = (
        _along_row(0, at, beside, taps, weights, maps),
        _along_row(1, at, beside, taps, weights, maps),
        _along_row(2, at, beside, taps, weights, maps),
    )
    spread = (
        _along_row(3, at, beside, taps, weights, maps),
        _along_row(4, at, beside, taps, weights, maps),
        _along_row(5, at, beside, taps, weights, maps),
    )
    bright, smooth_bright = _dot(_LUMA, own), _dot(_LUMA, smooth)
    level = (
        _merged(bright, own[0] - bright, smooth[0] - smooth_bright, strength),
        _merged(bright, own[1] - bright, smooth[1] - smooth_bright, strength),
        _merged(bright, own[2] - bright, smooth[2] - smooth_bright, strength),
    )
    light = (
        _light_of_level(level[0], levels),
        _light_of_level(level[1], levels),
        _light_of_level(level[2], levels),
    )
    _, down = _at_edge(i64(y), i64(image.height), taps, weights)
    _, across = _at_edge(i64(x), i64(image.width), taps, weights)
    squares = weights[0] * weights[0]
    for d in range(1, taps):
        squares += _TWO * weights[d] * weights[d]
    share = down * across / (squares * squares)
    variance = (
        max(rest[0] + share * spread[0], _ZERO),
        max(rest[1] + share * spread[1], _ZERO),
        max(rest[2] + share * spread[2], _ZERO),
    )
    _fill_all(number, at, level, light, (variance, _three(9, at, maps), _three(12, at, maps)), maps)


@scalar
def _merged(bright, difference, smooth, strength):
    """Return the level of a channel whose difference to brightness is smoothed."""
    return min(max(bright + difference + strength * (smooth - difference), _ZERO), _WHITE)


@scalar
def map_thread_count(image, batch, maps):
    """Count the pixels that come out of a window."""
    count = maps.high * maps.wide if maps.high > 0 else i64(image.rows) * i64(image.columns)
    return u32(count if image.height > 0 else 0)


@scalar
def _reach(place, before, after):
    """Return the first and last of `before` pixels that one of `after` is made of."""
    scale = before / after
    if before == after:
        return place, place
    if after < before:
        last = -i64(np.floor(-(place + 1) * scale)) - 1
        return i64(np.floor(place * scale)), min(last, before - 1)
    first = i64(np.floor((place + 0.5) * scale - 0.5))
    return max(first, 0), min(first + 1, before - 1)


@scalar
def _share(place, pixel, before, after):
    """Return the share of a pixel in one that comes out: areas of larger, lines of smaller ones."""
    scale = before / after
    if before == after:
        return 1.0
    if after < before:
        end, begin = min(pixel + 1.0, (place + 1) * scale), max(1.0 * pixel, place * scale)
        return max(end - begin, 0.0) * (after / before)
    middle = min(max((place + 0.5) * scale - 0.5, 0.0), before - 1.0)
    return max(1.0 - abs(pixel - middle), 0.0)


@scalar
def _more(total, weight, values):
    return (
        total[0] + weight * values[0],
        total[1] + weight * values[1],
        total[2] + weight * values[2],
    )


@scalar
def _lamps_at(number, y, x, batch):
    """Return whether a pixel is of a lamp, and the light of all lamps there."""
    draw = batch.draws[batch.images[number].draw]
    glare, inside = glare_of(draw), _ZERO
    red = green = blue = _ZERO
    for k in range(draw.emitters_count):
        lamp = batch.lamps[number, k]
        down, across, radius = f64(y) - f64(lamp[0]), f64(x) - f64(lamp[1]), f64(lamp[2])
        if down * down + across * across <= radius * radius:
            inside = _ONE
        own = f32(shine(y, x, lamp, glare))
        red, green, blue = red + own * lamp[10], green + own, blue + own * lamp[11]
    return inside, (red, green, blue)


@scalar
def _put(plane, at, values, maps):
    """Fill three planes of a place of what comes out."""
    step = maps.rows * maps.columns
    for c in range(3):
        maps.into[at + (plane + c) * step] = f32(values[c])


@scalar
def map_step(number, place, batch, maps):
    """Find what comes out at a place of all maps, from one pixel or more."""
    image = batch.images[number]
    rows, columns, step = i64(image.rows), i64(image.columns), maps.rows * maps.columns
    high = i64(maps.high) if maps.high > 0 else rows
    wide = i64(maps.wide) if maps.high > 0 else columns
    own_row, own_column = row_and_column(u32(place), u32(wide))
    y, x = i64(own_row), i64(own_column)
    to_y, to_x = goes_to(image, u32(y), u32(x), u32(high), u32(wide))
    at = (i64(number) * maps.planes * maps.rows + i64(to_y)) * maps.columns + i64(to_x)
    top, bottom = _reach(y, rows, high)
    left, right = _reach(x, columns, wide)
    of_emitters = maps.mask >= 0 or maps.emitter_light >= 0
    level = light = noise = in_light = shining = (_ZERO, _ZERO, _ZERO)
    ev, masked = 0.0, _ZERO
    for i in range(top, bottom + 1):
        down, own_y = _share(y, i, rows, high), i32(image.top + i)
        first = maps.first[number] + i64(own_y - image.span_top) * image.span_columns
        row = row_above(own_y, image.height, CELLS)
        for j in range(left, right + 1):
            share, own_x = down * _share(x, j, columns, wide), i32(image.left + j)
            weight = f32(share)
            pixel = first + i64(own_x - image.span_left)
            if maps.light >= 0:
                column = column_left(own_x, image.width)
                factor = max(f64(grid_value(batch.light[number], row, column)), 1e-30)
                ev += share * (log2(factor) + batch.exposure[number])
            if of_emitters:
                inside, shone = _lamps_at(number, own_y, own_x, batch)
                masked, shining = masked + weight * inside, _more(shining, weight, shone)
            if maps.clean >= 0:
                level = _more(level, weight, _three(0, pixel, maps))
            if maps.linear >= 0:
                light = _more(light, weight, _three(3, pixel, maps))
            if maps.noise >= 0:
                noise = _more(noise, weight, _three(6, pixel, maps))
            if maps.noise_linear >= 0:
                in_light = _more(in_light, weight, _three(9, pixel, maps))
    shift, scale = f32(maps.shift), f32(maps.scale)
    if maps.light >= 0:
        maps.into[at + maps.light * step] = f32(ev)
    if maps.mask >= 0:
        maps.into[at + maps.mask * step] = f32(masked)
    if maps.emitter_light >= 0:
        _put(maps.emitter_light, at, shining, maps)
    if maps.clean >= 0:
        values = (level[0] - shift) * scale, (level[1] - shift) * scale, (level[2] - shift) * scale
        _put(maps.clean, at, values, maps)
    if maps.linear >= 0:
        _put(maps.linear, at, light, maps)
    if maps.noise >= 0:
        _put(maps.noise, at, (noise[0] * scale, noise[1] * scale, noise[2] * scale), maps)
    if maps.noise_linear >= 0:
        _put(maps.noise_linear, at, in_light, maps)
