"""Processes that decode and cut parts of videos.

Threads would wait for one another: PyAV takes the interpreter's lock several times a frame. Beside
an H200, 16 threads decoded 4,980 frames of 480 x 270 a second, as many as 4; 16 processes 21,486.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import reduction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...engines.process import begin_worker, main_left_alone, may_have_children, prepare_workers
from ...errors import LoaderError
from ...manifests.clips.segments import Segments, VideoSegment
from ...manifests.clips.video import decode_sequence
from ...manifests.sources import Location
from ...storage.store_requests import environment
from .video_order import VideoPart

T = TypeVar("T")
_segments: dict[bool, Segments] = {}
Memory = npt.NDArray[np.uint8]
_MOST = 5 << 30
"""Bytes of all buffers above which free ones are emptied: clips are shuffled within 1 GiB of
frames, and up to 3 GiB are prefetched."""


class VideoProcesses:
    """Processes that decode parts of videos into shared memory, and cut videos into parts.

    count: number of processes, at least one.
    size: bytes of the largest part, when it is decoded.

    Raises LoaderError when they cannot be started.
    """

    def __init__(self, count: int, size: int) -> None:
        if not may_have_children():
            raise LoaderError(
                "this process is a daemon, which may start none that decode videos: take workers=0"
                " and backend='torch', or start it with daemon=False"
            )
        self._lock = threading.Lock()
        start = prepare_workers([__name__, "av"], count + 1)
        try:
            self._buffers = SharedMemoryArena(size)
            context, begun_with = multiprocessing.get_context(start), (self._buffers, environment())
            self._pool = ProcessPoolExecutor(count, context, _begin_decoding, begun_with)
        except OSError as error:
            raise _not_started(error) from error

    def decode(self, part: VideoPart, lock: Callable[[int, Memory], None] | None = None) -> Memory:
        """Decode a part; returns its frames (F, H, W, 3), in shared memory.

        lock: called with the number and the memory of the buffer for the frames.

        Raises ImageRefused when a frame cannot be decoded; LoaderError when the process ended.
        """
        number = self._buffers.take()
        try:
            if lock is not None:
                lock(number, self._buffers.pin(number))
            made = self._result(_decode_in_worker, part, number)
        except Exception:  # after an interrupt the process may still write there
            self._buffers.give(number)
            raise
        if isinstance(made, np.ndarray):  # larger than the video's header says
            self._buffers.give(number)
            return made
        return self._buffers.view(number, int(np.prod(made))).reshape(made)

    def cut(self, video: Location, times: Sequence[int], *, margins: bool) -> VideoSegment:
        """Cut a part out of a video; see `Segments`.

        Raises ImageRefused when a frame is not there, or the video is damaged; LoaderError when the
        process ended.
        """
        return self._result(_cut_in_worker, video, times, margins)

    def close(self) -> None:
        """End the processes after their current tasks."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _result(self, work: Callable[..., T], *given: Any) -> T:
        try:
            return self._begin(work, *given).result()
        except BrokenProcessPool as error:
            raise LoaderError(
                "a process that decodes videos ended, perhaps because memory ran out: give fewer"
                " workers, or smaller batches"
            ) from error

    def _begin(self, work: Callable[..., T], *given: Any) -> Future[T]:
        try:
            with self._lock, main_left_alone():
                return self._pool.submit(work, *given)
        except OSError as error:
            raise _not_started(error) from error


def _not_started(error: OSError) -> LoaderError:
    return LoaderError(
        f"processes that decode videos cannot be started: {error.strerror or error}; they need a"
        " little shared memory (/dev/shm on Linux), or workers=0"
    )


_filled: SharedMemoryArena | None = None


def _begin_decoding(buffers: SharedMemoryArena, variables: dict[str, str]) -> None:
    global _filled
    begin_worker(variables)
    _filled = buffers


def _decode_in_worker(part: VideoPart, number: int) -> tuple[int, ...] | Memory:
    """Decode a part into a buffer; return the frames' shape, or the frames if they do not fit."""
    assert _filled is not None
    memory = _filled.memory(number)
    fits = True

    def allocate(shape: tuple[int, ...]) -> Memory:
        nonlocal fits
        size = int(np.prod(shape))
        fits = size <= len(memory)
        return memory[:size].reshape(shape) if fits else np.empty(shape, np.uint8)

    frames = decode_sequence(part.video, part.times, allocate)
    return frames.shape if fits else frames


def _cut_in_worker(video: Location, times: Sequence[int], margins: bool) -> VideoSegment:
    return _segments.setdefault(margins, Segments(margins)).cut(video, times)


class SharedMemoryArena:
    """Shared buffers that worker processes fill and that are reused once they are read.

    The file takes memory as buffers are filled. A worker process gets the same file (by pickle).

    size: bytes of a buffer.
    handle: descriptor of the file, where there is one already.

    Raises OSError when the file cannot be made.
    """

    def __init__(self, size: int, handle: int | None = None) -> None:
        self.size = -(-max(size, 1) // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._handle = _open_unnamed_file() if handle is None else handle
        self._end = weakref.finalize(self, os.close, self._handle)
        self._maps: dict[int, mmap.mmap] = {}
        self._used: list[int] = []  # bytes of each buffer that were filled
        self._free: deque[int] = deque()
        self._pinned: set[int] = set()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _receive_arena, (self.size, reduction.DupFd(self._handle))

    def take(self) -> int:
        """Return the number of a free buffer."""
        with self._lock:
            self._empty_free_buffers()
            try:
                return self._free.pop()
            except IndexError:
                os.ftruncate(self._handle, (len(self._used) + 1) * self.size)
                self._used.append(0)
                return len(self._used) - 1

    def give(self, number: int) -> None:
        """Free a buffer."""
        self._free.append(number)  # without the lock: arrays may end while this thread has it

    def memory(self, number: int) -> Memory:
        """Return a buffer's memory."""
        return np.frombuffer(self._map_buffer(number), np.uint8)

    def pin(self, number: int) -> Memory:
        """Return a buffer's memory and never empty it: a GPU has its pages locked."""
        self._pinned.add(number)
        return self.memory(number)

    def view(self, number: int, size: int) -> Memory:
        """Return the first bytes of a buffer; it is free once no array refers to them."""
        self._used[number] = max(self._used[number], size)
        memory = np.frombuffer(self._map_buffer(number), np.uint8, size)
        weakref.finalize(memory, self.give, number).atexit = False
        return memory

    def _empty_free_buffers(self) -> None:
        """Empty free buffers if all together take too much memory."""
        # Otherwise a buffer would keep the memory of the longest part of a video that it had.
        if sum(self._used) <= _MOST or not hasattr(mmap, "MADV_REMOVE"):
            return
        free = set(self._free) - self._pinned
        for number in sorted(free, key=self._used.__getitem__, reverse=True):
            if sum(self._used) <= _MOST:
                return
            self._map_buffer(number).madvise(mmap.MADV_REMOVE)
            self._used[number] = 0

    def _map_buffer(self, number: int) -> mmap.mmap:
        if number not in self._maps:
            self._maps[number] = mmap.mmap(self._handle, self.size, offset=number * self.size)
        return self._maps[number]


def _receive_arena(size: int, handle: Any) -> SharedMemoryArena:
    return SharedMemoryArena(size, handle.detach())


def _open_unnamed_file() -> int:
    """Open an unnamed file, in memory if the system has memfd_create."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gloam")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
