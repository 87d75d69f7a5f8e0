"""Moments of a low's noise, pixel by pixel: what the camera model's draws scatter around.

    mean electrons -> cumulants of DN -> of linear light -> moments of encoded levels

Shot noise has the cumulants of Poisson's distribution, read noise those of its quantiles. The
encoding curve is integrated over the distribution that has the light's first four cumulants, by
Cornish and Fisher's expansion (Revue de l'Institut International de Statistique 5, 1938); over
noise of channels as it is drawn.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .compiling.compile import kernel, scalar
from .curves import LUMA
from .degradations.pattern import hot_offset
from .demosaic import BILINEAR, BINNED, BORDER
from .develop import TOP
from .exposure import between, expose_row, light_of_pixels, row_above, transformed
from .numbers.random_bits import HOT, HOT_BELOW, channel_sample, mosaic_sample
from .types import u32

DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`
ROUNDING = 1 / 12
"""Variance of rounding to whole numbers."""
_LUMA = float(LUMA[0]), float(LUMA[1]), float(LUMA[2])
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

    gain: Any
    shared: npt.NDArray[np.float64]
    fourth: Any
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


@scalar
def hot_counts(c, index, method, gain, pattern):
    """Return the electrons that scatter by what a hot site of a channel adds, mostly none.

    Where they are is known: that is no noise to a sensor, but to a low it is, and far from normal.
    """
    added = float(hot_offset(index, HOT, pattern))
    if method == BINNED and c == 1:  # of two sites, which count half each
        added = (added + hot_offset(index, HOT_BELOW, pattern)) * math.sqrt(0.5)
    return (added / gain) ** 2


@kernel
def add_hot_sites(method, window, picture, pattern, gain, counts):
    """Add `hot_counts` to mean electrons (3, h, w).

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
                counts[c, y, x] += hot_counts(c, index, method, gain, pattern)


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


@scalar
def noisy_level(light, own, factors, curve, tail):
    """Return of a level of noisy light what `encoded_moments` returns.

    Noise of channels is integrated as `channel_noise.noisy_channel` draws it: Gaussian numbers of
    two widths, and for some samples an exponential tail, which no expansion in cumulants bears.

    own: its `OneChannel`. factors: wide and narrow. curve: as of `pixel_moments`. tail: nodes and
    weights of Gauss and Laguerre's rule.
    """
    levels, nodes, weights = curve
    tail_nodes, tail_weights = tail
    share = own.tail_share * 2.0**-32
    shot = own.shot * max(light, 0.0)
    variance = max(own.read * own.read + shot, 1e-20)
    deviation, bent = np.sqrt(variance), own.shot * shot / (6 * variance)
    mean = square = first = second = 0.0
    for wide in range(2):
        factor = factors[0] if wide else factors[1]
        width = np.sqrt(factor * factor + own.rows * own.rows)
        share_of = factor / width
        for i in range(nodes.shape[0]):
            z = width * nodes[i]
            value = light + deviation * z + bent * (z * z - 1) - own.tail_mean
            plain = level_at(value, levels)
            level, squared = (1 - share) * plain, (1 - share) * plain * plain
            for j in range(tail_nodes.shape[0] if share > 0 else 0):
                tailed = level_at(value + own.tail * tail_nodes[j], levels)
                level += share * tail_weights[j] * tailed
                squared += share * tail_weights[j] * tailed * tailed
            z = nodes[i]
            mean += 0.5 * weights[i] * level
            square += 0.5 * weights[i] * squared
            first += 0.5 * weights[i] * level * z * share_of
            second += 0.5 * weights[i] * level * (z * z - 1) * share_of * share_of
    return max(square - mean * mean, 0.0), first, second * math.sqrt(0.5)


@kernel
def fill_channel_levels(noise, curve, tail, channel_levels):
    """Fill `noisy_level` for the lights of `light_of`: float64 array (3, 3, LIGHTS)."""
    factors = float(noise.wide), float(noise.narrow)
    channels = noise.red, noise.green, noise.blue
    for c in range(3):
        for k in range(channel_levels.shape[2]):
            found = noisy_level(light_of(k), channels[c], factors, curve, tail)
            for i in range(3):
                channel_levels[c, i, k] = found[i]


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
def scattered(counts, site):
    """Return what the sites about a pixel scatter by; see `SiteNoise.shared`."""
    square, shared = site.gain**2, site.shared
    return (
        shared[0] + square * max(float(counts[0]), 0.0),
        shared[1] + square * max(float(counts[1]), 0.0),
        shared[2] + square * max(float(counts[2]), 0.0),
        shared[3],
        shared[4],
    )


