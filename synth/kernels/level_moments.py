"""Moments of encoded levels whose light is noisy, in float32.

The encoding curve is integrated over the distribution that has the light's first four cumulants, by
Cornish and Fisher's expansion (Revue de l'Institut International de Statistique 5, 1938); over
noise of channels as it is drawn. Levels are counted from that of the light without noise: of sums
of their squares, float32 would lose the small ones.
"""

from __future__ import annotations

import math

import numpy as np

from .channel_noise import factor_at
from .compiling.compile import kernel, scalar
from .develop import TOP
from .types import f32, f64, i32

LIGHTS, DARKEST = 520, 64
"""Lights that levels of noisy channels are integrated for, and how many of them are below 0."""
LEAST = f32(1e-15)
"""Variance of light that anything shows of: sRGB's curve makes less than 1e-4 of a level of it."""
_TOP, _SURE = f32(TOP), f32(6)
_ZERO, _HALF, _ONE, _TWO, _THREE, _SIX = f32(0), f32(0.5), f32(1), f32(2), f32(3), f32(6)
_MOST_SKEW, _MOST_EXCESS = f32(2), f32(3)
_SKEW, _BOTH, _EXCESS = f32(1 / 36), f32(1 / 18), f32(1 / 24)  # of the expansion
_ROOT_HALF, _WORDS = f32(math.sqrt(0.5)), f32(2.0**-32)
_DARKEST, _STEPS, _LAST = f32(DARKEST), f32(LIGHTS - 1 - DARKEST), f32(LIGHTS - 1.001)


@scalar
def level_at(light, levels):
    """Return the level of linear light, between the encoding table's places."""
    place = np.sqrt(min(max(f32(light), _ZERO), _ONE)) * _TOP
    cell = min(max(i32(place), i32(0)), i32(levels.shape[0] - 2))  # also of what is no number
    below = levels[cell]
    return below + (levels[cell + 1] - below) * (place - f32(cell))


@scalar
def cut_at(limit, mean, variance):
    """Return mean, variance and third cumulant of normal numbers that are cut at a limit."""
    deviation = np.sqrt(max(variance, LEAST))
    if limit - mean > _SURE * deviation:
        return mean, variance, _ZERO
    # In float64: of numbers that are mostly cut, little is left.
    scale = f64(deviation)
    z = (f64(limit) - f64(mean)) / scale
    below = 0.5 * math.erfc(-z * math.sqrt(0.5))
    density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    # Moments of what is left to the limit, in deviations.
    one = z * below + density
    two = z * one + below
    three = z * two + 2 * one
    third = three - 3 * one * two + 2 * one**3
    remains = f64(variance) * max(two - one * one, 0.0)
    return f32(limit - scale * one), f32(remains), f32(-third * scale**3)


@scalar
def encoded_moments(light, cumulants, levels, nodes, weights):
    """Return the variance of the level of light with a second, third and fourth cumulant.

    And its first two coefficients by Hermite's polynomials of the standard normal number that the
    light follows: what it has in common with others whose numbers correlate.
    """
    variance, third, fourth = cumulants
    if variance < LEAST:
        return _ZERO, _ZERO, _ZERO
    skew = min(max(third / (variance * np.sqrt(variance)), -_MOST_SKEW), _MOST_SKEW)
    excess = min(fourth / (variance * variance), _MOST_EXCESS)
    one, two = _ONE - skew * skew * _SKEW, skew / _SIX
    three = excess * _EXCESS - skew * skew * _BOTH
    scale = np.sqrt(variance / (one * one + _TWO * two * two + _SIX * three * three))
    # one He1 + two He2 + three He3, Hermite's polynomials, by powers.
    linear, square, cube = scale * (one - _THREE * three), scale * two, scale * three
    start, middle = light - square, level_at(light, levels)
    mean = squares = first = second = _ZERO
    for i in range(nodes.shape[0]):
        z = nodes[i]
        value = start + z * (linear + z * (square + z * cube))
        off = level_at(value, levels) - middle
        part = weights[i] * off
        mean += part
        squares += part * off
        first += part * z
        second += part * z * z
    return max(squares - mean * mean, _ZERO), first, (second - mean) * _ROOT_HALF


