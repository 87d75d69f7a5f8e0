"""Pipelines without a reader: pairs that lie decoded in memory, transformed.

    pool -> draws, kernels (live lows) -> crop, resize, flip, normalise

They have no state: what they give is a function of the epoch, the batch and the seed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....synth.kernels.arrays import Pixels, Window
from ....synth.models import model_of
from ....synth.parameters.columns import Keys
from ...augment import draw_crops
from ...given import tellers
from ...index import Contents
from ...live.cuda_tensors import OnGpu
from ...live.draws import MadeAhead
from ...live.host_batch import HostBatch, pairs_batch
from ...live.lows import LiveLows
from ...options import Options
from ..encoded import OrderedNumbers
from .giving import Giver, device_of
from .lows_on_gpu import LowsOnGpu
from .prefetch import CudaPrefetcher
from .transform_pipeline import AHEAD, StartedBatch, TransformPipeline

if TYPE_CHECKING:
    from ...live.cuda_pool import CudaPool

_AHEAD = 4  # batches that are made while one is used


class ResidentPipeline:
    """A stand-in for a DALI pipeline of pairs, where everything is in host memory.

    pool: decoded pairs; see `pool.decode_all`.
    live: where the pool holds normals alone.
    drawn: how lows are or were drawn.
    numbers, done: of the pairs of batches, and how many of those are passed over.
    """

    def __init__(
        self,
        pool: Mapping[int, tuple[Pixels, ...]],
        contents: Contents,
        live: LiveLows | None,
        drawn: LiveLows | None,
        options: Options,
        numbers: OrderedNumbers,
        done: int,
    ) -> None:
        self._pool, self._contents, self._live, self._options = pool, contents, live, options
        self._drawn = drawn
        self._numbers, self._done = numbers, done
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
        epoch, numbers = self._numbers.epoch(self._done), self._numbers(self._done)
        self._done += 1
        images = [self._pool[number] for number in numbers]
        keys = self._contents.keys_of(numbers)
        normals = [one[-1] for one in images]
        sizes = np.array([normal.shape[:2] for normal in normals], np.int64)
        crops = draw_crops(self._options, epoch, keys, sizes)
        maker = None if self._live is None else self._live.maker(keys, epoch)

        def low_of(i: int, window: Window) -> Any:
            if maker is not None:
                return maker.low(i, normals[i], window)
            top, left, height, width = window
            return images[i][0][top : top + height, left : left + width]

        told = tellers(self._options, self._drawn, keys, epoch, maker)
        return pairs_batch(self._options, self._threads, crops, normals, low_of, told), numbers


class ResidentOnGpu:
    """The same where pairs lie in a GPU's memory.

    pool: the pairs from number `first` on.
    keys: those of its pairs.
    live: where the pool holds normals alone.
    drawn, numbers, done: see `ResidentPipeline`.
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
        numbers: OrderedNumbers,
        done: int,
        device_id: int,
    ) -> None:
        self._pool, self._keys, self._first = pool, keys, first
        self._live, self._options, self._numbers, self._done = live, options, numbers, done
        maker = live or (drawn if options.maps else None)
        by_gpu = maker is not None and model_of(maker.recipe) == "camera"
        on_gpu = LowsOnGpu(maker, options, keys) if maker is not None and by_gpu else None
        self._lows, self._on_gpu = on_gpu if live is not None else None, on_gpu
        self._known = Keys(keys) if self._lows is None else self._lows.draws.keys
        self._crops = MadeAhead(self._crops_of)
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
        self._crops.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _crops_of(self, epoch: int) -> Any:
        """Draw the crops of all pairs of this rank in an epoch, whose order is kept besides."""
        self._numbers.order(epoch)
        return draw_crops(self._options, epoch, self._known, self._pool.sizes)

    def _on_stream(self, stream: Any) -> tuple[Any, Any, Any]:
        while len(self._begun) <= AHEAD:
            self._begun.append(self._begin(stream))
        first = self._begun.popleft()
        self._transform.finish(first, stream)
        return (*first.images, *first.given), first.labels, b""

    def _begin(self, stream: Any) -> StartedBatch:
        """Begin a batch."""
        epoch = self._numbers.epoch(self._done)
        all_crops = self._crops.of(epoch)
        numbers = np.array(self._numbers(self._done))
        self._done += 1
        begun, places = StartedBatch(numbers), numbers - self._first
        there = OnGpu(places, self._pool.sizes[places], self._pool.at["normal"][places])
        crops = all_crops[places]
        keys = [self._keys[place] for place in places]

        def image(i: int) -> Any:
            return self._pool.image("normal", int(places[i])).cpu().numpy()

        own = image if self._on_gpu is None else there
        if self._lows is not None and self._options.size is not None:
            begun.images = self._lows.pairs(there, epoch, crops)
            begun.given = self._giver.given(keys, epoch, crops, own)  # of the same light
            return begun
        begun.given = self._giver.given(keys, epoch, crops, own)
        normals = [self._pool.image("normal", int(place)) for place in places]
        lows = self._whole(there, epoch, keys, normals)
        self._transform.begin(begun, lows, normals, crops, stream)
        return begun

    def _whole(
        self, there: OnGpu, epoch: int, keys: Sequence[str], normals: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Return whole lows: stored ones, or made."""
        if self._live is None:
            return [self._pool.image("low", int(place)) for place in there.places]
        if self._lows is None:
            return [
                torch.from_numpy(self._live.low(normal.cpu().numpy(), key, epoch)).cuda()
                for normal, key in zip(normals, keys, strict=True)
            ]
        lows = [torch.empty_like(normal) for normal in normals]
        self._lows.whole(there, epoch, lows)
        return lows
