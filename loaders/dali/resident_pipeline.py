"""A pipeline without a reader: pairs that lie decoded in memory, brought into form.

    pool -> draws, kernels (live lows) -> crop, resize, flip, normalise

It has no state: what it gives is a function of the epoch, the batch and the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ..columns import Pairs
from ..live.lows import LiveLows
from ..live.pool import ResidentPool
from ..options import Options
from .forming import built_form, feed_changes


class ResidentPipeline:
    """What PairLoader runs in place of a DALI pipeline, where everything is in memory.

    Parameters
    ----------
    pool : ResidentPool
    pairs : Pairs
    live : LiveLows, optional
        Where the pool holds normals alone.
    options : Options
    order : function of an epoch
        Returns the numbers of this rank's pairs, in order.
    first, batches : int
        The batch to begin with, counted from epoch 0; and how many an epoch has.
    """

    def __init__(
        self,
        pool: ResidentPool,
        pairs: Pairs,
        live: LiveLows | None,
        options: Options,
        order: Callable[[int], Any],
        first: int,
        batches: int,
    ) -> None:
        self._pool, self._pairs, self._live, self._options = pool, pairs, live, options
        self._order, self._next, self._batches = order, first, batches
        self._threads = ThreadPoolExecutor(max(options.threads, 1))
        self._form = built_form(options, None)

    def checkpoint(self) -> bytes:
        """Return nothing: a place is its number."""
        return b""

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, numbers."""
        epoch, batch = divmod(self._next, self._batches)
        self._next += 1
        order, size = self._order(epoch), self._options.batch_size
        places = np.minimum(np.arange(batch * size, (batch + 1) * size), len(order) - 1)
        numbers = [int(number) for number in order[places]]
        images = [self._pool[number] for number in numbers]
        keys = [self._pairs[number].key for number in numbers]
        normals = [one[-1] for one in images]
        lows = (
            [one[0] for one in images]
            if self._live is None
            else list(self._threads.map(partial(self._live.low, epoch=epoch), normals, keys))
        )
        self._form.feed_input("low", lows)
        self._form.feed_input("normal", normals)
        sizes = [(normal.shape[0], normal.shape[1]) for normal in normals]
        feed_changes(self._form, self._options, keys, sizes, epoch)
        return (*self._form.run(), numbers)
