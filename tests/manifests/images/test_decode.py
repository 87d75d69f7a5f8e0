"""Decoding, of what is stored and small for measuring: damage is refused, whoever meets it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gloam.errors import ImageRefused, SourceError
from gloam.manifests.images import decode as decode_module
from gloam.manifests.images.decode import (
    decode,
    decode_small,
    is_shown_otherwise,
    pixels_of_pillow,
    read_rgb,
)
from gloam.manifests.images.header import read_header
from gloam.manifests.images.normals import encode, load_normal

from .making import KINDS, png_of


@pytest.mark.parametrize("kind", KINDS)
def test_what_decodes_small_also_loads_and_what_is_cut_does_neither(
    every_format: dict[str, bytes], kind: str
) -> None:
    whole = every_format[kind]
    header = read_header(whole)
    small = decode_small(whole, header, 20)
    assert small.dtype == np.uint8
    assert 20 <= max(small.shape[:2]) <= max(header.width, header.height)
    short = whole[: len(whole) * 2 // 3]
    with pytest.raises(ImageRefused):
        decode_small(short, header, 20)
    with pytest.raises(ImageRefused):
        load_normal(short)


@pytest.mark.parametrize("kind", ["jpeg", "progressive jpeg", "rotated jpeg", "png"])
def test_garbage_that_decoding_small_refuses_is_refused_at_full_size_too(
    every_format: dict[str, bytes], kind: str
) -> None:
    """A candidate that is measured must not be refused when its pair is made, nor the other way
    round."""
    whole = every_format[kind]
    header = read_header(whole)
    rng = np.random.default_rng(2)
    refused = 0
    for place in np.linspace(len(whole) // 2, len(whole) - 130, 6).astype(int):
        data = whole[:place] + rng.bytes(100) + whole[place + 100 :]
        try:
            decode_small(data, header, 20)
        except ImageRefused:
            refused += 1
            with pytest.raises(ImageRefused):
                load_normal(data)
    assert refused > 3


def test_decode_refuses_an_image_of_the_other_kind(photograph: Any) -> None:
    with pytest.raises(ImageRefused) as refused:
        decode(encode(photograph(11), "png"), "jpg")
    assert refused.value.reason == "damaged"


@pytest.mark.parametrize("data", [b"", b"text", b"\xff\xd8\xff\xd9"])
@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_decode_refuses_what_is_no_image(data: bytes, suffix: str) -> None:
    with pytest.raises(ImageRefused):
        decode(data, suffix)


def test_what_says_that_it_is_huge_is_not_decoded(tmp_path: Path) -> None:
    def claims(width: int, height: int) -> bytes:
        return png_of(struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0), bytes(9))

    for data in (claims(65_500, 65_500), claims(2**31 - 1, 2**31 - 1)):
        with pytest.raises(ImageRefused) as refused:
            decode(data, "png")
        assert refused.value.reason == "too large"
    (tmp_path / "wide.png").write_bytes(claims(49_000_000, 1))
    with pytest.raises(SourceError, match=r"wide\.png: 49000000 x 1 pixels"):
        read_rgb(tmp_path / "wide.png")


@pytest.mark.parametrize("length", [8, 20, 25, 26, 40])
def test_what_is_cut_short_in_its_header_is_for_no_other_decoder_or_damaged(length: int) -> None:
    data = encode(np.zeros((4, 4, 3), np.uint8), "png")[:length]
    assert is_shown_otherwise(data) or length > 25
    with pytest.raises(ImageRefused):
        decode(data, "png")


@pytest.mark.parametrize(
    "mode", ["RGBA", "LA", "La", "PA", "P", "P clear", "1", "CMYK", "L", "RGB"]
)
def test_what_is_shown_in_parts_is_what_is_shown_whole(
    photograph: Any, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Large pictures are brought over white a part at a time, as each step takes a copy."""
    colours = Image.fromarray(photograph(5, 61, 43))
    alpha = Image.fromarray(photograph(6, 61, 43)[..., 0])
    image = colours.convert({"P clear": "P", "PA": "P", "LA": "L", "La": "L"}.get(mode, mode))
    if mode in ("RGBA", "LA", "La", "PA"):
        image.putalpha(alpha)
        image = image.convert(mode)
    if mode == "P clear":
        image.info["transparency"] = 3
    whole = pixels_of_pillow(image)
    monkeypatch.setattr(decode_module, "_PART", 61 * 7)
    assert np.array_equal(pixels_of_pillow(image), whole)
