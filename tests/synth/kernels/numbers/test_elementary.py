"""Powers and logarithms against the mathematical library's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gloam.synth.kernels.numbers.elementary import exp2, log2


@given(st.floats(1e-300, 1e300))
@example(1.40625)  # near the root of 2, where the series is longest
def test_log2(x):
    assert log2(x) == pytest.approx(math.log2(x), rel=1e-15, abs=2e-14)


@given(st.floats(-1000, 1000))
def test_exp2(x):
    assert exp2(x) == pytest.approx(2.0**x, rel=1e-13)


@given(st.integers(-1000, 1000))
def test_whole_powers_of_two_are_exact_both_ways(n):
    assert exp2(float(n)) == 2.0**n
    assert log2(2.0**n) == n


def test_neither_overflows():
    assert exp2(1e9) == exp2(1000.0)
    assert exp2(-1e9) == exp2(-1000.0)
    assert not np.isnan(exp2(-np.inf))
