"""What the draws of a batch know of its pixels: maps, moved as the pixels are.

It is what `render.noise_map` and `render.emitters` do for one image, without a mosaic.

    level_step, noise_step, channel_step     curves and noise of an image
    moment_step -> column_step               its pixels; where chroma is smoothed, blurred down
    map_step                                 each place of what comes out

Steps follow those of `illumination_steps`, and where light is spread, of `degradation_steps`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..args import colour_of, glare_of, noise_of
from ..compiling.compile import scalar
from ..curves import LUMA, Toe, encoded
from ..demosaic import BINNED
from ..develop import ENCODE_CELLS
from ..emitters import shine
from ..exposure import row_above
from ..illumination import CELLS
from ..moments import (
    LIGHTS,
    ROUNDING,
    SiteNoise,
    noisy_level,
    quad_moments,
    read_cumulants,
)
from ..moments import (
    light_of as light_of_place,
)
from ..numbers.elementary import log2
from ..types import f32, f64, i32, i64, u32
from .image_state import GAUSSIAN, light_of
from .pixel_steps import column_left, grid_value, levels_at, mean_electrons
from .resize_steps import goes_to

DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`
PLANES, BLURRED = 12, 6
"""Numbers of a pixel, three of each: level, light, its level's variance, levels for each unit of
light. Where chroma is to be smoothed, the variance of the colour difference stands for light, and
that of the pixel's own part for the whole; the first six of them are blurred then."""
_LUMA = float(LUMA[0]), float(LUMA[1]), float(LUMA[2])


class Maps(NamedTuple):
    """Maps of a batch of N images, and the memory that their steps share.

    into: float32 array (N * planes * rows * columns), of zeros.
    rows, columns: room for each image. high, wide: size that windows are resized to, or 0.
    light, ...: the first plane of each map; -1 where nobody asks for it.
    hermite, laguerre, depths: nodes and weights of quadratures.
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
    sites: npt.NDArray[np.float64]  # (N, 4) of SiteNoise
    channels: npt.NDArray[np.float64]  # (N, 3, 2, LIGHTS), noise of channels
    first: npt.NDArray[np.int64]  # (N), the first pixel of an image's span among all
    pixels: npt.NDArray[np.float32]  # (P * PLANES)
    blurred: npt.NDArray[np.float32]  # (P * BLURRED), along columns
    hermite: npt.NDArray[np.float64]  # (2, n)
    laguerre: npt.NDArray[np.float64]  # (2, n)
    depths: npt.NDArray[np.float64]  # (2, n)


@scalar
def level_thread_count(image, batch, maps):
    """Count the places of an image's encoding table."""
    return u32(ENCODE_CELLS if image.height > 0 else 0)


@scalar
def _encoded_level(number, place, batch):
    if place == 0:
        return 0.0
    draw = batch.draws[batch.images[number].draw]
    toe = Toe(draw.tone_toe, draw.toe_slope, draw.toe_end)
    return 255.0 * encoded(batch.log_light[place], draw.isp_contrast, draw.tone, draw.gamma, toe)


@scalar
def level_step(number, place, batch, maps):
    """Fill a level of the encoding table; see `noise_map._as_rounded` where pixels are rounded."""
    cell, last = i64(place), i64(ENCODE_CELLS - 1)
    if batch.draws[batch.images[number].draw].taps > 0:
        maps.levels[number, cell] = f32(_encoded_level(number, cell, batch))
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
        right, upper = f64(last), _encoded_level(number, last, batch)
    else:
        upper = (f64(table[above]) + f64(table[above + 1])) / 2
    share = (f64(cell) - left) / (right - left)
    maps.levels[number, cell] = f32(lower + (upper - lower) * share)


@scalar
def noise_thread_count(image, batch, maps):
    """Count 1 for an image."""
    return u32(1 if image.height > 0 else 0)


@scalar
def noise_step(number, place, batch, maps):
    """Find the cumulants of what sites add to their electrons."""
    read = batch.read[batch.images[number].draw]
    second, fourth = read_cumulants(read[0], maps.depths[0], maps.depths[1])
    of_two, fourth_of_two = read_cumulants(read[1], maps.depths[0], maps.depths[1])
    maps.sites[number, 0], maps.sites[number, 1] = second + ROUNDING, fourth
    maps.sites[number, 2], maps.sites[number, 3] = of_two + 2 * ROUNDING, fourth_of_two


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
    curve = maps.levels[number], maps.hermite[0], maps.hermite[1]
    tail, factors = (maps.laguerre[0], maps.laguerre[1]), (f64(noise.wide), f64(noise.narrow))
    variance, follows = noisy_level(light_of_place(k), own, factors, curve, tail)
    maps.channels[number, c, 0, k], maps.channels[number, c, 1, k] = variance, follows


