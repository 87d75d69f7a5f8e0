"""Live lows behind DALI: one pipeline reads normals, gloam's kernels darken, another transforms.

    reader, decoder -> normals -> draws, kernels -> lows, normals: cropped, resized, flipped
    (checkpointed)                (functions of key, pair, epoch)

Kernels do the second part; for images that keep their sizes, and lows that only the CPU makes,
another pipeline does what comes after darkening. Only the first has a state: what is drawn depends
on numbers alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ....synth.kernels.arrays import Window
from ....synth.models import model_of
from ...augment import draw_crops
from ...given import tellers
from ...live.cuda_tensors import OnGpu
from ...live.host_batch import pairs_batch
from ...live.lows import LiveLows
from ...live.stream_keepalive import StreamKeepAlive
from ...options import Options
from .giving import Giver, addresses_of, device_of, sizes_of
from .lows_on_gpu import LowsOnGpu
from .prefetch import CudaPrefetcher
from .transform_pipeline import AHEAD, StartedBatch, TransformPipeline

_AHEAD = 2  # batches that are made while one is used
_HELD = 4  # batches whose lows may be under way


class LivePipeline:
    """A stand-in for a DALI pipeline of pairs: the same outputs, lows made on the way.

    normals: yields decoded normals and labels, built.
    read: function of labels; returns the keys of the next batch, and its epoch.
    device_id: number of the GPU.
    keys: those of all pairs that may come.
    """

    def __init__(
        self,
        normals: Any,
        live: LiveLows,
        options: Options,
        read: Callable[[Any], tuple[list[str], int]],
        keys: Sequence[str],
        device_id: int | None,
    ) -> None:
        self._normals, self._live, self._options, self._read = normals, live, options, read
        self._pool = ThreadPoolExecutor(max(options.workers, 1))
        by_gpu = options.device == "gpu" and model_of(live.recipe) == "camera"
        self._on_gpu = LowsOnGpu(live, options, keys) if by_gpu else None
        self._transform = TransformPipeline(options, device_id)
        self._ahead = (
            CudaPrefetcher(self._on_stream, _AHEAD, device_id) if device_id is not None else None
        )
        self._state: Any = None  # of the batch that was given last, where some are made ahead
        self._begun: deque[StartedBatch] = deque()
        self._held = StreamKeepAlive(_HELD)
        self._giver = Giver(options, live, self._pool, device_of(device_id), self._on_gpu)

    def checkpoint(self) -> Any:
        """Return the state of the reader, at the last batch that was given."""
        return self._normals.checkpoint() if self._state is None else self._state

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, labels, and what is known where that is asked."""
        if self._ahead is None:
            return self._on_cpu()
        made = self._ahead.next()
        self._state = made.state
        return made.outputs

    def close(self) -> None:
        """End the threads that make batches and draw."""
        if self._ahead is not None:
            self._ahead.close()
        if self._on_gpu is not None:
            self._on_gpu.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _on_cpu(self) -> tuple[Any, ...]:
        normals, _, labels = self._normals.run()
        keys, epoch = self._read(labels)
        crops = draw_crops(self._options, epoch, keys, sizes_of(normals))
        arrays = [np.asarray(normals.at(i)) for i in range(len(keys))]
        maker = self._live.maker(keys, epoch)

        def low_of(i: int, window: Window) -> Any:
            return maker.low(i, arrays[i], window)

        told = tellers(self._options, self._live, keys, epoch, maker)
        batch = pairs_batch(self._options, self._pool, crops, arrays, low_of, told)
        return (*batch.images(), labels, *batch.given())

    def _on_stream(self, stream: Any) -> tuple[Any, Any, Any]:
        """Make the next batch as torch's own tensors; and the state after it."""
        while len(self._begun) <= AHEAD:
            self._begun.append(self._begin(stream))
        first = self._begun.popleft()
        self._transform.finish(first, stream)
        self._held.keep(first.inputs, stream)
        return (*first.images, *first.given), first.labels, first.state

    def _begin(self, stream: Any) -> StartedBatch:
        """Begin a batch."""
        normals, lows, labels = self._normals.run(stream)
        begun = StartedBatch(labels, self._normals.checkpoint(), (normals, lows))
        (keys, epoch), sizes = self._read(labels), sizes_of(normals)
        if self._on_gpu is None:
            import torch

            crops = draw_crops(self._options, epoch, keys, sizes)
            arrays = [np.asarray(one) for one in normals.as_cpu()]
            begun.given = self._giver.given(keys, epoch, crops, arrays.__getitem__)
            made = self._pool.map(partial(self._live.low, epoch=epoch), arrays, keys)
            lows = [torch.from_numpy(low).cuda() for low in made]
        else:
            places = self._on_gpu.draws.numbers(keys)
            known = self._on_gpu.draws.keys.take(places)
            crops = draw_crops(self._options, epoch, known, sizes)
            own = OnGpu(places, sizes, addresses_of(normals))
            if self._options.size is not None:
                begun.images = self._on_gpu.pairs(own, epoch, crops)
                begun.given = self._giver.given(keys, epoch, crops, own)  # of the same light
                return begun
            begun.given = self._giver.given(keys, epoch, crops, own)
            self._on_gpu.whole(own, epoch, [lows[i] for i in range(len(keys))])
        self._transform.begin(begun, lows, normals, crops, stream)
        return begun
