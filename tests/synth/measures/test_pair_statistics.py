"""The statistics of pairs on images whose statistics are known."""

from __future__ import annotations

import tracemalloc

import cv2
import numpy as np
import pytest

from gloam.synth.kernels.curves import LUMINANCE, linear_to_srgb, srgb_to_linear
from gloam.synth.measures.columns import ALL_LABELS
from gloam.synth.measures.pair_statistics import (
    LABELS,
    flattest,
    low_statistics,
    luminance_sums,
    pair_statistics,
    reference_statistics,
    summary,
    texture,
)


def ramp(height=300, width=400):
    x = np.linspace(60, 250, width)
    return np.broadcast_to(x[None, :, None], (height, width, 3)).astype(np.uint8)


def test_a_pure_exposure_is_measured_as_one():
    normal = ramp()
    low = np.rint(255 * linear_to_srgb(srgb_to_linear(normal / 255) / 8)).astype(np.uint8)
    found = pair_statistics(low, normal)
    assert found["exposure_ev"] == pytest.approx(3, abs=0.03)
    assert found["field_ev"] < 0.03
    assert found["mean"] == pytest.approx(low.mean() / 255)
    assert found["zeros"] == 0


def test_a_field_of_known_deviation_is_measured():
    normal = np.full((256, 256, 3), 220, np.uint8)
    field = np.repeat(np.repeat(np.random.default_rng(0).normal(0, 1, (4, 4)), 64, 0), 64, 1)
    light = srgb_to_linear(normal / 255) * np.exp2(-3 + field)[:, :, None]
    found = pair_statistics(
        np.rint(255 * linear_to_srgb(light.clip(0, 1))).astype(np.uint8), normal
    )
    assert found["field_ev"] == pytest.approx(field[::64, ::64].std(), abs=0.05)


def test_white_noise_is_measured_with_its_correlations():
    rng = np.random.default_rng(1)
    common = rng.normal(0, 3, (400, 400, 1))
    noise = common * [0.8, 0.8, 0.0] + rng.normal(0, 3, (400, 400, 3)) * [0.6, 0.6, 1.0]
    low = np.rint(60 + noise).clip(0, 255).astype(np.uint8)
    found = pair_statistics(low, np.full_like(low, 200))
    # The blur takes a little of white noise along: 1 - 2 k(0) + sum k^2 of its variance is left.
    assert found["noise_g"] == pytest.approx(3 * np.sqrt(1 - 2 * 0.0398 + 0.0199), rel=0.03)
    assert found["correlation_rg"] == pytest.approx(0.64, abs=0.03)
    assert found["correlation_gb"] == pytest.approx(0, abs=0.03)
    assert found["autocorrelation"] == pytest.approx(-0.055, abs=0.02)


def test_a_power_law_is_fitted():
    normal = ramp()
    low = np.rint(255 * 0.3 * (normal / 255) ** 1.7).astype(np.uint8)
    found = pair_statistics(low, normal)
    assert found["exponent"] == pytest.approx(1.7, abs=0.03)
    assert found["scale"] == pytest.approx(0.3, abs=0.01)


def test_light_is_linear_and_a_fifth_is_flat():
    normal = np.random.default_rng(2).integers(0, 256, (230, 310, 3), np.uint8)
    light = srgb_to_linear(normal / 255) @ LUMINANCE
    sums = luminance_sums(normal)
    assert sums[0].sum() == pytest.approx(light.sum(), rel=1e-12)
    assert sums[0, 1, 2] == pytest.approx(light[57:115, 155:232].sum(), rel=1e-12)
    assert sums[1].sum() == 230 * 310
    assert flattest(normal).mean() == pytest.approx(0.2, abs=0.001)


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (5, 5)])
@pytest.mark.parametrize("level", [0, 255])
def test_any_image_can_be_measured(shape, level):
    flat = np.full((*shape, 3), level, np.uint8)
    found = pair_statistics(flat, flat)
    assert list(found) == list(LABELS)[:-2]  # flicker and its correlation are of clips
    assert np.isnan(found["scale"])
    assert np.isfinite(found["exposure_ev"])
    assert set(low_statistics(flat)) <= set(LABELS)
    table = summary([found])
    assert all(np.isfinite(values).all() for values in table.values())


@pytest.mark.parametrize("level", [None, 7])
def test_large_pictures_are_measured_in_strips_as_small_ones_are_whole(monkeypatch, level):
    shape = (431, 257, 3)
    normal = np.random.default_rng(3).integers(0, 256, shape, np.uint8)
    normal = np.full(shape, level, np.uint8) if level else cv2.blur(normal, (7, 7))
    low = normal // 5
    whole, light = pair_statistics(low, normal), texture(normal)
    monkeypatch.setattr("gloam.synth.measures.pair_statistics._STRIP", 16 * 257)
    np.testing.assert_array_equal(texture(normal), light)
    assert pair_statistics(low, normal) == pytest.approx(whole, rel=1e-12, nan_ok=True)


def test_a_large_pair_takes_little_memory():
    image = np.zeros((3000, 4000, 3), np.uint8)
    tracemalloc.start()
    pair_statistics(image, image)
    assert tracemalloc.get_traced_memory()[1] < 12 * image.size
    tracemalloc.stop()


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="3 x 2"):
        pair_statistics(np.zeros((2, 3, 3), np.uint8), np.zeros((2, 4, 3), np.uint8))


def test_references_have_known_names():
    for reference in reference_statistics().values():
        assert set(reference) <= set(ALL_LABELS)
