"""PNG files: encode pixels, and decode what gloam wrote in half of a general decoder's time."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

from ..arrays import Pixels, check_normal, i64
from ..compiling.compile import kernel
from .deflate import adler, deflate, most_bytes
from .filters import filter_rows, unfilter_rows
from .inflate import SLACK, inflate

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


Bytes = npt.NDArray[np.uint8]
_HEADED = len(head_of(1, 1, 0))
_TAIL = 4 + 4 + len(END)  # bytes: the sums of the pixels and of the chunk, and the last chunk
_WIDTH = 16  # where it lies
_MOST = 1 << 30  # pixels


def _is_ours(data: Bytes, height: int, width: int) -> bool:
    """Return whether a file has head, end and check sum of gloam's files of that size."""
    if len(data) < _HEADED + _TAIL:
        return False
    length = len(data) - _HEADED - _TAIL + len(ZLIB) + 4
    own = data[_HEADED - len(ZLIB) - 4 : -len(END) - 4]
    end = struct.pack(">I", zlib.crc32(own.data)) + END
    head = head_of(height, width, length)
    return data[:_HEADED].tobytes() == head and data[-len(end) :].tobytes() == end


@kernel
def _decode_many(data, ends, filtered, pixels):
    """Fill pixels (N, H, 3 W) from files that follow each other in `data`.

    `filtered` (H (3 W + 1) + SLACK) is scratch memory. Returns whether they are gloam's.
    """
    begin, height, columns = i64(0), i64(pixels.shape[1]), i64(pixels.shape[2])
    made = filtered[: height * (columns + 1)]
    for i in range(pixels.shape[0]):
        behind = inflate(data, begin + _HEADED, filtered)
        if behind + _TAIL != ends[i]:
            return False
        # Besides the sum of the file: damage may leave either as it was.
        total = i64(0)
        for k in range(4):
            total = (total << 8) | i64(data[behind + k])
        if adler(made) != total or not unfilter_rows(made.reshape(height, columns + 1), pixels[i]):
            return False
        begin = ends[i]
    return True


def png_size(data: Bytes) -> tuple[int, int] | None:
    """Return height and width that the header of a PNG tells; None for what cannot be gloam's.

    A file with a size may be none of gloam's, or damaged.
    """
    head = data[:_HEADED].tobytes()
    if len(data) < _HEADED + _TAIL or not head.startswith(SIGNATURE):
        return None
    width, height = struct.unpack_from(">II", head, _WIDTH)
    if not 0 < width * height < _MOST:
        return None
    # A byte of a stream holds eight of a row's at most.
    return None if (3 * width + 1) * height > 8 * len(data) else (height, width)


def decode_png(data: Bytes) -> Pixels | None:
    """Decode what `encode_png` made, without the interpreter's lock.

    data: uint8 array (N) of a PNG file.

    Returns uint8 array (H, W, 3), or None, RGB. None for a file that is damaged, or is none of
    gloam's: other decoders know more kinds, and tell what is wrong.
    """
    size = png_size(data)
    if size is None:
        return None
    made = np.empty((1, *size, 3), np.uint8)
    return made[0] if decode_pngs([data], made) else None


def decode_pngs(files: list[Bytes], pixels: npt.NDArray[np.uint8]) -> bool:
    """Decode several of `encode_png`'s files of one size, and leave the interpreter's lock once.

    files: list of uint8 arrays. pixels: uint8 array (N, H, W, 3), contiguous; gets RGB.

    Returns False where one is damaged, is none of gloam's, or has another size; what the pixels are
    then is not said.
    """
    count, height, width = pixels.shape[:3]
    data = np.concatenate(files) if count > 1 else np.ascontiguousarray(files[0])
    ends = np.cumsum([len(file) for file in files], dtype=np.int64)
    if not all(map(_is_ours, np.split(data, ends[:-1]), [height] * count, [width] * count)):
        return False
    filtered = np.empty(height * (3 * width + 1) + SLACK, np.uint8)
    return bool(_decode_many(data, ends, filtered, pixels.reshape(count, height, 3 * width)))
