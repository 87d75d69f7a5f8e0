"""The noise of single samples against SciPy's distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gloam.synth.kernels.numbers.quantiles import tukey_lambda_quantile

DRAWS = 1_000_000
ALPHA = 1e-4  # with fixed seeds a test either passes always or never


def chi_square(values, pmf, least=20.0):
    """The p-value of whole values against probabilities of 0, 1, ...; rare counts are put
    together."""
    observed = np.bincount(values.astype(int), minlength=len(pmf)).astype(float)
    expected = pmf * len(values)
    assert len(observed) == len(pmf), f"a draw of {len(observed) - 1} has a probability below 1e-12"
    middle = np.flatnonzero(expected >= least)
    low, high = middle[0], middle[-1] + 1
    groups = [slice(0, low), *(slice(i, i + 1) for i in range(low, high)), slice(high, None)]
    o = np.array([observed[g].sum() for g in groups])
    e = np.array([expected[g].sum() for g in groups])
    o, e = o[e > 1], e[e > 1]
    return stats.chisquare(o, e * o.sum() / e.sum()).pvalue


@pytest.mark.parametrize("seed", [1, 2**40 + 5])
@pytest.mark.parametrize(
    "mean", [0.01, 0.1, 0.3, 1, 2.7, 3, 7.9, 8, 8.1, 10, 12.5, 16, 30, 100, 1000]
)
def test_shot_noise_is_poisson(sensor, mean, seed):
    counts = sensor(mean, DRAWS, seed=seed)
    pmf = stats.poisson.pmf(np.arange(int(stats.poisson.isf(1e-13, mean)) + 3), np.float32(mean))
    assert chi_square(counts, pmf) > ALPHA


@pytest.mark.parametrize("mean", [0.05, 0.11, 1.06, 5.99, 7.999, 8.001, 9.5, 40, 5000])
def test_shot_noise_has_the_mean_and_variance_of_poisson(sensor, mean):
    counts = sensor(mean, DRAWS).astype(np.float64)
    assert abs(counts.mean() - mean) < 5 * np.sqrt(mean / DRAWS)
    spread = np.sqrt((mean + 2 * mean**2) / DRAWS)  # of the sample variance: (mu4 - mu2^2) / n
    assert abs(counts.var() - mean) < 5 * spread


def test_no_light_gives_no_electrons(sensor):
    assert not sensor(0.0, 10_000).any()


@pytest.mark.parametrize("mean", [8.0, 20.0, 1e6])
def test_counts_are_whole_and_never_negative(sensor, mean):
    counts = sensor(mean, 100_000)
    assert (counts >= 0).all()
    assert (counts == np.rint(counts)).all()


def test_a_sample_does_not_depend_on_its_neighbours(sensor):
    """Stretches on one side of the Poisson limit take another path than mixed ones; the draws must
    be the same."""
    bright = np.where(np.arange(4096) % 2, 3.0, 40.0).astype(np.float32)
    mixed = sensor(bright, read_scale=2.0, offset=100)
    few = sensor(np.full(4096, 3.0, np.float32), read_scale=2.0, offset=100)
    many = sensor(np.full(4096, 40.0, np.float32), read_scale=2.0, offset=100)
    assert (mixed == np.where(np.arange(4096) % 2, few, many)).all()


@pytest.mark.parametrize("offset", [1, 7, 511, 513])
def test_a_sample_depends_on_its_index_only(sensor, offset):
    """Wherever a stretch or a vector begins, sample i is sample i."""
    means = np.linspace(0, 60, 3000).astype(np.float32)
    whole = sensor(means, read_scale=3.0, offset=64)
    part = sensor(means[offset:].copy(), read_scale=3.0, offset=64, first=offset)
    assert (whole[offset:] == part).all()


@pytest.mark.parametrize("shape", [-0.186, -0.09, -1e-6, 0.0, 1e-6, 0.1488])
def test_read_noise_is_tukey_lambda(sensor, shape):
    scale = 5000.0  # so that rounding to whole DN is small beside the noise
    read = sensor(
        0.0, 400_000, read_scale=scale, read=tukey_lambda_quantile(shape), offset=1_000_000
    )
    values = (read.astype(np.float64) - 1_000_000) / scale
    assert (
        stats.kstest(values, stats.tukeylambda(0.0 if abs(shape) < 1e-5 else shape).cdf).pvalue
        > ALPHA
    )


def test_read_noise_is_gaussian(sensor):
    read = sensor(0.0, 400_000, read_scale=5000.0, offset=1_000_000).astype(np.float64) - 1_000_000
    assert stats.kstest(read / 5000, "norm").pvalue > ALPHA
    assert stats.kurtosistest(read).pvalue > ALPHA


def test_no_two_seeds_indices_or_purposes_share_their_noise(sensor):
    size = 100_000
    draws = {
        "seed 1": sensor(40.0, size, seed=1),
        "seed 2": sensor(40.0, size, seed=2),
        "other high half": sensor(40.0, size, seed=1 + (1 << 32)),
        "other indices": sensor(40.0, size, first=size),
        "read noise": sensor(0.0, size, read_scale=6.0, offset=100),
    }
    names = list(draws)
    table = np.corrcoef([draws[name] for name in names])
    assert np.abs(table - np.eye(len(names))).max() < 5 / np.sqrt(size)


def test_neighbouring_samples_are_independent(sensor):
    noise = sensor(40.0, 1_000_000, read_scale=3.0, offset=50) - 90
    spectrum = np.correlate(noise - noise.mean(), noise[:-20] - noise.mean(), "valid") / (
        noise.var() * len(noise)
    )
    assert np.abs(spectrum[1:]).max() < 5 / np.sqrt(len(noise))


def test_no_seed_yields_a_shifted_copy_of_another(sensor):
    one, other = sensor(40.0, 2000, seed=7), sensor(40.0, 200_000, seed=8)
    windows = np.lib.stride_tricks.sliding_window_view(other, 12)
    assert not (windows == one[:12]).all(axis=1).any()
