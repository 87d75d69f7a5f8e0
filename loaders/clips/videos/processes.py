"""Processes that decode and cut parts of videos.

Threads would wait for one another: PyAV takes the interpreter's lock several times a frame. Beside
an H200, 16 threads decoded 4,980 frames of 480 x 270 a second, as many as 4; 16 processes 21,486.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

import numpy as np

from ....engines.process import begin_child, main_left_alone, may_have_children, prepare_workers
from ....errors import LoaderError
from ....manifests.clips.segments import Segments, VideoSegment
from ....manifests.clips.video import decode_sequence
from ....manifests.sources import Location
from ....storage.store_requests import environment, take_environment
from .arena import ArenaView, Memory, SharedMemoryArena
from .order import VideoPart

T = TypeVar("T")


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
        self._buffers = SharedMemoryArena(size)
        self._lock = threading.Lock()
        start = prepare_workers([__name__, "av"], count + 1)
        try:
            self._pool = ProcessPoolExecutor(
                count,
                mp_context=multiprocessing.get_context(start),
                initializer=_begin,
                initargs=(self._buffers, environment()),
            )
        except OSError as error:
            raise LoaderError(
                f"processes that decode videos cannot be started: {error.strerror or error}; they"
                " need a little shared memory (/dev/shm on Linux), or workers=0"
            ) from error

    def decode(self, part: VideoPart, lock: Callable[[int, Memory], None] | None = None) -> Memory:
        """Decode a part; returns its frames (F, H, W, 3), in shared memory.

        lock: called with the number and the memory of the buffer for the frames.

        Raises ImageRefused when a frame cannot be decoded; LoaderError when the process ended.
        """
        number = self._buffers.take()
        try:
            if lock is not None:
                lock(number, self._buffers.pin(number))
            made = self._result(_decode, part, number)
        except BaseException:
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
        return self._result(_cut, video, times, margins)

    def close(self) -> None:
        """End the processes after their current tasks."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _result(self, work: Callable[..., T], *given: Any) -> T:
        try:
            with self._lock, main_left_alone():
                asked = self._pool.submit(work, *given)
            return asked.result()
        except BrokenProcessPool as error:
            raise LoaderError(
                "a process that decodes videos ended, perhaps because memory ran out: give fewer"
                " workers, or smaller batches"
            ) from error


_filled: ArenaView | None = None
_segments: dict[bool, Segments] = {}


def _begin(buffers: Any, variables: dict[str, str]) -> None:
    """Prepare a worker process; `buffers` arrives as an `ArenaView`."""
    global _filled
    take_environment(variables)
    _filled = buffers
    begin_child()


def _decode(part: VideoPart, number: int) -> tuple[int, ...] | Memory:
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


def _cut(video: Location, times: Sequence[int], margins: bool) -> VideoSegment:
    return _segments.setdefault(margins, Segments(margins)).cut(video, times)
