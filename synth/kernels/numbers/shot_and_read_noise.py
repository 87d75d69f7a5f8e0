"""Noise of one sensor sample, as scalar functions over random words and tables."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..arrays import f32, i32, u32
from ..compiling.compile import fma, reciprocal, scalar
from .quantiles import CENTRE, OCTAVES, PER_HALF

POISSON_LIMIT = 8
"""Electrons from which on Poisson draws use the normal expansion instead of the alias tables."""
POISSON_STEPS_PER_ELECTRON = 8
POISSON_SLOTS = 32
"""Counts 0 to 31 of one alias table; for a mean below 8 more than 31 electrons have a probability
under 1e-10."""


@lru_cache(maxsize=1)
def poisson_alias_table() -> npt.NDArray[np.uint32]:
    """Make Walker alias tables of Poisson distributions: means 0, 1/8, ... below POISSON_LIMIT.

    Returns uint32 array of 64 * 32, per slot a 24-bit threshold and, in the lowest 8 bits, the
    count to take when the random bits are not below it.
    """
    tables = []
    for step in range(POISSON_LIMIT * POISSON_STEPS_PER_ELECTRON):
        mean = step / POISSON_STEPS_PER_ELECTRON
        weights = [
            math.exp(-mean + n * math.log(mean) - math.lgamma(n + 1)) if mean else float(n == 0)
            for n in range(POISSON_SLOTS)
        ]
        total = math.fsum(weights)
        tables.append(_alias_slots([POISSON_SLOTS * w / total for w in weights]))
    return np.array(tables, dtype=np.uint32).ravel()


def _alias_slots(weights: list[float]) -> list[int]:
    """Fill slots, of mean weight 1, by Walker's alias method in Vose's form."""
    weights = list(weights)
    threshold, alias = [1.0] * len(weights), list(range(len(weights)))
    small = [i for i, w in enumerate(weights) if w < 1.0]
    large = [i for i, w in enumerate(weights) if w >= 1.0]
    while small and large:
        lower, upper = small.pop(), large.pop()
        threshold[lower], alias[lower] = weights[lower], upper
        weights[upper] -= 1.0 - weights[lower]
        (small if weights[upper] < 1.0 else large).append(upper)
    # A slot whose threshold is 1 keeps its own count as alias, so the cut to 24 bits loses nothing.
    return [
        min(round(t * 2**24), 2**24 - 1) << 8 | a for t, a in zip(threshold, alias, strict=True)
    ]


_LIMIT = f32(POISSON_LIMIT)
_UNDER_LIMIT = np.nextafter(_LIMIT, f32(0))
_STEPS = f32(POISSON_STEPS_PER_ELECTRON)
_STEP = f32(1.0 / POISSON_STEPS_PER_ELECTRON)
_SLOTS = u32(POISSON_SLOTS)
_SLOT_SHIFT = u32(32 - (POISSON_SLOTS - 1).bit_length())
_THRESHOLD_SHIFT = u32(8 - (POISSON_SLOTS - 1).bit_length())
_ALIAS_MASK = i32(POISSON_LIMIT * POISSON_STEPS_PER_ELECTRON * POISSON_SLOTS - 1)
_MANTISSA = i32((1 << 23) - 1)
_PER_BIT = f32(2.0**-23)
_NO_OCTAVES = f32(
    127 + 32
)  # 1 - log2(2 p) is 32 - log2(t), and the bits' exponent has a bias of 127
_DEEPEST = f32(OCTAVES + 1)
_ONE = i32(127 << 23)
_B0, _B1, _B2, _B3 = f32(0.90740375), f32(-0.70526627), f32(0.28515506), f32(-0.04487396)
_PER_HALF, _CENTRE = f32(PER_HALF), f32(-CENTRE * PER_HALF)


@scalar
def octaves_of(word):
    """Return 1 - log2(2 p) of the tail probability of a word, to 5e-5.

    All bits of `word` (uint32) but the lowest are that probability p = t / 2^32. The bits of t,
    read as a number, are its exponent and mantissa m, which is log2(t) within 0.09; m (1 - m) times
    a polynomial in 1 + m, met at the Chebyshev nodes, is what lacks.
    """
    t = f32(i32(word >> u32(1))) + f32(0.5)
    bits = f32(t).view(np.int32)
    one_and_m = i32((bits & _MANTISSA) | _ONE).view(np.float32)
    bend = fma(fma(fma(_B3, one_and_m, _B2), one_and_m, _B1), one_and_m, _B0)
    m_times_rest = fma(one_and_m, f32(3) - one_and_m, f32(-2))
    return fma(-m_times_rest, bend, fma(f32(bits), -_PER_BIT, _NO_OCTAVES))


@scalar
def tail_place(word):
    """Return where the polynomials of `quantile_at` are met, by the tail probability of a word."""
    return fma(np.sqrt(min(octaves_of(word), _DEEPEST)), _PER_HALF, _CENTRE)


@scalar
def quantile_at(y, word, c):
    """Return the quantile at a place `y` (`tail_place`); the lowest bit of `word` is the sign."""
    low = fma(fma(fma(fma(c[4], y, c[3]), y, c[2]), y, c[1]), y, c[0])
    high = fma(fma(fma(fma(c[9], y, c[8]), y, c[7]), y, c[6]), y, c[5])
    y2 = y * y
    z = fma(high, y2 * y2 * y, low)
    return z if (word & u32(1)) else -z


@scalar
def symmetric_quantile(word, c):
    """Draw from the symmetric distribution of the coefficients `c` of a polynomial (`quantiles`).

    By the random bits of `word` (uint32): tail probability and sign.
    """
    return quantile_at(tail_place(word), word, c)


@scalar
def small_poisson(mean, word, rest_word, alias_table):
    """Draw from the Poisson distribution (float32, whole) for 0 <= mean < POISSON_LIMIT.

    The draw is exact up to the 24 bits of its thresholds.

    A sum of independent Poisson draws is a Poisson draw of the summed mean. So the mean is cut into
    a multiple of a step, drawn from Walker's alias table of that multiple, and a remainder below
    one step, drawn by inversion.
    """
    mean = min(mean, _UNDER_LIMIT)
    step = i32(mean * _STEPS)
    rest = mean - f32(step) * _STEP
    slot = u32(word >> _SLOT_SHIFT)
    entry = alias_table[i32(u32(step) * _SLOTS + slot) & _ALIAS_MASK]
    below = u32(u32(word >> _THRESHOLD_SHIFT) & u32(0xFFFFFF)) < u32(entry >> u32(8))
    whole = slot if below else u32(entry & u32(0xFF))

    # exp(-rest) by its series, and counts up to 3: rest < 1/8, so what is left out has a
    # probability below 1e-5 for the count and 1e-6 for the series.
    zero = fma(
        -rest,
        fma(-rest, fma(-rest, fma(-rest, f32(1 / 24), f32(1 / 6)), f32(1 / 2)), f32(1)),
        f32(1),
    )
    one = zero * rest
    two = one * rest * f32(1 / 2)
    v = f32(i32(rest_word >> u32(8))) * f32(2.0**-24)
    count = f32(1) if v >= zero else f32(0)
    count += f32(1) if v >= zero + one else f32(0)
    count += f32(1) if v >= (zero + one) + two else f32(0)
    return f32(i32(whole)) + count


@scalar
def large_poisson(mean, z):
    """Draw from the Poisson distribution (float32, whole) for mean >= POISSON_LIMIT.

    `z` is a standard normal draw.

    The asymptotic expansion of the Poisson quantile about the normal one, skew and two more
    corrections, rounded down: M. B. Giles, Algorithm 955 (ACM TOMS 42(1), 2016), Q_N3, and a term
    in mean^-1.5 whose three coefficients are a least squares fit to the inverse of the regularised
    gamma function for means of 6 to 32. From a mean of POISSON_LIMIT on, a million draws do not
    tell it from the Poisson distribution (tests/synth/kernels/numbers/test_shot_and_read_noise.py).
    """
    mean = max(mean, _LIMIT)
    root = np.sqrt(mean)
    per_root = reciprocal(root)
    per_mean = per_root * per_root
    zz = z * z
    third = z * fma(-zz, fma(zz, f32(0.00156), f32(0.0037)), f32(0.0207))
    second = fma(third, per_root, fma(zz, fma(zz, f32(1 / 270), f32(7 / 810)), f32(-8 / 405)))
    first = -z * fma(zz, f32(1 / 72), f32(2 / 72))
    value = fma(
        second, per_mean, fma(first, per_root, fma(root, z, mean) + fma(zz, f32(1 / 6), f32(1 / 3)))
    )
    return max(np.floor(value), f32(0))
