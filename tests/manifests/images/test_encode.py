"""Encoding: equal pixels give equal bytes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from gloam.manifests.images.decode import decode
from gloam.manifests.images.normals import encode

from .making import difference

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_png_encoding_is_lossless_and_repeatable(photograph: Any) -> None:
    pixels = photograph(11)
    data = encode(pixels, "png")
    assert np.array_equal(decode(data, "png"), pixels)
    with Image.open(io.BytesIO(data)) as image:
        assert np.array_equal(np.asarray(image), pixels)
    assert encode(pixels.copy(), "png") == data


def test_jpeg_encoding_is_repeatable_and_closer_at_a_higher_quality(photograph: Any) -> None:
    pixels = photograph(11)
    assert encode(pixels, "jpg", 90, "420") == encode(np.asfortranarray(pixels), "jpg", 90, "420")
    errors = [
        difference(decode(encode(pixels, "jpg", quality, "444"), "jpg"), pixels)
        for quality in (40, 70, 95)
    ]
    assert errors[0] > errors[1] > errors[2]
    sizes = [len(encode(pixels, "jpg", 90, chroma)) for chroma in ("444", "422", "420")]
    assert sizes[0] > sizes[1] > sizes[2]


@relaxed
@given(width=st.integers(1, 40), height=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_png_keeps_noise_of_any_size(width: int, height: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    assert np.array_equal(decode(encode(pixels, "png"), "png"), pixels)
