"""Draws of live lows made ahead: an epoch's, of all pairs of a rank, by other processes.

What a GPU darkens in a second, one process takes several to draw.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

from ...engines.forkserver import prepare_workers
from ...engines.process import main_left_alone
from ...synth.camera.columns import draw_packed
from ...synth.camera.pack import Packed, joined
from ...synth.camera.recipe import CameraRecipe
from .lows import LiveLows

_CHUNK = 1024  # pairs that a process draws at once
_FEW = 4 * _CHUNK


class DrawTable:
    """The draws of some pairs, by their keys, of the epochs that are asked for.

    Parameters
    ----------
    live : LiveLows
        Of a recipe of the camera model.
    keys : sequence of str
        Of all pairs that may be asked for.
    workers : int
        Processes that draw; few pairs are drawn in this one.
    """

    def __init__(self, live: LiveLows, keys: Sequence[str], workers: int) -> None:
        self._live, self._keys = live, keys
        self._pool: Any = _InPlace()
        if len(keys) > _FEW and workers > 1:
            context = multiprocessing.get_context(prepare_workers([__name__], workers))
            self._pool = ProcessPoolExecutor(workers, mp_context=context)
        self._place = {key: i for i, key in enumerate(keys)}
        self._asked: dict[int, list[Future[Packed]]] = {}
        self._ready: dict[int, Packed] = {}

    def begin(self, epoch: int) -> None:
        """Begin to draw for an epoch, without waiting; what is older is forgotten."""
        seed = self._live.seed_of(epoch)
        if seed in self._asked or seed in self._ready:
            return
        recipe = self._live.recipe
        assert isinstance(recipe, CameraRecipe)
        with main_left_alone():
            self._asked[seed] = [
                self._pool.submit(draw_packed, recipe, seed, list(self._keys[i : i + _CHUNK]))
                for i in range(0, len(self._keys), _CHUNK)
            ]

    def packed(self, keys: Sequence[str], epoch: int) -> Packed:
        """Return the draws of a batch; waits for those of its epoch."""
        seed = self._live.seed_of(epoch)
        if seed not in self._ready:
            self.begin(epoch)
            whole = joined([future.result() for future in self._asked.pop(seed)])
            self._ready = {seed: whole}
            if isinstance(self._pool, ProcessPoolExecutor):
                self.begin(epoch + 1)
        return self._ready[seed].take([self._place[key] for key in keys])

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class _InPlace:
    """An executor that does at once what it is given."""

    def submit(self, function: Any, *arguments: Any) -> Future[Packed]:
        future: Future[Packed] = Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        pass
