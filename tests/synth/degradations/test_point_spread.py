"""Light is spread along a line and over a disc, none of it lost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gloam.synth.degradations.point_spread import NOTHING, make_spreads, spread


def moments(made):
    """Mean place, and the covariance of places."""
    weights = made.weights.astype(float)
    mean = (weights[:, None] * made.places).sum(0)
    apart = made.places - mean
    return mean, np.einsum("p,pi,pj->ij", weights, apart, apart)


lengths = st.floats(0.1, 64)
angles = st.floats(0, math.pi)
radii = st.floats(0.3, 16)


@given(lengths, angles, radii)
def test_light_is_neither_lost_nor_moved(length, angle, radius):
    for made in (spread(length, angle, 0), spread(0, angle, radius)):
        assert made.places.dtype == np.int32
        assert made.weights.dtype == np.float32
        assert (made.weights > 0).all()
        assert made.weights.sum(dtype=float) == pytest.approx(1, abs=1e-5)
        mean, _ = moments(made)
        assert np.abs(mean).max() < 0.02


@given(st.floats(2, 64), angles)
def test_a_path_is_as_long_as_it_says(length, angle):
    _, covariance = moments(spread(length, angle, 0))
    along = np.array([math.sin(angle), math.cos(angle)])
    across = np.array([-along[1], along[0]])
    # A line's variance, and at most that of sharing a point among four pixels.
    assert length**2 / 12 * 0.97 <= along @ covariance @ along <= length**2 / 12 + 0.6
    assert across @ covariance @ across < 0.6


@given(st.floats(1, 16))
def test_a_disc_is_as_wide_as_it_says(radius):
    _, covariance = moments(spread(0, 0, radius))
    wanted = radius**2 / 4 + 1 / 12  # and that of a pixel
    assert np.diag(covariance) == pytest.approx([wanted] * 2, rel=0.08, abs=0.1)


@given(st.floats(1, 20), angles, st.floats(0.5, 6))
def test_both_together_are_one_after_the_other(length, angle, radius):
    _, line = moments(spread(length, angle, 0))
    _, disc = moments(spread(0, 0, radius))
    _, both = moments(spread(length, angle, radius))
    assert both == pytest.approx(line + disc, rel=0.02, abs=0.05)


def test_places_lie_in_rows_however_they_are_found():
    """Kernels are compiled for each order of an array."""
    for settings in ([[4, 0, 0, 0, 0, 0]], [[4, 0, 0, 0, 0, 0], [0, 0, 0, 0.3, 1, 0]]):
        _, found = make_spreads(np.array(settings, np.float64))
        assert found.places.flags.c_contiguous


def test_nothing_spreads_by_nothing():
    assert spread(0, 1, 0) is NOTHING
    settings = np.array([[3, 0, 0], [0, 1, 0], [0, 0, 1]])
    counts, whole = make_spreads(np.hstack([settings, np.zeros((3, 3))]))
    assert counts[1, 0] == 0
    assert len(whole.weights) == len(whole.places)
    assert whole.weights.sum() == pytest.approx(2)


@pytest.mark.parametrize(("length", "angle"), [(0.15, 0.0), (0.5, 2.0), (1.0, 3.1), (2.7, 5.5)])
def test_shifted_light_comes_from_its_shift_away(length, angle):
    places, weights = spread(0, 0, 0, length, angle)
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    wanted = length * np.sin(angle), length * np.cos(angle)
    assert (weights @ places).tolist() == pytest.approx(wanted, abs=0.01)
