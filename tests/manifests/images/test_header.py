"""The first bytes of a file, read before anything is decoded."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import pytest
from PIL import Image

from gloam.errors import ConfigError, ImageRefused
from gloam.manifests.images.decode import decode_as_rgb
from gloam.manifests.images.header import MAX_PIXELS, MAX_SIDE, check_size, read_header
from gloam.manifests.images.normals import load_normal

from .making import exif_of, png_of


def test_a_header_that_claims_60000_by_60000_is_refused_before_decoding() -> None:
    data = png_of(struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0), zlib.compress(bytes(1000)))
    assert MAX_PIXELS < 60000 * 60000
    for refuse in (load_normal, read_header):
        with pytest.raises(ImageRefused, match="60000 x 60000") as refused:
            refuse(data)
        assert refused.value.reason == "too large"


def test_a_webp_that_pillow_would_not_open_is_too_large() -> None:
    data = "524946461c000000574542505650384c0f0000002f7ffe9f0f07103d88fe0722a2ff0100"
    for refuse in (read_header, decode_as_rgb):
        with pytest.raises(ImageRefused, match=r"256000000 pixels|16000 x 16000") as refused:
            refuse(bytes.fromhex(data))  # 16,000 x 16,000 pixels in 36 bytes
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


def in_format(name: str) -> bytes:
    """A small picture; what follows a header of 30 x 20 does not matter here."""
    out = io.BytesIO()
    Image.new("RGB", (30, 20)).save(out, name)
    return out.getvalue()


@pytest.mark.parametrize("name", ["JPEG", "PNG"])
def test_sizes_of_what_other_decoders_are_given_are_compared_with_the_limit_of_the_environment(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = in_format(name)
    monkeypatch.setenv("GLOAM_MAX_PIXELS", "600")
    assert check_size(data)
    assert check_size(memoryview(data))
    monkeypatch.setenv("GLOAM_MAX_PIXELS", "599")
    with pytest.raises(ImageRefused, match=r"30 x 20 pixels, the limit is 599.*GLOAM_MAX") as told:
        check_size(data)
    assert told.value.reason == "too large"
    for wrong in ("many", "-1", "0", str(2**30)):
        monkeypatch.setenv("GLOAM_MAX_PIXELS", wrong)
        with pytest.raises(ConfigError, match=f"GLOAM_MAX_PIXELS={wrong}: must be"):
            check_size(data)


def test_a_jpeg_with_far_more_bytes_than_its_pixels_is_given_to_no_other_decoder() -> None:
    data = in_format("JPEG")
    assert check_size(data.ljust(1 << 25, b"x"))
    for long in (bytes, memoryview):
        with pytest.raises(ImageRefused, match="30 x 20 pixels that has 33,557,000 bytes") as told:
            check_size(long(data.ljust(33_557_000, b"x")))
        assert told.value.reason == "too large"


def test_an_option_is_above_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOAM_MAX_PIXELS", "10")
    data = in_format("PNG")
    assert load_normal(data, max_pixels=600).size == (20, 30)
    assert load_normal(in_format("BMP"), max_pixels=600).size == (20, 30)
    with pytest.raises(ImageRefused, match="the limit is 10 in all"):
        load_normal(data)


@pytest.mark.parametrize(
    "data", [b"", b"text", bytes(100), b"\xff\xd8\xff\xe0", b"\xff\xd8\xff", in_format("BMP")]
)
def test_of_what_is_no_image_no_header_tells_a_size(data: bytes) -> None:
    assert not check_size(data)
