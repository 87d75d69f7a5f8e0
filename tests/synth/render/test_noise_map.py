"""Noise maps at the ends of what recipes and cameras may ask for."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.models import draw_table
from gloam.synth.recipes.load import load_recipe
from gloam.synth.render.noise_map import noise_map

from ..overrides import ON_SENSOR


@pytest.mark.parametrize("noise", ["offset.green=0.5", "shot.red=0.05"])
def test_black_without_variance_has_noise_of_rounding_alone(noise):
    steep = ["tone.transfer=gamma", "tone.gamma=5", "isp.contrast=1", "isp.chroma.strength=0"]
    table = draw_table(
        load_recipe(ON_SENSOR, [f"noise.{noise}", "noise.read.red=0", *steep]), 3, ["a"]
    )
    found = noise_map(np.zeros((8, 8, 3), np.uint8), table, 0)
    np.testing.assert_allclose(found.noise, 12**-0.5, rtol=1e-6)


def test_noise_of_sensors_that_float32_does_not_hold_is_finite(tmp_path):
    file = tmp_path / "cameras.yaml"
    file.write_text(
        "cameras: {mine: {source: none, bits: 14, black: 512, white: 16383,"
        " by_iso: [[800, 0.8, 6.e+4, 6.e+4, -1, 0]]}}"
    )
    camera = [f"camera.file={file}", "camera.name=mine", "camera.iso=800", "isp.demosaic=none"]
    table = draw_table(load_recipe(ON_SENSOR, [*camera, "isp.digital_gain_ev=3"]), 3, ["a"])
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, 2)
    assert np.isfinite(noise_map(levels, table, 0).noise).all()
