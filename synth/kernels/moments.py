"""Moments of a low's noise, pixel by pixel: what the camera model's draws scatter around.

    mean electrons -> cumulants of DN -> of linear light -> moments of encoded levels

In float32. Shot noise has the cumulants of Poisson's distribution, read noise those of its
quantiles; for those of levels see `level_moments`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .compiling.compile import kernel, scalar
from .exposure import transformed
from .level_moments import (
    LEAST,
    channel_variance,
    cut_at,
    encoded_moments,
    level_at,
    levels_between,
)
from .types import f32

ROUNDING = f32(1 / 12)
"""Variance of rounding to whole numbers."""
_ZERO, _ONE = f32(0), f32(1)


class SiteNoise(NamedTuple):
    """Scatter of sites, and what pixels take of it.

    shared: variance that all sites of red, green and blue have beside shot noise, then of what
      sites of a row share, and of a column, DN^2.
    squares: by the parity of a pixel's row and column, covariance of two of its channels for each
      variance of those five; see `render.mosaic_noise.site_weights`.
    powers: likewise the third and fourth cumulant of a channel's linear light, for those of a site
      of red, green and blue.
    """

    gain: Any  # float, DN per electron
    shared: npt.NDArray[np.float32]  # (5)
    fourth: Any  # float, fourth cumulant of the first, DN^4
    squares: npt.NDArray[np.float32]  # (2, 2, 3, 3, 5)
    powers: npt.NDArray[np.float32]  # (2, 2, 2, 3, 3)


@scalar
def scattered(counts, site):
    """Return what the sites about a pixel scatter by; see `SiteNoise.shared`."""
    square, shared = site.gain * site.gain, site.shared
    return (
        shared[0] + square * max(counts[0], _ZERO),
        shared[1] + square * max(counts[1], _ZERO),
        shared[2] + square * max(counts[2], _ZERO),
        shared[3],
        shared[4],
    )


@scalar
def _variance_by(shares, by_source):
    """Return the sum of five variances by their shares."""
    total = _ZERO
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
    limit, mean = min(gains[1], _ONE), gains[0] * electrons * step
    middle, remains, skew = cut_at(limit, mean, variance)
    return min(mean, limit), middle, np.sqrt(remains / max(variance, LEAST)), skew


@scalar
def _channel_moments(c, row, raw, counts, site, curve):
    """Return the level's variance and two coefficients, and its slope, of a channel.

    row: of the colour matrix. raw: light's middle, variance cut and uncut, and skews of red, green
    and blue.
    """
    levels, nodes, weights = curve
    centre, variance, uncut, skews = raw
    third = fourth = _ZERO
    for d in range(3):
        counted = max(counts[d], _ZERO) * site.gain * site.gain * site.gain
        third += site.powers[0, c, d] * counted
        fourth += site.powers[1, c, d] * (counted * site.gain + site.fourth)
    left = variance / max(uncut, LEAST)  # of what light is cut
    third *= left * np.sqrt(left)
    for d in range(3):
        third += skews[d] * row[d] * row[d] * row[d]
    cumulants = variance, third, fourth * left * left
    found = encoded_moments(centre, cumulants, levels, nodes, weights)
    return found[0], found[1], found[2], found[1] / np.sqrt(max(uncut, LEAST))


@scalar
def _noisy_moments(mean, channel_levels):
    """Return what `_channel_moments` does where a channel has noise of its own."""
    variance, first, second = levels_between(mean, channel_levels)
    return variance, first, second, first


@scalar
def _levels_of(lights, variances, found, shared, levels):
    """Return moments of a pixel as `moments_of`.

    found: of red, green and blue, what `_channel_moments` returns. shared: their correlations.
    """
    r, g, b = found
    return (
        (
            min(max(lights[0], _ZERO), _ONE),
            min(max(lights[1], _ZERO), _ONE),
            min(max(lights[2], _ZERO), _ONE),
        ),
        variances,
        (level_at(lights[0], levels), level_at(lights[1], levels), level_at(lights[2], levels)),
        (r[0], g[0], b[0]),
        (
            max(r[0] - r[1] * r[1], _ZERO),
            max(g[0] - g[1] * g[1], _ZERO),
            max(b[0] - b[1] * b[1], _ZERO),
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
    unit = _ONE / (colour.white - colour.black)
    mixing = noise.mixing
    light = transformed(
        colour.to_srgb,
        min(gain * means[0] * (colour.red_gain * unit), min(colour.red_gain, _ONE)),
        min(gain * means[1] * (colour.green_gain * unit), min(colour.green_gain, _ONE)),
        min(gain * means[2] * (colour.blue_gain * unit), min(colour.blue_gain, _ONE)),
    )
    lights = (
        light[0] + noise.red.offset,
        light[1] + noise.green.offset,
        light[2] + noise.blue.offset,
    )
    variances = (
        channel_variance(lights[0], noise.red, noise.curves[noise.curve, 0]),
        channel_variance(lights[1], noise.green, noise.curves[noise.curve, 1]),
        channel_variance(lights[2], noise.blue, noise.curves[noise.curve, 2]),
    )
    found = (
        _noisy_moments(lights[0], channel_levels[0]),
        _noisy_moments(lights[1], channel_levels[1]),
        _noisy_moments(lights[2], channel_levels[2]),
    )
    green_blue = mixing.gr * mixing.br + mixing.gg * mixing.bg
    shared = mixing.gr, green_blue, mixing.br
    return _levels_of(lights, variances, found, shared, levels)


@scalar
def sensor_moments_of(means, counts, site, colour, curve):
    """Return the same where there is none but the sensor's."""
    unit = _ONE / (colour.white - colour.black)
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
        (m.rr, m.rg, m.rb),
        (m.gr, m.gg, m.gb),
        (m.br, m.bg, m.bb),
    )
    variances = (
        max(_both(rows[0], rows[0], cut), _ZERO),
        max(_both(rows[1], rows[1], cut), _ZERO),
        max(_both(rows[2], rows[2], cut), _ZERO),
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
        _both(rows[0], rows[1], cut) / max(np.sqrt(variances[0]) * np.sqrt(variances[1]), LEAST),
        _both(rows[1], rows[2], cut) / max(np.sqrt(variances[1]) * np.sqrt(variances[2]), LEAST),
        _both(rows[0], rows[2], cut) / max(np.sqrt(variances[0]) * np.sqrt(variances[2]), LEAST),
    )
    return _levels_of(light, variances, (r, g, b), shared, curve[0])


