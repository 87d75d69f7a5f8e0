"""PNG files that gloam wrote to pixels, in half of a general decoder's time."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from ..arrays import Pixels
from ..compiling.compile import kernel, scalar
from ..types import i64
from .adler import adler
from .crc import crc
from .file import SIGNATURE, ZLIB
from .inflate import NOT_OURS, SLACK, inflate_in, new_room
from .unfilter import unfilter_rows

Bytes = npt.NDArray[np.uint8]
_HEAD = np.frombuffer(
    SIGNATURE
    + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", 0, 0, 8, 2, 0, 0, 0, 0)
    + struct.pack(">I4s2s", 0, b"IDAT", ZLIB),
    np.uint8,
)
"""Up to the deflated data, with no width, height, check sum and length."""
_NAME, _WIDTH, _HEIGHT, _CHECK, _LENGTH, _SUMMED = 12, 16, 20, 29, 33, 37
_HEADED = len(_HEAD)
_FIXED = np.ones(_HEADED, np.uint8)
_FIXED[_WIDTH : _WIDTH + 8] = _FIXED[_CHECK:_SUMMED] = 0
_END = i64(int.from_bytes(b"IEND", "big"))
_TAIL = 20  # bytes: the sums of the pixels and of the chunk, and the last chunk
_MOST = 1 << 30  # pixels


@scalar
def _number_at(data, place):
    """Return the number of four bytes, the highest first."""
    return (
        (i64(data[place]) << 24)
        | (i64(data[place + 1]) << 16)
        | (i64(data[place + 2]) << 8)
        | i64(data[place + 3])
    )


@kernel
def _begin_of(data, begin, end, height, columns):
    """Return where the deflate of a file in `data` begins, of so many rows of so many samples.

    NOT_OURS for a file that is none of gloam's.
    """
    if end - begin < _HEADED + _TAIL:
        return i64(NOT_OURS)
    for i in range(_HEADED):
        if _FIXED[i] and data[begin + i] != _HEAD[i]:
            return i64(NOT_OURS)
    if (
        _number_at(data, begin + _HEIGHT) != height
        or 3 * _number_at(data, begin + _WIDTH) != columns
    ):
        return i64(NOT_OURS)
    if crc(data[begin + _NAME : begin + _CHECK]) != _number_at(data, begin + _CHECK):
        return i64(NOT_OURS)
    if end - begin != _HEADED - 2 + _number_at(data, begin + _LENGTH) + _TAIL - 4:
        return i64(NOT_OURS)
    return i64(begin + _HEADED)


@kernel
def _is_over(data, behind, end):
    """Return whether a file ends with the sum of its bytes, behind its deflate, as gloam's do."""
    if behind + _TAIL != end:
        return False
    return _number_at(data, behind + 8) == 0 and _number_at(data, behind + 12) == _END


@kernel
def _decode_many(data, ends, filtered, pixels):
    """Fill pixels (N, H, 3 W) from files that follow each other in `data`.

    `filtered` (H (3 W + 1) + SLACK) is room to work. Returns whether they are gloam's.
    """
    room = new_room()
    begin, height, columns = i64(0), i64(pixels.shape[1]), i64(pixels.shape[2])
    made = filtered[: height * (columns + 1)]
    for i in range(pixels.shape[0]):
        behind = _begin_of(data, begin, ends[i], height, columns)
        if behind != NOT_OURS:
            behind = inflate_in(data, behind, filtered, room)
        if behind == NOT_OURS or not _is_over(data, behind, ends[i]):
            return False
        # Both sums: damage may leave that of the pixels as it was.
        if crc(data[begin + _SUMMED : behind + 4]) != _number_at(data, behind + 4):
            return False
        if adler(made) != _number_at(data, behind):
            return False
        if not unfilter_rows(made.reshape(height, columns + 1), pixels[i]):
            return False
        begin = ends[i]
    return True


def png_size(data: Bytes) -> tuple[int, int] | None:
    """Return height and width that the header of a PNG tells; None for what cannot be gloam's.

    What is not None may be none of gloam's files, or damaged.
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
    filtered = np.empty(height * (3 * width + 1) + SLACK, np.uint8)
    return bool(_decode_many(data, ends, filtered, pixels.reshape(count, height, 3 * width)))
