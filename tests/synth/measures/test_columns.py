"""Statistics of noise and tone on images whose statistics are known, and of real pairs."""

from __future__ import annotations

import pickle

import cv2
import numpy as np
import pytest

from gloam.synth.kernels.curves import linear_to_srgb, srgb_to_linear
from gloam.synth.measures.columns import ALL_LABELS, all_statistics
from gloam.synth.measures.pair_statistics import (
    PERCENTILES,
    Scene,
    middle,
    reference_statistics,
    summary,
)
from gloam.synth.measures.set_statistics import measure_folders

HEIGHT, WIDTH = 400, 600
OF_CLIPS = {"flicker_ev", "temporal_correlation"}


def plain(level: float = 100) -> np.ndarray:
    return np.full((HEIGHT, WIDTH, 3), level, np.uint8)


def noisy(noise: np.ndarray, level: float = 20) -> np.ndarray:
    return np.rint(level + noise).clip(0, 255).astype(np.uint8)


def white(seed: int = 0, deviation: float = 3.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, deviation, (HEIGHT, WIDTH, 3))


def steps() -> np.ndarray:
    """A normal of smooth steps through all levels."""
    ramp = np.repeat(np.linspace(4, 245, 20), WIDTH // 20)
    return np.broadcast_to(ramp[None, :, None], (HEIGHT, WIDTH, 3)).astype(np.uint8)


def darkened(normal: np.ndarray, ev: np.ndarray | float) -> np.ndarray:
    light = srgb_to_linear(normal / 255) * np.exp2(-np.asarray(ev))
    return np.rint(255 * linear_to_srgb(light.clip(0, 1))).astype(np.uint8)


def test_white_gaussian_noise_is_measured_as_such():
    found = all_statistics(noisy(white()), plain())
    for channel in "rgb":
        assert found[f"deviation_{channel}_16"] == pytest.approx(3 * 0.97, rel=0.02)
        assert found[f"skewness_{channel}_16"] == pytest.approx(0, abs=0.05)
        assert found[f"kurtosis_{channel}_16"] == pytest.approx(0, abs=0.1)
        assert abs(found[f"rows_{channel}"]) < 0.03
        assert abs(found[f"columns_{channel}"]) < 0.03
        # What the blur takes along makes neighbours of white noise disagree a little.
        assert found[f"lag_row_{channel}"] == pytest.approx(-0.05, abs=0.01)
        assert found[f"lag_diagonal_{channel}"] == pytest.approx(-0.045, abs=0.01)
    assert abs(found["correlation_rb"]) < 0.01
    assert found["blocks"] < 0.03


@pytest.mark.parametrize("height", [HEIGHT, 1100])
def test_a_normal_is_looked_at_once_for_all_of_its_lows(monkeypatch, height):
    normal = np.resize(steps(), (height, WIDTH, 3))
    lows = [np.resize(noisy(white(seed)), normal.shape) for seed in (0, 1)]
    alone = [all_statistics(low, normal) for low in lows]
    scene = Scene(normal)
    assert all_statistics(lows[0], scene) == pytest.approx(alone[0], rel=0, abs=0, nan_ok=True)
    handed_over = pickle.loads(pickle.dumps(scene))  # to another process
    monkeypatch.setattr("gloam.synth.measures.pair_statistics.texture", None)
    found = all_statistics(lows[1], handed_over)
    assert found == pytest.approx(alone[1], rel=0, abs=0, nan_ok=True)


def test_noise_that_is_not_white_nor_gaussian_is_told():
    rng = np.random.default_rng(1)
    common = rng.normal(0, 3, (HEIGHT, WIDTH, 1))
    tail = white(2, 2) + rng.exponential(4, (HEIGHT, WIDTH, 3)) * (rng.random(common.shape) < 0.1)
    assert all_statistics(noisy(tail), plain())["skewness_g_16"] > 0.5
    assert all_statistics(noisy(tail), plain())["kurtosis_g_16"] > 1
    mixed = white(3) * rng.choice([0.6, 1.3], (HEIGHT, WIDTH, 3))
    assert all_statistics(noisy(mixed), plain())["kurtosis_g_16"] > 0.4
    assert all_statistics(noisy(mixed), plain())["outliers_g"] < 2
    rare = white(3) * np.where(rng.random((HEIGHT, WIDTH, 3)) < 0.02, 3.0, 0.9)
    assert all_statistics(noisy(rare), plain())["outliers_g"] == pytest.approx(22, abs=6)
    agreeing = all_statistics(noisy(0.7 * common + 0.7 * white(4)), plain())
    assert agreeing["correlation_rb"] == pytest.approx(0.5, abs=0.02)
    soft = cv2.GaussianBlur(white(5), (0, 0), 0.6)
    lags = all_statistics(noisy(3 * soft), plain())
    assert lags["lag_row_g"] > lags["lag_diagonal_g"] > 0.02
    rows = noisy(white(6) + 0.6 * rng.normal(0, 1, (HEIGHT, 1, 3)))
    found = all_statistics(rows, plain())
    assert found["rows_g"] == pytest.approx(0.2, abs=0.03)
    assert abs(found["columns_g"]) < 0.03
    turned = all_statistics(rows.transpose(1, 0, 2), plain().transpose(1, 0, 2))
    assert turned["columns_g"] == pytest.approx(found["rows_g"], abs=0.01)


def test_black_is_counted_by_level():
    found = all_statistics(noisy(white(7, 1.5), 1.0), plain())
    assert found["black_g_1"] == pytest.approx(0.37, abs=0.04)
    assert np.isnan(found["black_g_4"])


def test_blocks_of_a_jpeg_show_wherever_they_begin():
    _, data = cv2.imencode(".jpg", noisy(white(8), 60), [cv2.IMWRITE_JPEG_QUALITY, 60])
    stored = cv2.imdecode(data, cv2.IMREAD_COLOR)
    assert all_statistics(stored, plain())["blocks"] > 0.1
    cut = np.ascontiguousarray(stored[3:, 5:])
    assert all_statistics(cut, plain()[3:, 5:])["blocks"] > 0.1


def test_tone_is_measured_by_level_of_the_normal():
    normal = steps()
    even = all_statistics(darkened(normal, 1.5), normal)
    bright = all_statistics(darkened(normal, np.where(normal >= 192, 0.5, 1.5)), normal)
    for channel in "rgb":
        assert even[f"tone_{channel}_224"] == pytest.approx(0, abs=0.03)
        assert bright[f"tone_{channel}_224"] == pytest.approx(1, abs=0.03)
        assert bright[f"tone_{channel}_32"] == pytest.approx(0, abs=0.1)
    warm = all_statistics(darkened(normal, [1.5, 2.0, 2.3]), normal)
    assert warm["balance_red"] == pytest.approx(0.5, abs=0.02)
    assert warm["balance_blue"] == pytest.approx(-0.3, abs=0.02)
    uneven = np.repeat(np.random.default_rng(9).normal(1.5, 0.3, (HEIGHT // 10, 1, 1)), 10, axis=0)
    spread = all_statistics(darkened(normal, uneven), normal)["spread_112"]
    assert even["spread_112"] < 0.03
    assert spread == pytest.approx(0.3, abs=0.06)


def test_saturation_is_that_of_the_normal_unless_colours_changed():
    rng = np.random.default_rng(10)
    patches = np.kron(rng.integers(60, 220, (20, 30, 3)), np.ones((20, 20, 1)))
    normal = patches.astype(np.uint8)
    light = srgb_to_linear(normal / 255)
    grey = light.mean(axis=2, keepdims=True)
    pale = np.rint(255 * linear_to_srgb((grey + 0.5 * (light - grey)) / 4)).astype(np.uint8)
    assert all_statistics(darkened(normal, 2), normal)["saturation"] == pytest.approx(1, abs=0.02)
    assert all_statistics(pale, normal)["saturation"] == pytest.approx(0.5, abs=0.05)


def test_misregistration_and_detail_are_measured():
    rng = np.random.default_rng(11)
    scene = cv2.GaussianBlur(rng.normal(0, 1, (HEIGHT, WIDTH, 3)), (0, 0), 2)
    normal = np.rint(128 + 200 * scene).clip(0, 255).astype(np.uint8)
    by = np.array([[1, 0, 0.3], [0, 1, -0.4]])
    shifted = cv2.warpAffine(normal, by, (WIDTH, HEIGHT), flags=cv2.INTER_CUBIC)
    found = all_statistics(darkened(shifted, 2), normal)
    assert found["shift"] == pytest.approx(0.5, abs=0.08)
    same = all_statistics(darkened(normal, 2), normal)
    assert same["shift"] < 0.02
    assert same["detail"] == pytest.approx(1, abs=0.02)
    soft = all_statistics(darkened(cv2.GaussianBlur(normal, (0, 0), 1.5), 2), normal)
    assert soft["detail"] < 0.95


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (5, 5), (40, 40)])
@pytest.mark.parametrize("level", [0, 255])
def test_any_image_can_be_measured(shape, level):
    flat = np.full((*shape, 3), level, np.uint8)
    found = all_statistics(flat, flat)
    assert set(found) == set(ALL_LABELS) - OF_CLIPS
    assert set(all_statistics(flat)) < set(found)


def test_of_large_images_the_middle_is_taken_from_where_blocks_begin():
    image = np.arange(100 * 60 * 3).reshape(100, 60, 3).astype(np.uint8)
    part = middle(image, 30)
    assert part.shape == (30, 30, 3)
    np.testing.assert_array_equal(part, image[32:62, 8:38])
    np.testing.assert_array_equal(middle(image, 200), image)


@pytest.mark.slow
def test_the_shipped_reference_is_what_this_code_measures_on_lol(real_pairs):
    measured = measure_folders(real_pairs / "lol/low", real_pairs / "lol/normal", 60)
    table, reference = summary(measured.rows), reference_statistics()["LOL"]
    assert len(PERCENTILES) == 3
    for name, values in reference.items():
        np.testing.assert_allclose(table[name], values, rtol=0.01, atol=0.002, err_msg=name)
