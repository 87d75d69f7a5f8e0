"""What draws know of the batches of a DALI pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...augment import CropFlip, draw_crops
from ...devices import converted
from ...given import Known, batch_known, drawn_facts, tellers
from ...live.lows import LiveLows
from ...options import Options

Whole = npt.NDArray[np.integer[Any]]


class Giver:
    """Gives what draws know of batches.

    drawn: how their lows are drawn; None of lists, of which nothing is known.
    pool: threads that make maps where a GPU does not.
    device: of torch, where what is given goes.
    """

    def __init__(
        self, options: Options, drawn: LiveLows | None, pool: Executor, device: Any = "cpu"
    ) -> None:
        self._options, self._drawn = options, drawn
        self._pool, self._device = pool, device

    def given(
        self,
        keys: Sequence[str],
        epoch: int,
        crops: Whole | None = None,
        image: Callable[[int], Any] | None = None,
    ) -> tuple[Any, ...]:
        """Return what is known of a batch, as its last item; nothing where nobody asks.

        crops: array (N, 7); see `augment.draw_crops`.
        image: function of a number; returns that normal, a uint8 array (H, W, 3).
        """
        options = self._options
        if not options.give:
            return ()
        made = drawn_facts(options, self._drawn, keys, epoch, self._device)
        if crops is not None and image is not None and options.maps:
            alone = options.model_copy(update={"give": options.maps})
            tell = tellers(alone, self._drawn, keys, epoch)

            def known(i: int) -> Known:
                return tell[i](image(i), CropFlip(*crops[i].tolist()))

            made |= batch_known(list(self._pool.map(known, range(len(keys)))), alone)
        made = {name: made[name] for name in options.give}
        return (converted(made, lambda one: one.to(self._device)),)


class StoredPipeline:
    """A DALI pipeline of stored pairs, and what their draws know as its last output.

    pairs: yields lows, normals, labels, and where there are draws and maps are asked for, whole
      normals; built.
    keys_of: function of labels; returns the keys of a batch.
    epoch_of: function of a batch's number; returns the epoch that a batch belongs to, counted from
      the pipeline's beginning.
    """

    def __init__(
        self,
        pairs: Any,
        drawn: LiveLows | None,
        options: Options,
        keys_of: Callable[[Any], list[str]],
        epoch_of: Callable[[int], int],
        device_id: int | None,
    ) -> None:
        self._pairs, self._drawn, self._options = pairs, drawn, options
        self._keys_of, self._epoch_of, self._done = keys_of, epoch_of, 0
        self._pool = ThreadPoolExecutor(max(options.workers, 1))
        self._device = device_of(device_id)
        self._giver = Giver(options, drawn, self._pool, self._device)

    def checkpoint(self) -> Any:
        """Return the state of the pipeline of pairs."""
        return self._pairs.checkpoint()

    def begin_at(self, done: int) -> None:
        """Say how many batches the pipeline that a checkpoint is of had given."""
        self._done = done

    def run(self, *stream: Any) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, labels, what is known."""
        outputs = self._pairs.run(*stream)
        epoch, options = self._epoch_of(self._done), self._options
        self._done += 1
        if self._drawn is None:
            shape = outputs[1].shape()
            height, width = shape[0][:2] if options.layout == "HWC" else shape[0][1:]
            nothing = [Known(None, {}, (height, width))] * len(shape)
            given = converted(batch_known(nothing, options), lambda one: one.to(self._device))
            return (*outputs, given)
        keys = self._keys_of(outputs[2])
        if not options.maps:
            return (*outputs, *self._giver.given(keys, epoch))
        *outputs, normals = outputs
        crops = draw_crops(options, epoch, keys, sizes_of(normals))
        return (*outputs, *self._giver.given(keys, epoch, crops, partial(host_image, normals)))

    def close(self) -> None:
        """End the threads that make maps."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def sizes_of(images: Any) -> npt.NDArray[np.int64]:
    """Return height and width of images of DALI (N, 2)."""
    return np.array(images.shape(), np.int64)[:, :2]


def host_image(images: Any, number: int) -> npt.NDArray[np.uint8]:
    """Return one of the images of a DALI output, in host memory."""
    image = images[number]
    return np.asarray(image.as_cpu() if hasattr(image, "as_cpu") else image)


def device_of(device_id: int | None) -> str:
    """Return torch's name of a GPU, by its number, or of the CPU."""
    return "cpu" if device_id is None else f"cuda:{device_id}"
