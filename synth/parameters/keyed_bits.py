"""One random number of a (seed, key, purpose, index), by hashlib; `columns` draws those of many.

It needs no kernels, which take half a second to load.
"""

from __future__ import annotations

from hashlib import blake2b


def keyed_bits(start: bytes, purpose: str, index: int = 0) -> bytes:
    """Return 64 random bits, little-endian.

    start: seed and key, a zero byte after each.
    """
    message = start + f"{purpose}\0{index}".encode()
    return blake2b(message, person=b"gloam draw").digest()[:8]
