"""Calibrated cameras."""

from __future__ import annotations

from gloam.synth.camera.sensors import iso_range, sensor_at


def test_iso_is_snapped_to_the_nearest_calibrated_one_and_never_crosses_the_dual_gain():
    assert sensor_at("sony-a7s2", 1700).iso == 1600
    assert sensor_at("sony-a7s2", 1900).iso == 2000
    assert (
        sensor_at("sony-a7s2", 2000).gaussian_sigma
        < sensor_at("sony-a7s2", 1600).gaussian_sigma / 2
    )
    assert iso_range("sony-a7s2") == (50, 25600)
