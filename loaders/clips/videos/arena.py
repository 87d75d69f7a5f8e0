"""Memory that processes share: rooms of one size, in a file without a name."""

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
"""Bytes of rooms, above which those that are free are emptied: frames among which clips are
shuffled are 1 GiB, and up to 3 are made ahead."""


class SharedMemoryArena:
    """Memory that is lent to processes, which fill it, and comes back into use.

    It grows where it was filled. Pickled as a process is started, it becomes
    an `ArenaView`.

    size: bytes of a room.

    Raises OSError when there is no place for the file.
    """

    def __init__(self, size: int) -> None:
        self.size = _pages(size)
        self._handle = _nameless()
        self._end = weakref.finalize(self, os.close, self._handle)
        self._maps: list[mmap.mmap] = []
        self._used: list[int] = []  # bytes of each room that were filled
        self._free: deque[int] = deque()
        self._staying: set[int] = set()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return ArenaView, (reduction.DupFd(self._handle), self.size)

    def take(self) -> int:
        """Return the number of a room that nobody uses."""
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
        """Take a room back."""
        self._free.append(number)  # without the lock: arrays may end while this thread has it

    def memory(self, number: int) -> Memory:
        """Return a room's memory."""
        return np.frombuffer(self._maps[number], np.uint8)

    def stay(self, number: int) -> Memory:
        """Return a room's memory, which is kept where it is from now on, for a GPU that copies."""
        self._staying.add(number)
        return self.memory(number)

    def lent(self, number: int, size: int) -> Memory:
        """Return the first bytes of a room, which is free when no array shows them any more."""
        self._used[number] = max(self._used[number], size)
        memory = np.frombuffer(self._maps[number], np.uint8, size)
        weakref.finalize(memory, self.give, number).atexit = False
        return memory

    def _trim(self) -> None:
        """Empty free rooms, if all take too much."""
        # A room that once held a long part of a video would keep that memory else.
        if sum(self._used) <= _MOST or not hasattr(mmap, "MADV_REMOVE"):
            return
        free = set(self._free) - self._staying
        for number in sorted(free, key=self._used.__getitem__, reverse=True):
            if sum(self._used) <= _MOST:
                return
            self._maps[number].madvise(mmap.MADV_REMOVE)
            self._used[number] = 0


class ArenaView:
    """A SharedMemoryArena as a process that fills it sees it.

    handle: descriptor of their file.
    size: bytes of a room.
    """

    def __init__(self, handle: Any, size: int) -> None:
        self.size, self._handle = size, handle.detach()
        self._maps: dict[int, mmap.mmap] = {}

    def memory(self, number: int) -> Memory:
        """Return a room's memory."""
        if number not in self._maps:
            self._maps[number] = _mapped(self._handle, number, self.size)
        return np.frombuffer(self._maps[number], np.uint8)


def _pages(size: int) -> int:
    return -(-max(size, 1) // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY


def _mapped(handle: int, number: int, size: int) -> mmap.mmap:
    return mmap.mmap(handle, size, offset=number * size)


def _nameless() -> int:
    """Open a file without a name: of memory, where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gloam")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
