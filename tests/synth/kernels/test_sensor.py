"""Raw samples against the camera file, by photon transfer: what a sensor laboratory would measure
of gloam's sensor."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gloam.synth.camera.calibrated_sensors import Sensors, sensors_at
from gloam.synth.kernels.numbers.quantiles import tukey_lambda_quantile

SAMPLES = 400_000
ISOS = [50, 100, 800, 1600, 2000, 6400, 25600]


def camera_at(iso):
    columns = sensors_at("sony-a7s2", np.array([float(iso)]), np.zeros((3, 1)), {})
    return Sensors(*(np.ravel(column)[0].item() for column in columns))


@pytest.mark.parametrize("iso", ISOS)
@pytest.mark.parametrize("level", [0.0005, 0.004, 0.05, 0.4])
def test_mean_and_variance_follow_gain_and_read_noise(sensor, iso, level):
    """Mean = black + x (white - black), variance = K (mean - black) + sigma^2 + 1/12, within
    sampling error."""
    camera = camera_at(iso)
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
    camera = camera_at(iso)
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
    raw = sensor(
        np.linspace(0, 30_000, 100_000).astype(np.float32),
        gain=1.0,
        read_scale=200.0,
        offset=512,
        white=16383,
    )
    assert (raw == np.rint(raw)).all()
    assert raw.min() == 0
    assert raw.max() == 16383


@pytest.mark.parametrize("iso", ISOS)
@pytest.mark.parametrize("level", [0.0005, 0.05])
def test_two_greens_read_at_once_are_two_sites(sensor, iso, level):
    """Their sum has twice the mean and twice the variance of one, rounding included, and is as
    whole as they are."""
    camera = camera_at(iso)
    signal = level * (camera.white - camera.black)
    settings = {"gain": camera.gain, "read_scale": camera.gaussian_sigma, "white": camera.white}
    both = sensor(
        2 * signal / camera.gain, SAMPLES, offset=2 * camera.black, pair=True, **settings
    ).astype(np.float64)
    one = sensor(signal / camera.gain, SAMPLES, offset=camera.black, seed=5, **settings)
    other = sensor(signal / camera.gain, SAMPLES, offset=camera.black, seed=6, **settings)
    apart = (one + other).astype(np.float64)
    variance = 2 * (camera.gain * signal + camera.gaussian_sigma**2 + 1 / 12)
    assert (both == np.rint(both)).all()
    assert abs(both.mean() - 2 * (camera.black + signal)) < 5 * np.sqrt(variance / SAMPLES)
    assert both.var() == pytest.approx(variance, rel=5 * np.sqrt(2.2 / SAMPLES))
    low, high = np.percentile(apart, [0.5, 99.5]).astype(int)
    bins = np.linspace(low, high, 30).round() + 0.5
    observed, expected = np.histogram(both, bins)[0], np.histogram(apart, bins)[0]
    assert stats.chi2_contingency(np.array([observed, expected]) + 1).pvalue > 1e-4


def test_greens_clip_at_twice_white(sensor):
    assert (sensor(1e6, 1000, white=16383, pair=True) == 2 * 16383).all()
