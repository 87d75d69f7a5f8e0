"""PNG (third edition, W3C 2025): what its chunks say, and decoding that damage does not pass.

Pixels are decoded from the chunks that hold them alone: no metadata, animation or limit of a
decoder's has a say in them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from ...errors import ImageRefused, Reason
from .colour import cicp_profile
from .opening import decode_deep, exif_orientation, open_lazily, to_8_bit, xmp_turns

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, RGB, PALETTE, ALPHA = 0, 2, 3, 4
"""Colour types (table 9); the last is a bit of two of them."""
_PIXELS = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
_DECISIVE = (b"tRNS", b"acTL", b"IDAT", b"IEND")  # the first of which says what a PNG has
_ANIMATED = (b"acTL", b"fcTL", b"fdAT")
_TEXT, _PACKED = (b"tEXt", b"zTXt", b"iTXt"), (b"zTXt", b"iTXt", b"iCCP")
_COLOUR_TYPE = 25  # its place in a file
_PACKED_XMP = b"XML:com.adobe.xmp\0\1"  # an iTXt of it that is compressed
_MOST_TEXT = 1 << 20  # bytes, Pillow's MAX_TEXT_CHUNK
_MOST_CHUNKS = 100_000  # 400 MB in pieces of 4 KiB
_MOST_OF_PIXEL, _MOST_BESIDE = 9, 1 << 16  # bytes: 8 of a pixel, or a filter's, that do not shrink


@dataclass(frozen=True)
class PngHeader:
    """Facts from the chunks of a PNG.

    depth: bits of a sample.
    colour: colour type: 0 grey, 2 RGB, 3 palette, 4 and 6 with alpha.
    transparent: its tRNS chunk, or nothing.
    orientation: value of its EXIF chunk, where that stands before the pixels; behind them it says
      nothing.
    profile: its ICC profile, or nothing.
    cicp: colour primaries and transfer function as numbers of ITU-T H.273, or nothing.
    odd: a feature that readers take differently, "orientation", "animation" or "metadata", or "".
    """

    width: int
    height: int
    depth: int
    colour: int
    transparent: bytes
    orientation: int
    profile: bytes
    cicp: bytes
    odd: str

    def colours(self) -> bytes:
        """Return the ICC profile that its samples are shown by, or nothing.

        Raises ImageRefused: "unsupported", for a high dynamic range.
        """
        return cicp_profile(*self.cicp) if len(self.cicp) == 2 else self.profile


def read_png(data: bytes) -> PngHeader:
    """Read the header of a PNG without decoding it; checksums of the pixels are not compared.

    Raises ImageRefused: "damaged".
    """
    header = found = b""
    turn, profile, cicp, transparent, odd, text = 1, b"", b"", b"", set(), 0
    pixels = False
    for kind, begin, end in _chunks(data):
        pixels = pixels or kind == b"IDAT"
        if kind in (b"IDAT", b"PLTE", b"IEND"):
            continue
        content = data[begin:end]
        sound = zlib.crc32(kind + content) == int.from_bytes(data[end : end + 4], "big")
        if kind == b"IHDR":
            header = header or content
        elif kind in _ANIMATED:
            odd.add("animation")
        elif not sound or (pixels and kind in _PACKED):
            odd.add("metadata")  # decoders that look at it refuse the whole file, others do not
        elif kind == b"eXIf":
            value, certain = exif_orientation(content)
            if not pixels and not found:
                found, turn = content, value
            if not certain or value != turn or content.startswith(b"Exif"):  # as in a JPEG
                odd.add("orientation")
        elif kind in _TEXT:
            text = max(text, len(content))
            packed = content.split(b"\0", 4)[-1] if content.startswith(_PACKED_XMP) else b""
            if (
                content.lower().startswith(b"raw profile type")
                or xmp_turns(content)
                or xmp_turns(inflated(packed))
            ):
                odd.add("orientation")  # of ImageMagick's EXIF, or XMP; some readers heed them
        elif kind == b"tRNS" and not pixels:
            transparent = content
        elif kind == b"iCCP":
            profile = inflated(content.partition(b"\0")[2][1:])
        elif kind == b"cICP":
            cicp = content[:2]
    if len(header) != 13:
        raise ImageRefused(Reason.DAMAGED, "a PNG without a header")
    if text > _MOST_TEXT or (not odd and not _opens_in_pillow(data)):
        odd.add("metadata")
    return PngHeader(
        int.from_bytes(header[:4], "big"),
        int.from_bytes(header[4:8], "big"),
        header[8],
        header[9],
        transparent,
        turn,
        profile,
        cicp,
        next((what for what in ("animation", "orientation", "metadata") if what in odd), ""),
    )


def is_plain(data: bytes | memoryview) -> bool:
    """Return whether a PNG has neither transparency nor an animation; it takes microseconds."""
    if len(data) <= _COLOUR_TYPE:
        return False
    with suppress(ImageRefused):  # what is damaged no decoder shows
        kinds = (kind for kind, *_ in _chunks(data) if kind in _DECISIVE)
        return not data[_COLOUR_TYPE] & ALPHA and next(kinds) not in (b"tRNS", b"acTL")
    return True


def check_stored(data: bytes | memoryview, width: int, height: int) -> None:
    """Raise ImageRefused: "damaged", of a PNG that stores more than its pixels take.

    OpenCV and DALI inflate all of it, a thousand times its size.
    """
    most = _MOST_OF_PIXEL * (width + 1) * height + _MOST_BESIDE
    if len(data) > most:
        stored = sum(end - begin for kind, begin, end in _chunks(bytes(data)) if kind == b"IDAT")
        if stored > most:
            what = f"a PNG of {width} x {height} pixels that stores {stored:,} bytes of them"
            raise ImageRefused(Reason.DAMAGED, what)


def decode_png(data: bytes, header: PngHeader) -> Image.Image:
    """Decode a PNG to an image of 8-bit samples, in the colours that it stores.

    Raises ImageRefused: "damaged", when a checksum of the pixels differs, or the file ends early.
    """
    deep = decode_deep_png(data, header)
    if deep is not None:
        return Image.fromarray(to_8_bit(deep[:, :, 0] if deep.shape[2] == 1 else deep))
    with open_lazily(_pixel_chunks(data, header)) as image:
        image.load()
    if not _has_transparent_value(header):
        return image
    samples = np.array(image.convert("L" if header.colour == GREY else "RGB"))
    mask = _transparent(samples, header)
    if mask is not None:
        samples[mask] = 255
    return Image.fromarray(samples)


def decode_deep_png(data: bytes, header: PngHeader) -> npt.NDArray[np.uint16] | None:
    """Decode the samples of a PNG of 16 bits, (H, W, C): grey or RGB, and what is opaque of those.

    None of another one. Raises as `decode_png`.
    """
    if header.depth != 16:
        return None
    samples = decode_deep(_pixel_chunks(data, header))
    mask = _transparent(samples, header) if _has_transparent_value(header) else None
    if mask is not None:
        samples[mask] = 65535
    return samples if samples.ndim == 3 else samples[:, :, None]


def _has_transparent_value(header: PngHeader) -> bool:
    """Return whether one value of grey or RGB is transparent, which is left to be found here."""
    return header.colour in (GREY, RGB) and bool(header.transparent)


def _pixel_chunks(data: bytes, header: PngHeader) -> bytes:
    """Return a PNG of the chunks alone that its pixels are decoded from, their sums compared."""
    kinds = _PIXELS if _has_transparent_value(header) else (*_PIXELS, b"tRNS")
    held, pieces = memoryview(data), [memoryview(SIGNATURE)]
    for kind, begin, end in _chunks(data):
        if kind == b"IDAT":
            kinds = _PIXELS  # behind it nothing is transparent
        if kind in kinds:
            if zlib.crc32(held[begin - 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
                raise ImageRefused(Reason.DAMAGED, "the checksum of a PNG chunk differs")
            pieces.append(held[begin - 8 : end + 4])
        elif not kind[0] & 0x20:
            raise ImageRefused(Reason.UNSUPPORTED, f"a PNG with a chunk {kind!r}")
    return data if sum(map(len, pieces)) == len(data) else b"".join(pieces)


def _transparent(samples: npt.NDArray[Any], header: PngHeader) -> npt.NDArray[np.bool_] | None:
    """Return which pixels (H, W) have the value that is transparent, shown as white."""
    value = np.frombuffer(header.transparent, ">u2").astype(np.int64)
    if value.size != (1 if header.colour == GREY else 3):
        return None
    largest = (1 << header.depth) - 1  # of 1 to 4 bits, Pillow has brought samples to 8
    value = (value & largest) * (255 // largest if header.depth < 8 else 1)
    same = samples == value
    return np.asarray(same if samples.ndim == 2 else same.all(axis=2))


def _chunks(data: bytes | memoryview) -> Iterator[tuple[bytes, int, int]]:
    """Yield kind, begin and end of the content of all chunks.

    Raises ImageRefused: "damaged", of a file that ends early, or of more chunks than any has.
    """
    offset = len(SIGNATURE)
    for _ in range(_MOST_CHUNKS):
        end = offset + 8 + int.from_bytes(data[offset : offset + 4], "big")
        if end + 4 > len(data):
            raise ImageRefused(Reason.DAMAGED, "the PNG ends early")
        kind = bytes(data[offset + 4 : offset + 8])
        yield kind, offset + 8, end
        if kind == b"IEND":
            return
        offset = end + 4
    raise ImageRefused(Reason.DAMAGED, f"a PNG of more than {_MOST_CHUNKS:,} chunks")


def inflated(data: bytes, most: int = 16 << 20) -> bytes:
    """Return at most so many bytes of what was compressed by zlib; nothing where it is damaged."""
    try:
        return zlib.decompressobj().decompress(data, most)
    except zlib.error:
        return b""


def _opens_in_pillow(data: bytes) -> bool:
    """Return whether Pillow, which many read with, opens a PNG with all its metadata."""
    try:
        open_lazily(data).close()
    except Exception:  # a limit of its metadata, say
        return False
    return True
