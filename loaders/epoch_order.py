"""Seeds and orders of epochs: functions of (seed, epoch)."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt


def epoch_seed(seed: int, epoch: int, purpose: str) -> int:
    """Return a 31-bit seed for one purpose of one epoch."""
    digest = hashlib.blake2b(
        f"{seed}\0{epoch}\0{purpose}".encode(), digest_size=8, person=b"gloam load"
    ).digest()
    return int.from_bytes(digest, "little") & 0x7FFFFFFF


def epoch_order(count: int, seed: int, epoch: int, shuffle: bool) -> npt.NDArray[np.int64]:
    """Return the numbers 0 to count - 1, shuffled or not; equal on all ranks."""
    if not shuffle:
        return np.arange(count)
    return np.random.Generator(np.random.Philox(key=epoch_seed(seed, epoch, "order"))).permutation(
        count
    )
