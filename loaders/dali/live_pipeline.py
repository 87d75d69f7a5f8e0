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

from ...synth.camera.recipe import CameraRecipe
from ..live.draws import DrawTable
from ..live.lows import LiveLows
from ..options import Options
from . import pipelines
from .forming import feed_changes


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
    keys : sequence of str
        Of all pairs that may come.
    """

    def __init__(
        self,
        normals: Any,
        live: LiveLows,
        options: Options,
        keys_of: Callable[[Any], list[str]],
        epoch_of: Callable[[int], int],
        keys: Sequence[str],
        device_id: int | None,
    ) -> None:
        self._normals, self._live, self._options = normals, live, options
        self._keys_of, self._epoch_of = keys_of, epoch_of
        self._pool = ThreadPoolExecutor(max(options.threads, 1))
        self._draws = DrawTable(live, keys, options.threads)
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
        on = () if stream is None else (stream,)
        normals, lows, labels = self._normals.run(*on)
        keys = self._keys_of(labels)
        epoch = self._epoch_of(self._done)
        self._done += 1
        sizes = [(int(shape[0]), int(shape[1])) for shape in normals.shape()]
        lows = self._darkened(normals, lows, keys, sizes, epoch)
        feed_changes(self._form, self._options, keys, sizes, epoch)
        after = {} if stream is None else {"cuda_stream": stream}
        self._form.feed_input("low", lows, **after)
        self._form.feed_input("normal", normals, **after)
        self._held = [*self._held[-4:], (normals, lows)]
        return (*self._form.run(*on), labels)

    def close(self) -> None:
        """End the processes that draw."""
        self._draws.close()

    def _darkened(
        self,
        normals: Any,
        lows: Any,
        keys: Sequence[str],
        sizes: Sequence[tuple[int, int]],
        epoch: int,
    ) -> Any:
        """Make lows, in the room for them where that is a GPU's."""
        if self._options.device == "gpu" and isinstance(self._live.recipe, CameraRecipe):
            from ..live.cuda_tensors import darken_dali

            darken_dali(normals, lows, self._draws.packed(keys, epoch), sizes)
            return lows
        held = normals.as_cpu() if self._options.device == "gpu" else normals
        arrays = [np.asarray(held.at(i)) for i in range(len(sizes))]
        made = list(self._pool.map(partial(self._live.low, epoch=epoch), arrays, keys))
        if self._options.device == "cpu":
            return made
        import torch

        return [torch.from_numpy(low).cuda() for low in made]
