"""Pipelines without a reader: pairs that lie decoded in memory, transformed.

    pool -> draws, kernels (live lows) -> crop, resize, flip, normalise

They have no state: what they give is a function of the epoch, the batch and the seed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....synth.kernels.arrays import Window
from ....synth.models import model_of
from ....synth.parameters.columns import Keys
from ...augment import draw_crops
from ...columns import Pairs
from ...given import tellers
from ...live.draws import MadeAhead
from ...live.host_batch import HostBatch, pair_of, told_of
from ...live.lows import LiveLows
from ...live.pool import ResidentPool
from ...options import Options
from .giving import Giver, device_of
from .lows_on_gpu import LowsOnGpu, OnGpu
from .prefetch import CudaPrefetcher
from .transform_pipeline import AHEAD, StartedBatch, TransformPipeline

if TYPE_CHECKING:
    from ...live.cuda_pool import CudaPool

_AHEAD = 4  # batches that are made while one is used


class ResidentOrder(NamedTuple):
    """Which pairs come when.

    order: function of an epoch; returns the numbers of this rank's pairs, in order.
    first, batches: the batch to begin with, counted from epoch 0; and how many an epoch has.
    size: pairs of a batch; what an epoch's last one lacks is filled with its last pair.
    """

    order: Callable[[int], Any]
    first: int
    batches: int
    size: int

    def at(self, done: int, order: Any) -> Any:
        """Return the numbers of a batch's pairs."""
        batch = (self.first + done) % self.batches
        places = np.minimum(np.arange(batch * self.size, (batch + 1) * self.size), len(order) - 1)
        return order[places]

    def epoch(self, done: int) -> int:
        """Return the epoch of a batch."""
        return (self.first + done) // self.batches


