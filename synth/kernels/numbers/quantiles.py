"""Quantile functions of the noise's distributions, as polynomials.

Kernels evaluate them without looking anything up.

A gather from a table costs a CPU more than all of the arithmetic here. What a polynomial can follow
over 24 octaves of tail probability p is the quantile as a function of sqrt(1 - log2(2 p)): nearly
straight for the normal distribution, whose tail falls with the square of its argument, and smooth
for the logistic and its Tukey-lambda neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

DEGREE = 9
OCTAVES = 24
"""Octaves of tail probability that are told apart: below 2^-25 (one draw in 17 million) the
quantile stays as it is there."""
_MOST = math.sqrt(OCTAVES + 1.0)
CENTRE, PER_HALF = (_MOST + 1) / 2, 2 / (_MOST - 1)
"""The argument of the polynomial, in [-1, 1], is (sqrt(1 - log2(2 p)) - CENTRE) PER_HALF."""

_PAIR_OCTAVES = 40
_EXACT, _NEVER, _MOST_STEPS = 1e-12, 1e-300, 200

Coefficients = npt.NDArray[np.float64]
"""DEGREE + 1 of them, the constant first; times a standard deviation, rounded to float32, they are
what kernels take."""


def quantile_polynomial(upper: Callable[[float], float]) -> Coefficients:
    """Find the polynomial that meets a quantile function at the Chebyshev nodes.

    upper: function of a tail probability in (0, 1/2], the value that is exceeded with that
    probability, of a distribution symmetric about 0.

    Returns float64 array (10).
    """
    count = DEGREE + 1
    values = []
    for k in range(count):
        root = CENTRE + math.cos(math.pi * (k + 0.5) / count) / PER_HALF
        values.append(upper(0.5 * 2.0 ** (1 - root * root)))
    # Sums in a fixed order, not NumPy's or LAPACK's, so that every machine gets the same
    # coefficients.
    result = [0.0] * count
    before, this = (
        [0.0] * count,
        [1.0] + [0.0] * DEGREE,
    )  # the Chebyshev polynomials of degrees n - 1 and n, constant first
    for n in range(count):
        weight = (
            math.fsum(values[k] * math.cos(n * math.pi * (k + 0.5) / count) for k in range(count))
            * (2 if n else 1)
            / count
        )
        result = [r + weight * t for r, t in zip(result, this, strict=True)]
        following = [(2.0 if n else 1.0) * t for t in [0.0, *this[:-1]]]
        before, this = this, [f - (b if n else 0.0) for f, b in zip(following, before, strict=True)]
    coefficients = np.array(result)
    coefficients.flags.writeable = False
    return coefficients


@lru_cache(maxsize=1)
def normal_quantile() -> Coefficients:
    """Return the quantiles of the standard normal distribution, within 3e-5 of its deviation."""
    return quantile_polynomial(lambda tail: -NormalDist().inv_cdf(tail))


@lru_cache(maxsize=1)
def normal_pair_quantile() -> Coefficients:
    """Return the quantiles of the sum of two draws from the standard normal distribution."""
    coefficients = normal_quantile() * math.sqrt(2)
    coefficients.flags.writeable = False
    return coefficients


@lru_cache(maxsize=256)
def tukey_lambda_quantile(shape: float) -> Coefficients:
    """Return the quantiles of the Tukey-lambda distribution of a shape and scale 1.

    It is the logistic one for shape 0.

    Q(u) = (u^shape - (1-u)^shape) / shape: Joiner and Rosenblatt, "Some properties of the range in
    samples from Tukey's symmetric lambda distributions", JASA 66 (1971); taken through expm1, as
    the formula loses digits near shape 0. Within 5e-4 of its deviation for the shapes of the camera
    file.
    """
    return quantile_polynomial(lambda tail: float(_tukey_lambda(np.array(tail), shape)))


@lru_cache(maxsize=256)
def tukey_lambda_pair_quantile(shape: float) -> Coefficients:
    """Return the quantiles of the sum of two draws from `tukey_lambda_quantile`.

    They are within 1e-3 of its deviation.

    The sum exceeds s when one draw is x and the other over s - x: the integral over x runs over
    octaves of the tail beyond it, by the trapezoidal rule, and s is found by the secant method
    within a bracket: the logarithm of its tail is nearly straight.
    """
    depth = np.linspace(0, _PAIR_OCTAVES, 1 + 64 * _PAIR_OCTAVES)
    tails = 0.5 * np.exp2(-depth)
    places = _tukey_lambda(tails, shape)
    weights = tails * (math.log(2) * depth[1])
    weights[[0, -1]] /= 2

    def tail(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        beyond: npt.NDArray[np.float64] = 0.5 * np.exp2(-np.interp(np.abs(x), places, depth))
        return np.where(x < 0, 1 - beyond, beyond)

    def exceeded(s: float) -> float:
        return float(weights @ (tail(s + places) + tail(s - places)))

    def upper(wanted: float) -> float:
        low, high = 0.0, 2 * float(places[-1])
        before, off_before = low, math.log(0.5 / wanted)
        this = 1.5 * float(_tukey_lambda(np.array(wanted), shape))
        for _ in range(_MOST_STEPS):  # a few are enough, unless the shape is no number
            off = math.log(max(exceeded(this), _NEVER) / wanted)
            low, high = (this, high) if off > 0 else (low, this)
            following = (
                this - off * (this - before) / (off - off_before) if off != off_before else math.inf
            )
            if abs(following - this) <= _EXACT * this or high - low <= _EXACT * high:
                return following
            if not low < following < high:
                following = (low + high) / 2
            before, off_before, this = this, off, following
        return this

    return quantile_polynomial(upper)


def _tukey_lambda(tails: npt.NDArray[np.float64], shape: float) -> npt.NDArray[np.float64]:
    low, high = np.log(tails), np.log1p(-tails)
    difference: npt.NDArray[np.float64] = (
        high - low if shape == 0 else (np.expm1(shape * high) - np.expm1(shape * low)) / shape
    )
    return difference


def scaled(coefficients: Coefficients, deviation: float) -> npt.NDArray[np.float32]:
    """Return for kernels float32 coefficients of a distribution `deviation` times as wide."""
    return (coefficients * deviation).astype(np.float32)
