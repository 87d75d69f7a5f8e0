"""Moments of a low's noise, pixel by pixel: what the camera model's draws scatter around.

    mean electrons -> cumulants of DN -> of linear light -> variance of encoded levels

Shot noise has the cumulants of Poisson's distribution, read noise those of its quantiles. The
encoding curve is integrated over the distribution that has the light's first four cumulants, by
Cornish and Fisher's expansion (Revue de l'Institut International de Statistique 5, 1938); over
noise of channels as it is drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiling.compile import kernel, scalar
from .demosaic import BINNED
from .develop import TOP
from .exposure import between, expose_row, light_of_pixels, row_above, transformed
from .numbers.quantiles import CENTRE, PER_HALF

DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`
ROUNDING = 1 / 12
"""Variance of rounding to whole numbers."""
LIGHTS, DARKEST = 520, 64
"""Lights that levels of noisy channels are integrated for, and how many of them are below 0."""


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


@scalar
def read_cumulants(coefficients, roots, weights):
    """Return the second and fourth cumulant of a symmetric distribution, by its quantiles.

    coefficients: (10) of their polynomial. roots, weights: a quadrature over roots of its depth.
    """
    second = fourth = 0.0
    for k in range(roots.shape[0]):
        x, value = (roots[k] - CENTRE) * PER_HALF, 0.0
        for i in range(10):
            value = value * x + coefficients[9 - i]
        square = value * value
        second += weights[k] * square
        fourth += weights[k] * square * square
    return second, fourth - 3 * second * second


@scalar
def noisy_level(light, own, factors, curve, tail):
    """Return the variance of a level of noisy light, and how far it follows its number.

    Noise of channels is integrated as `channel_noise.noisy_channel` draws it: Gaussian numbers of
    two widths, and for some samples an exponential tail, which no expansion in cumulants bears.

    own: its `OneChannel`. factors: wide and narrow. curve: as of `quad_moments`. tail: nodes and
    weights of Gauss and Laguerre's rule.
    """
    levels, nodes, weights = curve
    tail_nodes, tail_weights = tail
    share = own.tail_share * 2.0**-32
    shot = own.shot * max(light, 0.0)
    variance = max(own.read * own.read + shot, 1e-20)
    deviation, bent = np.sqrt(variance), own.shot * shot / (6 * variance)
    mean = square = follows = 0.0
    for wide in range(2):
        factor = factors[0] if wide else factors[1]
        width = np.sqrt(factor * factor + own.rows * own.rows)
        for i in range(nodes.shape[0]):
            z = width * nodes[i]
            value = light + deviation * z + bent * (z * z - 1) - own.tail_mean
            plain = level_at(value, levels)
            level, squared = (1 - share) * plain, (1 - share) * plain * plain
            for j in range(tail_nodes.shape[0] if share > 0 else 0):
                tailed = level_at(value + own.tail * tail_nodes[j], levels)
                level += share * tail_weights[j] * tailed
                squared += share * tail_weights[j] * tailed * tailed
            mean += 0.5 * weights[i] * level
            square += 0.5 * weights[i] * squared
            follows += 0.5 * weights[i] * level * nodes[i] * factor / width
    return max(square - mean * mean, 0.0), follows


@kernel
def fill_channel_levels(noise, curve, tail, made):
    """Fill `noisy_level` for the lights of `light_of`: float64 array (3, 2, LIGHTS)."""
    factors = float(noise.wide), float(noise.narrow)
    channels = noise.red, noise.green, noise.blue
    for c in range(3):
        for k in range(made.shape[2]):
            made[c, 0, k], made[c, 1, k] = noisy_level(
                light_of(k), channels[c], factors, curve, tail
            )


@scalar
def light_of(place):
    """Return the light of a place among `LIGHTS`: closest together in the dark, some below 0."""
    root = (place - DARKEST) / float(LIGHTS - 1 - DARKEST)
    return root * root * root


@scalar
def between_lights(light, made):
    """Return what was made for light, between the two nearest places."""
    place = min(max(DARKEST + np.cbrt(light) * (LIGHTS - 1 - DARKEST), 0.0), LIGHTS - 1.001)
    cell = int(place)
    return made[cell] + (made[cell + 1] - made[cell]) * (place - cell)


@scalar
def _raw_cumulants(electrons, unit, sensor, paired, left):
    """Return the balanced light of mean electrons, and its noise's cumulants.

    unit: light of a DN. paired: whether two sites are summed. left: share of a site's variance.
    """
    _, gain, site, _ = sensor
    half = 0.5 if paired else 1.0  # of the sum of two sites
    counted = electrons / half
    added = site.pair if paired else site.single
    added4 = site.pair4 if paired else site.single4
    step = half * unit
    return (
        min(gain * electrons * unit, 1.0),
        (gain * gain * counted + added) * step**2 * left,
        gain**3 * counted * step**3 * left**2,
        (gain**4 * counted + added4) * step**4 * left**3,
    )


@scalar
def _channel_moments(light, row, raw, own, made, curve):
    """Return a channel's light, its variance, level, its variance, and how far it follows noise.

    row: of the colour matrix. raw: cumulants of red, green and blue. own: noise of the channel, and
    whether there is any. made: `noisy_level` of lights.
    """
    levels, nodes, weights = curve
    noise, there = own
    mean = float(light)
    a, b, c = float(row[0]), float(row[1]), float(row[2])
    if there:  # the sensor has as good as none then
        mean += noise.offset
        two = channel_variance(mean, noise)
        variance, follows = between_lights(mean, made[0]), between_lights(mean, made[1])
    else:
        red, green, blue = raw
        two = a**2 * red[1] + b**2 * green[1] + c**2 * blue[1]
        three = a**3 * red[2] + b**3 * green[2] + c**3 * blue[2]
        four = a**4 * red[3] + b**4 * green[3] + c**4 * blue[3]
        variance, follows = encoded_variance(mean, (two, three, four), levels, nodes, weights)
    return mean, two, level_at(mean, levels), variance, follows


@scalar
def _covariance(a, b, shared, row, other, raw, there):
    """Return the covariance of the levels of two channels; shared: correlation of their noise."""
    if not there:
        red, green, blue = raw
        shared = (
            float(row[0]) * other[0] * red[1]
            + float(row[1]) * other[1] * green[1]
            + float(row[2]) * other[2] * blue[1]
        )
        shared /= max(np.sqrt(a[1] * b[1]), 1e-30)
    return shared * a[4] * b[4]


@scalar
def quad_moments(electrons, sensor, colour, noise, made, curve):
    """Return moments of a pixel from its mean electrons (3): five times three numbers.

    They are light, its variance, level, its variance, and covariances of the levels of red and
    green, green and blue, red and blue.

    sensor: method and gain of `sensor.Sensor`, SiteNoise, and three shares of a site's variance
    that a demosaic leaves. made: float64 array (3, 2, LIGHTS), of noise of channels; see
    `fill_channel_levels`. curve: levels (ENCODE_CELLS), nodes and weights of Gauss and Hermite's
    quadrature.
    """
    unit = 1.0 / (float(colour.white) - float(colour.black))
    paired, kept = sensor[0] == BINNED, sensor[3]
    raw = (
        _raw_cumulants(float(electrons[0]), colour.red_gain * unit, sensor, False, kept[0]),
        _raw_cumulants(float(electrons[1]), colour.green_gain * unit, sensor, paired, kept[1]),
        _raw_cumulants(float(electrons[2]), colour.blue_gain * unit, sensor, False, kept[2]),
    )
    m, mixing, there = colour.to_srgb, noise.mixing, noise.there
    light = transformed(m, raw[0][0], raw[1][0], raw[2][0])
    rows = (m.rr, m.rg, m.rb), (m.gr, m.gg, m.gb), (m.br, m.bg, m.bb)
    r = _channel_moments(light[0], rows[0], raw, (noise.red, there), made[0], curve)
    g = _channel_moments(light[1], rows[1], raw, (noise.green, there), made[1], curve)
    b = _channel_moments(light[2], rows[2], raw, (noise.blue, there), made[2], curve)
    green_blue = mixing.gr * mixing.br + mixing.gg * mixing.bg
    return (
        (min(max(r[0], 0.0), 1.0), min(max(g[0], 0.0), 1.0), min(max(b[0], 0.0), 1.0)),
        (r[1], g[1], b[1]),
        (r[2], g[2], b[2]),
        (r[3], g[3], b[3]),
        (
            _covariance(r, g, float(mixing.gr), rows[0], rows[1], raw, there),
            _covariance(g, b, float(green_blue), rows[1], rows[2], raw, there),
            _covariance(r, b, float(mixing.br), rows[0], rows[2], raw, there),
        ),
    )


@kernel
def pixel_moments(means, sensor, colour, noise, made, curve, out):
    """Fill `quad_moments` of a window from its mean electrons (3, h, w).

    out: five float32 arrays (3, h, w).
    """
    lights, light_variances, clean, variances, covariances = out
    for y in range(means.shape[1]):
        for x in range(means.shape[2]):
            electrons = means[0, y, x], means[1, y, x], means[2, y, x]
            found = quad_moments(electrons, sensor, colour, noise, made, curve)
            for c in range(3):
                lights[c, y, x] = found[0][c]
                light_variances[c, y, x] = found[1][c]
                clean[c, y, x] = found[2][c]
                variances[c, y, x] = found[3][c]
                covariances[c, y, x] = found[4][c]
