"""Noise of encoded levels, from that of linear light, in float32.

The encoding curve is integrated over the noise: its tangent errs by up to a fifth of the variance,
three deviations from black. From there on a level follows its light along a straight line of the
slope that has this variance, so that demosaicing and chroma smoothing add up variances of sites.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arrays import f32, i32, u32
from .compiling.compile import kernel, scalar
from .develop import ENCODE_CELLS, TOP
from .exposure import transformed

ROUNDING = f32(1 / 12)
"""Variance of rounding to whole numbers."""
LIGHTS, DARKEST = 600, 110
"""Lights that levels of noisy channels are integrated for, and how many of them are below 0."""
_LEAST = f32(1e-15)
"""Variance of light that anything shows of: sRGB's curve makes less than 1e-4 of a level of it."""
_TOP, _ZERO, _ONE, _TWO, _SIX = f32(TOP), f32(0), f32(1), f32(2), f32(6)
_WORDS = f32(2.0**-32)
_DARKEST, _STEPS, _LAST = f32(DARKEST), f32(LIGHTS - 1 - DARKEST), f32(LIGHTS - 1.001)


class Curve(NamedTuple):
    """Levels of the encoding table's places, and nodes and weights for a standard normal number."""

    levels: Any
    nodes: Any
    weights: Any


class PixelNoise(NamedTuple):
    """Noise of a pixel's red, green and blue, and where it comes from.

    sources: variances, of which its light takes shares: those of sites of red, green and blue, of
      what sites of a row have in common, and of a column; or of a channel's own number.
    """

    light_variances: Any  # (3), of linear light
    variances: Any  # (3), of levels
    slopes: Any  # (3), levels that follow each unit of what comes from the sources
    rests: Any  # (3), variances of levels that come from no source
    sources: Any  # (5)


@scalar
def level_at(light, levels):
    """Return the level of linear light, between the encoding table's places."""
    place = np.sqrt(min(max(f32(light), _ZERO), _ONE)) * _TOP
    cell = u32(min(max(i32(place), i32(0)), i32(ENCODE_CELLS - 2)))  # also of what is no number
    below = levels[cell]
    return below + (levels[u32(cell + u32(1))] - below) * (place - f32(cell))


@scalar
def level_variance(light, variance, third, curve):
    """Return the variance of the level of light with noise of a second and third cumulant.

    And how it follows the normal number that is bent to be this noise, by the first term of Cornish
    and Fisher's expansion. Levels are counted from that of the light alone: float32 would lose
    small differences.
    """
    if variance < _LEAST:
        return _ZERO, _ZERO
    bend = min(third / (variance * np.sqrt(variance)), _TWO) / _SIX
    deviation = np.sqrt(variance / (_ONE + _TWO * bend * bend))
    mean = squares = first = _ZERO
    middle = level_at(light, curve.levels)
    for i in range(curve.nodes.shape[0]):
        z = curve.nodes[i]
        value = light + deviation * (z + bend * (z * z - _ONE))
        off = level_at(value, curve.levels) - middle
        mean += curve.weights[i] * off
        squares += curve.weights[i] * off * off
        first += curve.weights[i] * off * z
    return max(squares - mean * mean, _ZERO), first


@kernel
def fill_levels(lights, light_variances, curve, clean, variances):
    """Fill levels (3, h, w) of light with normal noise of such variances, and theirs, float32."""
    for c in range(3):
        for y in range(lights.shape[1]):
            for x in range(lights.shape[2]):
                light, variance = lights[c, y, x], light_variances[c, y, x]
                clean[c, y, x] = level_at(light, curve.levels)
                variances[c, y, x] = level_variance(light, variance, _ZERO, curve)[0]


@scalar
def light_without_noise(means, gain, colour):
    """Return linear light of mean electrons: balanced, cut at white, and mixed."""
    unit = gain / (colour.white - colour.black)
    return transformed(
        colour.to_srgb,
        min(means[0] * (colour.red_gain * unit), min(colour.red_gain, _ONE)),
        min(means[1] * (colour.green_gain * unit), min(colour.green_gain, _ONE)),
        min(means[2] * (colour.blue_gain * unit), min(colour.blue_gain, _ONE)),
    )


@scalar
def _site_variance(mean, count, site, gains):
    """Return the variance of sites in DN, of which white leaves a share.

    site: variance of their read noise, and DN of white. gains: of the sensor, and of white balance.
    """
    variance = site[0] + gains[0] * gains[0] * max(count, _ZERO)
    deviation, limit = np.sqrt(variance), site[1] / max(gains[1], _ONE)
    above = min(gains[0] * mean + deviation, limit)
    left = (above - min(gains[0] * mean - deviation, limit)) / (_TWO * deviation)
    return variance * left * left


@scalar
def _from_sources(sources, shares):
    total = _ZERO
    for a in range(5):
        total += shares[a] * sources[a]
    return total


@scalar
def _third(counts, gain, shares):
    """Return the third cumulant of light, of Poisson's distribution."""
    total = shares[0] * max(counts[0], _ZERO) + shares[1] * max(counts[1], _ZERO)
    return (total + shares[2] * max(counts[2], _ZERO)) * gain * gain * gain


