"""Moments of a low's noise, pixel by pixel: what the camera model's draws scatter around.

    mean electrons -> cumulants of DN -> of linear light -> variance of encoded levels

Shot noise has the cumulants of Poisson's distribution, read noise those of its quantiles. The
encoding curve is integrated over the distribution that has the light's first four cumulants, by
Cornish and Fisher's expansion (Revue de l'Institut International de Statistique 5, 1938).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiling.compile import kernel, scalar
from .demosaic import BINNED
from .develop import TOP
from .exposure import between, expose_row, light_of_pixels, row_above, transformed

f32 = np.float32


class SiteNoise(NamedTuple):
    """Second and fourth cumulant of what sites add to their electrons, DN.

    Attributes
    ----------
    single, single4 : float
        Of one site, its row's noise and rounding included.
    pair, pair4 : float
        Of the two greens of a quad together.
    """

    single: float
    single4: float
    pair: float
    pair4: float


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


@scalar
def level_at(light, levels):
    """Return the level of linear light, between the encoding table's places."""
    place = np.sqrt(min(max(light, 0.0), 1.0)) * TOP
    cell = min(int(place), levels.shape[0] - 2)
    return levels[cell] + (levels[cell + 1] - levels[cell]) * (place - cell)


@scalar
def encoded_variance(light, cumulants, levels, nodes, weights):
    """Return the variance of the level of light with a second, third and fourth cumulant.

    And how far the level follows a standard normal number, which the light follows: what it has in
    common with other channels.
    """
    variance, third, fourth = cumulants
    if variance <= 0.0:
        return 0.0, 0.0
    skew = min(third / (variance * np.sqrt(variance)), 2.0)
    excess = min(fourth / (variance * variance), 3.0)
    scale = np.sqrt(variance / (1 + skew * skew / 18 + excess * excess / 96))
    mean = square = follows = 0.0
    for i in range(nodes.shape[0]):
        z = nodes[i]
        off = z + skew / 6 * (z * z - 1) + excess / 24 * (z * z * z - 3 * z)
        level = level_at(light + scale * off, levels)
        mean += weights[i] * level
        square += weights[i] * level * level
        follows += weights[i] * level * z
    return max(square - mean * mean, 0.0), follows


@scalar
def channel_cumulants(light, own, wide, narrow):
    """Return the second to fourth cumulant that a `channel_noise.OneChannel` adds to light."""
    shot = own.shot * max(light, 0.0)
    variance = own.read * own.read + shot
    if variance <= 0.0:
        return 0.0, 0.0, 0.0
    share = own.tail_share * 2.0**-32
    bent = own.shot * shot / (6 * variance)
    kurtosis = 1.5 * (wide**4 + narrow**4)
    tail = own.tail
    second = variance * (1 + own.rows * own.rows) + bent * bent * (kurtosis - 1)
    second += share * tail * tail * (2 - share)
    return second, own.shot * shot + 6 * share * tail**3, variance**2 * (kurtosis - 3)


@kernel
def pixel_moments(means, sensor, colour, noise, curve, out):
    """Fill moments of the pixels of a window from their mean electrons (3, h, w).

    Parameters
    ----------
    sensor : method and gain of `sensor.Sensor`, SiteNoise, float64 array (3)
        The last one is the share of a site's variance that a demosaic leaves, by channel.
    colour : Colour
    noise : ChannelNoise
    curve : levels (ENCODE_CELLS), nodes and weights of Gauss and Hermite's quadrature
    out : float32 arrays (3, h, w): light, its variance, level, its variance, covariances
        The last ones of the levels of red and green, green and blue, red and blue.
    """
    levels, nodes, weights = curve
    method, gain, site, kept = sensor
    lights, light_variances, clean, variances, covariances = out
    unit = 1.0 / (float(colour.white) - float(colour.black))
    m = colour.to_srgb
    units = colour.red_gain * unit, colour.green_gain * unit, colour.blue_gain * unit
    rows = (m.rr, m.rg, m.rb), (m.gr, m.gg, m.gb), (m.br, m.bg, m.bb)
    own = noise.red, noise.green, noise.blue
    mixing = noise.mixing
    together = (mixing.gr, mixing.gr * mixing.br + mixing.gg * mixing.bg, mixing.br)
    apart = (0.5 * (noise.wide + noise.narrow)) ** 2
    for y in range(means.shape[1]):
        for x in range(means.shape[2]):
            second, third, fourth, raw = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
            for c in range(3):
                electrons = float(means[c, y, x])
                raw[c] = min(gain * electrons * units[c], 1.0)
                paired = method == BINNED and c == 1
                half = 0.5 if paired else 1.0  # of the sum of two sites
                counted = electrons / half
                added = site.pair if paired else site.single
                added4 = site.pair4 if paired else site.single4
                step = half * units[c]
                left = kept[c]
                second[c] = (gain * gain * counted + added) * step**2 * left
                third[c] = gain**3 * counted * step**3 * left**2
                fourth[c] = (gain**4 * counted + added4) * step**4 * left**3
            light = transformed(m, raw[0], raw[1], raw[2])
            of_light, more, follows = np.empty(3), np.zeros(3), np.empty(3)
            for c in range(3):
                two = three = four = 0.0
                for j in range(3):
                    factor = float(rows[c][j])
                    two += factor**2 * second[j]
                    three += factor**3 * third[j]
                    four += factor**4 * fourth[j]
                mean = float(light[c])
                if noise.there:
                    mean += own[c].offset
                    a, b, d = channel_cumulants(mean, own[c], noise.wide, noise.narrow)
                    two, three, four, more[c] = two + a, three + b, four + d, a
                of_light[c] = two
                lights[c, y, x] = min(max(mean, 0.0), 1.0)
                light_variances[c, y, x] = two
                clean[c, y, x] = level_at(mean, levels)
                variance, follows[c] = encoded_variance(
                    mean, (two, three, four), levels, nodes, weights
                )
                variances[c, y, x] = variance
            for c in range(3):
                a, b = (0, 1) if c == 0 else ((1, 2) if c == 1 else (0, 2))
                shared = together[c] * apart * np.sqrt(more[a] * more[b])
                for j in range(3):
                    shared += rows[a][j] * rows[b][j] * second[j]
                both = np.sqrt(of_light[a] * of_light[b])
                shared = shared / both if both > 0.0 else 0.0
                covariances[c, y, x] = shared * follows[a] * follows[b]