@scalar
def _variance_by(shares, by_source):
    """Return the sum of five variances by their shares."""
    total = 0.0
    for a in range(5):
        total += shares[a] * by_source[a]
    return total


@scalar
def _both(one, other, m):
    """Return the covariance of two sums of red, green and blue with such weights.

    m: their variances, and covariances of red and green, green and blue, red and blue.
    """
    return (
        one[0] * (m[0] * other[0] + m[3] * other[1] + m[5] * other[2])
        + one[1] * (m[3] * other[0] + m[1] * other[1] + m[4] * other[2])
        + one[2] * (m[5] * other[0] + m[4] * other[1] + m[2] * other[2])
    )


@scalar
def _cut_raw(electrons, step, variance, gains):
    """Return balanced light of a channel of the sensor, cut at white, what is its noise's middle.

    And which share of its deviation is left, and its third cumulant. gains: of the sensor, and that
    of white balance.
    """
    limit, mean = min(float(gains[1]), 1.0), gains[0] * float(electrons) * step
    middle, remains, skew = cut_at(limit, mean, variance)
    return min(mean, limit), middle, np.sqrt(remains / max(variance, _LEAST)), skew


@scalar
def _channel_moments(c, row, raw, counts, site, curve):
    """Return the level's variance and two coefficients, and its slope, of a channel.

    row: of the colour matrix. raw: light's middle, variance cut and uncut, and skews of red, green
    and blue.
    """
    levels, nodes, weights = curve
    centre, variance, uncut, skews = raw
    third = fourth = 0.0
    for d in range(3):
        counted = max(float(counts[d]), 0.0) * site.gain**3
        third += site.powers[0, c, d] * counted
        fourth += site.powers[1, c, d] * (counted * site.gain + site.fourth)
    share = np.sqrt(variance / max(uncut, _LEAST))
    third *= share**3
    for d in range(3):
        third += skews[d] * row[d] ** 3
    cumulants = variance, third, fourth * share**4
    found = encoded_moments(float(centre), cumulants, levels, nodes, weights)
    return found[0], found[1], found[2], found[1] / np.sqrt(max(uncut, _LEAST))


@scalar
def _noisy_moments(mean, channel_levels):
    """Return what `_channel_moments` does where a channel has noise of its own."""
    variance = between_lights(mean, channel_levels[0])
    first = between_lights(mean, channel_levels[1])
    return variance, first, between_lights(mean, channel_levels[2]), first


@scalar
def _levels_of(lights, variances, found, shared, levels):
    """Return moments of a pixel as `moments_of`.

    found: of red, green and blue, what `_channel_moments` returns. shared: their correlations.
    """
    r, g, b = found
    return (
        (
            min(max(lights[0], 0.0), 1.0),
            min(max(lights[1], 0.0), 1.0),
            min(max(lights[2], 0.0), 1.0),
        ),
        variances,
        (level_at(lights[0], levels), level_at(lights[1], levels), level_at(lights[2], levels)),
        (r[0], g[0], b[0]),
        (
            max(r[0] - r[1] * r[1], 0.0),
            max(g[0] - g[1] * g[1], 0.0),
            max(b[0] - b[1] * b[1], 0.0),
        ),
        (
            shared[0] * shared[0] * r[2] * g[2],
            shared[1] * shared[1] * g[2] * b[2],
            shared[2] * shared[2] * r[2] * b[2],
        ),
        (r[3], g[3], b[3]),
    )


