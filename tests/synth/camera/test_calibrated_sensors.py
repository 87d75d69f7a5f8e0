"""Calibrated cameras."""

from __future__ import annotations

import numpy as np

from gloam.synth.camera.calibrated_sensors import iso_range, sensors_at


def test_iso_is_snapped_to_the_nearest_calibrated_one_and_never_crosses_the_dual_gain():
    found = sensors_at("sony-a7s2", np.array([1700.0, 1900.0]), np.zeros((3, 2)), {})
    assert found.iso.tolist() == [1600, 2000]
    assert found.gaussian_sigma[1] < found.gaussian_sigma[0] / 2
    assert iso_range("sony-a7s2") == (50, 25600)
