"""Parts of videos decoded by PyAV, in threads: what runs in place of a DALI pipeline of them."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import numpy.typing as npt

from ...manifests.clips.video import decoded_frames
from .video_order import Part, Runs

_AHEAD = 1  # runs that are decoded while one is used


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
    on_gpu : bool
        Whether frames are copied to torch's current GPU.
    """

    def __init__(self, runs: Runs, pool: Executor, on_gpu: bool) -> None:
        self._runs, self._pool, self._on_gpu = runs, pool, on_gpu
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
                self._begun[run] = [self._pool.submit(_decoded, p) for p in schedule.parts(own)]
        made = [one.result() for one in self._begun.pop(self._done)]
        self._done += 1
        if not self._on_gpu:
            return (OnHost(made),)
        import torch

        return (OnGpu(torch.from_numpy(frames).to("cuda") for frames in made),)


def _decoded(part: Part) -> npt.NDArray[np.uint8]:
    return np.stack(decoded_frames(part.video, part.times))
