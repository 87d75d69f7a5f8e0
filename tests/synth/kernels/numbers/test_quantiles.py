"""The polynomials against the distributions that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from gloam.synth.camera.calibrated_sensors import camera_names, iso_range, sensors_at
from gloam.synth.kernels.numbers.quantiles import (
    CENTRE,
    OCTAVES,
    PER_HALF,
    normal_pair_quantile,
    normal_quantile,
    tukey_lambda_pair_quantile,
    tukey_lambda_quantile,
)

TAILS = 0.5 * 2.0 ** -np.linspace(0, OCTAVES, 500)


def value(coefficients, tails):
    return np.polyval(coefficients[::-1], (np.sqrt(1 - np.log2(2 * tails)) - CENTRE) * PER_HALF)


def shapes():
    """Return the shapes of all the calibrations that there are."""
    found = set()
    for camera in camera_names():
        least, most = iso_range(camera)
        isos = np.geomspace(least, most, 40).clip(least, most)
        found |= {*np.ravel(sensors_at(camera, isos, np.zeros((3, 40)), {}).tukey_shape).tolist()}
    return sorted(found)


def test_the_normal_distribution():
    assert np.abs(value(normal_quantile(), TAILS) - stats.norm.isf(TAILS)).max() < 3e-5
    assert (
        np.abs(value(normal_pair_quantile(), TAILS) - np.sqrt(2) * stats.norm.isf(TAILS)).max()
        < 5e-5
    )


@pytest.mark.parametrize("shape", shapes())
def test_the_tukey_lambda_distribution_of_every_camera(shape):
    truth = stats.tukeylambda(shape)
    error = np.abs(value(tukey_lambda_quantile(shape), TAILS) - truth.isf(TAILS))
    assert error.max() < 1e-3 * truth.std()
    assert error[TAILS > 1e-4].max() < 5e-4 * truth.std()


def test_a_shape_that_is_no_number_ends_too():
    assert np.isnan(tukey_lambda_pair_quantile(np.nan)).all()


@pytest.mark.parametrize("shape", [*shapes()[::8], shapes()[-1], 0.3, 1.0])
def test_the_sum_of_two_draws(shape):
    """Its tail by SciPy's integral over one of the two."""
    truth = stats.tukeylambda(shape)
    for tail in (0.4, 0.2, 0.05, 1e-3, 1e-5):
        s = float(value(tukey_lambda_pair_quantile(shape), np.array(tail)))
        exceeded = integrate.quad(
            lambda u, s=s: truth.sf(s - truth.ppf(u)), 0, 1, limit=400, points=[1e-6, 0.5, 1 - 1e-6]
        )[0]
        assert exceeded == pytest.approx(tail, rel=3e-3 if tail > 1e-4 else 1e-2)
