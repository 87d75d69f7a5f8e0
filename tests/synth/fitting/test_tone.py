"""The tone of a pair: levels that are not shown are those of a gain in light."""

from __future__ import annotations

import numpy as np

from gloam.synth.fitting.adjust import filled
from gloam.synth.kernels.curves import CURVE_LEVELS, LEVEL_LIGHT, linear_to_srgb


def test_levels_that_a_pair_lacks_are_those_of_its_gain_in_light():
    nodes = np.array(CURVE_LEVELS)
    for gain in (1.0, 0.25):
        wanted = 255 * linear_to_srgb(gain * LEVEL_LIGHT[nodes])
        levels = np.tile(wanted, (1, 3, 1))
        levels[:, :, [0, 1, 2, 6, 7]] = np.nan
        assert np.abs(filled(levels) - wanted)[..., 1:].max() < 0.5
        assert filled(levels)[..., 0].max() < 1.5
