"""PNGs whose metadata is odd, and what is transparent in them."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gloam.errors import ImageRefused
from gloam.manifests.images.header import check_size
from gloam.manifests.images.normals import load_normal

from .making import as_readers_show, chunk_of, png_with


def wrong(chunk: bytes) -> bytes:
    """A chunk, of which one bit is flipped."""
    return chunk[:10] + bytes([chunk[10] ^ 1]) + chunk[11:]


LARGE = zlib.compress(b"a" * (3 << 20))
ODD = {
    "large zTXt": chunk_of(b"zTXt", b"parameters\0\0" + LARGE),
    "large iTXt": chunk_of(b"iTXt", b"parameters\0\1\0\0\0" + LARGE),
    "large tEXt": chunk_of(b"tEXt", b"parameters\0" + b"a" * (3 << 20)),
    "wrong sum of tEXt": wrong(chunk_of(b"tEXt", b"Comment\0hello hello")),
    "wrong sum of iCCP": wrong(chunk_of(b"iCCP", b"icc\0\0" + zlib.compress(bytes(200)))),
    "wrong sum of gAMA": wrong(chunk_of(b"gAMA", struct.pack(">I", 45455))),
    "wrong sum of eXIf": wrong(chunk_of(b"eXIf", b"II*\0" + bytes(20))),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("behind", [False, True])
def test_metadata_that_some_readers_refuse_are_left_out_and_pixels_stay(
    photograph: Any, encoded: Any, odd: str, behind: bool
) -> None:
    pixels = photograph(1)
    plain = encoded(pixels, "PNG")
    data = png_with(plain, after=ODD[odd]) if behind else png_with(plain, before=ODD[odd])
    normal = load_normal(data)
    assert (normal.suffix, normal.converted) == ("png", "metadata")
    assert np.array_equal(normal.pixels, pixels)
    for theirs in as_readers_show(normal.data):
        assert np.array_equal(theirs, pixels)


def png_of_samples(samples: npt.NDArray[Any], depth: int, extra: bytes = b"") -> bytes:
    """A PNG of grey (H, W) or RGB (H, W, 3) samples of a depth, filter type 0."""
    height, width = samples.shape[:2]
    if depth < 8:
        bits = (samples[:, :, None] >> np.arange(depth - 1, -1, -1)) & 1
        rows = np.packbits(bits.reshape(height, -1).astype(np.uint8), axis=1)
    else:
        rows = samples.astype(">u2" if depth == 16 else np.uint8)
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", width, height, depth, 2 if samples.ndim == 3 else 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk_of(b"IHDR", head)
        + extra
        + chunk_of(b"IDAT", zlib.compress(lines))
        + chunk_of(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("depth", "colour"),
    [(1, False), (2, False), (4, False), (8, False), (16, False), (8, True), (16, True)],
)
def test_the_value_that_is_transparent_is_one_of_the_depth_of_the_samples(
    depth: int, colour: bool
) -> None:
    most = (1 << depth) - 1
    rng = np.random.default_rng(depth)
    samples = rng.integers(0, most + 1, (24, 32, 3) if colour else (24, 32))
    value = samples[3, 5].copy()
    tied = samples[3, 7] = np.clip(value + np.array([1] if not colour else [0, 0, 1]), 0, most)[
        ... if colour else 0
    ]
    data = png_of_samples(
        samples, depth, chunk_of(b"tRNS", struct.pack(f">{value.size}H", *np.atleast_1d(value)))
    )
    normal = load_normal(data)
    expected = np.rint(samples * 255 / most).astype(np.uint8)
    if colour:
        expected[(samples == value).all(axis=2)] = 255
    else:
        expected[samples == value] = 255
        expected = np.repeat(expected[:, :, None], 3, axis=2)
    assert np.array_equal(normal.pixels, expected)
    assert np.any(tied != value) or depth == 1


@pytest.mark.parametrize("colour", [False, True])
def test_a_transparent_value_of_16_bits_is_no_other_value_of_the_same_level(colour: bool) -> None:
    samples = np.full((8, 8, 3) if colour else (8, 8), 0x1234, np.uint16)
    samples[0, 0] = 0x1235
    value = struct.pack(">3H" if colour else ">H", *[0x1235] * (3 if colour else 1))
    pixels = load_normal(png_of_samples(samples, 16, chunk_of(b"tRNS", value))).pixels
    assert pixels[0, 0].tolist() == [255] * 3
    assert (pixels[1:] == 0x12).all()


def test_a_critical_chunk_that_nobody_knows_is_unsupported(photograph: Any, encoded: Any) -> None:
    with pytest.raises(ImageRefused) as refused:
        load_normal(png_with(encoded(photograph(1), "PNG"), chunk_of(b"CgBI", bytes(4))))
    assert refused.value.reason == "unsupported"


def test_what_a_png_stores_beyond_its_pixels_is_not_inflated(photograph: Any, encoded: Any) -> None:
    plain = encoded(photograph(1, 48, 32), "PNG")
    place = plain.index(b"IDAT") - 4
    bomb = plain[:place] + chunk_of(b"IDAT", zlib.compress(bytes(200 << 20))) + plain[place:]
    for data in (bomb, memoryview(bomb)):
        with pytest.raises(ImageRefused, match="48 x 32 pixels that stores 2") as refused:
            check_size(data)
        assert refused.value.reason == "damaged"
    assert check_size(png_with(plain, before=chunk_of(b"tEXt", b"a\0" + bytes(200 << 10))))


def test_a_png_of_a_million_chunks_is_refused(photograph: Any, encoded: Any) -> None:
    data = png_with(encoded(photograph(1, 48, 32), "PNG"), before=chunk_of(b"tEXt", b"a\0") * 10**6)
    for refuse in (load_normal, check_size):
        with pytest.raises(ImageRefused, match="more than 100,000 chunks") as refused:
            refuse(data)
        assert refused.value.reason == "damaged"