@scalar
def sensor_noise(light, electrons, shared, shares, draw, curve):
    """Return the noise of a pixel of a sensor.

    electrons: means of red, green and blue, and of the sites of each that scatter there.
    shared: variances of a site's read noise, of what rows have in common, and columns.
    shares: float32 array (3, 8), variance of light for that of each source, and third cumulant for
      those of sites of red, green and blue.
    """
    means, counts = electrons
    site = shared[0], draw.camera_sensor_white - draw.camera_sensor_black
    gain = draw.camera_sensor_gain
    sources = (
        _site_variance(means[0], counts[0], site, (gain, draw.red_gain)),
        _site_variance(means[1], counts[1], site, (gain, draw.green_gain)),
        _site_variance(means[2], counts[2], site, (gain, draw.blue_gain)),
        shared[1],
        shared[2],
    )
    red = _from_sources(sources, shares[0])
    green = _from_sources(sources, shares[1])
    blue = _from_sources(sources, shares[2])
    found = (
        level_variance(light[0], red, _third(counts, gain, shares[0, 5:]), curve),
        level_variance(light[1], green, _third(counts, gain, shares[1, 5:]), curve),
        level_variance(light[2], blue, _third(counts, gain, shares[2, 5:]), curve),
    )
    units = (np.sqrt(max(red, _LEAST)), np.sqrt(max(green, _LEAST)), np.sqrt(max(blue, _LEAST)))
    return _pixel_noise((red, green, blue), found, units, sources)


@scalar
def _pixel_noise(light_variances, found, units, sources):
    """Return a pixel's noise; found: variances of its levels, and how these follow `units`."""
    red, green, blue = found
    return PixelNoise(
        light_variances,
        (red[0], green[0], blue[0]),
        (red[1] / units[0], green[1] / units[1], blue[1] / units[2]),
        (
            max(red[0] - red[1] * red[1], _ZERO),
            max(green[0] - green[1] * green[1], _ZERO),
            max(blue[0] - blue[1] * blue[1], _ZERO),
        ),
        sources,
    )


@scalar
def channel_noise(light, tables):
    """Return the noise of a pixel with noise of channels: a sensor has as good as none then.

    tables: float32 array (3, 3, LIGHTS), of `noisy_level`.
    """
    red, green, blue = (
        _between(light[0], tables[0]),
        _between(light[1], tables[1]),
        _between(light[2], tables[2]),
    )
    sources, units = (_ONE, _ONE, _ONE, _ZERO, _ZERO), (_ONE, _ONE, _ONE)
    return _pixel_noise((red[2], green[2], blue[2]), (red, green, blue), units, sources)


@scalar
def smoothed_variance(noise, shares):
    """Return the variance of a level that takes such shares of the noise around a pixel.

    shares: float32 array (6, 6), for each two channels (`render.site_noise.PAIRS`) of what follows
    the sources, and of what does not.
    """
    (r, g, b), total = noise.slopes, _ZERO
    both = r * r, g * g, b * b, r * g, g * b, r * b
    for k in range(6):
        total += both[k] * _from_sources(noise.sources, shares[k])
    for c in range(3):
        total += noise.rests[c] * shares[c, 5]
    return total


@scalar
def noisy_level(light, own, form, odds, curve, tail):
    """Return the variance of a level of light with noise of a channel.

    And how it follows the normal number that neighbours and channels share; and the variance of the
    light. The curve is integrated over noise as `channel_noise.noisy_channel` draws it: normal
    numbers of two widths, and for some samples an exponential tail.

    own: its `OneChannel`. form: `channel_noise.factor_and_bend` of the light, and its
    `width_of_noise`. odds: `wide_odds` of `ChannelNoise`. tail: nodes and weights of Gauss and
    Laguerre's rule.
    """
    (tail_nodes, tail_weights), on_noise, bend = tail, form[0], form[1]
    share = f32(own.tail_share) * _WORDS
    shot = own.shot * max(light, _ZERO)
    variance = own.read * own.read + shot
    if variance <= _ZERO:
        return _ZERO, _ZERO, _ZERO
    deviation, poisson = np.sqrt(variance), own.shot * shot / (_SIX * variance)
    bent = poisson + deviation * bend
    middle = level_at(light, curve.levels)
    mean = squares = first = _ZERO
    for wide in range(2):
        factor = form[2] if wide else form[3]
        of_width = (odds if wide else _ONE) / (_ONE + odds)
        width = np.sqrt(factor * factor + own.rows * own.rows)
        for i in range(curve.nodes.shape[0]):
            z, weight = width * curve.nodes[i], of_width * curve.weights[i]
            value = light + (deviation * z + bent * (z * z - _ONE) - own.tail_mean) * on_noise
            plain = level_at(value, curve.levels) - middle
            level, squared = (_ONE - share) * plain, (_ONE - share) * plain * plain
            for j in range(tail_nodes.shape[0] if share > _ZERO else 0):
                further = value + own.tail * tail_nodes[j] * on_noise
                tailed = level_at(further, curve.levels) - middle
                level += share * tail_weights[j] * tailed
                squared += share * tail_weights[j] * tailed * tailed
            mean += weight * level
            squares += weight * squared
            first += weight * level * curve.nodes[i] * (factor / width)
    spread = _TWO * bent * bent + share * own.tail * own.tail * (_TWO - share)
    of_light = (variance * (_ONE + own.rows * own.rows) + spread) * on_noise * on_noise
    return max(squares - mean * mean, _ZERO), first, of_light


@scalar
def light_of_place(place):
    """Return the light of a place among `LIGHTS`: closest together in the dark, some below 0."""
    root = f32(place - DARKEST) / _STEPS
    return root * root * root * abs(root)


@scalar
def _between(light, table):
    """Return what a table (3, LIGHTS) has for light, between the two nearest entries."""
    root = np.sqrt(np.sqrt(abs(light)))
    place = min(max(_DARKEST + (root if light > _ZERO else -root) * _STEPS, _ZERO), _LAST)
    cell = u32(i32(place))
    share = place - f32(cell)
    return (
        table[0, cell] + (table[0, u32(cell + u32(1))] - table[0, cell]) * share,
        table[1, cell] + (table[1, u32(cell + u32(1))] - table[1, cell]) * share,
        table[2, cell] + (table[2, u32(cell + u32(1))] - table[2, cell]) * share,
    )
