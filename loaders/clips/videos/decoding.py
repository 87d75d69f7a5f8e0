"""Decode parts of videos with PyAV, ahead of use."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from ....manifests.clips.video import decode_sequence
from .arena import Memory
from .order import Groups, Runs, VideoPart
from .processes import VideoProcesses

_AHEAD = 2  # runs that are decoded while others are used: a window of shuffled clips is two
_MOST_AHEAD = 3 << 30  # bytes of more runs, where a run has fewer parts than there are processes


class PyavParts:
    """Sequences of frames of parts of videos, run by run, decoded by PyAV.

    groups: groups of the clips.
    workers: number of decoding processes; with 0 a thread of this process decodes.
    device_id: number of the GPU that frames are copied to.
    """

    def __init__(
        self, runs: Runs, groups: Groups, workers: int, device_id: int | None = None
    ) -> None:
        self._runs, self._device = runs, device_id
        self._begun: dict[int, list[Future[Any]]] = {}
        self._done = 0
        self._ahead = runs_ahead(groups, workers)
        self._threads = ThreadPoolExecutor(max(2 * workers, 1))  # some of which copy
        self._processes = VideoProcesses(workers, int(groups.sizes.max())) if workers else None
        self._locked = None if device_id is None else _Locked(device_id)

    def __call__(self, stream: Any = None) -> list[Any]:
        """Return the next run's sequences (F, H, W, 3).

        Raises ImageRefused when a frame cannot be decoded; LoaderError when a decoding process
        ended.
        """
        for run in range(self._done, self._done + self._ahead + 1):
            if run not in self._begun:
                schedule, own = self._runs.of_run(run)
                self._begun[run] = [
                    self._threads.submit(self._decoded, part) for part in schedule.parts(own)
                ]
        made = [one.result() for one in self._begun.pop(self._done)]
        self._done += 1
        return made

    def close(self) -> None:
        """End the threads and processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._processes is not None:
            self._processes.close()

    def _decoded(self, part: VideoPart) -> Any:
        if self._processes is None:
            frames = decode_sequence(
                part.video, part.times, lambda shape: np.empty(shape, np.uint8)
            )
        elif self._locked is None:
            frames = self._processes.decode(part)
        else:
            frames = self._processes.decode(part, self._locked.lock)
        return frames if self._device is None else _on_gpu(frames, self._device)


def runs_ahead(groups: Groups, workers: int) -> int:
    """Return how many runs to decode ahead: a part for each process, if memory allows."""
    each = groups.at_once
    wanted, most = -(-workers // each), _MOST_AHEAD // (each * max(int(groups.sizes.max()), 1))
    return max(_AHEAD, min(wanted, most))


class _Locked:
    """Shared memory with locked pages, for asynchronous copies to a GPU.

    Pages stay locked for the lifetime of this object, as buffers are reused.
    """

    def __init__(self, device_id: int) -> None:
        self._device = device_id
        self._held: dict[int, Memory] = {}
        self._lock = threading.Lock()
        # A process that ends gives them back anyway, and has no CUDA then to ask.
        weakref.finalize(self, _unlock, self._held).atexit = False

    def lock(self, number: int, memory: Memory) -> None:
        """Lock a buffer's pages at its first use; if CUDA refuses, copies are slower."""
        import torch

        with self._lock:
            if number in self._held:
                return
            self._held[number] = memory
        with torch.cuda.device(self._device):
            refused = torch.cuda.cudart().cudaHostRegister(memory.ctypes.data, memory.nbytes, 0)
        if int(refused):
            self._held[number] = memory[:0]


def _unlock(held: dict[int, Memory]) -> None:
    import torch

    for memory in held.values():
        if memory.nbytes:
            torch.cuda.cudart().cudaHostUnregister(memory.ctypes.data)


def _on_gpu(frames: npt.NDArray[np.uint8], device_id: int) -> Any:
    import torch

    own = torch.cuda.Stream(device_id)
    with torch.cuda.stream(own):
        made = torch.from_numpy(frames).to(f"cuda:{device_id}", non_blocking=True)
    own.synchronize()  # the memory is filled anew
    return made
