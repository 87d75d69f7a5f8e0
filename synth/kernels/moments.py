"""Moments of a low's noise, pixel by pixel: what the camera model's draws scatter around.

    mean electrons -> cumulants of DN -> of linear light -> moments of encoded levels

Shot noise has the cumulants of Poisson's distribution, read noise those of its quantiles. The
encoding curve is integrated over the distribution that has the light's first four cumulants, by
Cornish and Fisher's expansion (Revue de l'Institut International de Statistique 5, 1938); over
noise of channels as it is drawn.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .compiling.compile import kernel, scalar
from .degradations.pattern import hot_offset
from .demosaic import BILINEAR, BINNED, BORDER
from .develop import TOP
from .exposure import between, expose_row, light_of_pixels, row_above, transformed
from .numbers.random_bits import HOT, HOT_BELOW, channel_sample, mosaic_sample
from .types import u32

_LEAST = 1e-20  # variance of light that anything shows of
LIGHTS, DARKEST = 520, 64
"""Lights that levels of noisy channels are integrated for, and how many of them are below 0."""


class SiteNoise(NamedTuple):
    """What sites scatter by, and what pixels take of it.

    Attributes
    ----------
    gain : float
        DN per electron.
    shared : float64 array (5)
        Variance that all sites of red, green and blue have beside shot noise, then of what sites of
        a row share, and of a column, DN^2.
    fourth : float
        Fourth cumulant of the first, DN^4.
    squares : float64 array (2, 2, 3, 3, 5)
        By the parity of a pixel's row and column, covariance of two of its channels for each
        variance of those five; see `render.site_weights`.
    powers : float64 array (2, 2, 2, 3, 3)
        Likewise the third and fourth cumulant of a channel's linear light, for those of a site of
        red, green and blue.
    """

    gain: float
    shared: npt.NDArray[np.float64]
    fourth: float
    squares: npt.NDArray[np.float64]
    powers: npt.NDArray[np.float64]


@kernel
def expose_window(rgb, window, scene, means, light):
    """Fill mean electrons (3, h, w) of a window of `rgb` (H, W, 3), and its factors on light."""
    height, columns = rgb.shape[0], rgb.shape[1]
    flat = rgb.reshape(height * columns, 3)
    illumination = scene.illumination
    for i in range(window.height):
        y = window.top + i
        rows = means[0, i], means[1, i], means[2, i]
        light_of_pixels(flat, y * columns + window.left, scene, rows[0], rows[1], rows[2])
        expose_row(y, window.left, height, scene, rows)
        j, share = row_above(y, height, illumination.shape[0])
        for x in range(window.width):
            column = window.left + x
            light[i, x] = between(illumination[j, column], illumination[j + 1, column], share)


@kernel
def add_hot_sites(method, window, picture, pattern, gain, counts):
    """Add to mean electrons (3, h, w) as many as scatter by what hot sites add.

    Where they are is known: that is no noise to a sensor, but to a low it is, and far from normal.

    window: of pixels, or for a mosaic of its sites. picture: height and width.
    """
    pixels = u32(picture[0] * picture[1])
    for y in range(window.height):
        for x in range(window.width):
            row, column = window.top + y, window.left + x
            index = mosaic_sample(row, column, picture[1] + 2 * BORDER)
            pixel = u32(row * picture[1] + column)
            for c in range(3):
                if method < BILINEAR:
                    index = channel_sample(c, pixel, pixels)
                added = float(hot_offset(index, HOT, pattern))
                if method == BINNED and c == 1:  # of two sites, which count half each
                    added = (added + hot_offset(index, HOT_BELOW, pattern)) * math.sqrt(0.5)
                counts[c, y, x] += (added / gain) ** 2


@scalar
def level_at(light, levels):
    """Return the level of linear light, between the encoding table's places."""
    place = np.sqrt(min(max(light, 0.0), 1.0)) * TOP
    cell = min(int(place), levels.shape[0] - 2)
    return levels[cell] + (levels[cell + 1] - levels[cell]) * (place - cell)


