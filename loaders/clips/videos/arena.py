"""Shared memory of several processes: buffers of one size in an unnamed file."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import weakref
from collections import deque
from multiprocessing import reduction
from typing import Any

import numpy as np
import numpy.typing as npt

Memory = npt.NDArray[np.uint8]
_MOST = 5 << 30
"""Bytes of all buffers above which free ones are emptied: clips are shuffled within 1 GiB of
frames, and up to 3 GiB are prefetched."""


class SharedMemoryArena:
    """Shared buffers that worker processes fill and that are reused once they are read.

    The file takes memory as buffers are filled. A worker process gets an `ArenaView` (by pickle).

    size: bytes of a buffer.

    Raises OSError when the file cannot be made.
    """

    def __init__(self, size: int) -> None:
        self.size = _pages(size)
        self._handle = _nameless()
        self._end = weakref.finalize(self, os.close, self._handle)
        self._maps: list[mmap.mmap] = []
        self._used: list[int] = []  # bytes of each buffer that were filled
        self._free: deque[int] = deque()
        self._pinned: set[int] = set()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return ArenaView, (reduction.DupFd(self._handle), self.size)

    def take(self) -> int:
        """Return the number of a free buffer."""
        with self._lock:
            self._trim()
            try:
                return self._free.pop()
            except IndexError:
                number = len(self._maps)
                os.ftruncate(self._handle, (number + 1) * self.size)
                self._maps.append(_mapped(self._handle, number, self.size))
                self._used.append(0)
                return number

    def give(self, number: int) -> None:
        """Free a buffer."""
        self._free.append(number)  # without the lock: arrays may end while this thread has it

    def memory(self, number: int) -> Memory:
        """Return a buffer's memory."""
        return np.frombuffer(self._maps[number], np.uint8)

    def pin(self, number: int) -> Memory:
        """Return a buffer's memory and never empty it: a GPU has its pages locked."""
        self._pinned.add(number)
        return self.memory(number)

    def view(self, number: int, size: int) -> Memory:
        """Return the first bytes of a buffer; it is free once no array refers to them."""
        self._used[number] = max(self._used[number], size)
        memory = np.frombuffer(self._maps[number], np.uint8, size)
        weakref.finalize(memory, self.give, number).atexit = False
        return memory

    def _trim(self) -> None:
        """Empty free buffers if all together take too much memory."""
        # Otherwise a buffer would keep the memory of the longest part of a video that it had.
        if sum(self._used) <= _MOST or not hasattr(mmap, "MADV_REMOVE"):
            return
        free = set(self._free) - self._pinned
        for number in sorted(free, key=self._used.__getitem__, reverse=True):
            if sum(self._used) <= _MOST:
                return
            self._maps[number].madvise(mmap.MADV_REMOVE)
            self._used[number] = 0


class ArenaView:
    """The `SharedMemoryArena` of a parent process, as its worker process sees it.

    handle: descriptor of the file.
    size: bytes of a buffer.
    """

    def __init__(self, handle: Any, size: int) -> None:
        self.size, self._handle = size, handle.detach()
        self._maps: dict[int, mmap.mmap] = {}

    def memory(self, number: int) -> Memory:
        """Return a buffer's memory."""
        if number not in self._maps:
            self._maps[number] = _mapped(self._handle, number, self.size)
        return np.frombuffer(self._maps[number], np.uint8)


def _pages(size: int) -> int:
    return -(-max(size, 1) // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY


def _mapped(handle: int, number: int, size: int) -> mmap.mmap:
    return mmap.mmap(handle, size, offset=number * size)


def _nameless() -> int:
    """Open an unnamed file, in memory if the system has memfd_create."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gloam")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