@scalar
def moments_of(means, counts, site, colour, channels, curve):
    """Return moments of a pixel: see `pixel_moments`.

    means, counts: three numbers each. site: SiteNoise, of a pixel's parity.
    """
    if channels[0].there:
        return noisy_moments_of(means, site.gain, colour, channels, curve[0])
    return sensor_moments_of(means, counts, site, colour, curve)


@scalar
def pixel_at(values, y, x):
    """Return three numbers of a pixel."""
    return values[0, y, x], values[1, y, x], values[2, y, x]


@kernel
def pixel_moments(means, counts, site, colour, channels, curve, out):
    """Fill moments of the pixels of a window from their mean electrons (3, h, w).

    counts: float32 array (3, h, w), mean electrons of the sites of red, green and blue that scatter
      there.
    site, colour: SiteNoise and Colour.
    channels: ChannelNoise and a float32 array (3, 3, LIGHTS), its levels; see
      `fill_channel_levels`.
    curve: levels (ENCODE_CELLS), nodes and weights for a standard normal distribution.
    out: float32 arrays (3, h, w): light; its variance; level; its variance; that without what
      follows the light in a straight line; covariances of that of red and green, green and blue,
      red and blue; and the slope of that line, in levels for each unit of light, or each deviation
      of noise of channels.
    """
    lights, light_variances, clean, variances, rests, covariances, slopes = out
    for y in range(means.shape[1]):
        for x in range(means.shape[2]):
            squares, powers = site.squares[y & 1, x & 1], site.powers[y & 1, x & 1]
            own = SiteNoise(site.gain, site.shared, site.fourth, squares, powers)
            electrons = pixel_at(means, y, x)
            found = moments_of(electrons, pixel_at(counts, y, x), own, colour, channels, curve)
            for c in range(3):
                lights[c, y, x], light_variances[c, y, x] = found[0][c], found[1][c]
                clean[c, y, x], variances[c, y, x] = found[2][c], found[3][c]
                rests[c, y, x], covariances[c, y, x] = found[4][c], found[5][c]
                slopes[c, y, x] = found[6][c]
