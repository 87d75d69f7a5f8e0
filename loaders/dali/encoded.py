"""Encoded pairs for DALI's external source.

They are read at their offsets, by several threads, in the order of each epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from ...manifests.sets.layouts.extents import Extent
from ..columns import Pairs, read_extent

_NEAR = 4096  # bytes between two members that are read at once


class EncodedPairs:
    """What an external source calls: encoded batches by number, epoch after epoch.

    What an epoch's last batch lacks is filled with its last pair.

    Parameters
    ----------
    pairs : Pairs
    nearest : function of an Extent
        Returns where its bytes are nearest.
    orders : function of an epoch's number
        That returns the numbers of its pairs, in order.
    base : int
        Number of the first epoch.
    batches : int
        An epoch has.
    batch_size, threads : int
    """

    def __init__(
        self,
        pairs: Pairs,
        nearest: Callable[[Extent], Extent],
        orders: Callable[[int], Any],
        base: int,
        batches: int,
        batch_size: int,
        threads: int,
    ) -> None:
        self._nearest = nearest
        self._pairs, self._orders, self._base, self._batches = (
            pairs,
            lru_cache(maxsize=2)(orders),
            base,
            batches,
        )
        self._batch_size = batch_size
        self._pool = ThreadPoolExecutor(threads)

    def __call__(self, info: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Return lows, normals (uint8 arrays of encoded bytes) and numbers of DALI's next batch."""
        numbers = self._numbers(info)
        arrays = list(self._pool.map(self._read, numbers))
        return (
            [low for low, _ in arrays],
            [normal for _, normal in arrays],
            [np.array([n], np.int64) for n in numbers],
        )

    def normals(self, info: Any) -> tuple[list[Any], list[Any]]:
        """Return normals and numbers alone of DALI's next batch, where lows are made live."""
        numbers = self._numbers(info)
        pairs = [self._pairs[number] for number in numbers]
        data = self._pool.map(
            lambda pair: np.frombuffer(read_extent(self._nearest(pair.normal)), np.uint8), pairs
        )
        return list(data), [np.array([n], np.int64) for n in numbers]

    def _numbers(self, info: Any) -> list[int]:
        """Return the numbers of the pairs of DALI's next batch."""
        epoch, batch = divmod(info.iteration, self._batches)
        order = self._orders(self._base + epoch)
        start = batch * self._batch_size
        places = np.minimum(np.arange(start, start + self._batch_size), len(order) - 1)
        numbers: list[int] = order[places].tolist()
        return numbers

    def _read(self, number: int) -> tuple[Any, Any]:
        """Read both images of a pair; in a tar they lie side by side, and are read at once."""
        pair = self._pairs[number]
        low, normal = self._nearest(pair.low), self._nearest(pair.normal)
        if (
            low.size > 0
            and low.path == normal.path
            and 0 <= normal.offset - low.offset - low.size < _NEAR
        ):
            whole = np.frombuffer(
                read_extent(Extent(low.path, low.offset, normal.offset + normal.size - low.offset)),
                np.uint8,
            )
            return whole[: low.size], whole[normal.offset - low.offset :]
        return np.frombuffer(read_extent(low), np.uint8), np.frombuffer(
            read_extent(normal), np.uint8
        )
