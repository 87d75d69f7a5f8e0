"""Indexes of MP4 files that say millions of samples in a few bytes."""

from __future__ import annotations

import io
import struct
import zlib

import pytest

from gloam.errors import ImageRefused
from gloam.manifests.clips import mov_index
from gloam.manifests.clips.mov_index import check_index
from gloam.manifests.clips.video import frame_times
from gloam.manifests.sources.containers import file_entry

from ...clips import panned, write_video


def box(kind: str, *inner: bytes) -> bytes:
    content = b"".join(inner)
    return struct.pack(">I", 8 + len(content)) + kind.encode() + content


def table(kind: str, *numbers: int) -> bytes:
    return box(kind, bytes(4), struct.pack(f">{len(numbers)}I", *numbers))


def track(*tables: bytes, handler: bytes = b"vide") -> bytes:
    handled = box("hdlr", bytes(8), handler, bytes(12))
    of_data = box("hdlr", bytes(4), b"dhlrurl ", bytes(12))  # as QuickTime's files have
    return box("trak", box("mdia", handled, box("minf", of_data, box("stbl", *tables))))


MANY = table("stsz", 1, 60_000_000)
BOMBS = {
    "samples of one size": box("moov", track(MANY)),
    "of half a byte": box("moov", track(table("stz2", 4, 60_000_000))),
    "edits": box("moov", track(table("stsz", 0, 9000, *[9] * 9000), table("elst", 9000))),
    "tracks": box("moov", *[track(table("stsz", 1, 900_000))] * 40),
    "sound that is compressed": box("moov", track(MANY, table("stts", 1, 60_000_000, 1024))),
    "fragments": box("moof", box("traf", table("trun", 18_000_000))) * 2,
    "at another depth": box("free", box("skip", box("udta", MANY))),
    "of 64 bits": struct.pack(">I4sQ", 1, b"moov", 16 + len(MANY)) + MANY,
    "up to the end": struct.pack(">I4s", 0, b"moov") + MANY,
    "compressed": box("moov", box("cmov", box("cmvd", bytes(4), zlib.compress(track(MANY))))),
    "compressed, large": box("cmvd", bytes(4), zlib.compress(bytes(1 << 27))),
    "compressed, as it says": box("cmvd", struct.pack(">I", 1 << 31)),
    "compressed twice": box(
        "cmvd", bytes(4), zlib.compress(box("cmvd", bytes(4), zlib.compress(b"")))
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_more_samples_than_any_film_has_are_refused(name: str) -> None:
    data = box("ftyp", b"isom\0\0\2\0") + box("mdat", bytes(100)) + BOMBS[name]
    with pytest.raises(ImageRefused, match=r"an index of more than|a compressed header") as refused:
        check_index(io.BytesIO(data))
    assert refused.value.reason == "damaged"


def test_films_list_no_more_than_their_size_may_hold() -> None:
    size = 1 << 24
    inside, beyond = (box("moov", track(table("stsz", 1, n))) for n in (size // 8, size // 8 + 999))
    check_index(io.BytesIO(inside + box("mdat", bytes(size))))
    with pytest.raises(ImageRefused, match="an index of more than 2,097"):
        check_index(io.BytesIO(beyond + box("mdat", bytes(size))))


def test_boxes_without_end_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(mov_index, "_MOST_BOXES", 99)
    with pytest.raises(ImageRefused, match="more than 99 boxes"):
        check_index(io.BytesIO(box("free") * 100 + BOMBS["samples of one size"]))


@pytest.mark.parametrize(
    "data",
    [
        box("mdat", BOMBS["samples of one size"]),
        box("moov", track(MANY, table("stts", 1, 60_000_000, 1), handler=b"soun")),
        box("moov", track(table("stsz", 0, 9000), table("elst", 3))),
        *(b"", bytes(1000), b"\x1a\x45\xdf\xa3" * 99, bytes(range(256)) * 99, b"aaaa" * 9999),
    ],
)
def test_other_files_are_left_to_ffmpeg(data: bytes) -> None:
    file = io.BytesIO(data)
    check_index(file)
    assert file.tell() == 0


def test_a_film_with_such_an_index_is_refused_before_it_is_opened(tmp_path) -> None:
    film = write_video(tmp_path / "a.mp4", panned(1, 4))
    assert len(frame_times(file_entry(film).location)) == 4
    data = bytearray(film.read_bytes())
    place = data.index(b"stsz") + 8
    data[place : place + 8] = struct.pack(">II", 1, 60_000_000)
    film.write_bytes(data)
    with pytest.raises(ImageRefused, match="an index of more than 1,048,576 samples"):
        frame_times(file_entry(film).location)
