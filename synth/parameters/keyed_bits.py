"""One random number of a (seed, key, purpose, index), by hashlib; `keyed_columns` draws many.

It needs no kernels, which take half a second to load.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt


def keyed_bits(start: bytes, purpose: str, index: int = 0) -> bytes:
    """Return 64 random bits, little-endian.

    start: seed and key, a zero byte after each.
    """
    message = start + f"{purpose}\0{index}".encode()
    return blake2b(message, person=b"gloam draw").digest()[:8]


def uniform_of(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Return a number strictly between 0 and 1 for each 64 random bits."""
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
