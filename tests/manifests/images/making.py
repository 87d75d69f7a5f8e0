"""Image files of every kind for these tests, and what is compared in them."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import tifffile
from PIL import Image, ImageOps

ORIENTATIONS = range(1, 9)
ORIENTATION_TAG = 0x0112

STORED_FROM_UPRIGHT: dict[int, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a),  # "rotate 90 clockwise to show": stored turned counter-clockwise
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a, -1),
}
"""How upright pixels lie in a file of each EXIF orientation (CIPA DC-008, tag 274)."""


def exif_of(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    return exif


def difference(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Mean absolute difference; infinite when the shapes differ."""
    return (
        float(np.abs(a.astype(int) - b.astype(int)).mean()) if a.shape == b.shape else float("inf")
    )


def sixteen_bit_png(samples: npt.NDArray[np.uint16]) -> bytes:
    """A 16-bit RGB PNG by hand (Pillow writes none): PNG 1.2, chapter 3, filter type 0."""
    height, width = samples.shape[:2]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)
    return png_of(struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0), zlib.compress(rows))


def png_of(header: bytes, compressed: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", compressed)
        + chunk(b"IEND", b"")
    )


def tiff_of(samples: npt.NDArray[Any], **options: Any) -> bytes:
    out = io.BytesIO()
    tifffile.imwrite(
        out, samples, photometric="rgb" if samples.ndim == 3 else "minisblack", **options
    )
    return out.getvalue()


def make_every_format(photograph: Any, encoded: Any) -> dict[str, bytes]:
    pixels = photograph(10, 80, 60)
    return {
        "jpeg": encoded(pixels, "JPEG"),
        "progressive jpeg": encoded(pixels, "JPEG", progressive=True),
        "grey jpeg": encoded(pixels, "JPEG", "L"),
        "cmyk jpeg": encoded(pixels, "JPEG", "CMYK"),
        "rotated jpeg": encoded(pixels, "JPEG", exif=exif_of(6)),
        "png": encoded(pixels, "PNG"),
        "palette png": encoded(pixels, "PNG", "P"),
        "png with alpha": encoded(pixels, "PNG", "RGBA"),
        "bmp": encoded(pixels, "BMP"),
        "webp": encoded(pixels, "WEBP"),
        "lossless webp": encoded(pixels, "WEBP", lossless=True),
        "tiff": encoded(pixels, "TIFF"),
        "deflate tiff": encoded(pixels, "TIFF", compression="tiff_adobe_deflate"),
        "16-bit tiff": tiff_of(pixels.astype(np.uint16) * 257),
    }


KINDS = [
    "jpeg",
    "progressive jpeg",
    "grey jpeg",
    "cmyk jpeg",
    "rotated jpeg",
    "png",
    "palette png",
    "png with alpha",
    "bmp",
    "webp",
    "lossless webp",
    "tiff",
    "deflate tiff",
    "16-bit tiff",
]


def chunk_of(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG, with its checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_with(data: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """A PNG with chunks before and behind its pixels."""
    begin = data.index(b"IDAT") - 4
    return data[:begin] + before + data[begin:-12] + after + data[-12:]


def segment_of(marker: int, data: bytes) -> bytes:
    """A segment of a JPEG."""
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def jpeg_with(data: bytes, *segments: bytes) -> bytes:
    """A JPEG with segments in front of its own."""
    return data[:2] + b"".join(segments) + data[2:]


def exif_block(
    value: int, kind: int = 3, count: int = 1, order: str = "<", times: int = 1
) -> bytes:
    """An EXIF block that says an orientation, of some type and count, once or more often."""
    packed = struct.pack(order + {1: "B", 3: "H", 4: "I"}[kind], value).ljust(4, b"\0")
    entry = struct.pack(order + "HHI", ORIENTATION_TAG, kind, count) + packed
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return mark + struct.pack(order + "IH", 8, times) + entry * times + bytes(4)


def as_readers_show(data: bytes) -> list[npt.NDArray[np.uint8]]:
    """The pixels that OpenCV, and Pillow with its own turning, make of a file."""
    theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    with Image.open(io.BytesIO(data)) as image:
        return [np.asarray(theirs), np.asarray(ImageOps.exif_transpose(image).convert("RGB"))]


def jpeg_of_factors(factors: list[tuple[int, int]], side: int = 40) -> bytes:
    """A baseline JPEG of three components with any sampling factors, which Pillow does not write.

    Blocks are flat: the first of each component has a level of its own, the others differ by 0
    or 40 in turn.
    """
    tables = segment_of(0xDB, b"\0" + b"\1" * 64)
    parts = b"".join(bytes([i + 1, h << 4 | v, 0]) for i, (h, v) in enumerate(factors))
    frame = segment_of(0xC0, struct.pack(">BHHB", 8, side, side, 3) + parts)
    direct = segment_of(0xC4, b"\0" + bytes([0, 3, *[0] * 14]) + bytes([0, 6, 9]))
    others = segment_of(0xC4, b"\x10" + bytes([1, *[0] * 15]) + bytes([0]))
    scan = segment_of(0xDA, b"\3\1\0\2\0\3\0\0\x3f\0")
    wide, high = max(h for h, _ in factors), max(v for _, v in factors)
    units = -(-side // (8 * wide)) * -(-side // (8 * high))
    bits = ""
    for unit in range(units):
        for number, (h, v) in enumerate(factors):
            for block in range(h * v):
                if unit == block == 0:
                    bits += "10" + f"{260 + 20 * number:09b}"  # 9 bits of a difference
                else:
                    bits += ("01" + f"{40 if unit % 2 else 23:06b}") if block == 0 else "00"
                bits += "0"  # the end of the block
    bits += "1" * (-len(bits) % 8)
    body = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")
    head = b"\xff\xd8" + segment_of(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0")
    return head + tables + frame + direct + others + scan + body + b"\xff\xd9"
