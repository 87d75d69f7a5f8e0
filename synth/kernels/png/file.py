"""Pixels to a PNG file."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from ..arrays import Pixels, check_normal
from .adler import adler
from .deflate import deflate, room
from .filters import filter_rows

CODING = 2
"""Counts up when lows get other bytes; 1 was OpenCV's and zlib's."""
BLOCK = 32768
"""Bytes that share a code: of a 500 x 375 picture, some 22 rows."""
SIGNATURE = b"\x89PNG\r\n\x1a\n"
ZLIB = b"\x78\x01"  # deflate, a window of 32 KiB, fastest


def encode_png(pixels: Pixels) -> bytes:
    """Encode a low, losslessly: differences of neighbours, by Huffman codes alone.

    Noise leaves nothing to find for a search of matches. The bytes are the same on every machine,
    whatever libraries are installed.

    Parameters
    ----------
    pixels : uint8 array (H, W, 3)
        RGB.

    Returns
    -------
    bytes
        Of a PNG file (ISO/IEC 15948), 8 bits, RGB.

    Raises
    ------
    ValueError
        When it is no such array.
    """
    check_normal(pixels)
    height, width, _ = pixels.shape
    filtered = np.empty((height, 1 + 3 * width), np.uint8)
    filter_rows(np.ascontiguousarray(pixels).reshape(height, 3 * width), filtered)
    data = filtered.reshape(-1)
    packed = np.empty(room(len(data), BLOCK), np.uint8)
    size = deflate(data, BLOCK, packed)
    stream = b"".join((ZLIB, packed[:size].data, struct.pack(">I", adler(data))))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join(
        (SIGNATURE, *_chunk(b"IHDR", head), *_chunk(b"IDAT", stream), *_chunk(b"IEND", b""))
    )


def _chunk(name: bytes, data: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    check = struct.pack(">I", zlib.crc32(data, zlib.crc32(name)))
    return struct.pack(">I", len(data)), name, data, check