class ResidentPipeline:
    """A stand-in for a DALI pipeline of pairs, where everything is in host memory.

    live: where the pool holds normals alone.
    drawn: how lows are or were drawn.
    """

    def __init__(
        self,
        pool: ResidentPool,
        pairs: Pairs,
        live: LiveLows | None,
        drawn: LiveLows | None,
        options: Options,
        course: ResidentOrder,
    ) -> None:
        self._pool, self._pairs, self._live, self._options = pool, pairs, live, options
        self._drawn = drawn
        self._course, self._done = course, 0
        self._threads = ThreadPoolExecutor(max(options.workers, 1))
        self._begun: deque[tuple[HostBatch, list[int]]] = deque()

    def checkpoint(self) -> bytes:
        """Return nothing: a place is its number."""
        return b""

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, numbers, and what is known where that is asked."""
        while len(self._begun) <= _AHEAD:
            self._begun.append(self._begin())
        batch, numbers = self._begun.popleft()
        return (*batch.images(), numbers, *batch.given())

    def close(self) -> None:
        """End the threads that make batches."""
        self._threads.shutdown(cancel_futures=True)

    def _begin(self) -> tuple[HostBatch, list[int]]:
        epoch = self._course.epoch(self._done)
        numbers = self._course.at(self._done, self._course.order(epoch)).tolist()
        self._done += 1
        images = [self._pool[number] for number in numbers]
        keys = [self._pairs[number].key for number in numbers]
        normals = [one[-1] for one in images]
        sizes = np.array([normal.shape[:2] for normal in normals], np.int64)
        crops = draw_crops(self._options, epoch, keys, sizes)
        maker = None if self._live is None else self._live.maker(keys, epoch)

        def low_of(i: int, window: Window) -> Any:
            if maker is not None:
                return maker.low(i, normals[i], window)
            top, left, height, width = window
            return images[i][0][top : top + height, left : left + width]

        made = pair_of(self._options, normals, low_of)
        told = told_of(tellers(self._options, self._drawn, keys, epoch, maker), normals)
        return HostBatch(self._options, self._threads, crops, made, told=told), numbers


class _Epoch(NamedTuple):
    """The order of an epoch, and the crops of all pairs of this rank."""

    order: Any
    crops: Any


class ResidentOnGpu:
    """The same where pairs lie in a GPU's memory.

    pool: the pairs from number `first` on.
    keys: those of its pairs.
    live: where the pool holds normals alone.
    drawn: how lows are or were drawn.
    """

    def __init__(
        self,
        pool: CudaPool,
        keys: Sequence[str],
        first: int,
        *,
        live: LiveLows | None,
        drawn: LiveLows | None,
        options: Options,
        course: ResidentOrder,
        device_id: int,
    ) -> None:
        self._pool, self._keys, self._first = pool, keys, first
        self._live, self._options, self._course, self._done = live, options, course, 0
        maker = live or (drawn if options.maps else None)
        by_gpu = maker is not None and model_of(maker.recipe) == "camera"
        on_gpu = LowsOnGpu(maker, options, keys) if maker is not None and by_gpu else None
        self._lows, self._on_gpu = on_gpu if live is not None else None, on_gpu
        self._known = Keys(keys) if self._lows is None else self._lows.draws.keys
        self._epochs = MadeAhead(self._epoch)
        self._transform = TransformPipeline(options, device_id)
        self._threads = ThreadPoolExecutor(max(options.workers, 1))
        self._giver = Giver(options, drawn, self._threads, device_of(device_id), on_gpu)
        self._ahead = CudaPrefetcher(self._on_stream, _AHEAD, device_id)
        self._begun: deque[StartedBatch] = deque()

    def checkpoint(self) -> bytes:
        """Return nothing: a place is its number."""
        return b""

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, numbers, and what is known where that is asked."""
        return self._ahead.next().outputs

    def close(self) -> None:
        """End the threads that make batches and draw."""
        self._ahead.close()
        if self._on_gpu is not None:
            self._on_gpu.close()
        self._epochs.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _epoch(self, epoch: int) -> _Epoch:
        crops = draw_crops(self._options, epoch, self._known, self._pool.sizes)
        return _Epoch(self._course.order(epoch), crops)

    def _on_stream(self, stream: Any) -> tuple[Any, Any, Any]:
        while len(self._begun) <= AHEAD:
            self._begun.append(self._begin(stream))
        first = self._begun.popleft()
        self._transform.finish(first, stream)
        return (*first.images, *first.given), first.labels, b""

    def _begin(self, stream: Any) -> StartedBatch:
        """Begin a batch."""
        epoch = self._course.epoch(self._done)
        of_epoch = self._epochs.of(epoch)
        numbers = self._course.at(self._done, of_epoch.order)
        self._done += 1
        begun, places = StartedBatch(numbers), numbers - self._first
        sizes = self._pool.sizes[places]
        crops = of_epoch.crops[places]
        keys = [self._keys[place] for place in places]

        def image(i: int) -> Any:
            return self._pool.image("normal", int(places[i])).cpu().numpy()

        own = (
            image if self._on_gpu is None else OnGpu(places, sizes, self._pool.at["normal"][places])
        )
        if self._lows is not None and self._options.size is not None:
            at = self._pool.at["normal"][places]
            begun.images = self._lows.pairs(places, epoch, sizes, at, crops)
            begun.given = self._giver.given(keys, epoch, crops, own)  # of the same light
            return begun
        begun.given = self._giver.given(keys, epoch, crops, own)
        normals = [self._pool.image("normal", int(place)) for place in places]
        lows = self._whole(places, epoch, sizes, normals)
        self._transform.begin(begun, lows, normals, crops, stream)
        return begun

    def _whole(self, places: Any, epoch: int, sizes: Any, normals: Sequence[Any]) -> list[Any]:
        """Return whole lows: stored ones, or made."""
        import torch

        if self._live is None:
            return [self._pool.image("low", int(place)) for place in places]
        if self._lows is None:
            keys = [self._keys[place] for place in places]
            return [
                torch.from_numpy(self._live.low(normal.cpu().numpy(), key, epoch)).cuda()
                for normal, key in zip(normals, keys, strict=True)
            ]
        lows = [torch.empty_like(normal) for normal in normals]
        self._lows.whole(places, epoch, sizes, self._pool.at["normal"][places], lows)
        return lows
