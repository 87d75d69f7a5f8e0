"""Random numbers for the parameters of many images: a keyed hash of (seed, key, purpose, index).

None depends on another. A generator with a state would shift every later parameter when a recipe
gains one; here a parameter keeps its number for a (seed, key) whatever else the recipe says. That
is what makes "the same pairs, only with other noise" possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.numbers.blake2b import as_words, first_words, moved_on
from ..kernels.numbers.library import normal_quantile
from .distributions import Constant, Distribution
from .keyed_bits import keyed_bits, uniform_of

Floats = npt.NDArray[np.float64]
_moved_on = lru_cache(maxsize=4096)(moved_on)


class Ragged(NamedTuple):
    """A column of several numbers an image, not as many in each."""

    table: Any  # array (N, most) of each image its numbers, then anything
    counts: npt.NDArray[np.int64]  # (N)

    @property
    def own(self) -> npt.NDArray[np.bool_]:
        """Return which of the table's places are numbers of their image (N, most)."""
        own: npt.NDArray[np.bool_] = np.arange(self.table.shape[1]) < self.counts[:, None]
        return own

    def first(self, counts: npt.NDArray[np.int64]) -> Ragged:
        """Return the first so many numbers of each image (N)."""
        return Ragged(self.table[:, : int(counts.max(initial=0))], counts)

    def tolist(self) -> list[tuple[Any, ...]]:
        """Return the numbers of each image."""
        rows = zip(self.table.tolist(), self.counts.tolist(), strict=True)
        return [tuple(row[:count]) for row, count in rows]


Columns = dict[str, Any]
"""Values of many images by their path, such as "exposure.ev": arrays (N), or `Ragged`."""


class Keys:
    """The keys of many pairs, for random numbers of any seed."""

    def __init__(self, keys: Sequence[str]) -> None:
        ends = [f"\0{key}\0".encode() for key in keys]
        self.lengths = np.array([len(end) for end in ends], np.int64)
        self.bytes = as_words(ends).view(np.uint8)

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, places: npt.NDArray[np.integer[Any]]) -> Keys:
        """Return some of the keys, in that order."""
        some = object.__new__(Keys)
        some.lengths, some.bytes = self.lengths[places], self.bytes[places]
        return some

    def after(self, seed: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """Return a seed and each key as words (N, P), and their lengths in bytes."""
        head = np.frombuffer(str(seed).encode(), np.uint8)
        count, width = self.bytes.shape
        made = np.zeros((count, -(-(len(head) + width) // 8) * 8), np.uint8)
        made[:, : len(head)], made[:, len(head) : len(head) + width] = head, self.bytes
        return made.view(np.uint64), self.lengths + len(head)


class KeyedColumns:
    """The random numbers of many images of a set, none of which depends on another image.

    seed: of the set. keys: of the pairs.
    """

    def __init__(self, seed: int, keys: Sequence[str] | Keys) -> None:
        known = keys if isinstance(keys, Keys) else Keys(keys)
        self._prefixes, self._lengths = known.after(seed)

    def __len__(self) -> int:
        return len(self._lengths)

    def those(self, chosen: npt.NDArray[np.bool_]) -> KeyedColumns:
        """Return the random numbers of the images that a mask (N) chooses."""
        if chosen.all():
            return self
        some = object.__new__(KeyedColumns)
        some._lengths, some._prefixes = self._lengths[chosen], self._prefixes[chosen]
        return some

    def bits(self, purpose: str, index: int = 0) -> npt.NDArray[np.uint64]:
        """Draw 64 random bits for each image.

        They are the first 8 bytes, little-endian, of the BLAKE2b (personal "gloam draw") of seed,
        key, purpose and index, with a zero byte after each of the first three.
        """
        if len(self) == 1:  # hashlib is faster at one
            start = self._prefixes[0].tobytes()[: self._lengths[0]]
            return np.frombuffer(keyed_bits(start, purpose, index), np.uint64)
        end = f"{purpose}\0{index}".encode()
        words = np.empty(len(self), np.uint64)
        first_words(self._prefixes, self._lengths, _moved_on(end), len(end), words)
        return words

    def uniform(self, purpose: str, index: int = 0) -> Floats:
        """Draw a number strictly between 0 and 1 for each image."""
        return uniform_of(self.bits(purpose, index))

    def gaussian(self, purpose: str, index: int = 0) -> Floats:
        """Draw from the standard normal distribution for each image."""
        return normal_quantile(self.uniform(purpose, index))

    def values(self, distribution: Distribution, purpose: str, index: int = 0) -> Any:
        """Draw a value for each image, as an array; a constant costs no random number."""
        if isinstance(distribution, Constant):
            return np.full(len(self), distribution.value)
        return distribution.quantile(self.uniform(purpose, index))

    def numbers(self, distribution: Distribution, purpose: str, index: int = 0) -> Floats:
        """Draw a number for each image."""
        drawn: Floats = self.values(distribution, purpose, index).astype(np.float64)
        return drawn

    def several(
        self, distribution: Distribution, purpose: str, counts: npt.NDArray[np.int64]
    ) -> Ragged:
        """Draw so many numbers of a distribution for each image (N)."""
        if isinstance(distribution, Constant):
            shape = len(self), int(counts.max(initial=0))
            return Ragged(np.full(shape, float(distribution.value)), counts)
        return self.ragged(counts, lambda those, i: those.numbers(distribution, purpose, i))

    def ragged(
        self, counts: npt.NDArray[np.int64], one: Callable[[KeyedColumns, int], Any]
    ) -> Ragged:
        """Draw so many numbers for each image (N), the i-th of some by `one(those, i)`."""
        table = np.zeros((len(self), int(counts.max(initial=0))))
        those, chosen = self, len(self)
        for i in range(table.shape[1]):
            own = counts > i
            if int(own.sum()) != chosen:
                those, chosen = self.those(own), int(own.sum())
            table[own, i] = one(those, i)
        return Ragged(table, counts)
