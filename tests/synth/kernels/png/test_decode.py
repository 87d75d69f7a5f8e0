"""Gloam's own decoder: what went in comes back; what is damaged or others' is left to others."""

from __future__ import annotations

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

import gloam
from gloam.errors import ImageRefused
from gloam.loaders.stored_pairs import exact_pixels
from gloam.manifests.sets.layouts.extents import Extent
from gloam.synth.kernels.png.deflate import adler, deflate, most_bytes
from gloam.synth.kernels.png.file import decode_png, decode_pngs, encode_png, png_size
from gloam.synth.kernels.png.inflate import NOT_OURS, SLACK, inflate

from .test_file import made_up

KINDS = ["noise", "one value", "rare", "smooth"]


def encoded(pixels: np.ndarray) -> np.ndarray:
    return np.frombuffer(encode_png(pixels), np.uint8)


def inflated(data: np.ndarray, length: int, block: int) -> np.ndarray | None:
    packed = np.zeros(most_bytes(len(data), block) + 100, np.uint8)
    size = deflate(data, block, packed)
    out = np.zeros(length + SLACK, np.uint8)
    behind = inflate(packed[: size + 20], 0, out)
    if behind == NOT_OURS:
        return None
    assert behind == size
    return out[:length]


@given(st.sampled_from(KINDS), st.integers(1, 70), st.integers(1, 70), st.integers(0, 99))
def test_what_went_in_comes_back(kind, height, width, seed):
    pixels = made_up(kind, height, width, seed)
    found = decode_png(encoded(pixels))
    np.testing.assert_array_equal(found, pixels)


@pytest.mark.parametrize("recipe", ["even", "uneven", "extreme"])
def test_lows_of_photographs_come_back(recipe, photograph):
    low = gloam.darken(photograph, recipe, seed=1, key="a")
    found = decode_png(encoded(low))
    np.testing.assert_array_equal(found, low)


@pytest.mark.parametrize("block", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("length", [1, 4, 999, 20_000])
@pytest.mark.parametrize("seed", range(4))
def test_streams_of_any_length_and_counts_are_inflated(length, block, seed):
    rng = np.random.default_rng(seed)
    data = (rng.exponential(3, length) ** (seed + 1)).clip(0, 255).astype(np.uint8)
    found = inflated(data, length, block)
    np.testing.assert_array_equal(found, data)
    assert inflated(data, length - 1, block) is None
    assert inflated(data, length + 1, block) is None


def test_codes_longer_than_a_look_are_found():
    counts = [1, 1]
    while sum(counts) < 30_000:
        counts.append(counts[-1] + counts[-2])  # Huffman's worst case: a code as long as there are
    data = np.concatenate([np.full(n, 7 * i % 256, np.uint8) for i, n in enumerate(counts)])
    found = inflated(data, len(data), 1 << 20)
    np.testing.assert_array_equal(found, data)


@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(0, 255)), min_size=1, max_size=4),
    st.booleans(),
)
@example("smooth", [(300, 166)], False)  # 1 1 0 2 become 0 2 1 1: the same Adler-32
@example("smooth", [(40, 140)], True)  # lengths of distances, of which there are none, are wrong
def test_damage_gives_no_other_pixels(kind, flips, checked):
    """Not even where the sums are right: the kernel itself must withstand any stream."""
    pixels = made_up(kind, 23, 31, 5)
    data = encoded(pixels).copy()
    for place, value in flips:
        data[16 + place % (len(data) - 16)] = value
    found = decode_png(data)
    assert found is None or (found == pixels).all()
    out = np.zeros(23 * 94 + SLACK, np.uint8)
    behind = inflate(data, 43, out)
    if checked and behind != NOT_OURS:
        known = zlib.decompress(data[43:behind].tobytes(), -15)
        assert known == out[:-SLACK].tobytes()


@given(st.binary(min_size=24, max_size=400), st.integers(1, 300))
def test_any_bytes_are_inflated_as_zlib_does_or_not_at_all(data, length):
    out = np.zeros(length + SLACK, np.uint8)
    behind = inflate(np.frombuffer(b"\x05" + data, np.uint8), 0, out)
    if behind != NOT_OURS:
        assert zlib.decompress((b"\x05" + data)[:behind], -15) == out[:length].tobytes()


def test_every_shorter_file_is_refused():
    data = encoded(made_up("smooth", 9, 11, 0))
    assert all(decode_png(data[:size]) is None for size in range(len(data)))
    with pytest.raises(ImageRefused):
        exact_pixels(Extent(data=bytes(data[: len(data) // 2])), True)


def test_a_stride_between_bytes_does_not_matter():
    pixels = made_up("rare", 9, 11, 0)
    found = decode_png(np.repeat(encoded(pixels), 2)[::2])
    np.testing.assert_array_equal(found, pixels)


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (1 << 31, 1), (1 << 30, 1 << 30), (6, 5), (4, 6)])
def test_other_sizes_in_the_header_are_refused(size):
    data = bytearray(encode_png(made_up("smooth", 5, 5, 0)))
    data[16:24] = struct.pack(">II", *size)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    assert decode_png(np.frombuffer(bytes(data), np.uint8)) is None


@pytest.mark.parametrize("kind", ["OpenCV", "Pillow", "Pillow, RGBA", "grey", "JPEG"])
def test_files_of_others_are_decoded_by_others(kind):
    pixels = made_up("smooth", 300, 200, 0)
    if kind == "OpenCV":
        data = cv2.imencode(".png", pixels[..., ::-1])[1].tobytes()
    else:
        image, file = Image.fromarray(pixels), io.BytesIO()
        image = image.convert({"Pillow, RGBA": "RGBA", "grey": "L"}.get(kind, "RGB"))
        image.save(file, "JPEG" if kind == "JPEG" else "PNG")
        data = file.getvalue()
    array = np.frombuffer(data, np.uint8)
    assert decode_png(array) is None
    known = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    found = exact_pixels(Extent(data=data), True)
    assert np.abs(found.astype(int) - known).max() <= (2 if kind == "JPEG" else 0)


@given(st.integers(0, 9000), st.sampled_from([0, 1, 255, None]), st.integers(0, 99))
def test_sums_are_those_of_zlib(length, value, seed):
    data = np.random.default_rng(seed).integers(0, 256, length, dtype=np.uint8)
    if value is not None:
        data[:] = value
    assert adler(data) == zlib.adler32(data)


def test_files_of_one_size_are_decoded_together():
    pictures = [made_up(kind, 23, 31, seed) for seed, kind in enumerate(KINDS)]
    files = [encoded(one) for one in pictures]
    made = np.zeros((len(files), 23, 31, 3), np.uint8)
    assert decode_pngs(files, made)
    np.testing.assert_array_equal(made, pictures)
    assert png_size(files[0]) == (23, 31)
    other = encoded(made_up("noise", 31, 23, 0))
    for wrong in (other, files[1][:-1], files[1][:0], encoded(pictures[1])[::-1]):
        for place in range(len(files)):
            damaged = [wrong if i == place else file for i, file in enumerate(files)]
            assert not decode_pngs(damaged, made)
