"""What the draws of a batch know of its pixels: maps, moved as the pixels are.

It is what `render.noise_map` and `render.emitters` do for one image.

    level_step, noise_step, channel_step     curves and noise of an image
    mean_step, weight_step -> product_step   where there is a mosaic: its sites, and what pixels
                                             take of them
    moment_step -> column_step               its pixels; where chroma is smoothed, blurred down
    map_step                                 each place of what comes out

Steps follow those of `illumination_steps`, and where light is spread, of `degradation_steps`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..args import colour_of, glare_of, noise_of
from ..chroma import MOST_TAPS
from ..compiling.compile import scalar
from ..curves import LUMA, Toe, encoded
from ..demosaic import BILINEAR, BINNED, BORDER
from ..develop import ENCODE_CELLS
from ..emitters import shine
from ..exposure import row_above, transformed
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
from ..types import f32, f64, i32, i64, u32, u64
from .image_state import GAUSSIAN, Light, light_of, row_and_column
from .pixel_steps import (
    column_left,
    demosaiced,
    grid_value,
    levels_at,
    mean_electrons,
    site_levels,
    site_mean,
    site_thread_count,
)
from .resize_steps import goes_to

DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`
PLANES, BLURRED = 12, 6
"""Numbers of a pixel, three of each: level, light, its level's variance, levels for each unit of
light. Where chroma is to be smoothed, the variance of the colour difference stands for light, and
that of the pixel's own part for the whole; the first six of them are blurred then. Behind a mosaic
the variance is the whole, and 0 stands for light."""
MOST_SITES = 2 * (MOST_TAPS - 1 + BORDER) + 1
"""Sites that a pixel is made of, down and across, where chroma is smoothed."""
PRODUCTS = 4 * 3 * 4 * 6
"""Of each parity of row and column, of each channel, of the sites of each colour and of all sites
of a row: a symmetric matrix of the slopes of three channels."""
_NAN = float("nan")
_LUMA = float(LUMA[0]), float(LUMA[1]), float(LUMA[2])


class Maps(NamedTuple):
    """Maps of a batch of N images, and the memory that their steps share.

    into: float32 array (N * planes * rows * columns), of zeros.
    rows, columns: room for each image. high, wide: size that windows are resized to, or 0.
    light, ...: the first plane of each map; -1 where nobody asks for it.
    hermite, laguerre, depths: nodes and weights of quadratures. demosaic, kept: by method.
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
    weights: npt.NDArray[np.float32]  # (N, 12 * MOST_SITES^2), blurred, of parities and colours
    products: npt.NDArray[np.float64]  # (N, PRODUCTS)
    first: npt.NDArray[np.int64]  # (N), the first pixel of an image's span among all
    pixels: npt.NDArray[np.float32]  # (P * PLANES)
    blurred: npt.NDArray[np.float32]  # (P * BLURRED), along columns
    hermite: npt.NDArray[np.float64]  # (2, n)
    laguerre: npt.NDArray[np.float64]  # (2, n)
    depths: npt.NDArray[np.float64]  # (2, n)
    demosaic: npt.NDArray[np.float64]  # (2, 2, 2, 3, 5, 5), `mosaic_noise.demosaic_weights`
    kept: npt.NDArray[np.float64]  # (2, 3), share of a site's variance that they leave


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
    """Fill a level of the encoding table; see `noise_map._as_rounded` where pixels are rounded."""
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
    """Return `quad_moments` of a pixel of the picture, and its mean electrons."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    light = light_of(number, batch)
    place = u32((y - image.span_top) * image.span_columns + x - image.span_left)
    kept = 1.0, 1.0, 1.0
    if draw.method >= BILINEAR:
        own = maps.kept[draw.method - BILINEAR]
        kept = own[0], own[1], own[2]
        top, left = u32(y - image.span_top), u32(x - image.span_left)
        columns = u32(image.span_columns)
        mosaic = Mosaic(image.span_top, image.span_left, columns, image.mosaic, light)
        red, greens, blue = demosaiced(mosaic, draw.method, top, left, batch)
        electrons = red, greens * f32(0.5), blue
    else:
        electrons = mean_electrons(light, place, y, x, levels_at(light, y, x, batch), batch)
    site = maps.sites[number]
    noise = SiteNoise(site[0], site[1], site[2], site[3])
    sensor = draw.method, f64(draw.camera_sensor_gain), noise, kept
    curve = maps.levels[number], maps.hermite[0], maps.hermite[1]
    channels = noise_of(draw, GAUSSIAN)
    made = maps.channels[number]
    return quad_moments(electrons, sensor, colour_of(draw), channels, made, curve), electrons


@scalar
def _slope(variance, light_variance):
    """Return levels for each unit of light."""
    return np.sqrt(max(variance, 1e-12) / max(light_variance, 1e-30))


@scalar
def _in_light(draw, red, green, blue):
    """Return light of the channels for DN of red, green and blue sites."""
    colour = colour_of(draw)
    unit = 1.0 / (f64(colour.white) - f64(colour.black))
    r, g, b = red * colour.red_gain, green * colour.green_gain, blue * colour.blue_gain
    return transformed(colour.to_srgb, r * unit, g * unit, b * unit)


@scalar
def _row_noise(draw, slopes):
    """Return levels that noise of one row is worth, and of another one under quads."""
    row = f64(draw.camera_sensor_row_sigma)
    if draw.method == BINNED:
        upper, lower = _in_light(draw, row, 0.5 * row, 0.0), _in_light(draw, 0.0, 0.5 * row, row)
    else:
        upper, lower = _in_light(draw, row, row, row), (0.0, 0.0, 0.0)
    return (
        (slopes[0] * upper[0], slopes[1] * upper[1], slopes[2] * upper[2]),
        (slopes[0] * lower[0], slopes[1] * lower[1], slopes[2] * lower[2]),
    )


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
def _sites_across(draw):
    """Return the sites that a pixel is made of, down and across."""
    return 2 * (max(draw.taps - 1, 0) + BORDER) + 1


@scalar
def weight_thread_count(image, batch, maps):
    """Count the weights of the blur of a mosaic's pixels, where chroma is smoothed."""
    draw = batch.draws[image.draw]
    there = draw.taps > 0 and draw.method >= BILINEAR
    return u32(12 * _sites_across(draw) ** 2 if there else 0)


