"""gloam's JPEG loses what libjpeg's loses, in windows as in the whole."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import gloam
from gloam.synth.degradations.draw import HALVED, JpegSetting, jpeg, jpeg_span
from gloam.synth.fitting.pairs import quality_of_pixels
from gloam.synth.kernels.arrays import Window
from gloam.synth.kernels.degradations.jpeg import COSINES, quantisers

from ...conftest import picture
from .test_degraded import parts

SUBSAMPLING = {"4:2:0": 2, "4:4:4": 0}
chromas = pytest.mark.parametrize("chroma", SUBSAMPLING)


def by_libjpeg(image: np.ndarray, quality: int, chroma: str) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality, subsampling=SUBSAMPLING[chroma])
    return np.asarray(Image.open(file))


def error(image: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.sqrt(((image.astype(float) - other) ** 2).mean((0, 1)))


@chromas
@pytest.mark.parametrize("quality", [50, 60, 70, 75, 80, 85, 90, 95])
def test_its_error_is_that_of_libjpeg(quality, chroma):
    for seed in range(3):
        normal = picture(seed, 203, 157)
        for image in (
            normal,
            gloam.darken(normal, "even", key="image"),
            gloam.darken(normal, "night-lights", key="image"),
        ):
            own = jpeg(image, JpegSetting(quality, chroma == HALVED))
            other = by_libjpeg(image, quality, chroma)
            assert error(image, own) == pytest.approx(error(image, other), rel=0.03)
            assert (own.astype(int) - image).mean((0, 1)) == pytest.approx(
                (other.astype(int) - image).mean((0, 1)), abs=0.05
            )
            assert error(own, other).max() < 1.5  # coefficients between two steps may go either way


@chromas
@pytest.mark.parametrize("quality", [1, 10, 100])
def test_at_the_ends_of_the_scale_too(quality, chroma):
    image = picture(7, 64, 80)
    own = jpeg(image, JpegSetting(quality, chroma == HALVED))
    wanted = error(image, by_libjpeg(image, quality, chroma))
    assert error(image, own) == pytest.approx(wanted, rel=0.05)


@pytest.mark.parametrize("quality", [1, 25, 49, 50, 75, 92, 100])
def test_quantisers_are_those_that_files_hold(quality):
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG", quality=quality)
    held = Image.open(file).quantization
    assert {k: list(v) for k, v in held.items()} == {
        k: quantisers(quality)[k].astype(int).tolist() for k in (0, 1)
    }


def test_the_transform_is_orthonormal():
    assert np.allclose(COSINES @ COSINES.T, np.eye(8), atol=1e-6)


@given(st.integers(0, 255), st.integers(1, 40), st.integers(1, 40), st.sampled_from([30, 75, 95]))
def test_grey_of_one_level_stays_within_half_a_step(level, height, width, quality):
    image = np.full((height, width, 3), level, np.uint8)
    made = jpeg(image, JpegSetting(quality, True))
    assert (made == made[0, 0]).all()
    assert abs(int(made[0, 0, 0]) - level) <= quantisers(quality)[0, 0] / 16 + 1
    assert (made == by_libjpeg(image, quality, "4:2:0")).all()


@given(parts(), st.sampled_from([20, 80]), st.sampled_from(sorted(SUBSAMPLING)))
def test_a_window_is_that_of_the_whole(where, quality, chroma):
    size, window = where
    image = picture(3, 70, 70)[: size[0], : size[1]]
    drawn = JpegSetting(quality, chroma == HALVED)
    span = jpeg_span(window, *size, drawn)
    part = image[span.top :, span.left :][: span.height, : span.width]
    made = jpeg(part, drawn)[window.top - span.top :, window.left - span.left :]
    whole = jpeg(image, drawn)[window.top :, window.left :]
    assert (made[: window.height, : window.width] == whole[: window.height, : window.width]).all()


def test_no_quality_is_no_jpeg():
    image = picture(1, 20, 20)
    assert jpeg(image, JpegSetting(0, True)) is image
    window = Window(3, 4, 5, 6)
    assert jpeg_span(window, 20, 20, JpegSetting(0, True)) == window


def test_its_bytes_are_a_promise():
    image = picture(11, 83, 61)
    sums = [
        hashlib.sha256(jpeg(image, JpegSetting(80, chroma == HALVED)).tobytes()).hexdigest()[:16]
        for chroma in SUBSAMPLING
    ]
    assert sums == ["5392d34b6814676e", "3ca40b1acd0d5dac"]


def test_the_quality_of_a_jpeg_is_seen_in_its_pixels():
    image = picture(1, 203, 157)
    assert quality_of_pixels(image) == 0
    for quality in (50, 75, 90):
        low = by_libjpeg(image, quality, "4:2:0")
        for cut in (low, np.ascontiguousarray(low[3:, 5:]))[: 1 if quality == 90 else 2]:
            assert quality_of_pixels(cut) == pytest.approx(quality, abs=1)