@kernel
def fill_encoded(lights, light_variances, curve, clean, variances):
    """Fill levels (3, h, w) of light with normal noise of such variances, and theirs.

    All float32 arrays.
    """
    levels, nodes, weights = curve
    for c in range(3):
        for y in range(lights.shape[1]):
            for x in range(lights.shape[2]):
                light, cumulants = lights[c, y, x], (light_variances[c, y, x], _ZERO, _ZERO)
                of_level = encoded_moments(light, cumulants, levels, nodes, weights)
                clean[c, y, x], variances[c, y, x] = level_at(light, levels), of_level[0]


@scalar
def channel_variance(light, own, curve):
    """Return the variance that a `channel_noise.OneChannel` with such factors adds to light."""
    shot = own.shot * max(light, _ZERO)
    variance = own.read * own.read + shot
    if variance <= _ZERO:
        return _ZERO
    bent = own.shot * shot / (_SIX * variance)
    share = f32(own.tail_share) * _WORDS
    spread = _TWO * bent * bent + share * own.tail * own.tail * (_TWO - share)
    factor = factor_at(light, curve)
    return (variance * (_ONE + own.rows * own.rows) + spread) * factor * factor


@scalar
def noisy_level(light, own, factors, on_noise, curve, tail):
    """Return of a level of noisy light what `encoded_moments` returns.

    Noise of channels is integrated as `channel_noise.noisy_channel` draws it: Gaussian numbers of
    two widths, and for some samples an exponential tail, which no expansion in cumulants bears.

    own: its `OneChannel`. factors: wide and narrow. on_noise: the factor on all of it. curve: as of
    `moments.pixel_moments`. tail: nodes and weights of Gauss and Laguerre's rule.
    """
    levels, nodes, weights = curve
    tail_nodes, tail_weights = tail
    share = f32(own.tail_share) * _WORDS
    shot = own.shot * max(light, _ZERO)
    variance = own.read * own.read + shot
    if variance <= _ZERO:
        return _ZERO, _ZERO, _ZERO
    deviation, bent = np.sqrt(variance), own.shot * shot / (_SIX * variance)
    middle = level_at(light, levels)
    mean = squares = first = second = _ZERO
    for wide in range(2):
        factor = factors[0] if wide else factors[1]
        width = np.sqrt(factor * factor + own.rows * own.rows)
        share_of = factor / width
        for i in range(nodes.shape[0]):
            z = width * nodes[i]
            value = light + (deviation * z + bent * (z * z - _ONE) - own.tail_mean) * on_noise
            plain = level_at(value, levels) - middle
            level, squared = (_ONE - share) * plain, (_ONE - share) * plain * plain
            for j in range(tail_nodes.shape[0] if share > _ZERO else 0):
                tailed = level_at(value + own.tail * tail_nodes[j] * on_noise, levels) - middle
                level += share * tail_weights[j] * tailed
                squared += share * tail_weights[j] * tailed * tailed
            z, weight = nodes[i], _HALF * weights[i]
            mean += weight * level
            squares += weight * squared
            first += weight * level * z * share_of
            second += weight * level * (z * z - _ONE) * share_of * share_of
    return max(squares - mean * mean, _ZERO), first, second * _ROOT_HALF


@kernel
def fill_channel_levels(noise, curve, tail, channel_levels):
    """Fill `noisy_level` for the lights of `light_of_place`: float32 array (3, 3, LIGHTS)."""
    factors = noise.wide, noise.narrow
    channels = noise.red, noise.green, noise.blue
    for c in range(3):
        for k in range(channel_levels.shape[2]):
            light = light_of_place(k)
            on_noise = factor_at(light, noise.curves[noise.curve, c])
            found = noisy_level(light, channels[c], factors, on_noise, curve, tail)
            for i in range(3):
                channel_levels[c, i, k] = found[i]


@scalar
def light_of_place(place):
    """Return the light of a place among `LIGHTS`: closest together in the dark, some below 0."""
    root = f32(place - DARKEST) / _STEPS
    return root * root * root


@scalar
def levels_between(light, tables):
    """Return what tables (3, LIGHTS) have for light, between the two nearest entries."""
    place = min(max(_DARKEST + np.cbrt(light) * _STEPS, _ZERO), _LAST)
    cell = i32(place)
    share = place - f32(cell)
    return (
        tables[0, cell] + (tables[0, cell + 1] - tables[0, cell]) * share,
        tables[1, cell] + (tables[1, cell + 1] - tables[1, cell]) * share,
        tables[2, cell] + (tables[2, cell + 1] - tables[2, cell]) * share,
    )