@scalar
def weight_step(number, place, batch, maps):
    """Find what the blur of a pixel takes of a site; see `mosaic_noise._blurred_weights`."""
    image = batch.images[number]
    draw, blur = batch.draws[image.draw], batch.blur[image.draw]
    across = i64(_sites_across(draw))
    of_site, kind = i64(place) % (across * across), i64(place) // (across * across)
    parity, colour = kind // 3, kind % 3
    own, middle, total = maps.demosaic[draw.method - BILINEAR], across // 2, 0.0
    for y in range(2 * BORDER + 1):
        down = of_site // across - middle - (y - BORDER)
        for x in range(2 * BORDER + 1):
            right = of_site % across - middle - (x - BORDER)
            if abs(down) < draw.taps and abs(right) < draw.taps:
                # The neighbour's own parity.
                weight = own[(parity // 2 + down) & 1, (parity + right) & 1, colour, y, x]
                total += f64(blur[abs(down)]) * f64(blur[abs(right)]) * weight
    maps.weights[number, place] = total


@scalar
def product_thread_count(image, batch, maps):
    """Count the matrices of an image behind a mosaic."""
    return u32(PRODUCTS // 6 if batch.draws[image.draw].method >= BILINEAR else 0)


@scalar
def _taken(draw, parity, c, row, column, demosaic, weights):
    """Return what three slopes, times the noise of a site, add to a channel's level.

    row, column: of the site among those that a pixel is made of. demosaic, weights: of its image.
    """
    across, own = i64(_sites_across(draw)), demosaic[parity // 2, parity % 2]
    y, x = row - (across // 2 - BORDER), column - (across // 2 - BORDER)
    near = y >= 0 and y <= 2 * BORDER and x >= 0 and x <= 2 * BORDER
    red = own[0, y, x] if near else 0.0
    green = own[1, y, x] if near else 0.0
    blue = own[2, y, x] if near else 0.0
    alone = _in_light(draw, red, green, blue)
    if draw.taps == 0:
        factors = _apart(c, 1.0)
        return factors[0] * alone[0], factors[1] * alone[1], factors[2] * alone[2]
    strength = f64(draw.isp_chroma_strength)
    first, step = 3 * parity * across * across + row * across + column, across * across
    smooth = _in_light(
        draw,
        f64(weights[first]),
        f64(weights[first + step]),
        f64(weights[first + 2 * step]),
    )
    factors, apart = _apart(c, 1.0 - strength), _difference(c)
    return (
        factors[0] * alone[0] + strength * apart[0] * smooth[0],
        factors[1] * alone[1] + strength * apart[1] * smooth[1],
        factors[2] * alone[2] + strength * apart[2] * smooth[2],
    )


@scalar
def product_step(number, place, batch, maps):
    """Find what pairs of slopes make of the variance of sites; see `mosaic_noise`."""
    draw = batch.draws[batch.images[number].draw]
    across, which = i64(_sites_across(draw)), i64(place) % 4
    parity, c, at = i64(place) // 12, i64(place) // 4 % 3, 6 * i64(place)
    demosaic, aa = maps.demosaic[draw.method - BILINEAR], 0.0
    bb = cc = ab = bc = ac = 0.0
    for row in range(across):
        down = (row - across // 2 + parity // 2) & 1
        red = green = blue = 0.0
        for column in range(across):
            colour = down + ((column - across // 2 + parity) & 1)
            if which < 3 and colour != which:
                continue
            a, b, d = _taken(draw, parity, c, row, column, demosaic, maps.weights[number])
            if which < 3:
                aa, bb, cc = aa + a * a, bb + b * b, cc + d * d
                ab, bc, ac = ab + a * b, bc + b * d, ac + a * d
            red, green, blue = red + a, green + b, blue + d
        if which == 3:
            aa, bb, cc = aa + red * red, bb + green * green, cc + blue * blue
            ab, bc, ac = ab + red * green, bc + green * blue, ac + red * blue
    products = maps.products[number]
    products[at], products[at + 1], products[at + 2] = aa, bb, cc
    products[at + 3], products[at + 4], products[at + 5] = ab, bc, ac


@scalar
def _mosaic_variance(draw, parity, c, electrons, slopes, products, single):
    """Return the variance of a channel's level behind a mosaic; single: of a site without light."""
    gain, row = f64(draw.camera_sensor_gain), f64(draw.camera_sensor_row_sigma)
    first, total = 6 * 4 * (3 * parity + c), 0.0
    for which in range(4):
        at, site = first + 6 * which, row * row
        if which < 3:
            site = gain * gain * max(f64(electrons[which]), 0.0) + single
        squares = products[at], products[at + 1], products[at + 2]
        mixed = products[at + 3], products[at + 4], products[at + 5]
        total += site * _variance_of(slopes, squares, mixed)
    return total


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
    y, x = i32(y + image.span_top), i32(x + image.span_left)
    found, electrons = _moments(number, y, x, batch, maps)
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
    products, single = maps.products[number], maps.sites[number, 0]
    parity = 2 * (y & 1) + (x & 1)
    at = PLANES * (maps.first[number] + i64(place))
    for c in range(3):
        maps.pixels[at + c], maps.pixels[at + 9 + c] = level[c], slopes[c]
        if draw.method >= BILINEAR:
            maps.pixels[at + 3 + c] = 0.0 if draw.taps > 0 else light[c]
            total = _mosaic_variance(draw, parity, c, electrons, slopes, products, single)
            maps.pixels[at + 6 + c] = _NAN if draw.noisy > 0 else total
        elif draw.taps > 0:
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
def _along_row(k, at, beside, taps, weights, blurred):
    """Return a number of a pixel, blurred; beside: pixels left and right of it in its row."""
    total = 0.0
    for d in range(taps):
        own = f64(blurred[BLURRED * (at - min(d, beside[0])) + k])
        if d > 0:
            own += f64(blurred[BLURRED * (at + min(d, beside[1])) + k])
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
    draw, weights = batch.draws[image.draw], batch.blur[image.draw]
    pixel = i64(y - image.span_top) * image.span_columns + i64(x - image.span_left)
    place, levels, pixels = maps.first[number] + pixel, maps.levels[number], maps.pixels
    at = PLANES * place
    own, slopes = _three(pixels, at), _three(pixels, at + 9)
    around, variance = _three(pixels, at + 3), _three(pixels, at + 6)
    if draw.taps == 0:
        return own, around, variance, slopes
    strength, middle = f64(draw.isp_chroma_strength), f64(weights[0]) ** 4
    beside, taps, blurred = (i64(x), i64(image.width - 1 - x)), draw.taps, maps.blurred
    smooth = (
        _along_row(0, place, beside, taps, weights, blurred),
        _along_row(1, place, beside, taps, weights, blurred),
        _along_row(2, place, beside, taps, weights, blurred),
    )
    spread = (
        _along_row(3, place, beside, taps, weights, blurred),
        _along_row(4, place, beside, taps, weights, blurred),
        _along_row(5, place, beside, taps, weights, blurred),
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
    share = strength * strength
    variance = (
        variance[0] + share * max(spread[0] - middle * around[0], 0.0),
        variance[1] + share * max(spread[1] - middle * around[1], 0.0),
        variance[2] + share * max(spread[2] - middle * around[2], 0.0),
    )
    return level, light, variance, slopes


@scalar
def _merged(bright, difference, smooth, strength):
    """Return the level of a channel whose difference to brightness is smoothed."""
    return min(max(bright + difference + strength * (smooth - difference), 0.0), 255.0)


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
def _add(into, at, step, weight, values):
    for c in range(3):
        into[at + c * step] += f32(weight * values[c])


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
            _add(maps.into, at + maps.emitter_light * step, step, weight, (red, green, blue))
    if maps.clean >= 0 or maps.linear >= 0 or maps.noise >= 0 or maps.noise_linear >= 0:
        level, light, variance, slopes = _pixel(number, y, x, batch, maps)
        deviation = (
            np.sqrt(variance[0] + ROUNDING),
            np.sqrt(variance[1] + ROUNDING),
            np.sqrt(variance[2] + ROUNDING),
        )
        if maps.clean >= 0:
            values = level[0] - maps.shift, level[1] - maps.shift, level[2] - maps.shift
            _add(maps.into, at + maps.clean * step, step, weight * maps.scale, values)
        if maps.linear >= 0:
            _add(maps.into, at + maps.linear * step, step, weight, light)
        if maps.noise >= 0:
            _add(maps.into, at + maps.noise * step, step, weight * maps.scale, deviation)
        if maps.noise_linear >= 0:
            in_light = (
                deviation[0] / slopes[0],
                deviation[1] / slopes[1],
                deviation[2] / slopes[2],
            )
            _add(maps.into, at + maps.noise_linear * step, step, weight, in_light)
