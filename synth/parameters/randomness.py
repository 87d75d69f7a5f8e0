"""Random numbers for parameters: a keyed hash of (seed, key, purpose, index).

None depends on another. A generator with a state would shift every later parameter when a recipe
gains one; here a parameter keeps its number for a (seed, key) whatever else the recipe says. That
is what makes "the same pairs, only with other noise" possible.
"""

from __future__ import annotations

import hashlib
from statistics import NormalDist

_NORMAL = NormalDist()


class KeyedRandom:
    """The random numbers of one image.

    Parameters
    ----------
    seed : int
        Of the set.
    key : str
        Of the pair.
    """

    def __init__(self, seed: int, key: str) -> None:
        self._hash = hashlib.blake2b(f"{seed}\0{key}\0".encode(), person=b"gloam draw")

    def bits(self, purpose: str, index: int = 0) -> int:
        """Draw 64 random bits."""
        hasher = self._hash.copy()
        hasher.update(f"{purpose}\0{index}".encode())
        return int.from_bytes(hasher.digest()[:8], "little")

    def uniform(self, purpose: str, index: int = 0) -> float:
        """Draw a number strictly between 0 and 1, a multiple of 2^-53 and half of one."""
        return ((self.bits(purpose, index) >> 12) + 0.5) * 2.0**-52

    def gaussian(self, purpose: str, index: int = 0) -> float:
        """Draw from the standard normal distribution."""
        return _NORMAL.inv_cdf(self.uniform(purpose, index))