@scalar
def cut_at(limit, mean, variance):
    """Return mean, variance and third cumulant of normal numbers that are cut at a limit."""
    scale = np.sqrt(max(variance, _LEAST))
    z = (limit - mean) / scale
    if z > 6.0:
        return mean, variance, 0.0
    below = 0.5 * math.erfc(-z * math.sqrt(0.5))
    density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    # Moments of what is left to the limit, in deviations.
    one = z * below + density
    two = z * one + below
    three = z * two + 2 * one
    third = three - 3 * one * two + 2 * one**3
    return limit - scale * one, variance * max(two - one * one, 0.0), -third * scale**3


@scalar
def encoded_moments(light, cumulants, levels, nodes, weights):
    """Return the variance of the level of light with a second, third and fourth cumulant.

    And its first two coefficients by Hermite's polynomials of the standard normal number that the
    light follows: what it has in common with others whose numbers correlate.
    """
    variance, third, fourth = cumulants
    if variance < _LEAST:
        return 0.0, 0.0, 0.0
    skew = min(max(third / (variance * np.sqrt(variance)), -2.0), 2.0)
    excess = min(fourth / (variance * variance), 3.0)
    one, two, three = 1 - skew * skew / 36, skew / 6, excess / 24 - skew * skew / 18
    scale = np.sqrt(variance / (one * one + 2 * two * two + 6 * three * three))
    mean = square = first = second = 0.0
    for i in range(nodes.shape[0]):
        z = nodes[i]
        off = one * z + two * (z * z - 1) + three * (z * z * z - 3 * z)
        level = level_at(light + scale * off, levels)
        mean += weights[i] * level
        square += weights[i] * level * level
        first += weights[i] * level * z
        second += weights[i] * level * (z * z - 1)
    return max(square - mean * mean, 0.0), first, second * math.sqrt(0.5)


@kernel
def fill_encoded(lights, light_variances, curve, clean, variances):
    """Fill levels (3, h, w) of light with normal noise of such variances, and theirs."""
    levels, nodes, weights = curve
    for c in range(3):
        for y in range(lights.shape[1]):
            for x in range(lights.shape[2]):
                light, variance = float(lights[c, y, x]), float(light_variances[c, y, x])
                of_level = encoded_moments(light, (variance, 0.0, 0.0), levels, nodes, weights)
                clean[c, y, x], variances[c, y, x] = level_at(light, levels), of_level[0]


@scalar
def channel_variance(light, own):
    """Return the variance that a `channel_noise.OneChannel` adds to light."""
    shot = own.shot * max(light, 0.0)
    variance = own.read * own.read + shot
    if variance <= 0.0:
        return 0.0
    bent = own.shot * shot / (6 * variance)
    share = own.tail_share * 2.0**-32
    spread = 2 * bent * bent + share * own.tail * own.tail * (2 - share)
    return variance * (1 + own.rows * own.rows) + spread


@kernel
def fill_channel_levels(noise, curve, tail_nodes, tail_weights, channel_levels):
    """Fill, for the lights of `light_of`, what `encoded_moments` returns of a level.

    Noise of channels is integrated as `channel_noise.noisy_channel` draws it: Gaussian numbers of
    two widths, and for some samples an exponential tail, which no expansion in cumulants bears.

    channel_levels: float64 array (3, 3, LIGHTS). tail_nodes, tail_weights: of Gauss and Laguerre's
    rule.
    """
    levels, nodes, weights = curve
    channels = noise.red, noise.green, noise.blue
    for c in range(3):
        own = channels[c]
        share = own.tail_share * 2.0**-32
        for k in range(channel_levels.shape[2]):
            light = light_of(k)
            shot = own.shot * max(light, 0.0)
            variance = max(own.read * own.read + shot, 1e-20)
            deviation, bent = np.sqrt(variance), own.shot * shot / (6 * variance)
            mean = square = first = second = 0.0
            for wide in range(2):
                factor = float(noise.wide if wide else noise.narrow)
                width = np.sqrt(factor * factor + own.rows * own.rows)
                for i in range(nodes.shape[0]):
                    z = width * nodes[i]
                    value = light + deviation * z + bent * (z * z - 1) - own.tail_mean
                    level = (1 - share) * level_at(value, levels)
                    squared = (1 - share) * level_at(value, levels) ** 2
                    for j in range(tail_nodes.shape[0] if share > 0 else 0):
                        tailed = level_at(value + own.tail * tail_nodes[j], levels)
                        level += share * tail_weights[j] * tailed
                        squared += share * tail_weights[j] * tailed * tailed
                    mean += 0.5 * weights[i] * level
                    square += 0.5 * weights[i] * squared
                    z, share_of = nodes[i], factor / width
                    first += 0.5 * weights[i] * level * z * share_of
                    second += 0.5 * weights[i] * level * (z * z - 1) * share_of * share_of
            channel_levels[c, 0, k] = max(square - mean * mean, 0.0)
            channel_levels[c, 1, k], channel_levels[c, 2, k] = first, second * math.sqrt(0.5)


