"""The first bytes of a file, read before anything is decoded."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest

from gloam.errors import ImageRefused
from gloam.manifests.images.header import MAX_PIXELS, MAX_SIDE, read_header
from gloam.manifests.images.load_normal import load_normal

from .making import exif_of, png_of


def test_a_header_that_claims_60000_by_60000_is_refused_before_decoding() -> None:
    data = png_of(struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0), zlib.compress(bytes(1000)))
    assert MAX_PIXELS < 60000 * 60000
    for refuse in (load_normal, read_header):
        with pytest.raises(ImageRefused, match="60000 x 60000") as refused:
            refuse(data)
        assert refused.value.reason == "too large"


@pytest.mark.parametrize(("width", "height"), [(49_000_000, 1), (1, 65_501), (65_501, 700)])
def test_each_side_is_bounded_as_well_as_the_pixels(width: int, height: int) -> None:
    """A side of millions takes gigabytes to resize, whatever the other one is."""
    assert width * height <= MAX_PIXELS
    data = png_of(struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), zlib.compress(b""))
    with pytest.raises(ImageRefused, match=f"{width} x {height} pixels, the limit") as refused:
        load_normal(data, max_side=100)
    assert refused.value.reason == "too large"
    assert read_header(png_of(struct.pack(">IIBBBBB", MAX_SIDE, 2, 8, 2, 0, 0, 0), b"")).height == 2


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\0", "not an image"),
        (b"Not Found\n", "not an image"),
        (b"<!DOCTYPE html><html><body>404</body></html>" * 20, "not an image"),
        (bytes(5000), "not an image"),
        (b"\xff\xd8\xff", "not an image"),
    ],
)
def test_what_is_not_an_image_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    for refuse in (load_normal, read_header):
        with pytest.raises(ImageRefused) as refused:
            refuse(data)
        assert refused.value.reason == reason
        assert refused.value.detail
        assert str(refused.value).startswith(reason)


def test_header_tells_size_as_stored_and_why_to_convert(photograph: Any, encoded: Any) -> None:
    header = read_header(encoded(photograph(1, 50, 40), "JPEG", exif=exif_of(6)))
    assert (header.format, header.width, header.height, header.convert) == (
        "JPEG",
        50,
        40,
        "rotated",
    )
