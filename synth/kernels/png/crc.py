"""The sum of bytes that a PNG's chunk ends with: of what deflate's own sum does not tell apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..compiling.compile import kernel
from ..types import i64, u32, u64

_ONES = u32(0xFFFFFFFF)  # what the sum begins with, and what it is inverted by at its end
_POLYNOMIAL = u32(0xEDB88320)
_RUN = 16


def _tables() -> npt.NDArray[np.uint32]:
    """Return what a byte adds to the sum with 0 to 15 bytes behind it: uint32 (16, 256)."""
    tables = np.zeros((_RUN, 256), np.uint32)
    tables[0] = np.arange(256)
    for _ in range(8):
        tables[0] = (tables[0] >> 1) ^ np.where(tables[0] & 1, _POLYNOMIAL, u32(0))
    for i in range(1, _RUN):
        tables[i] = tables[0][tables[i - 1] & 255] ^ (tables[i - 1] >> 8)
    return tables


_TABLES = _tables()


@kernel
def crc(data):
    """Return the CRC-32 of bytes (ISO/IEC 15948, annex D), sixteen of them at a time.

    By Kounavis and Berry, A Systematic Approach to Building High Performance Software-based CRC
    Generators (2005): tables of what each of the sixteen adds.

    Examples
    --------
    >>> import zlib
    >>> crc(np.frombuffer(b"noise", np.uint8)) == zlib.crc32(b"noise")
    True
    """
    known, length = _ONES, u64(data.shape[0])
    whole = length & ~u64(_RUN - 1)
    for i in range(u64(0), whole, u64(_RUN)):
        # Those that wait for the sum come last: the others are looked up meanwhile.
        fresh = u32(0)
        for j in range(4, _RUN):
            fresh ^= _TABLES[_RUN - 1 - j, data[i + u64(j)]]
        for j in range(4):
            fresh ^= _TABLES[_RUN - 1 - j, data[i + u64(j)] ^ ((known >> u32(8 * j)) & u32(255))]
        known = fresh
    for i in range(whole, length):
        known = _TABLES[0, (known ^ data[i]) & u32(255)] ^ (known >> u32(8))
    return i64(known ^ _ONES)