@scalar
def noisy_moments_of(means, gain, colour, channels, levels):
    """Return the same where there is noise of channels: the sensor has as good as none then."""
    noise, channel_levels = channels
    unit = 1.0 / (float(colour.white) - float(colour.black))
    mixing = noise.mixing
    light = transformed(
        colour.to_srgb,
        min(gain * float(means[0]) * (colour.red_gain * unit), min(float(colour.red_gain), 1.0)),
        min(
            gain * float(means[1]) * (colour.green_gain * unit),
            min(float(colour.green_gain), 1.0),
        ),
        min(gain * float(means[2]) * (colour.blue_gain * unit), min(float(colour.blue_gain), 1.0)),
    )
    lights = (
        float(light[0]) + noise.red.offset,
        float(light[1]) + noise.green.offset,
        float(light[2]) + noise.blue.offset,
    )
    variances = (
        channel_variance(lights[0], noise.red),
        channel_variance(lights[1], noise.green),
        channel_variance(lights[2], noise.blue),
    )
    found = (
        _noisy_moments(lights[0], channel_levels[0]),
        _noisy_moments(lights[1], channel_levels[1]),
        _noisy_moments(lights[2], channel_levels[2]),
    )
    green_blue = mixing.gr * mixing.br + mixing.gg * mixing.bg
    shared = float(mixing.gr), float(green_blue), float(mixing.br)
    return _levels_of(lights, variances, found, shared, levels)


@scalar
def sensor_moments_of(means, counts, site, colour, curve):
    """Return the same where there is none but the sensor's."""
    unit = 1.0 / (float(colour.white) - float(colour.black))
    m, squares = colour.to_srgb, site.squares
    steps = colour.red_gain * unit, colour.green_gain * unit, colour.blue_gain * unit
    by = scattered(counts, site)
    raw = (
        _variance_by(squares[0, 0], by) * steps[0] * steps[0],
        _variance_by(squares[1, 1], by) * steps[1] * steps[1],
        _variance_by(squares[2, 2], by) * steps[2] * steps[2],
        _variance_by(squares[0, 1], by) * steps[0] * steps[1],
        _variance_by(squares[1, 2], by) * steps[1] * steps[2],
        _variance_by(squares[0, 2], by) * steps[0] * steps[2],
    )
    red = _cut_raw(means[0], steps[0], raw[0], (site.gain, colour.red_gain))
    green = _cut_raw(means[1], steps[1], raw[1], (site.gain, colour.green_gain))
    blue = _cut_raw(means[2], steps[2], raw[2], (site.gain, colour.blue_gain))
    light = transformed(m, red[0], green[0], blue[0])
    centre = transformed(m, red[1], green[1], blue[1])
    left, skews = (red[2], green[2], blue[2]), (red[3], green[3], blue[3])
    cut = (
        raw[0] * left[0] * left[0],
        raw[1] * left[1] * left[1],
        raw[2] * left[2] * left[2],
        raw[3] * left[0] * left[1],
        raw[4] * left[1] * left[2],
        raw[5] * left[0] * left[2],
    )
    rows = (
        (float(m.rr), float(m.rg), float(m.rb)),
        (float(m.gr), float(m.gg), float(m.gb)),
        (float(m.br), float(m.bg), float(m.bb)),
    )
    lights = float(light[0]), float(light[1]), float(light[2])
    variances = (
        max(_both(rows[0], rows[0], cut), 0.0),
        max(_both(rows[1], rows[1], cut), 0.0),
        max(_both(rows[2], rows[2], cut), 0.0),
    )
    uncut = (
        _both(rows[0], rows[0], raw),
        _both(rows[1], rows[1], raw),
        _both(rows[2], rows[2], raw),
    )
    of_red = centre[0], variances[0], uncut[0], skews
    of_green = centre[1], variances[1], uncut[1], skews
    of_blue = centre[2], variances[2], uncut[2], skews
    r = _channel_moments(0, rows[0], of_red, counts, site, curve)
    g = _channel_moments(1, rows[1], of_green, counts, site, curve)
    b = _channel_moments(2, rows[2], of_blue, counts, site, curve)
    shared = (
        _both(rows[0], rows[1], cut) / max(np.sqrt(variances[0] * variances[1]), _LEAST),
        _both(rows[1], rows[2], cut) / max(np.sqrt(variances[1] * variances[2]), _LEAST),
        _both(rows[0], rows[2], cut) / max(np.sqrt(variances[0] * variances[2]), _LEAST),
    )
    return _levels_of(lights, variances, (r, g, b), shared, curve[0])


@scalar
def moments_of(means, counts, site, colour, channels, curve):
    """Return moments of a pixel: see `pixel_moments`.

    means, counts: three numbers each. site: SiteNoise, of a pixel's parity.
    """
    if channels[0].there:
        return noisy_moments_of(means, site.gain, colour, channels, curve[0])
    return sensor_moments_of(means, counts, site, colour, curve)


