from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gloam.synth.kernels.curves import (
    CURVE_LEVELS,
    between_nodes,
    curve_tables,
    encode_table,
    inverse_tone_curve,
    linear_tables,
    linear_to_srgb,
    srgb_to_linear,
    toe_of,
    tone_curve,
)
from gloam.synth.kernels.develop import ENCODE_CELLS


def table_of(*undone):
    """One table of tone, gamma, exponent, shoulder."""
    values = [*undone, *(0.0, 0.0, 1.0, 0.0)[len(undone) :]]
    return linear_tables(*np.array(values)[:, None])[0]


def test_srgb_meets_known_values():
    assert srgb_to_linear(np.array([0.0, 0.04045, 0.5, 1.0])) == pytest.approx(
        [0, 0.0031308, 0.2140411, 1], abs=1e-7
    )


def test_srgb_and_its_inverse_undo_each_other():
    x = np.linspace(0, 1, 10_001)
    assert np.abs(linear_to_srgb(srgb_to_linear(x)) - x).max() < 1e-4
    assert np.abs(srgb_to_linear(linear_to_srgb(x)) - x).max() < 1e-4


@given(st.floats(0, 1))
def test_the_tone_curve_is_inverted(strength):
    x = np.linspace(0, 1, 501)
    assert np.abs(tone_curve(inverse_tone_curve(x, strength), strength) - x).max() < 1e-12


@pytest.mark.parametrize("tone", [0.0, 0.3, 1.0])
def test_encoding_gives_every_level_back(tone):
    cells = np.rint(np.sqrt(table_of(tone).astype(float)) * (ENCODE_CELLS - 1)).astype(int)
    assert np.abs(encode_table(1.0, tone)[cells].astype(int) - np.arange(256)).max() <= (
        1 if tone else 0
    )


def test_contrast_darkens_the_dark():
    assert (encode_table(1.3, 0.0) <= encode_table(1.0, 0.0)).all()
    assert encode_table(1.3, 0.0)[[0, -1]].tolist() == [0, 255]


@pytest.mark.parametrize("a", [0.01, 0.04, 0.0551, 0.1])
def test_a_toe_s_line_meets_the_curve_as_its_tangent(a):
    toe = toe_of(a)
    end = 2.0**toe.end
    assert (1 + a) * end ** (1 / 2.4) - a == pytest.approx(toe.slope * end, rel=1e-4)
    assert (1 + a) / 2.4 * end ** (1 / 2.4 - 1) == pytest.approx(toe.slope, rel=3e-3)


@pytest.mark.parametrize("tone", [0, 0.5, 1])
def test_black_stays_black_at_any_exposure(tone):
    assert table_of(tone, 0, 0.5, 0)[0] * 2**40 < 1e-6


def test_light_before_the_photograph_s_shoulder_and_contrast():
    x = srgb_to_linear(np.arange(256) / 255)
    assert table_of(0.0, 0.0, 1.1, 1.5) == pytest.approx(x**1.1 * (1 + 1.5 * x**2.2), rel=1e-6)


def test_light_of_levels_goes_through_the_nodes_and_lies_between_them():
    lights = np.sort(np.random.default_rng(0).uniform(0, 2, (50, 8)), axis=1)
    tables = curve_tables(lights)
    assert tables.dtype == np.float32
    assert tables.flags.c_contiguous  # kernels are compiled for rows of such
    np.testing.assert_allclose(tables[:, list(CURVE_LEVELS)], lights, rtol=1e-6)
    nodes = np.tile(np.array(CURVE_LEVELS, np.float64), (50, 1))
    between = between_nodes(np.arange(256.0), nodes, linear_to_srgb(lights))
    assert (tables == srgb_to_linear(between).astype(np.float32)).all()
