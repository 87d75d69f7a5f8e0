"""Parts of videos decoded by PyAV, ahead: what runs in place of a DALI pipeline of them."""

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


class OnGpu(list[Any]):
    """Tensors of torch on a GPU, with the shapes that lists of DALI tell."""

    def shape(self) -> list[tuple[int, ...]]:
        """Return that of each."""
        return [tuple(one.shape) for one in self]


class OnHost(list[npt.NDArray[np.uint8]]):
    """Arrays, that are found as those of DALI are."""

    at = list.__getitem__


class DecodedParts:
    """Sequences of frames of parts of videos, run by run; exactly those of PyAV.

    groups: those of the clips.
    workers: processes that decode; with 0 a thread of this one does.
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

    def run(self, stream: Any = None) -> tuple[Any]:
        """Return the next run's sequences (F, H, W, 3).

        Raises ImageRefused when a frame cannot be decoded; LoaderError when a process that decodes
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
        return (OnHost(made) if self._device is None else OnGpu(made),)

    def close(self) -> None:
        """End the threads and processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._processes is not None:
            self._processes.close()

    def _decoded(self, part: VideoPart) -> Any:
        if self._processes is None:
            frames = decode_sequence(part.video, part.times, _memory)
        elif self._locked is None:
            frames = self._processes.decode(part)
        else:
            frames = self._processes.decode(part, self._locked.lock)
        return frames if self._device is None else _on_gpu(frames, self._device)


def runs_ahead(groups: Groups, workers: int) -> int:
    """Return how many runs are best decoded ahead: each process has a part, if memory allows."""
    each = groups.at_once
    wanted, most = -(-workers // each), _MOST_AHEAD // (each * max(int(groups.sizes.max()), 1))
    return max(_AHEAD, min(wanted, most))


def _memory(shape: tuple[int, ...]) -> Memory:
    return np.empty(shape, np.uint8)


class _Locked:
    """Shared memory whose pages are locked, so that a GPU copies from it by itself.

    They stay so until nobody holds this any more: a room is filled again and again.
    """

    def __init__(self, device_id: int) -> None:
        self._device = device_id
        self._held: dict[int, Memory] = {}
        self._lock = threading.Lock()
        # A process that ends gives them back anyway, and has no CUDA then to ask.
        weakref.finalize(self, _unlock, self._held).atexit = False

    def lock(self, number: int, memory: Memory) -> None:
        """Lock a room that was not yet; where that is refused, copies take longer."""
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