@scalar
def _at(values, y, x):
    """Return three numbers of a pixel."""
    return values[0, y, x], values[1, y, x], values[2, y, x]


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
    lights, light_variances, clean, variances, rests, covariances, slopes = out
    for y in range(means.shape[1]):
        for x in range(means.shape[2]):
            squares, powers = site.squares[y & 1, x & 1], site.powers[y & 1, x & 1]
            own = SiteNoise(site.gain, site.shared, site.fourth, squares, powers)
            electrons = _at(means, y, x)
            found = moments_of(electrons, _at(counts, y, x), own, colour, channels, curve)
            for c in range(3):
                lights[c, y, x], light_variances[c, y, x] = found[0][c], found[1][c]
                clean[c, y, x], variances[c, y, x] = found[2][c], found[3][c]
                rests[c, y, x], covariances[c, y, x] = found[4][c], found[5][c]
                slopes[c, y, x] = found[6][c]


@scalar
def _total(i, j, by_source, slopes, shares, shared):
    """Return the covariance of two levels: what follows the sites, and what does not.

    shared: see `_both`.
    """
    following = 0.0
    for a in range(5):
        following += by_source[a] * shares[a, i, j]
    pair = 3 if i + j == 1 else (4 if i + j == 3 else 5)
    own = shared[i] if i == j else shared[pair]
    return following * slopes[i] * slopes[j] + shares[5, i, j] * own


@scalar
def _mixed(c, strength):
    """Return what a level takes of a share of its difference to brightness."""
    red, green, blue = -strength * _LUMA[0], -strength * _LUMA[1], -strength * _LUMA[2]
    return (
        red + (strength if c == 0 else 0.0),
        green + (strength if c == 1 else 0.0),
        blue + (strength if c == 2 else 0.0),
    )


@scalar
def _unmixed(c, strength):
    """Return what a level takes of the channels beside `_mixed`."""
    taken = _mixed(c, strength)
    return (
        (1.0 if c == 0 else 0.0) - taken[0],
        (1.0 if c == 1 else 0.0) - taken[1],
        (1.0 if c == 2 else 0.0) - taken[2],
    )


@scalar
def smoothed_parts(part, by_source, moments, taken, strength):
    """Return variances of three levels after chroma noise reduction.

    part: 0 of what is not blurred, 1 of that with the blur, 2 of the blur alone. by_source: see
    `scattered`. moments: of `moments_of`, from the fifth on. taken: float64 array (3, 6, 3, 3) of
    `render.mosaic_noise.smoothed_products`.
    """
    rests, covariances, slopes = moments
    shared = (*rests, *covariances)
    shares = taken[part]
    total = (
        (
            _total(0, 0, by_source, slopes, shares, shared),
            _total(0, 1, by_source, slopes, shares, shared),
            _total(0, 2, by_source, slopes, shares, shared),
        ),
        (
            _total(1, 0, by_source, slopes, shares, shared),
            _total(1, 1, by_source, slopes, shares, shared),
            _total(1, 2, by_source, slopes, shares, shared),
        ),
        (
            _total(2, 0, by_source, slopes, shares, shared),
            _total(2, 1, by_source, slopes, shares, shared),
            _total(2, 2, by_source, slopes, shares, shared),
        ),
    )
    return (
        _part(0, part, total, strength),
        _part(1, part, total, strength),
        _part(2, part, total, strength),
    )


@scalar
def _part(c, part, total, strength):
    one = _unmixed(c, strength) if part < 2 else _mixed(c, strength)
    other = _mixed(c, strength) if part > 0 else _unmixed(c, strength)
    variance = 0.0
    for i in range(3):
        for j in range(3):
            variance += one[i] * other[j] * total[i][j]
    return 2 * variance if part == 1 else variance


@kernel
def smoothed_variances(counts, site, moments, taken, strength, out):
    """Fill `smoothed_parts` of pixels.

    moments: float32 arrays (3, h, w) of `pixel_moments`, from the fifth on. taken: float64 array
    (2, 2, 3, 6, 3, 3). out: float32 array (3, 3, h, w), by part and channel.
    """
    rests, covariances, slopes = moments
    for y in range(counts.shape[1]):
        for x in range(counts.shape[2]):
            by_source = scattered(_at(counts, y, x), site)
            own = _at(rests, y, x), _at(covariances, y, x), _at(slopes, y, x)
            for part in range(3):
                found = smoothed_parts(part, by_source, own, taken[y & 1, x & 1], strength)
                for c in range(3):
                    out[part, c, y, x] = found[c]
