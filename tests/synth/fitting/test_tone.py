"""The tone of a pair."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.fitting.adjust import adjust_tone, filled
from gloam.synth.fitting.fitted_recipe import CHANNELS, COLUMNS, column_indices
from gloam.synth.fitting.pairs import PairMeasures
from gloam.synth.kernels.curves import CURVE_LEVELS, LEVEL_LIGHT, linear_to_srgb
from gloam.synth.measures.columns import ALL_LABELS


def test_levels_that_a_pair_lacks_are_those_of_its_gain_in_light():
    nodes = np.array(CURVE_LEVELS)
    for gain in (1.0, 0.25):
        wanted = 255 * linear_to_srgb(gain * LEVEL_LIGHT[nodes])
        levels = np.tile(wanted, (1, 3, 1))
        levels[:, :, [0, 1, 2, 6, 7]] = np.nan
        assert np.abs(filled(levels) - wanted)[..., 1:].max() < 0.5
        assert filled(levels)[..., 0].max() < 1.5


def test_what_light_by_lightness_leaves_goes_to_each_channels_curve():
    """The gain that all levels share is the exposure's."""
    values = np.zeros((1, len(COLUMNS)))
    values[:, column_indices("exposure.ev")] = 3
    values[:, column_indices("tone.curve")] = np.tile(LEVEL_LIGHT[list(CURVE_LEVELS)], 3)
    values[:, column_indices("illumination.scene_light.undone.6")] = 1
    apart = np.zeros((3, 8))
    apart[2, :2] = 1.5  # stops: blue in the dark
    found = np.linspace(4, 60, 8) * np.ones((1, 3, 1))
    row = dict.fromkeys(ALL_LABELS, 1.0)
    made, real = (
        PairMeasures([row], 255 * linear_to_srgb(light / 255 / 12.92))
        for light in (found, found * 2 ** (apart - 0.5))
    )
    moved = adjust_tone(values, real, made, 0.055, paired=True)
    assert moved[0, column_indices("exposure.ev")] == pytest.approx(3.5, abs=0.05)
    for channel, more in zip(CHANNELS, apart, strict=True):
        before, after = (
            one[0, column_indices(f"tone.curve.{channel}")][1:6] for one in (values, moved)
        )
        np.testing.assert_allclose(np.log2(after / before), more[1:6], atol=0.1)
