"""Lows as PNG: what other people's decoders read is what went in, and smaller than OpenCV's."""

from __future__ import annotations

import io
import shutil
import subprocess
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import gloam
from gloam.manifests.images.normals import encode
from gloam.synth.kernels.png.deflate import deflate, most_bytes
from gloam.synth.kernels.png.file import encode_png


def decoded(data: bytes) -> list[np.ndarray]:
    by_opencv = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert by_opencv is not None
    return [np.asarray(Image.open(io.BytesIO(data))), by_opencv[..., ::-1]]


def made_up(kind: str, height: int, width: int, seed: int) -> np.ndarray:
    rng, shape = np.random.default_rng(seed), (height, width, 3)
    if kind == "noise":
        return rng.integers(0, 256, shape, np.uint8)
    if kind == "one value":
        return np.full(shape, rng.integers(0, 256), np.uint8)
    if kind == "rare":
        return (rng.random(shape) ** 20 * 255).astype(np.uint8)
    return np.cumsum(rng.integers(-2, 3, shape), axis=1).astype(np.uint8)


@given(
    st.sampled_from(["noise", "one value", "rare", "smooth"]),
    st.integers(1, 70),
    st.integers(1, 70),
    st.integers(0, 99),
)
def test_every_decoder_gives_back_what_went_in(kind, height, width, seed):
    pixels = made_up(kind, height, width, seed)
    for found in decoded(encode_png(pixels)):
        assert (found == pixels).all()


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 999, 1000, 1001])
@pytest.mark.parametrize("seed", range(4))
def test_streams_of_any_length_and_counts_can_be_inflated(length, seed):
    rng = np.random.default_rng(seed)
    data = (rng.exponential(3, length) ** (seed + 1)).clip(0, 255).astype(np.uint8)
    out = np.empty(most_bytes(length, 100), np.uint8)
    size = deflate(data, 100, out)
    assert zlib.decompress(bytes(out[:size]), -15) == bytes(data)


def test_codes_that_would_be_too_long_are_cut():
    counts = [1, 1]
    while sum(counts) < 30_000:
        counts.append(counts[-1] + counts[-2])  # Huffman's worst case: a code as long as there are
    data = np.concatenate([np.full(n, 7 * i % 256, np.uint8) for i, n in enumerate(counts)])
    out = np.empty(most_bytes(len(data), 1 << 20), np.uint8)
    size = deflate(data, 1 << 20, out)
    assert zlib.decompress(bytes(out[:size]), -15) == bytes(data)


@pytest.mark.parametrize("recipe", ["even", "uneven", "extreme"])
def test_lows_are_as_small_as_those_of_opencv(recipe, photograph):
    low = gloam.darken(photograph, recipe, seed=1, key="a")
    data = encode_png(low)
    assert len(data) < 1.005 * len(encode(low, "png"))
    assert all((found == low).all() for found in decoded(data))


def test_pngcheck_finds_nothing(tmp_path, photograph):
    if shutil.which("pngcheck") is None:
        pytest.skip("pngcheck is not installed")
    path = tmp_path / "low.png"
    path.write_bytes(encode_png(gloam.darken(photograph, "uneven", key="image")))
    done = subprocess.run(["pngcheck", "-v", str(path)], capture_output=True, text=True, check=True)
    assert "No errors detected" in done.stdout


def test_the_bytes_stay():
    """They are part of what a set promises: whoever changes them counts `CODING` up."""
    pixels = made_up("smooth", 40, 50, 0)
    assert zlib.crc32(encode_png(pixels)) == 4018833392


def test_other_arrays_are_refused():
    with pytest.raises(ValueError, match="normal must be"):
        encode_png(np.zeros((4, 4), np.uint8))
