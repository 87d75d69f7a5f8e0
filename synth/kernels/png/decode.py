"""A PNG file that gloam wrote to pixels, in a fifth of a general decoder's time."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

from ..arrays import Pixels
from .file import SIGNATURE, ZLIB
from .inflate import NOT_OURS, SLACK, inflate
from .unfilter import unfilter_rows

_HEAD = struct.Struct(">8s I4sIIBBBBB4x I4s 2s")  # up to the deflated data
_TAIL = struct.Struct(">I 4x I4s4x")
_MOST = 1 << 30  # pixels


def decode_png(data: npt.NDArray[np.uint8]) -> Pixels | None:
    """Decode what `encode_png` made, without the interpreter's lock for most of the time.

    Parameters
    ----------
    data : uint8 array (N)
        Of a PNG file.

    Returns
    -------
    uint8 array (H, W, 3), or None
        RGB. None for a file that is damaged, or is none of gloam's: other decoders know more kinds,
        and tell what is wrong.
    """
    if len(data) < _HEAD.size + _TAIL.size:
        return None
    data = np.ascontiguousarray(data)
    signature, size, head, width, height, *kind, length, chunk, stream = _HEAD.unpack_from(
        data.data
    )
    if (signature, size, head, kind, chunk, stream) != (
        SIGNATURE, 13, b"IHDR", [8, 2, 0, 0, 0], b"IDAT", ZLIB
    ):  # fmt: skip
        return None
    if not 0 < width * height < _MOST or len(data) != _HEAD.size - 2 + length + _TAIL.size - 4:
        return None
    # A byte of a stream holds eight of a row's at most.
    if (3 * width + 1) * height > 8 * length:
        return None
    filtered = np.empty(height * (3 * width + 1) + SLACK, np.uint8)
    behind = inflate(data, _HEAD.size, filtered)
    if behind == NOT_OURS or behind + _TAIL.size != len(data):
        return None
    filtered = filtered[:-SLACK]
    check, nothing, end = _TAIL.unpack_from(data.data, behind)
    if (nothing, end) != (0, b"IEND") or zlib.adler32(filtered.data) != check:
        return None
    pixels = np.empty((height, width, 3), np.uint8)
    if not unfilter_rows(filtered.reshape(height, -1), pixels.reshape(height, -1)):
        return None
    return pixels
