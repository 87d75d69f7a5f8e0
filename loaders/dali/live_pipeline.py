"""Live lows behind DALI: one pipeline reads normals, gloam's kernels darken, another one forms.

    reader, decoder -> normals -> draws, kernels -> lows -> crop, resize, flip, normalise
    (checkpointed)                (functions of key, epoch)   (a function of pair, epoch)

Only the first has a state: what is drawn depends on numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ..forms import change_of
from ..live.lows import LiveLows
from ..options import Options
from ..sampling import epoch_seed
from . import pipelines


class LivePipeline:
    """What PairLoader runs in place of a DALI pipeline: the same outputs, lows made on the way.

    Parameters
    ----------
    normals : DALI pipeline
        Yields decoded normals and labels, built.
    live : LiveLows
    options : Options
    keys_of : function of labels
        Returns the keys of a batch.
    epoch_of : function of a batch's number
        Returns the epoch that a batch belongs to, counted from the pipeline's beginning.
    device_id : int, optional
        Of the GPU.
    """

    def __init__(
        self,
        normals: Any,
        live: LiveLows,
        options: Options,
        keys_of: Callable[[Any], list[str]],
        epoch_of: Callable[[int], int],
        device_id: int | None,
    ) -> None:
        self._normals, self._live, self._options = normals, live, options
        self._keys_of, self._epoch_of = keys_of, epoch_of
        self._pool = ThreadPoolExecutor(max(options.threads, 1))
        self._form = pipelines.formed_pairs(
            options,
            batch_size=options.batch_size,
            num_threads=max(options.threads, 1),
            device_id=device_id,
            prefetch_queue_depth=1,
        )
        self._form.build()
        self._done = 0
        self._held: list[Any] = []  # inputs of the last batches, which DALI may still read

    def checkpoint(self) -> Any:
        """Return the state of the reader."""
        return self._normals.checkpoint()

    def begin_at(self, done: int) -> None:
        """Say how many batches the pipeline that a checkpoint is of had given."""
        self._done = done

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, labels."""
        normals, labels = self._normals.run(stream) if stream is not None else self._normals.run()
        keys = self._keys_of(labels)
        epoch = self._epoch_of(self._done)
        self._done += 1
        sizes = [(int(shape[0]), int(shape[1])) for shape in normals.shape()]
        lows = self._darkened(normals, keys, sizes, epoch)
        self._feed(keys, sizes, epoch)
        on = {} if stream is None else {"cuda_stream": stream}
        self._form.feed_input("low", lows, **on)
        self._form.feed_input("normal", normals, **on)
        self._held = [*self._held[-4:], (normals, lows)]
        outputs = self._form.run(stream) if stream is not None else self._form.run()
        return (*outputs, labels)

    def _darkened(
        self, normals: Any, keys: Sequence[str], sizes: Sequence[tuple[int, int]], epoch: int
    ) -> Any:
        if self._options.device == "gpu":
            from ..live.cuda import darken_dali

            return darken_dali(normals, self._live, keys, sizes, epoch)
        arrays = [np.asarray(normals.at(i)) for i in range(len(sizes))]
        return list(self._pool.map(partial(self._live.low, epoch=epoch), arrays, keys))

    def _feed(self, keys: Sequence[str], sizes: Sequence[tuple[int, int]], epoch: int) -> None:
        """Hand the second pipeline what is to become of each pair."""
        options = self._options
        cropped = options.size is not None and options.crop != "resize"
        if not cropped and not options.augment:
            return
        changes = [
            change_of(*size, options, epoch_seed(options.seed, epoch, f"form of {key}"))
            for size, key in zip(sizes, keys, strict=True)
        ]
        if cropped:
            windows = [np.array(change[:4], np.int32) for change in changes]
            self._form.feed_input("window", windows)
        if options.augment:
            flips = [np.array(change[4:], np.int32) for change in changes]
            self._form.feed_input("flips", flips)
