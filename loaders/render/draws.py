"""Data of the epochs of live lows, made ahead: their draws above all.

A GPU darkens more images in a second than are drawn by the way.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ...engines.process import begin_child, main_left_alone, may_have_children, prepare_workers
from ...synth.draws.table import DrawTable, concat
from ...synth.models import draw_table
from ...synth.parameters.keyed_columns import Keys
from ..lows import LiveLows

_CHUNK = 2048  # pairs that are drawn at once
_MANY = 4 * _CHUNK  # pairs of an epoch, beyond which processes draw
T = TypeVar("T")


class MadeAhead(Generic[T]):
    """Something of each epoch, made in a thread while the epoch before is gone through.

    make: function of an epoch's number.
    """

    def __init__(self, make: Callable[[int], T]) -> None:
        self._make = make
        self._thread = ThreadPoolExecutor(1)
        self._begun: dict[int, Future[T]] = {}

    def of(self, epoch: int) -> T:
        """Return an epoch's, and begin to make the next one's; all others are forgotten."""
        own = self._begin(epoch)
        made = own.result()
        self._begun = {epoch: own, epoch + 1: self._begin(epoch + 1)}
        return made

    def _begin(self, epoch: int) -> Future[T]:
        return self._begun.get(epoch) or self._thread.submit(self._make, epoch)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class EpochDraws:
    """The draws of some pairs, epoch by epoch.

    keys: those of all pairs that may be asked for; as an attribute, `Keys`.
    live: lows of a recipe of the camera model.
    workers: threads that draw the first epoch, and processes that draw the next ones of many pairs:
      they leave the interpreter to whoever trains.
    """

    def __init__(self, live: LiveLows, keys: Sequence[str], workers: int) -> None:
        self._live, self._keys = live, keys
        self.keys = Keys(keys)
        self._place = {key: i for i, key in enumerate(keys)}
        self._workers = max(workers, 1)
        self._pool: Executor = ThreadPoolExecutor(self._workers)
        self._same: DrawTable | None = None
        self._epochs = MadeAhead(self._drawn)

    def table(self, epoch: int) -> DrawTable:
        """Return the draws of an epoch; the same object where epochs do not differ."""
        return self._epochs.of(epoch)

    def numbers(self, keys: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the places of keys among all."""
        return np.array([self._place[key] for key in keys], np.int64)

    def close(self) -> None:
        """End threads and processes."""
        self._epochs.close()
        # A child of multiprocessing waits for its own ones, which are told to end by a thread.
        waits = isinstance(self._pool, ProcessPoolExecutor)
        self._pool.shutdown(wait=waits, cancel_futures=True)

    def _drawn(self, epoch: int) -> DrawTable:
        if self._same is not None:
            return self._same
        recipe, seed = self._live.recipe, self._live.seed_of(epoch)
        with main_left_alone():
            parts = [
                self._pool.submit(draw_table, recipe, seed, self._keys[i : i + _CHUNK])
                for i in range(0, len(self._keys), _CHUNK)
            ]
        whole = concat([part.result() for part in parts])
        many = len(self._keys) > _MANY and may_have_children()
        if self._live.draws == "set":
            self._same = whole
        elif many and isinstance(self._pool, ThreadPoolExecutor):
            self._pool.shutdown(wait=False)
            context = multiprocessing.get_context(prepare_workers([__name__], self._workers))
            self._pool = ProcessPoolExecutor(
                self._workers, mp_context=context, initializer=begin_child
            )
        return whole
