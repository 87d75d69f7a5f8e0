"""Parts of videos decoded by PyAV, in threads: what runs in place of a DALI pipeline of them."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...manifests.clips.video import decoded_sequence
from .video_order import Part, Runs

_AHEAD = 2  # runs that are decoded while others are used: a window of shuffled clips is two


class OnGpu(list[Any]):
    """Tensors of torch on a GPU, with the shapes that lists of DALI tell."""

    def shape(self) -> list[tuple[int, ...]]:
        """Return that of each."""
        return [tuple(one.shape) for one in self]


class OnHost(list[npt.NDArray[np.uint8]]):
    """Arrays, that are found as those of DALI are."""

    at = list.__getitem__


class DecodingThreads:
    """Sequences of frames of parts of videos, run by run; exactly those of PyAV.

    Parameters
    ----------
    runs : Runs
    pool : Executor
        Of threads, which decode without the interpreter's lock.
    device_id : int, optional
        Number of the GPU that frames are copied to.
    """

    def __init__(self, runs: Runs, pool: Executor, device_id: int | None = None) -> None:
        self._runs, self._pool, self._device = runs, pool, device_id
        self._decode: Any = _decoded if device_id is None else partial(_to_gpu, device_id=device_id)
        self._begun: dict[int, list[Future[Any]]] = {}
        self._done = 0

    def run(self, stream: Any = None) -> tuple[Any]:
        """Return the next run's sequences (F, H, W, 3).

        Raises
        ------
        ImageRefused
            When a frame cannot be decoded.
        """
        for run in range(self._done, self._done + _AHEAD + 1):
            if run not in self._begun:
                schedule, own = self._runs.of_run(run)
                self._begun[run] = [
                    self._pool.submit(self._decode, part) for part in schedule.parts(own)
                ]
        made = [one.result() for one in self._begun.pop(self._done)]
        self._done += 1
        return (OnHost(made) if self._device is None else OnGpu(made),)


def _decoded(part: Part) -> npt.NDArray[np.uint8]:
    return decoded_sequence(part.video, part.times, lambda shape: np.empty(shape, np.uint8))


def _to_gpu(part: Part, device_id: int) -> Any:
    """Decode into page-locked memory, which a GPU copies from by itself; return what it has then.

    Torch keeps such memory for the next part.
    """
    import torch

    def room(shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
        locked: npt.NDArray[np.uint8] = torch.empty(
            shape, dtype=torch.uint8, pin_memory=True
        ).numpy()
        return locked

    frames = decoded_sequence(part.video, part.times, room)
    own = torch.cuda.Stream(device_id)
    with torch.cuda.stream(own):
        made = torch.from_numpy(frames).to(f"cuda:{device_id}", non_blocking=True)
    own.synchronize()  # the memory is filled anew
    return made
