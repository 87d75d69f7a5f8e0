"""Sums in twice the digits are those that `math.fsum` rounds once."""

from __future__ import annotations

import math

import numpy as np

from gloam.synth.kernels.numbers.elementary import rounded_sums


def test_sums_are_rounded_once():
    rows = np.random.default_rng(1).normal(size=(2000, 25)) * 10.0 ** np.arange(-12, 13)
    assert rounded_sums(rows).tolist() == [math.fsum(row) for row in rows.tolist()]