@scalar
def _moments(number, y, x, batch, maps):
    """Return `quad_moments` of a pixel of the picture."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    light = light_of(number, batch)
    place = u32((y - image.span_top) * image.span_columns + x - image.span_left)
    electrons = mean_electrons(light, place, y, x, levels_at(light, y, x, batch), batch)
    site = maps.sites[number]
    noise = SiteNoise(site[0], site[1], site[2], site[3])
    sensor = draw.method, f64(draw.camera_sensor_gain), noise, (1.0, 1.0, 1.0)
    curve = maps.levels[number], maps.hermite[0], maps.hermite[1]
    channels = noise_of(draw, GAUSSIAN)
    return quad_moments(electrons, sensor, colour_of(draw), channels, maps.channels[number], curve)


@scalar
def _slope(variance, light_variance):
    """Return levels for each unit of light."""
    return np.sqrt(max(variance, 1e-12) / max(light_variance, 1e-30))


@scalar
def _row_noise(draw, slopes):
    """Return levels that noise of one row is worth, and of another one under quads."""
    colour, row = colour_of(draw), f64(draw.camera_sensor_row_sigma)
    m, unit = colour.to_srgb, row / (f64(colour.white) - f64(colour.black))
    red, green, blue = colour.red_gain * unit, colour.green_gain * unit, colour.blue_gain * unit
    own, other = 1.0, 0.0  # of blue and of red
    if draw.method == BINNED:
        green, own, other = 0.5 * green, 0.0, 1.0
    first = (
        slopes[0] * (m.rr * red + m.rg * green + own * m.rb * blue),
        slopes[1] * (m.gr * red + m.gg * green + own * m.gb * blue),
        slopes[2] * (m.br * red + m.bg * green + own * m.bb * blue),
    )
    second = (
        other * slopes[0] * (m.rg * green + m.rb * blue),
        other * slopes[1] * (m.gg * green + m.gb * blue),
        other * slopes[2] * (m.bg * green + m.bb * blue),
    )
    return first, second


@scalar
def _apart(c, share):
    """Return what brightness and a share of the difference to it take of the channels."""
    kept = 1.0 - share
    return (
        _LUMA[0] * kept + (share if c == 0 else 0.0),
        _LUMA[1] * kept + (share if c == 1 else 0.0),
        _LUMA[2] * kept + (share if c == 2 else 0.0),
    )


@scalar
def _difference(c):
    """Return what the difference of a channel to brightness takes of the channels."""
    return (
        (1.0 if c == 0 else 0.0) - _LUMA[0],
        (1.0 if c == 1 else 0.0) - _LUMA[1],
        (1.0 if c == 2 else 0.0) - _LUMA[2],
    )


@scalar
def _dot(factors, values):
    return factors[0] * values[0] + factors[1] * values[1] + factors[2] * values[2]


@scalar
def _variance_of(factors, variances, covariances):
    """Return the variance of a sum of channels."""
    a, b, c = factors
    total = a * a * variances[0] + b * b * variances[1] + c * c * variances[2]
    mixed = a * b * covariances[0] + b * c * covariances[1] + a * c * covariances[2]
    return max(total + 2 * mixed, 0.0)


@scalar
def moment_thread_count(image, batch, maps):
    """Count the pixels of a span."""
    return u32(image.span_rows * image.span_columns if image.height > 0 else 0)


@scalar
def moment_step(number, place, batch, maps):
    """Find the moments of a pixel; see `noise_map._smoothed` where chroma is smoothed."""
    image = batch.images[number]
    draw, weights = batch.draws[image.draw], batch.blur[image.draw]
    y = i32(place) // image.span_columns
    x = i32(place) - y * image.span_columns
    found = _moments(number, i32(y + image.span_top), i32(x + image.span_left), batch, maps)
    light, light_variance, level, variance, covariances = found
    slopes = (
        _slope(variance[0], light_variance[0]),
        _slope(variance[1], light_variance[1]),
        _slope(variance[2], light_variance[2]),
    )
    first, second = _row_noise(draw, slopes)
    strength, middle = f64(draw.isp_chroma_strength), f64(weights[0])
    squares = middle * middle
    for d in range(1, draw.taps):
        squares += 2 * f64(weights[d]) * f64(weights[d])
    others = strength * strength * (squares - middle * middle)
    at = PLANES * (maps.first[number] + i64(place))
    for c in range(3):
        maps.pixels[at + c], maps.pixels[at + 9 + c] = level[c], slopes[c]
        if draw.taps > 0:
            own, difference = _apart(c, 1 - strength + strength * middle * middle), _difference(c)
            along = _apart(c, 1 - strength + strength * middle)
            total = _variance_of(own, variance, covariances)
            total += _dot(along, first) ** 2 + others * _dot(difference, first) ** 2
            total += _dot(along, second) ** 2 + others * _dot(difference, second) ** 2
            maps.pixels[at + 3 + c] = _variance_of(difference, variance, covariances)
            maps.pixels[at + 6 + c] = total
        else:
            maps.pixels[at + 3 + c] = light[c]
            maps.pixels[at + 6 + c] = variance[c] + first[c] ** 2 + second[c] ** 2


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
    y = i64(place) // width + image.made_top
    pixel = i64(place) + i64(image.made_top - image.span_top) * width
    beneath, at = image.height - 1 - y, maps.first[number]
    for k in range(BLURRED):
        total = 0.0
        for d in range(taps):
            up, down = pixel - min(d, y) * width, pixel + min(d, beneath) * width
            own = f64(maps.pixels[PLANES * (at + up) + k])
            if d > 0:
                own += f64(maps.pixels[PLANES * (at + down) + k])
            weight = f64(weights[d])
            total += (weight if k < 3 else weight * weight) * own
        maps.blurred[BLURRED * (at + pixel) + k] = total


@scalar
def _along_row(number, pixel, x, k, batch, maps):
    """Return a number of a pixel, blurred."""
    image = batch.images[number]
    taps, weights = batch.draws[image.draw].taps, batch.blur[image.draw]
    beyond, at, total = image.width - 1 - x, maps.first[number] + pixel, 0.0
    for d in range(taps):
        own = f64(maps.blurred[BLURRED * (at - min(d, x)) + k])
        if d > 0:
            own += f64(maps.blurred[BLURRED * (at + min(d, beyond)) + k])
        weight = f64(weights[d])
        total += (weight if k < 3 else weight * weight) * own
    return total


@scalar
def _light_of_level(level, levels):
    """Return the light of a level, between the encoding table's places."""
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
    root = (cell + min(max(share, 0.0), 1.0)) / (levels.shape[0] - 1)
    return root * root


