"""Indexes of MP4 and QuickTime files (ISO/IEC 14496-12): how many samples FFmpeg would list of one.

It makes some 40 bytes of each before it reads any, once for every edit, and an index can say in
twelve bytes that there are millions.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import BinaryIO

from ...errors import ImageRefused, Reason
from ..images.png import inflated

_MOST_SAMPLES = 1 << 25  # of all tracks and edits; 77 hours of 120 frames a second
_FEWEST_SAMPLES, _SMALLEST = 1 << 20, 8  # that any film may list; bytes of a sample, and of index
_MOST_BOXES = 1 << 21
_MOST_HEADER = 1 << 26  # bytes of a compressed header (QuickTime's cmov)


@dataclass
class _Track:
    """Facts of a track: its samples, and edits of them; whether they are sound, each of length 1.

    Such sound, which is not compressed, is listed by chunks of a thousand samples or so.
    """

    samples: int = 0
    edits: int = 1
    sound: bool = False
    video: bool = False
    of_one: bool | None = None

    @property
    def listed(self) -> int:
        plain = self.sound and self.of_one and not self.video
        return self.samples * self.edits // (1024 if plain else 1)


def check_index(file: BinaryIO) -> None:
    """Raise ImageRefused: "damaged", when FFmpeg would list more samples than its size can hold.

    file: of any container; of others than these a few bytes are read.
    """
    size = file.seek(0, io.SEEK_END)
    tracks = _read_tracks(file, size)
    file.seek(0)
    most = min(max(size // _SMALLEST, _FEWEST_SAMPLES), _MOST_SAMPLES)
    if sum(track.listed for track in tracks) > most:
        raise ImageRefused(Reason.DAMAGED, f"an index of more than {most:,} samples")


def _read_tracks(file: BinaryIO, size: int, compressed: bool = False) -> list[_Track]:
    """Return the tracks of all boxes, at any depth; fragments are one, as is what has no track."""
    tracks, boxes = [_Track()], 0
    rest = [(0, size, tracks[0])]
    while rest:
        at, end, track = rest.pop()
        while at + 8 <= end:
            file.seek(at)
            head = file.read(32)
            length, kind, begin = _big_endian(head), head[4:8], 8
            if length == 1:
                length, begin = _big_endian(head[8:], 8), 16
            length = length or end - at  # 0 is all that is left
            boxes += 1
            if boxes > _MOST_BOXES:
                raise ImageRefused(Reason.DAMAGED, f"more than {_MOST_BOXES:,} boxes")
            if length < begin:
                break
            body, stop = head[begin:], min(at + length, end)
            if kind in (b"stsz", b"stz2"):
                track.samples += _big_endian(body[8:])
            elif kind == b"trun":
                track.samples += _big_endian(body[4:])
            elif kind == b"elst":
                track.edits = max(track.edits, _big_endian(body[4:]))
            elif kind == b"stts":
                own = (_big_endian(body[4:]), _big_endian(body[12:])) == (1, 1)
                track.of_one = track.of_one is not False and own
            elif kind == b"hdlr":
                # QuickTime's tracks have another, of where their data are.
                track.sound |= body[8:12] == b"soun"
                track.video |= body[8:12] == b"vide"
            elif kind == b"cmvd":
                file.seek(at + begin + 4)
                header = inflated(file.read(min(stop - at, _MOST_HEADER)), _MOST_HEADER + 1)
                if compressed or max(_big_endian(body), len(header)) > _MOST_HEADER:
                    raise ImageRefused(Reason.DAMAGED, "a compressed header of a film's size")
                tracks += _read_tracks(io.BytesIO(header), len(header), compressed=True)
            elif kind != b"mdat" and kind.isalnum():
                inner = _Track() if kind == b"trak" else track
                tracks += [inner] * (inner is not track)
                rest.append((at + begin, stop, inner))
            at += length
    return tracks


def _big_endian(data: bytes, size: int = 4) -> int:
    return int.from_bytes(data[:size], "big")
