"""Live lows behind DALI: one pipeline reads normals, gloam's kernels darken, another one forms.

    reader, decoder -> normals -> draws, kernels -> lows -> crop, resize, flip, normalise
    (checkpointed)                (functions of key, epoch)   (a function of pair, epoch)

Only the first has a state: what is drawn depends on numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...synth.camera.recipe import CameraRecipe
from ..live.draws import DrawTable
from ..live.lows import LiveLows
from ..options import Options
from .batches import tensor_of
from .forming import built_form, feed_changes

if TYPE_CHECKING:
    from .ahead import Ahead

_AHEAD = 2  # batches that are made while one is used


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
        self._form = built_form(options, device_id)
        self._done = 0
        self._device = device_id
        self._ahead: Ahead | None = None
        self._state: Any = None
        self._held: list[Any] = []  # inputs of the last batches, which DALI may still read

    def checkpoint(self) -> Any:
        """Return the state of the reader, at the last batch that was given."""
        return self._normals.checkpoint() if self._ahead is None else self._state

    def begin_at(self, done: int) -> None:
        """Say how many batches the pipeline that a checkpoint is of had given."""
        self._done = done

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, labels."""
        if self._device is None:
            return self._next(None)
        if self._ahead is None:
            from .ahead import Ahead

            self._ahead = Ahead(self._on_stream, _AHEAD, self._device)
        made = self._ahead.next()
        self._state = made.state
        return (*made.images, made.labels)

    def close(self) -> None:
        """End the thread that makes batches, and the processes that draw."""
        if self._ahead is not None:
            self._ahead.close()
        self._draws.close()

    def _on_stream(self, stream: Any) -> tuple[Any, Any, Any]:
        """Make the next batch as torch's own tensors, which outlive DALI's; and the state."""
        low, normal, labels = self._next(stream)
        images = tensor_of(low).clone(), tensor_of(normal).clone()
        return images, labels, self._normals.checkpoint()

    def _next(self, stream: Any) -> tuple[Any, ...]:
        on = () if stream is None else (stream,)
        normals, lows, labels = self._normals.run(*on)
        keys = self._keys_of(labels)
        epoch = self._epoch_of(self._done)
        self._done += 1
        sizes = [(int(shape[0]), int(shape[1])) for shape in normals.shape()]
        lows = self._darkened(normals, lows, keys, epoch)
        feed_changes(self._form, self._options, keys, sizes, epoch)
        after = {} if stream is None else {"cuda_stream": stream}
        self._form.feed_input("low", lows, **after)
        self._form.feed_input("normal", normals, **after)
        self._held = [*self._held[-4:], (normals, lows)]
        return (*self._form.run(*on), labels)

    def _darkened(
        self,
        normals: Any,
        lows: Any,
        keys: Sequence[str],
        epoch: int,
    ) -> Any:
        """Make lows, in the room for them where that is a GPU's."""
        if self._options.device == "gpu" and isinstance(self._live.recipe, CameraRecipe):
            from ..live.cuda_tensors import render_tensors

            packed, places = self._draws.packed(keys, epoch), range(len(keys))
            render_tensors(packed, [normals[i] for i in places], [lows[i] for i in places])
            return lows
        held = normals.as_cpu() if self._options.device == "gpu" else normals
        arrays = [np.asarray(held.at(i)) for i in range(len(keys))]
        made = list(self._pool.map(partial(self._live.low, epoch=epoch), arrays, keys))
        if self._options.device == "cpu":
            return made
        import torch

        return [torch.from_numpy(low).cuda() for low in made]
