"""JPEGs with odd headers, odd scans, and frames that decoders write beyond their memory for."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

import numpy as np
import pytest

from gloam.errors import ImageRefused
from gloam.manifests.images.decode import decode
from gloam.manifests.images.header import check_size, read_header
from gloam.manifests.images.jpeg_file import MAX_SCANS, jpeg_quality
from gloam.manifests.images.normals import load_normal
from gloam.manifests.selection.measures import measure

from .making import as_readers_show, exif_block, jpeg_of_factors, jpeg_with, segment_of

RESTARTS = {"restart_marker_blocks": 4}


def framed_as(data: bytes, marker: int, bits: int = 8) -> bytes:
    place = data.index(b"\xff\xc0")
    return (
        data[: place + 1]
        + bytes([marker])
        + data[place + 2 : place + 4]
        + bytes([bits])
        + data[place + 5 :]
    )


@pytest.mark.parametrize("marker", [0xC3, 0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF])
def test_lossless_and_hierarchical_jpegs_never_reach_a_decoder(
    photograph: Any, encoded: Any, marker: int
) -> None:
    data = framed_as(encoded(photograph(1, 480, 360), "JPEG"), marker)
    for refuse in (
        load_normal,
        partial(load_normal, decoded=False),
        read_header,
        lambda data: measure(data, 10**6),
        lambda data: decode(data, "jpg"),
        lambda data: load_normal(b"\xff\xd8\0\0" + data[2:]),
    ):
        with pytest.raises(ImageRefused) as refused:
            refuse(data)
        assert refused.value.reason in ("unsupported", "not an image")


def test_a_jpeg_of_12_bits_is_unsupported(photograph: Any, encoded: Any) -> None:
    with pytest.raises(ImageRefused, match="12 bits") as refused:
        load_normal(framed_as(encoded(photograph(1), "JPEG"), 0xC1, 12))
    assert refused.value.reason == "unsupported"


def test_a_jpeg_that_tells_its_height_late_is_unsupported(photograph: Any, encoded: Any) -> None:
    data = encoded(photograph(1), "JPEG")
    place = data.index(b"\xff\xc0") + 5
    with pytest.raises(ImageRefused, match="size follows its pixels"):
        load_normal(data[:place] + b"\0\0" + data[place + 2 :])


def jfif(data: bytes, version: bytes) -> bytes:
    place = data.index(b"JFIF\0") + 5
    return data[:place] + version + data[place + 2 :]


def scan(data: bytes, parameters: bytes) -> bytes:
    place = data.index(b"\xff\xda")
    place += 1 + int.from_bytes(data[place + 2 : place + 4], "big") - 2
    return data[:place] + parameters + data[place + 3 :]


def before_marker(data: bytes, marker: int, extra: bytes) -> bytes:
    place = data.index(bytes([0xFF, marker]), data.index(b"\xff\xda"))
    return data[:place] + extra + data[place:]


ODD = {
    "JFIF 2.01": lambda data: jfif(data, b"\2\1"),
    "JFIF 0.02": lambda data: jfif(data, b"\0\2"),
    "scan 0 0 0": lambda data: scan(data, b"\0\0\0"),
    "scan 0 63 1": lambda data: scan(data, b"\0\x3f\1"),
    "scan 1 5 255": lambda data: scan(data, b"\1\5\xff"),
    "bytes between segments": lambda data: data.replace(b"\xff\xdb", b"\0\0\xff\xdb", 1),
    "two bytes before a restart": lambda data: before_marker(data, 0xD6, b"\0\0"),
    "five bytes before the first restart": lambda data: before_marker(data, 0xD0, bytes(5)),
    "zeros before the end": lambda data: before_marker(data, 0xD9, bytes(12)),
    "all of it": lambda data: before_marker(
        scan(jfif(data, b"\2\2"), b"\0\0\0"), 0xD3, b"\x12\x34"
    ),
}


@pytest.mark.parametrize("odd", ODD)
def test_oddities_that_leave_the_pixels_whole_are_kept(
    photograph: Any, encoded: Any, odd: str
) -> None:
    whole = encoded(photograph(1), "JPEG", quality=92, **RESTARTS)
    data = ODD[odd](whole)
    assert data != whole
    normal = load_normal(data)
    assert (normal.data, normal.converted) == (data, "")
    assert np.array_equal(normal.pixels, load_normal(whole).pixels)
    assert measure(data, 10**6) == measure(whole, 10**6)
    assert load_normal(data, decoded=False).data == data
    for theirs in as_readers_show(data):
        assert np.abs(theirs.astype(int) - normal.pixels).max() <= 1


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_header_hides_no_damage(photograph: Any, encoded: Any, odd: str) -> None:
    data = ODD[odd](encoded(photograph(1), "JPEG", quality=92, **RESTARTS))
    with pytest.raises(ImageRefused) as refused:
        load_normal(data[: len(data) * 4 // 5])
    assert refused.value.reason == "damaged"


@pytest.mark.parametrize("exif", [b"", segment_of(0xE1, b"Exif\0\0" + exif_block(1))])
@pytest.mark.parametrize("progressive", [False, True])
def test_scans_in_a_film_behind_the_end_are_not_counted(
    photograph: Any, encoded: Any, exif: bytes, progressive: bool
) -> None:
    still = jpeg_with(encoded(photograph(1), "JPEG", progressive=progressive), exif)
    film = struct.pack(">I", 24) + b"ftypmp42" + bytes(12) + b"\xff\xda\0\x0c" * 5000
    normal = load_normal(still + film)
    assert (normal.data, normal.converted) == (still + film, "")
    assert check_size(still + film)


@pytest.mark.parametrize("extra", [b"\0", b"\x12\x34\x56\x78\x9a\xbc\xde\xf0\x12", bytes(100)])
def test_other_bytes_before_the_end_are_damage(photograph: Any, encoded: Any, extra: bytes) -> None:
    whole = encoded(photograph(1), "JPEG", quality=92)
    place = whole.rindex(b"\xff\xd9")
    cut = whole[: place - 40] if len(extra) == 1 else whole[:place]
    with pytest.raises(ImageRefused) as refused:
        load_normal(cut + extra + whole[place:])
    assert refused.value.reason == "damaged"


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("between", [b"", b"\xff", b"\0"])
def test_thousands_of_scans_are_refused(
    photograph: Any, encoded: Any, progressive: bool, between: bytes
) -> None:
    data = encoded(photograph(1), "JPEG", progressive=progressive)
    if not progressive:  # the first of three scans, one for each component
        place = data.index(b"\xff\xda")
        data = data[:place] + segment_of(0xDA, b"\1\1\0\0\x3f\0") + data[place + 14 :]
    place = data.rindex(b"\xff\xda")
    data = data[:place] + data[place:-2] * (MAX_SCANS + 1) + data[-2:]
    data = data.replace(b"\xff\xda", between + b"\xff\xda", 1)
    for refuse in (load_normal, check_size, lambda data: check_size(memoryview(data))):
        with pytest.raises(ImageRefused, match="scans") as refused:
            refuse(data)
        assert refused.value.reason == "damaged"


@pytest.mark.parametrize("quality", [20, 49, 50, 75, 95, 99])
def test_the_quality_is_read_from_the_table_of_luminance(
    photograph: Any, encoded: Any, quality: int
) -> None:
    assert jpeg_quality(encoded(photograph(1), "JPEG", quality=quality)) == quality
    assert jpeg_quality(encoded(photograph(1), "PNG")) == 0


FACTORS = [
    [(2, 2), (1, 1), (1, 1)],
    [(2, 1), (2, 1), (2, 1)],
    [(2, 2), (1, 1), (1, 2)],
    [(4, 2), (1, 1), (1, 1)],
    [(3, 1), (1, 1), (1, 1)],
    [(1, 3), (1, 1), (1, 1)],
    [(1, 1), (2, 1), (2, 1)],
    [(2, 1), (1, 1), (2, 1)],
    [(1, 2), (2, 1), (1, 1)],
]


@pytest.mark.parametrize("factors", FACTORS)
def test_every_sampling_factor_is_read_as_other_readers_read_it(
    factors: list[tuple[int, int]],
) -> None:
    data = jpeg_of_factors(factors)
    normal = load_normal(data)
    assert (normal.data, normal.converted) == (data, "")
    assert len(np.unique(normal.pixels)) > 3
    for theirs in as_readers_show(data):
        assert np.array_equal(theirs, normal.pixels)
    assert load_normal(data, decoded=False).data == data
    assert measure(data, 10**6).mean > 0
    cut = data[: len(data) - 6]
    for damaged in (cut, cut + b"\xff\xd9", data[:-2] + bytes(range(1, 99)) + data[-2:]):
        with pytest.raises(ImageRefused) as refused:
            load_normal(damaged)
        assert refused.value.reason == "damaged"