@scalar
def light_of(place):
    """Return the light of a place among `LIGHTS`: closest together in the dark, some below 0."""
    root = (place - DARKEST) / float(LIGHTS - 1 - DARKEST)
    return root * root * root


@scalar
def between_lights(light, table):
    """Return what a table (LIGHTS) has for light, between the two nearest entries."""
    place = min(max(DARKEST + np.cbrt(light) * (LIGHTS - 1 - DARKEST), 0.0), LIGHTS - 1.001)
    cell = int(place)
    return table[cell] + (table[cell + 1] - table[cell]) * (place - cell)


@scalar
def scattered(counts, y, x, site, by_source):
    """Fill (5) what the sites about a pixel scatter by; see `SiteNoise.shared`."""
    for a in range(5):
        by_source[a] = site.shared[a]
        if a < 3:
            by_source[a] += site.gain**2 * max(float(counts[a, y, x]), 0.0)


@kernel
def pixel_moments(means, counts, site, colour, channels, curve, out):
    """Fill moments of the pixels of a window from their mean electrons (3, h, w).

    Parameters
    ----------
    counts : float32 array (3, h, w)
        Mean electrons of the sites of red, green and blue that scatter there.
    site : SiteNoise
    colour : Colour
    channels : ChannelNoise and a float64 array (3, 3, LIGHTS)
        Noise of channels and its levels; see `fill_channel_levels`.
    curve : levels (ENCODE_CELLS), nodes and weights for a standard normal distribution
    out : float32 arrays (3, h, w)
        Light; its variance; level; its variance; that without what follows the light in a straight
        line; covariances of that of red and green, green and blue, red and blue; and the slope of
        that line, in levels for each unit of light, or each deviation of noise of channels.
    """
    levels, nodes, weights = curve
    noise, channel_levels = channels
    lights, light_variances, clean, variances, rests, covariances, slopes = out
    unit = 1.0 / (float(colour.white) - float(colour.black))
    m = colour.to_srgb
    gains = float(colour.red_gain), float(colour.green_gain), float(colour.blue_gain)
    rows = (m.rr, m.rg, m.rb), (m.gr, m.gg, m.gb), (m.br, m.bg, m.bb)
    own = noise.red, noise.green, noise.blue
    mixing = noise.mixing
    together = (mixing.gr, mixing.gr * mixing.br + mixing.gg * mixing.bg, mixing.br)
    raw, cut, left = np.empty(3), np.empty(3), np.empty(3)
    skews, seconds, by_source = np.empty(3), np.empty(3), np.empty(5)
    of_raw, of_light = np.empty((3, 3)), np.empty((3, 3))
    for y in range(means.shape[1]):
        for x in range(means.shape[2]):
            squares, powers = site.squares[y & 1, x & 1], site.powers[y & 1, x & 1]
            scattered(counts, y, x, site, by_source)
            for c in range(3):
                step = gains[c] * unit
                for d in range(3):
                    of_raw[c, d] = 0.0
                    for a in range(5):
                        of_raw[c, d] += squares[c, d, a] * by_source[a] * step * gains[d] * unit
                limit, mean = min(gains[c], 1.0), site.gain * float(means[c, y, x]) * step
                raw[c] = min(mean, limit)
                cut[c], remains, skews[c] = cut_at(limit, mean, of_raw[c, c])
                left[c] = np.sqrt(remains / max(of_raw[c, c], _LEAST))
            light = transformed(m, raw[0], raw[1], raw[2])
            centre = transformed(m, cut[0], cut[1], cut[2])
            for c in range(3):
                mean = float(light[c])
                uncut = third = fourth = 0.0
                for d in range(3):
                    of_light[c, d] = 0.0
                    for i in range(3):
                        half = half_cut = 0.0
                        for j in range(3):
                            one = rows[d][j] * of_raw[i, j]
                            half += one
                            half_cut += one * left[j]
                        of_light[c, d] += rows[c][i] * left[i] * half_cut
                        uncut += rows[c][i] * half if c == d else 0.0
                    if c == d:
                        of_light[c, c] = max(of_light[c, c], 0.0)
                    counted = max(float(counts[d, y, x]), 0.0) * site.gain**3
                    third += powers[0, c, d] * counted
                    fourth += powers[1, c, d] * (counted * site.gain + site.fourth)
                if noise.there:  # the sensor has as good as none then
                    mean += own[c].offset
                    of_light[c, c] = channel_variance(mean, own[c])
                    variance = between_lights(mean, channel_levels[c, 0])
                    first = between_lights(mean, channel_levels[c, 1])
                    seconds[c] = between_lights(mean, channel_levels[c, 2])
                    slopes[c, y, x] = first
                else:
                    share = np.sqrt(of_light[c, c] / max(uncut, _LEAST))
                    third *= share**3
                    for d in range(3):
                        third += skews[d] * rows[c][d] ** 3
                    cumulants = of_light[c, c], third, fourth * share**4
                    of_level = encoded_moments(float(centre[c]), cumulants, levels, nodes, weights)
                    variance, first, seconds[c] = of_level
                    slopes[c, y, x] = first / np.sqrt(max(uncut, _LEAST))
                lights[c, y, x] = min(max(mean, 0.0), 1.0)
                light_variances[c, y, x] = of_light[c, c]
                clean[c, y, x] = level_at(mean, levels)
                variances[c, y, x] = variance
                rests[c, y, x] = max(variance - first * first, 0.0)
            for c in range(3):
                a, b = (0, 1) if c == 0 else ((1, 2) if c == 1 else (0, 2))
                shared = together[c]
                if not noise.there:
                    shared = of_light[a, b]
                    shared /= max(np.sqrt(of_light[a, a] * of_light[b, b]), _LEAST)
                covariances[c, y, x] = shared * shared * seconds[a] * seconds[b]


