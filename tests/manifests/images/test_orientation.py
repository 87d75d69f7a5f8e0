"""Orientations and animations that readers take differently: no kept normal has any."""

from __future__ import annotations

import io
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gloam.manifests.images.normals import Normal, load_normal
from gloam.manifests.images.opening import exif_orientation, xmp_turns

from .making import (
    STORED_FROM_UPRIGHT,
    as_readers_show,
    chunk_of,
    difference,
    exif_block,
    jpeg_with,
    png_with,
    segment_of,
)

XMP = b'<x:xmpmeta><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>'


def app1(block: bytes) -> bytes:
    return segment_of(0xE1, b"Exif\0\0" + block)


def xmp(value: int) -> bytes:
    return segment_of(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + XMP % value)


def check_readers_agree(normal: Normal) -> None:
    for theirs in as_readers_show(normal.data):
        assert theirs.shape == normal.pixels.shape
        assert np.abs(theirs.astype(int) - normal.pixels).max() <= 3


@pytest.mark.parametrize(
    ("segments", "turn"),
    [
        ([app1(exif_block(1)), app1(exif_block(6))], 1),
        ([app1(exif_block(8)), app1(exif_block(1))], 8),
        ([app1(exif_block(6, kind=1))], 1),
        ([app1(exif_block(6, kind=1, order=">"))], 1),
        ([app1(exif_block(6, count=0))], 1),
        ([app1(exif_block(3, count=2))], 1),
        ([app1(exif_block(6, kind=4))], 6),
        ([app1(exif_block(5, order=">"))], 5),
        ([app1(exif_block(7, times=2))], 7),
        ([xmp(6)], 1),
        ([app1(exif_block(1)), xmp(8)], 1),
    ],
)
def test_a_jpeg_that_some_reader_turns_is_encoded_anew(
    photograph: Any, encoded: Any, segments: list[bytes], turn: int
) -> None:
    pixels = photograph(1, 64, 40)
    stored = encoded(pixels, "JPEG", quality=98, subsampling=0)
    normal = load_normal(jpeg_with(stored, *segments))
    assert normal.converted in ("orientation", "rotated")
    assert difference(STORED_FROM_UPRIGHT[turn](normal.pixels), pixels) < 4
    check_readers_agree(normal)


@pytest.mark.parametrize(
    "segments",
    [
        [app1(exif_block(1))],
        [app1(exif_block(1)), app1(exif_block(1))],
        [app1(exif_block(1)), xmp(1)],
        [app1(exif_block(0))],
        [app1(exif_block(9, order=">"))],
    ],
)
def test_a_jpeg_that_no_reader_turns_is_kept(
    photograph: Any, encoded: Any, segments: list[bytes]
) -> None:
    data = jpeg_with(encoded(photograph(1), "JPEG"), *segments)
    normal = load_normal(data)
    assert normal.data == data
    check_readers_agree(normal)


def test_exif_between_the_scans_of_a_jpeg_counts_too(photograph: Any, encoded: Any) -> None:
    data = encoded(photograph(1), "JPEG", progressive=True)
    place = data.index(b"\xff\xda", data.index(b"\xff\xda") + 2)
    normal = load_normal(data[:place] + app1(exif_block(6, kind=1)) + data[place:])
    assert normal.converted == "orientation"
    check_readers_agree(normal)


RAW = b"\nexif\n      34\n" + (b"Exif\0\0" + exif_block(6)).hex().encode()


@pytest.mark.parametrize(
    ("before", "after", "converted"),
    [
        (b"", chunk_of(b"eXIf", exif_block(6)), "orientation"),
        (b"", chunk_of(b"eXIf", exif_block(6, order=">")), "orientation"),
        (chunk_of(b"eXIf", exif_block(1)), chunk_of(b"eXIf", exif_block(8)), "orientation"),
        (chunk_of(b"eXIf", exif_block(3, kind=1)), b"", "orientation"),
        (chunk_of(b"tEXt", b"Raw profile type exif\0" + RAW), b"", "orientation"),
        (b"", chunk_of(b"tEXt", b"Raw profile type APP1\0" + RAW), "orientation"),
        (chunk_of(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP % 6), b"", "orientation"),
        (
            chunk_of(b"iTXt", b"XML:com.adobe.xmp\0\1\0en\0xmp\0" + zlib.compress(XMP % 6)),
            b"",
            "orientation",
        ),
        (chunk_of(b"eXIf", b"Exif\0\0" + exif_block(6)), b"", "orientation"),
        (chunk_of(b"acTL", bytes([0, 0, 0, 1, 0, 0, 0, 0])), b"", "animation"),
        (chunk_of(b"eXIf", exif_block(1)), b"", ""),
        (b"", chunk_of(b"tEXt", b"date:create\x002020"), ""),
    ],
)
def test_a_png_that_some_reader_turns_or_animates_is_encoded_anew(
    photograph: Any, encoded: Any, before: bytes, after: bytes, converted: str
) -> None:
    pixels = photograph(1, 64, 40)
    data = png_with(encoded(pixels, "PNG"), before, after)
    normal = load_normal(data)
    assert normal.converted == converted
    assert (normal.data == data) == (not converted)
    assert np.array_equal(normal.pixels, pixels)
    for theirs in as_readers_show(normal.data):
        assert np.array_equal(theirs, pixels)


@pytest.mark.parametrize("still", [True, False])
def test_of_an_animated_png_the_still_counts(photograph: Any, still: bool) -> None:
    frames = [Image.fromarray(photograph(seed, 64, 40)) for seed in (1, 2, 3)]
    out = io.BytesIO()
    frames[0].save(
        out, "PNG", save_all=True, append_images=frames[1:], default_image=still, duration=50
    )
    normal = load_normal(out.getvalue())
    assert normal.converted == "animation"
    assert np.array_equal(normal.pixels, np.asarray(frames[0]))
    for theirs in as_readers_show(normal.data):
        assert np.array_equal(theirs, normal.pixels)


@pytest.mark.parametrize("block", [b"", b"II", b"II*\0", b"II*\0\xff\xff\xff\xff", b"text" * 9])
def test_a_damaged_exif_block_says_upright(block: bytes) -> None:
    assert exif_orientation(block) == (1, True)


def test_xmp_says_its_orientation_as_attribute_or_element() -> None:
    assert xmp_turns(b"<tiff:Orientation>6</tiff:Orientation>")
    assert xmp_turns(b"tiff:Orientation='3'")
    assert not xmp_turns(b'tiff:Orientation="1"')
