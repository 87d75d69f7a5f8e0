"""JPEG (ITU T.81): what its segments say, and strict decoding that damage does not pass.

libjpeg warns of damaged pixels and of odd headers alike, and says the first warning only. What is
odd in a header and means nothing for the pixels is mended before, so that every warning counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import simplejpeg

from ...errors import ImageRefused, Reason
from .opening import Pixels, exif_orientation, open_lazily, xmp_turns

BEGINNING = b"\xff\xd8\xff"
MAX_SCANS = 100
"""JPEGs with more scans are refused: encoders write some 10, and each of thousands would take as
long as a whole decoding."""

_LUMINANCE_SUM = 3688  # of the standard quantization table (T.81, table K.1), quality 50
_EXIF, _XMP, _ICC = b"Exif\0", b"http://ns.adobe.com/x", b"ICC_PROFILE\0"
_APP0, _APP1, _APP2, _APP14 = 0xE0, 0xE1, 0xE2, 0xEE
_SOI, _EOI, _SOS, _DRI = 0xD8, 0xD9, 0xDA, 0xDD
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # table B.1; the others are no frames
_SEQUENTIAL, _DECODED = (0xC0, 0xC1, 0xC9), (0xC0, 0xC1, 0xC2, 0xC9, 0xCA)
_ALONE = (0x01, *range(0xD0, 0xD8), _SOI)  # markers without content
_MARKER = re.compile(rb"\xff([\x01-\xfe])")
_MARKER_IN_SCAN = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")
_EXTRANEOUS = re.compile(r"\b(\d+) extraneous bytes before marker 0xd([0-79])")
_HUFFMAN, _DHT = (0xC0, 0xC1), 0xC4  # frames that are sequential and of Huffman codes
_RESTART = re.compile(rb"\xff[\xd0-\xd7]")
_LONGEST = 256  # bytes, more than the codes of a block take
_ODD = "Could not determine subsampling"  # of TurboJPEG
_FEW = 16  # bytes before a marker that firmware leaves there (libjpeg-turbo's issue 157: two)


@dataclass(frozen=True)
class JpegHeader:
    """Facts from the segments of a JPEG.

    width, height: pixels as stored.
    components: 1, 3 or 4.
    orientation: value of its first EXIF block.
    certain: whether every reader takes the same orientation from its metadata.
    profile: its ICC profile, or nothing.
    mended: the file, without what is odd in its header.
    """

    width: int
    height: int
    components: int
    orientation: int
    certain: bool
    profile: bytes
    mended: bytes


def read_jpeg(data: bytes) -> JpegHeader:
    """Read the header of a JPEG without decoding it.

    Raises ImageRefused: "damaged", "unsupported" (lossless and hierarchical ones, of 12 bits, or of
    2 components), or "not an image" where nothing but the beginning is there.
    """
    frame, width, height, components, scans, end = 0, 0, 0, 0, 0, 2
    turns: list[tuple[int, bool]] = []
    certain = True
    profile: dict[int, bytes] = {}
    edits: list[tuple[int, int, bytes]] = []
    for marker, start, begin, finish in _segments(data):
        content = data[begin:finish]
        if start > end and not scans:
            edits.append((end, start, b""))  # bytes that are no segment
        end = finish
        if marker in _FRAMES:
            frame, components = marker, content[5] if len(content) > 5 else 0
            height, width = int.from_bytes(content[1:3], "big"), int.from_bytes(content[3:5], "big")
            if marker not in _DECODED or content[0] != 8 or components not in (1, 3, 4):
                raise ImageRefused(
                    Reason.UNSUPPORTED,
                    f"a JPEG of frame {marker:X}, {content[0]} bits and {components} components;"
                    " those read are baseline or progressive, of 8 bits and 1, 3 or 4",
                )
            if not width * height:
                raise ImageRefused(Reason.UNSUPPORTED, "a JPEG whose size follows its pixels")
        elif marker == _SOS:
            scans += 1
            if scans > MAX_SCANS:
                raise ImageRefused(
                    Reason.DAMAGED, f"a JPEG of more scans than {MAX_SCANS}, which is the limit"
                )
            if frame in _SEQUENTIAL and content[-3:] != b"\0\x3f\0":
                edits.append((finish - 3, finish, b"\0\x3f\0"))  # means nothing there (B.2.3)
        elif marker == _APP1 and content.startswith(_EXIF):
            turns.append(exif_orientation(content[6:]))
        elif marker == _APP1 and content.startswith(_XMP):
            certain = certain and not xmp_turns(content)
        elif marker == _APP2 and content.startswith(_ICC) and len(content) > 14:
            profile[content[12]] = content[14:]  # number and count of its pieces (ICC.1, annex B.4)
        elif marker == _APP0 and content.startswith(b"JFIF\0") and content[5:6] != b"\x01":
            edits.append((begin + 5, begin + 6, b"\x01"))
        elif marker == _APP14 and content.startswith(b"Adobe") and content[11:12] > b"\x02":
            edits.append((begin + 11, begin + 12, b"\x02" if components == 4 else b"\x01"))
    if not frame:
        raise ImageRefused(
            Reason.DAMAGED if end > 2 else Reason.NOT_AN_IMAGE, "a JPEG without a frame"
        )
    return JpegHeader(
        width,
        height,
        components,
        turns[0][0] if turns else 1,
        certain and len(set(turns)) < 2 and all(plain for _, plain in turns),
        b"".join(piece for _, piece in sorted(profile.items())),
        _apply_edits(data, edits) if edits else data,
    )


def frame_size(data: bytes | memoryview) -> tuple[int, int] | None:
    """Return width and height that a JPEG's first frame tells, or None; it takes microseconds.

    Raises ImageRefused: "damaged", when it has more scans than `MAX_SCANS`.
    """
    offset, end, frame, several = 2, len(data) - 9, 0, True
    while offset < end and data[offset] == 0xFF:
        marker = data[offset + 1]
        if marker in _FRAMES and not frame:
            frame = offset
        elif marker == _SOS:
            plain = frame and data[frame + 1] in _SEQUENTIAL
            several = not plain or data[offset + 4] < data[frame + 9]  # components
            break
        offset += 2 + (data[offset + 2] << 8 | data[offset + 3])
    if not frame:  # with bytes between its segments
        frame = next((at for marker, at, *_ in _segments(data) if marker in _FRAMES), 0)
    if not frame:
        return None
    if several:
        values = np.frombuffer(data, np.uint8)
        marks = values[np.flatnonzero(values[:-1] == 0xFF) + 1]
        if np.count_nonzero(marks == _SOS) > MAX_SCANS:
            read_jpeg(bytes(data))  # which knows those that are none
    high, low, wide, narrow = data[frame + 5 : frame + 9]
    return wide << 8 | narrow, high << 8 | low


def jpeg_quality(data: bytes) -> int:
    """Return a JPEG's quality, 1 to 100, from its luminance quantization table; 0 of other images.

    libjpeg's scaling of the standard table is inverted by the table's sum: exact from 20 to 99.
    Below, entries are clipped at 255, and the result is up to 10 too high.
    """
    tables: dict[int, list[int]] = {}
    if data.startswith(BEGINNING):
        # A header that gloam mends and Pillow refuses says nothing.
        with suppress(ImageRefused), open_lazily(data) as image:
            tables = getattr(image, "quantization", {})
    if 0 not in tables:
        return 0
    percent = 100 * sum(tables[0]) / _LUMINANCE_SUM
    return min(max(round(100 - percent / 2 if percent <= 100 else 5000 / percent), 1), 100)


def decode_jpeg(data: bytes, header: JpegHeader, side: int | None = None) -> Pixels:
    """Decode a JPEG as stored: to RGB (H, W, 3), or CMYK (H, W, 4) with 255 for full ink.

    libjpeg-turbo's accurate integer transform gives the same bits on every CPU.

    header: header of `data`: a frame that decoders would write beyond their memory for was refused.
    side: reduce roughly, to a longer side of at least so many pixels.

    Raises ValueError when it is damaged, also for what decoders only warn of, such as a file that
    ends early; or whatever else the decoder does.
    """
    least = (0, 0)
    if side is not None:
        share = side / max(header.width, header.height)
        least = (max(1, int(header.height * share)), max(1, int(header.width * share)))
    space = "CMYK" if header.components == 4 else "RGB"

    how: dict[str, Any] = {"colorspace": space, "min_height": least[0], "min_width": least[1]}
    try:
        pixels = simplejpeg.decode_jpeg(header.mended, **how, strict=True)
    except ValueError as error:
        if _ODD in str(error):
            return _decode_by_pillow(header, least)
        if not _has_all_pixels(data, str(error)):
            raise
        pixels = simplejpeg.decode_jpeg(header.mended, **how, strict=False)
    # As Adobe's programs store CMYK, and every reader expects it: inverted.
    return np.subtract(255, pixels) if space == "CMYK" else pixels


def _decode_by_pillow(header: JpegHeader, least: tuple[int, int]) -> Pixels:
    """Decode a JPEG of sampling factors that TurboJPEG has no name for; see `decode_jpeg`.

    Pillow's libjpeg-turbo decodes those by the same transform, and says of damage only that the
    file ends early; the codes of sequential ones are looked through here.
    """
    if not _codes_are_whole(header.mended):
        raise ValueError("its codes do not end where its blocks do")
    with open_lazily(header.mended) as image:
        if min(least):
            image.draft(None, least[::-1])
        return np.array(image)


def _codes_are_whole(data: bytes) -> bool:
    """Return whether each scan of a sequential Huffman JPEG has the codes of its blocks, no more.

    True of others, which are not looked through.
    """
    tables: dict[int, list[tuple[int, int]]] = {}
    width = height = interval = 0
    factors: dict[int, tuple[int, int]] = {}
    for marker, _, begin, finish in _segments(data):
        content = data[begin:finish]
        if marker == _DHT:
            tables |= _huffman_tables(content)
        elif marker == _DRI:
            interval = int.from_bytes(content[:2], "big")
        elif marker in _FRAMES:
            if marker not in _HUFFMAN:
                return True
            height, width = (int.from_bytes(content[i : i + 2], "big") for i in (1, 3))
            factors = {own: (both >> 4, both & 15) for own, both, _ in _groups_of(3, content[6:])}
        elif marker == _SOS:
            parts = [(factors[own], both) for own, both in _groups_of(2, content[1:-3])]
            wide, high = (max(one[i] for one in factors.values()) for i in (0, 1))
            if len(parts) == 1:  # its own blocks in rows, whatever the factors are
                (h, v), both = parts[0]
                across, down = -(-width * h // wide), -(-height * v // high)
                units, parts = -(-across // 8) * -(-down // 8), [((1, 1), both)]
            else:
                units = -(-width // (8 * wide)) * -(-height // (8 * high))
            plan = [
                (tables[both >> 4], tables[16 | (both & 15)])
                for (h, v), both in parts
                for _ in range(h * v)
            ]
            end = _MARKER_IN_SCAN.search(data, finish)
            runs = _RESTART.split(data[finish : len(data) if end is None else end.start()])
            each = interval or units
            if end is None or len(runs) != -(-units // each):
                return False
            for number, run in enumerate(runs):
                count = min(each, units - number * each)
                if not _run_is_whole(run.replace(b"\xff\0", b"\xff"), plan, count):
                    return False
    return True


def _groups_of(count: int, content: bytes) -> Iterator[bytes]:
    return (content[i : i + count] for i in range(0, len(content) - count + 1, count))


def _run_is_whole(run: bytes, plan: list[tuple[Any, Any]], count: int) -> bool:
    """Return whether codes end where the last of `count` units of blocks does."""
    padded, place, end = run + bytes(_LONGEST), 0, 8 * len(run)
    for _ in range(count):
        for table, others in plan:
            at, codes, known = 0, table, 0
            while at < 64:
                byte = place >> 3
                bits = padded[byte] << 16 | padded[byte + 1] << 8 | padded[byte + 2]
                known, step = codes[bits >> (8 - (place & 7)) & 0xFFFF]
                if not known:
                    return False
                place += known
                if not at:  # the first of a block has a table of its own
                    at, codes = 1, others
                elif step:
                    at += step
                else:
                    break
            if at > 64 or place > end:
                return False
    return not any(run[-(-place // 8) :])  # zeros may fill a scan up; see `_has_all_pixels`


def _huffman_tables(content: bytes) -> dict[int, list[tuple[int, int]]]:
    """Return the tables of a segment by class and number (T.81, B.2.4.2 and annex C).

    Each has, for all 16 bits that may follow, those of the code with its value, 0 of none, and how
    many places of a block it fills, 0 for all others.
    """
    tables = {}
    while len(content) > 16:
        own, counts, content = content[0], content[1:17], content[17:]
        table, code, first = [(0, 0)] * 65536, 0, 0
        for length, many in enumerate(counts, 1):
            for symbol in content[first : first + many]:
                zeros, size = symbol >> 4, symbol & 15
                step = zeros + 1 if size or zeros == 15 else 0
                begin, wide = code << (16 - length), 1 << (16 - length)
                table[begin : begin + wide] = [(length + size, step)] * wide
                code += 1
            code, first = code << 1, first + many
        tables[own], content = table[:65536], content[first:]
    return tables


def _segments(data: bytes | memoryview) -> Iterator[tuple[int, int, int, int]]:
    """Yield marker, start, and where the content begins and ends, of the segments up to the end.

    Like libjpeg it passes over bytes that are no marker. Of a sequential JPEG of one scan what
    follows that scan's header is not looked at.
    """
    offset, components, sequential, pattern = 2, 0, False, _MARKER
    while (match := pattern.search(data, offset)) is not None:
        marker, offset = match[1][0], match.end()
        if marker == _EOI:
            return
        if marker in _ALONE:
            continue
        end = offset + max(2, int.from_bytes(data[offset : offset + 2], "big"))
        if end > len(data):
            return
        yield marker, match.start(), offset + 2, end
        if marker in _FRAMES:
            components, sequential = data[offset + 7], marker in _SEQUENTIAL
        if marker == _SOS and sequential and data[offset + 2] == components:
            return
        pattern, offset = _MARKER_IN_SCAN if marker == _SOS else _MARKER, end


def _apply_edits(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    pieces, offset = [], 0
    for begin, end, new in edits:
        pieces += [data[offset:begin], new]
        offset = end
    return b"".join([*pieces, data[offset:]])


def _has_all_pixels(data: bytes, warning: str) -> bool:
    """Return whether a JPEG of which libjpeg warns has all of its pixels.

    It has where firmware left a few bytes behind a restart interval: the interval was decoded
    before them, and all markers of the scan are there, in their order; and where zeros fill the
    scan up.
    """
    found = _EXTRANEOUS.search(warning)
    if found is None or int(found[1]) > _FEW:
        return False
    interval, across, down, sampling, end = 0, 0, 0, b"\x11", 0
    for marker, _, begin, finish in _segments(data):
        content, end = data[begin:finish], finish
        if marker == _DRI:
            interval = int.from_bytes(content[:2], "big")
        elif marker in _FRAMES:
            down, across = (int.from_bytes(content[i : i + 2], "big") for i in (1, 3))
            sampling = content[7::3]
    if found[2] == "9":  # no scan ends with zero bytes: ones fill its last byte up (F.1.2.3)
        return data[: data.find(b"\xff\xd9", end)].endswith(bytes(max(2, int(found[1]))))
    wide, high = max(sampling) >> 4, max(both & 15 for both in sampling)
    units = -(-across // (8 * wide)) * -(-down // (8 * high))
    marks = re.findall(rb"\xff([\xd0-\xd7\xd9])", data[end:])
    wanted = [0xD0 + number % 8 for number in range(-(-units // max(1, interval)) - 1)] + [_EOI]
    return [mark[0] for mark in marks[: len(wanted)]] == wanted