@scalar
def _three(values, at):
    return f64(values[at]), f64(values[at + 1]), f64(values[at + 2])


@scalar
def _pixel(number, y, x, batch, maps):
    """Return level, light, variance and slope of the channels of a pixel."""
    image = batch.images[number]
    pixel = i64(y - image.span_top) * image.span_columns + i64(x - image.span_left)
    at, levels = PLANES * (maps.first[number] + pixel), maps.levels[number]
    own, slopes = _three(maps.pixels, at), _three(maps.pixels, at + 9)
    if batch.draws[image.draw].taps == 0:
        return own, _three(maps.pixels, at + 3), _three(maps.pixels, at + 6), slopes
    blurred = (
        _along_row(number, pixel, x, 0, batch, maps),
        _along_row(number, pixel, x, 1, batch, maps),
        _along_row(number, pixel, x, 2, batch, maps),
    )
    bright, smooth = _dot(_LUMA, own), _dot(_LUMA, blurred)
    red = _merged(number, at, pixel, x, 0, (own[0] - bright, blurred[0] - smooth), batch, maps)
    green = _merged(number, at, pixel, x, 1, (own[1] - bright, blurred[1] - smooth), batch, maps)
    blue = _merged(number, at, pixel, x, 2, (own[2] - bright, blurred[2] - smooth), batch, maps)
    level = (
        min(max(bright + red[0], 0.0), 255.0),
        min(max(bright + green[0], 0.0), 255.0),
        min(max(bright + blue[0], 0.0), 255.0),
    )
    light = (
        _light_of_level(level[0], levels),
        _light_of_level(level[1], levels),
        _light_of_level(level[2], levels),
    )
    return level, light, (red[1], green[1], blue[1]), slopes


