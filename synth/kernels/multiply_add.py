"""A multiplication and an addition, to see whether a compiler joins them."""

from __future__ import annotations

import numpy as np

from .compiling.compile import kernel


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
