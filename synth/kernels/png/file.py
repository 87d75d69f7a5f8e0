"""Pixels to a PNG file."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from ..arrays import Pixels, check_normal
from .adler import adler
from .deflate import deflate, most_bytes
from .filters import filter_rows

CODING = 2
"""Counts up when lows get other bytes; 1 was OpenCV's and zlib's."""
BLOCK = 32768
"""Bytes that share a code: of a 500 x 375 picture, some 22 rows."""
SIGNATURE = b"\x89PNG\r\n\x1a\n"
ZLIB = b"\x78\x01"  # deflate, a window of 32 KiB, fastest
_AFTER = 4 + 4 + 12
"""Bytes behind what is compressed: its sum, that of its chunk, and the last chunk."""


def encode_png(pixels: Pixels) -> bytes:
    """Encode a low, losslessly: differences of neighbours, by Huffman codes alone.

    Noise leaves nothing to find for a search of matches. The bytes are the same on every machine,
    whatever libraries are installed.

    pixels: uint8 array (H, W, 3), RGB.

    Returns bytes of a PNG file (ISO/IEC 15948), 8 bits, RGB. Raises ValueError when it is no such
    array.
    """
    check_normal(pixels)
    height, width, _ = pixels.shape
    filtered = np.empty((height, 1 + 3 * width), np.uint8)
    filter_rows(np.ascontiguousarray(pixels).reshape(height, 3 * width), filtered)
    data = filtered.reshape(-1)
    before = head_of(height, width, 0)
    begin = len(before)
    # All of the file in one buffer: noise is large, and copies of it go through memory.
    file = np.empty(begin + most_bytes(len(data), BLOCK) + _AFTER, np.uint8)
    file[:begin] = np.frombuffer(before, np.uint8)
    end = begin + deflate(data, BLOCK, file[begin : len(file) - _AFTER])
    whole = file.data
    whole[end : end + 4] = struct.pack(">I", adler(data))
    chunk = begin - len(ZLIB) - 4  # name and data, which its sum is of
    whole[chunk - 4 : chunk] = struct.pack(">I", end - begin + len(ZLIB) + 4)
    after = struct.pack(">I", zlib.crc32(whole[chunk : end + 4])) + END
    whole[end + 4 : end + 4 + len(after)] = after
    return bytes(whole[: end + 4 + len(after)])


def head_of(height: int, width: int, length: int) -> bytes:
    """Return a file's bytes up to its deflated data; length: of the chunk that holds these."""
    head = _whole_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"".join((SIGNATURE, head, struct.pack(">I", length), b"IDAT", ZLIB))


def _whole_chunk(name: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(data, zlib.crc32(name)))
    return b"".join((struct.pack(">I", len(data)), name, data, check))


END = _whole_chunk(b"IEND", b"")
"""The last chunk."""