@scalar
def _merged(number, at, pixel, x, c, differences, batch, maps):
    """Return a channel's smoothed difference to brightness, and its level's variance."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    strength, middle = f64(draw.isp_chroma_strength), f64(batch.blur[image.draw, 0]) ** 4
    around = _along_row(number, pixel, x, 3 + c, batch, maps)
    beside = max(around - middle * f64(maps.pixels[at + 3 + c]), 0.0)
    difference = differences[0] + strength * (differences[1] - differences[0])
    return difference, f64(maps.pixels[at + 6 + c]) + strength * strength * beside


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
        return max(end - begin, 0.0) / scale
    middle = min(max((place + 0.5) * scale - 0.5, 0.0), before - 1.0)
    return max(1.0 - abs(pixel - middle), 0.0)


@scalar
def map_step(number, place, batch, maps):
    """Find what comes out at a place of all maps, from one pixel or more."""
    image = batch.images[number]
    rows, columns = i64(image.rows), i64(image.columns)
    high = i64(maps.high) if maps.high > 0 else rows
    wide = i64(maps.wide) if maps.high > 0 else columns
    y, x = i64(place) // wide, i64(place) % wide
    to_y, to_x = goes_to(image, u32(y), u32(x), u32(high), u32(wide))
    at = (i64(number) * maps.planes * maps.rows + i64(to_y)) * maps.columns + i64(to_x)
    top, bottom = _reach(y, rows, high)
    left, right = _reach(x, columns, wide)
    for i in range(top, bottom + 1):
        for j in range(left, right + 1):
            weight = _share(y, i, rows, high) * _share(x, j, columns, wide)
            _add_pixel(number, i32(image.top + i), i32(image.left + j), weight, at, batch, maps)


@scalar
def _add(maps, at, plane, weight, values):
    for c in range(3):
        maps.into[at + (plane + c) * maps.rows * maps.columns] += f32(weight * values[c])


@scalar
def _add_pixel(number, y, x, weight, at, batch, maps):
    """Add a pixel's part of what comes out at a place."""
    image = batch.images[number]
    draw, step = batch.draws[image.draw], maps.rows * maps.columns
    if maps.light >= 0:
        row, column = row_above(y, image.height, CELLS), column_left(x, image.width)
        factor = max(f64(grid_value(batch.light[number], row, column)), 1e-30)
        ev = log2(factor) + batch.exposure[number]
        maps.into[at + maps.light * step] += f32(weight * ev)
    if maps.mask >= 0 or maps.emitter_light >= 0:
        glare, inside = glare_of(draw), 0.0
        red = green = blue = 0.0
        for k in range(draw.emitters_count):
            lamp = batch.lamps[number, k]
            down, across, radius = f64(y) - f64(lamp[0]), f64(x) - f64(lamp[1]), f64(lamp[2])
            if down * down + across * across <= radius * radius:
                inside = 1.0
            own = f64(shine(y, x, lamp, glare))
            red, green, blue = red + own * lamp[10], green + own, blue + own * lamp[11]
        if maps.mask >= 0:
            maps.into[at + maps.mask * step] += f32(weight * inside)
        if maps.emitter_light >= 0:
            _add(maps, at, maps.emitter_light, weight, (red, green, blue))
    if maps.clean >= 0 or maps.linear >= 0 or maps.noise >= 0 or maps.noise_linear >= 0:
        level, light, variance, slopes = _pixel(number, y, x, batch, maps)
        deviation = (
            np.sqrt(variance[0] + ROUNDING),
            np.sqrt(variance[1] + ROUNDING),
            np.sqrt(variance[2] + ROUNDING),
        )
        if maps.clean >= 0:
            values = level[0] - maps.shift, level[1] - maps.shift, level[2] - maps.shift
            _add(maps, at, maps.clean, weight * maps.scale, values)
        if maps.linear >= 0:
            _add(maps, at, maps.linear, weight, light)
        if maps.noise >= 0:
            _add(maps, at, maps.noise, weight * maps.scale, deviation)
        if maps.noise_linear >= 0:
            in_light = (
                deviation[0] / slopes[0],
                deviation[1] / slopes[1],
                deviation[2] / slopes[2],
            )
            _add(maps, at, maps.noise_linear, weight, in_light)
