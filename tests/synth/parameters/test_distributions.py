from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gloam.synth.parameters.distributions import (
    Choice,
    Constant,
    Gaussian,
    LogUniform,
    Uniform,
    parse,
)

unit = st.floats(0, 1, exclude_min=True, exclude_max=True)
number = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (5, Constant(5.0)),
        ("5", Constant(5.0)),
        ("-1e-3", Constant(-0.001)),
        ("tukey", Constant("tukey")),
        ("uniform(3, 8)", Uniform(3, 8)),
        (" uniform( 3 ,8 ) ", Uniform(3, 8)),
        ("loguniform(100,6400)", LogUniform(100, 6400)),
        ("normal(5.5, 1.3, 3, 8)", Gaussian(5.5, 1.3, 3, 8)),
        ("choice(1, 2, b)", Choice((1.0, 2.0, "b"))),
    ],
)
def test_what_a_person_writes(text, expected):
    assert parse(text) == expected
    assert parse(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("uniform(8, 3)", "reversed range: 8 is above 3"),
        ("uniform(8)", "uniform takes 2 numbers, not 1"),
        ("normal(1, 2)", "normal takes 4 numbers, not 2"),
        ("normal(1, -2, 0, 3)", "cannot be negative"),
        ("loguniform(0, 3)", "low above 0"),
        ("uniform(a, 3)", "'a' is not a finite number"),
        ("uniform(nan, 3)", "'nan' is not a finite number"),
        ("gamma(1, 3)", "must be a number, uniform"),
        ("choice()", "choice needs"),
        (True, "must be a number"),
        (None, "must be a number"),
        ([1, 2], "must be a number"),
        (float("inf"), "finite"),
    ],
)
def test_mistakes_say_what_is_allowed(text, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        parse(text)


@given(number, number, unit)
def test_uniform_stays_within_its_bounds(a, b, u):
    low, high = min(a, b), max(a, b)
    assert low <= Uniform(low, high).quantile(np.array([u]))[0] <= high


@given(number, st.floats(0, 1e3), number, number, unit, unit)
def test_normal_stays_within_its_bounds_and_rises(mean, deviation, a, b, u, v):
    normal = Gaussian(mean, deviation, min(a, b), max(a, b))
    low, high = normal.quantile(np.array([min(u, v), max(u, v)]))
    assert normal.low <= low <= high <= normal.high


def test_normal_is_a_truncated_normal():
    u = (np.arange(20_000) + 0.5) / 20_000
    values = Gaussian(5.5, 1.3, 3, 8).quantile(u)
    reference = stats.truncnorm((3 - 5.5) / 1.3, (8 - 5.5) / 1.3, 5.5, 1.3)
    assert np.abs(values - reference.ppf(u)).max() < 1e-6


def test_loguniform_gives_each_octave_its_share():
    u = (np.arange(8_000) + 0.5) / 8_000
    octaves = np.log2(LogUniform(100, 25_600).quantile(u) / 100)
    assert (np.bincount(octaves.astype(int)) == 1_000).all()


def test_choice_gives_each_value_its_share():
    u = (np.arange(3_000) + 0.5) / 3_000
    assert np.bincount(Choice((0.0, 1.0, 2.0)).quantile(u).astype(int)).tolist() == [1000] * 3


@pytest.mark.parametrize(
    "text", ["normal(0, 1, 9, 12)", "normal(10, 1, 0, 1)", "normal(5, 0, 6, 8)"]
)
def test_bounds_that_hold_nothing_of_a_normal_distribution_are_refused(text):
    with pytest.raises(ValueError, match="next to nothing of it lies between its bounds"):
        parse(text)


@given(unit)
def test_a_range_of_one_value_gives_that_value(u):
    assert parse("loguniform(50, 50)").quantile(np.array([u])) == [50]
    assert parse("normal(4, 1, 5, 5)").quantile(np.array([u])) == [5]


def test_a_number_beyond_float64_is_refused():
    with pytest.raises(ValueError, match="is not a finite number"):
        parse(int("9" * 400))