@kernel
def smoothed_variances(counts, site, slopes, alone, taken, mixing, out):
    """Fill variances of levels after chroma noise reduction.

    They are of what is not blurred, of that with the blur, and of the blur alone.

    alone: float32 arrays (3, h, w), `rests` and `covariances` of `pixel_moments`. taken: float64
    array (2, 2, 3, 6, 3, 3) of `render.mosaic_noise.smoothed_products`. mixing: float64 arrays
    (3, 3), what a channel takes of levels unblurred and blurred. out: float32 array (3, 3, h, w),
    by part and channel.
    """
    rests, covariances = alone
    own, blurred = mixing
    by_source, shared, total = np.empty(5), np.empty((3, 3)), np.empty((3, 3))
    for y in range(counts.shape[1]):
        for x in range(counts.shape[2]):
            scattered(counts, y, x, site, by_source)
            for i in range(3):
                shared[i, i] = rests[i, y, x]
            # Red and green have the first covariance, green and blue the second.
            shared[0, 1] = shared[1, 0] = covariances[0, y, x]
            shared[1, 2] = shared[2, 1] = covariances[1, y, x]
            shared[0, 2] = shared[2, 0] = covariances[2, y, x]
            for part in range(3):
                shares = taken[y & 1, x & 1, part]
                for i in range(3):
                    for j in range(3):
                        following = 0.0
                        for a in range(5):
                            following += by_source[a] * shares[a, i, j]
                        following *= slopes[i, y, x] * slopes[j, y, x]
                        total[i, j] = following + shares[5, i, j] * shared[i, j]
                one = own if part < 2 else blurred
                other = blurred if part > 0 else own
                for c in range(3):
                    variance = 0.0
                    for i in range(3):
                        for j in range(3):
                            variance += one[c, i] * other[c, j] * total[i, j]
                    out[part, c, y, x] = 2 * variance if part == 1 else variance
