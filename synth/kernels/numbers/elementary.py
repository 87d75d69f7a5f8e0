"""Powers of two, logarithms and exact sums in float64 from plain arithmetic alone.

They have the same bits on every machine, whatever its mathematical library, and are computed
several at once where a CPU has vectors.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..arrays import f64, i64
from ..compiling.compile import kernel, scalar

DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`

_ROOT_HALF = i64(np.float64(math.sqrt(0.5)).view(np.int64))
_MANTISSA_BITS, _BIAS = i64(52), i64(1023)
_HALF, _LEAST, _MOST = 0.5, -1000.0, 1000.0
# log2(m) = 2 / ln 2 (t + t^3/3 + t^5/5 + ...), t = (m - 1) / (m + 1); |t| < .172, so that what is
# left out is below 1.7e-14.
_L1, _L3, _L5, _L7, _L9, _L11, _L13, _L15 = (2 / math.log(2) / n for n in range(1, 16, 2))
# 2^f = sum of (f ln 2)^n / n!, |f| <= 1/2; what is left out is below 1e-13.
_E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11 = (
    math.log(2) ** n / math.factorial(n) for n in range(1, 12)
)


@scalar
def log2(x):
    """Return log2 of a positive normal number, within 2e-14 + 1e-15 of the result."""
    bits = f64(x).view(np.int64)
    octave = (bits - _ROOT_HALF) >> _MANTISSA_BITS
    m = i64(bits - (octave << _MANTISSA_BITS)).view(np.float64)
    t = (m - 1.0) / (m + 1.0)
    s = t * t
    high = _L9 + s * (_L11 + s * (_L13 + s * _L15))
    return f64(octave) + t * (_L1 + s * (_L3 + s * (_L5 + s * (_L7 + s * high))))


@scalar
def exp2(x):
    """Return 2^x, within 1e-13 of the result, for x from -1000 to 1000, and as there beyond."""
    cut = min(max(f64(x), _LEAST), _MOST)
    whole = np.floor(cut + _HALF)
    f = cut - whole
    high = _E6 + f * (_E7 + f * (_E8 + f * (_E9 + f * (_E10 + f * _E11))))
    fraction = 1.0 + f * (_E1 + f * (_E2 + f * (_E3 + f * (_E4 + f * (_E5 + f * high)))))
    return fraction * i64((i64(whole) + _BIAS) << _MANTISSA_BITS).view(np.float64)


@kernel
def fill_sums(rows, sums):
    """Fill sums (N) of the rows of a float64 array (N, K): of sums and of what each has lost.

    After D. E. Knuth, The Art of Computer Programming 2, 4.2.2, in twice the digits.
    """
    for i in range(rows.shape[0]):
        total = error = 0.0
        for j in range(rows.shape[1]):
            both = total + rows[i, j]
            own = both - total
            error += (total - (both - own)) + (rows[i, j] - own)
            total = both
        sums[i] = total + error


def rounded_sums(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sums of the rows of a float64 array (N, K), as if added in twice the digits."""
    sums = np.empty(len(rows))
    fill_sums(np.ascontiguousarray(rows), sums)
    return sums


@kernel
def multiply_add(a, b, c, result):
    """Fill an array with a * b + c of others, each rounded: no compiler may join the two."""
    for i in range(len(result)):
        result[i] = a[i] * b[i] + c[i]


def is_joined(function=multiply_add) -> bool:
    """Return whether such a function rounds once, where IEEE float32 rounds twice."""
    factor = np.full(64, 1 + 2.0**-12, np.float32)
    summand = np.full(64, -(1 + 2.0**-11), np.float32)
    result = np.empty(64, np.float32)
    function(factor, factor, summand, result)
    return bool(result.any())
