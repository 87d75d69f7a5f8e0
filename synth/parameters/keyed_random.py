"""Random numbers for the parameters of many images: a keyed hash of (seed, key, purpose, index).

None depends on another. A generator with a state would shift every later parameter when a recipe
gains one; here a parameter keeps its number for a (seed, key) whatever else the recipe says. That
is what makes "the same pairs, only with other noise" possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.numbers.blake2b import as_words, first_words, moved_on
from ..kernels.numbers.library import normal_quantile
from .distributions import Constant, Distribution

Floats = npt.NDArray[np.float64]


class Ragged(NamedTuple):
    """A column of several numbers an image, not as many in each."""

    table: Any  # array (N, most) of each image its numbers, then anything
    counts: npt.NDArray[np.int64]  # (N)

    @property
    def own(self) -> npt.NDArray[np.bool_]:
        """Return which of the table's places are numbers of their image (N, most)."""
        return np.arange(self.table.shape[1]) < self.counts[:, None]

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
        ends = [f"\0{key}\0".encode("utf-8", "surrogatepass") for key in keys]
        self.lengths = np.array([len(end) for end in ends], np.int64)
        self.bytes = as_words(ends).view(np.uint8)

    def __len__(self) -> int:
        return len(self.lengths)

    def after(self, seed: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """Return a seed and each key as words (N, P), and their lengths in bytes."""
        head = np.frombuffer(str(seed).encode(), np.uint8)
        count, width = self.bytes.shape
        made = np.zeros((count, -(-(len(head) + width) // 8) * 8), np.uint8)
        made[:, : len(head)], made[:, len(head) : len(head) + width] = head, self.bytes
        return made.view(np.uint64), self.lengths + len(head)


def uniform_of(bits: npt.NDArray[np.uint64]) -> Floats:
    """Return a number strictly between 0 and 1 for each 64 random bits."""
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


class KeyedRandom:
    """The random numbers of many images of a set, none of which depends on another image.

    seed: of the set. keys: of the pairs.
    """

    def __init__(self, seed: int, keys: Sequence[str] | Keys) -> None:
        known = keys if isinstance(keys, Keys) else Keys(keys)
        self._prefixes, self._lengths = known.after(seed)

    def __len__(self) -> int:
        return len(self._lengths)

    def take(self, places: npt.NDArray[np.int64]) -> KeyedRandom:
        """Return the random numbers of some of the images."""
        some = object.__new__(KeyedRandom)
        some._lengths, some._prefixes = self._lengths[places], self._prefixes[places]
        return some

    def bits(self, purposes: Sequence[str], times: int = 1) -> npt.NDArray[np.uint64]:
        r"""Draw 64 random bits for each purpose, so many times, and image: uint64 (P * times, N).

        Purpose by purpose: the first 8 bytes, as a little-endian number, of

            hashlib.blake2b(f"{seed}\0{key}\0{purpose}\0{index}".encode(), person=b"gloam draw")

        where the index counts times from 0 on.
        """
        ends, sizes = _ends(tuple(purposes), times)
        words = np.empty((len(sizes), len(self)), np.uint64)
        first_words(self._prefixes, self._lengths, ends, sizes, words)
        return words

    def uniforms(self, purposes: Sequence[str], times: int = 1) -> Floats:
        """Draw numbers strictly between 0 and 1 for each purpose and image; see `bits`."""
        return uniform_of(self.bits(purposes, times))

    def uniform(self, purpose: str) -> Floats:
        """Draw a number strictly between 0 and 1 for each image."""
        return self.uniforms([purpose])[0]

    def gaussians(self, purpose: str, times: int) -> Floats:
        """Draw so many numbers of the standard normal distribution for each image (times, N)."""
        uniform = self.uniforms([purpose], times)
        return normal_quantile(uniform.ravel()).reshape(uniform.shape)

    def values(self, distributions: Mapping[str, Distribution]) -> Columns:
        """Draw a value of each distribution, by its purpose, for each image; none is `Constant`."""
        uniform = self.uniforms(list(distributions)) if distributions else ()
        drawn = zip(distributions.items(), uniform, strict=True)
        return {path: one.quantile(numbers) for (path, one), numbers in drawn}

    def several(
        self, distributions: Mapping[str, Distribution], counts: npt.NDArray[np.int64]
    ) -> dict[str, Ragged]:
        """Draw so many numbers of each distribution for each image (N).

        distributions: by their purposes.
        """
        drawn = [path for path, one in distributions.items() if not isinstance(one, Constant)]
        shape = len(self), int(np.maximum.reduce(counts, initial=0))
        columns = {path: Ragged(np.zeros(shape), counts) for path in distributions}
        for path, one in distributions.items():
            if isinstance(one, Constant):
                columns[path].table[:] = one.value
        if drawn and shape[1]:
            own = columns[drawn[0]].own
            uniform = self.uniforms(drawn, shape[1]).reshape(len(drawn), shape[1], -1)
            for path, numbers in zip(drawn, uniform, strict=True):
                columns[path].table[own] = distributions[path].quantile(numbers.T[own])
        return columns


def distinct(rows: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return each row of an array (N, K) once, in the order of appearance, and of each its number.

    By their bytes: sorting them, or tuples of them, takes several times as long.
    """
    packed = np.ascontiguousarray(rows, np.float64) + 0.0  # -0 is 0
    known: dict[bytes, int] = {}
    kind = f"S{packed.shape[1] * packed.itemsize}"
    numbers = [known.setdefault(row, len(known)) for row in packed.view(kind).ravel().tolist()]
    firsts = np.empty(len(known), np.int64)
    firsts[numbers[::-1]] = np.arange(len(packed))[::-1]
    return packed[firsts], np.array(numbers, np.int64)


@lru_cache(maxsize=1024)
def _ends(
    purposes: tuple[str, ...], times: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return the ends of the messages of `KeyedRandom.bits`, and their lengths in bytes."""
    ends = [f"{purpose}\0{i}".encode() for purpose in purposes for i in range(times)]
    return moved_on(ends), np.array([len(end) for end in ends], np.int64)
