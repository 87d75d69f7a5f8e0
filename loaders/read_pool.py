"""Threads that read images: many where files are far, one where reading takes microseconds.

Threads that each wait for microseconds only take Python's lock from one another: with sixteen a
batch in the page cache takes three times as long as with one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TypeVar

_Item = TypeVar("_Item")
_Read = TypeVar("_Read")
_PROBED = 32  # items by which a pool finds out
_NEAR = 2e-4  # seconds an item, pairs from a page cache take less than half of it
_CHUNK = 16  # items that a thread reads, one after the other


class ReadPool:
    """A pool of threads that read.

    threads: number of them where files are far.
    far: whether they are known to be, as in a store: else the first ones that are read tell.
    """

    def __init__(self, threads: int, far: bool = False) -> None:
        self._threads, self._chunk = threads, 1 if far else _CHUNK
        self._pool = ThreadPoolExecutor(threads) if far else None

    def map(self, read: Callable[[_Item], _Read], items: Sequence[_Item]) -> Iterator[_Read]:
        """Begin to read all items; returns what `read` returns of each, in order."""
        first: list[_Read] = []
        if self._pool is None:
            begun = time.perf_counter()
            first, items = [read(item) for item in items[:_PROBED]], items[_PROBED:]
            near = time.perf_counter() - begun < _NEAR * len(first)
            self._pool = ThreadPoolExecutor(1 if near else self._threads)
        chunks = [items[i : i + self._chunk] for i in range(0, len(items), self._chunk)]
        rest = self._pool.map(lambda chunk: [read(item) for item in chunk], chunks)
        return chain(first, chain.from_iterable(rest))

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
