"""Raw samples against the camera file, by photon transfer: what a sensor laboratory would measure of gloam's sensor."""

from __future__ import annotations

import numpy as np
import pytest
from gloam.synth.cameras import iso_range, sensor_at
from gloam.synth.tables import tukey_lambda_quantile

SAMPLES = 400_000
ISOS = [50, 100, 800, 1600, 2000, 6400, 25600]


@pytest.mark.parametrize("iso", ISOS)
@pytest.mark.parametrize("level", [0.0005, 0.004, 0.05, 0.4])
def test_mean_and_variance_follow_gain_and_read_noise(sensor, iso, level):
    """Mean = black + x (white - black), variance = K (mean - black) + sigma^2 + 1/12, within sampling error."""
    camera = sensor_at("sony-a7s2", iso)
    signal = level * (camera.white - camera.black)
    raw = sensor(
        signal / camera.gain,
        SAMPLES,
        gain=camera.gain,
        read_scale=camera.gaussian_sigma,
        offset=camera.black,
        white=camera.white,
    ).astype(np.float64)
    variance = camera.gain * signal + camera.gaussian_sigma**2 + 1 / 12
    assert abs(raw.mean() - camera.black - signal) < 5 * np.sqrt(variance / SAMPLES)
    assert raw.var() == pytest.approx(variance, rel=5 * np.sqrt(2.2 / SAMPLES))


@pytest.mark.parametrize("iso", ISOS)
def test_the_slope_of_the_photon_transfer_curve_is_the_gain(sensor, iso):
    camera = sensor_at("sony-a7s2", iso)
    means, variances = [], []
    for i, level in enumerate(np.linspace(0.002, 0.5, 12)):
        raw = sensor(
            level * (camera.white - camera.black) / camera.gain,
            100_000,
            gain=camera.gain,
            read_scale=camera.tukey_scale,
            read=tukey_lambda_quantile(camera.tukey_shape),
            offset=camera.black,
            white=camera.white,
            seed=i,
        ).astype(np.float64)
        means.append(raw.mean() - camera.black)
        variances.append(raw.var())
    slope, _ = np.polyfit(means, variances, 1, w=1 / np.array(variances))
    assert slope == pytest.approx(camera.gain, rel=0.02)


def test_raw_samples_are_whole_and_within_the_bit_depth(sensor):
    raw = sensor(np.linspace(0, 30_000, 100_000).astype(np.float32), gain=1.0, read_scale=200.0, offset=512, white=16383)
    assert (raw == np.rint(raw)).all()
    assert raw.min() == 0
    assert raw.max() == 16383


def test_iso_is_snapped_to_the_nearest_calibrated_one_and_never_crosses_the_dual_gain():
    assert sensor_at("sony-a7s2", 1700).iso == 1600
    assert sensor_at("sony-a7s2", 1900).iso == 2000
    assert sensor_at("sony-a7s2", 2000).gaussian_sigma < sensor_at("sony-a7s2", 1600).gaussian_sigma / 2
    assert iso_range("sony-a7s2") == (50, 25600)
