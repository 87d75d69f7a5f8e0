"""Give what draws know of the batches of a DALI pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ....synth.models import model_of
from ...augment import CropFlip, draw_crops
from ...devices import converted
from ...given import Known, batch_known, drawn_columns, drawn_facts, tellers
from ...live.cuda_tensors import OnGpu, Whole, addresses
from ...live.lows import LiveLows
from ...live.stream_keepalive import StreamKeepAlive
from ...options import Options
from .lows_on_gpu import LowsOnGpu

_HELD = 4  # batches whose maps may be under way


class Giver:
    """Gives what draws know of batches.

    drawn: how their lows are drawn; None of lists, of which nothing is known.
    pool: threads that make maps where a GPU does not.
    device: of torch, where what is given goes.
    lows: makes maps on that GPU; None where only the CPU does.
    """

    def __init__(
        self,
        options: Options,
        drawn: LiveLows | None,
        pool: Executor,
        device: str,
        lows: LowsOnGpu | None = None,
    ) -> None:
        self._options, self._drawn = options, drawn
        self._pool, self._device, self._lows = pool, device, lows
        self._maps = options.model_copy(update={"give": options.maps})

    def given(
        self,
        keys: Sequence[str],
        epoch: int,
        crops: Whole | None = None,
        normals: OnGpu | Callable[[int], Any] | None = None,
    ) -> tuple[Any, ...]:
        """Return what is known of a batch, as its last item; nothing where nobody asks.

        crops: array (N, 7); see `augment.draw_crops`.
        normals: in a GPU's memory, where that makes maps; else a function of a number that returns
          one, a uint8 array (H, W, 3).
        """
        options = self._options
        if not options.give:
            return ()
        # Half of it is hashes of keys, beside which this thread goes on.
        parts = self._pool.submit(drawn_columns, options, self._drawn, keys, epoch)
        made: dict[str, Any] = {}
        if crops is None or not options.maps:
            pass
        elif isinstance(normals, OnGpu):
            assert self._lows is not None
            made = self._lows.maps(normals, epoch, crops, self._maps)
        elif normals is not None:
            tell = tellers(self._maps, self._drawn, keys, epoch)
            images = map(normals, range(len(tell)))
            changes = [CropFlip(*crop) for crop in crops.tolist()]
            known = self._pool.map(lambda one, *sample: one(*sample), tell, images, changes)
            made = batch_known(list(known), self._maps)
        made |= drawn_facts(options, parts.result(), len(keys), self._device)
        made = {name: made[name] for name in options.give}
        return (converted(made, lambda one: one.to(self._device)),)


class StoredPipeline:
    """A DALI pipeline of stored pairs, and what their draws know as its last output.

    pairs: yields lows, normals, labels, and where there are draws and maps are asked for, whole
      normals; built.
    read: function of labels; returns the keys of the next batch, and its epoch.
    keys: those of all pairs that may come, on a GPU.
    device_id: number of the GPU.
    """

    def __init__(
        self,
        pairs: Any,
        drawn: LiveLows | None,
        options: Options,
        read: Callable[[Any], tuple[list[str], int]],
        keys: Sequence[str],
        device_id: int | None,
    ) -> None:
        self._pairs, self._drawn, self._options, self._read = pairs, drawn, options, read
        self._pool = ThreadPoolExecutor(max(options.workers, 1))
        self._device, self._lows = device_of(device_id), None
        self._stream: Any = None  # of the GPU that makes maps
        if device_id is not None and drawn is not None and options.maps:
            import torch

            self._stream, self._held = torch.cuda.Stream(device_id), StreamKeepAlive(_HELD)
            if model_of(drawn.recipe) == "camera":
                self._lows = LowsOnGpu(drawn, options, keys)
        self._giver = Giver(options, drawn, self._pool, self._device, self._lows)

    def checkpoint(self) -> Any:
        """Return the state of the pipeline of pairs."""
        return self._pairs.checkpoint()

    def run(self, *stream: Any) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, labels, what is known."""
        outputs = self._pairs.run(*stream)
        options = self._options
        if self._drawn is None:
            shape = outputs[1].shape()
            height, width = shape[0][:2] if options.layout == "HWC" else shape[0][1:]
            nothing = [Known(None, {}, (height, width))] * len(shape)
            given = converted(batch_known(nothing, options), lambda one: one.to(self._device))
            return (*outputs, given)
        keys, epoch = self._read(outputs[2])
        if not options.maps:
            return (*outputs, *self._giver.given(keys, epoch))
        *outputs, normals = outputs
        crops = draw_crops(options, epoch, keys, sizes_of(normals))
        if self._stream is None:
            own = partial(host_image, normals)
            return (*outputs, *self._giver.given(keys, epoch, crops, own))
        return (*outputs, *self._on_stream(keys, epoch, crops, normals))

    def _on_stream(
        self, keys: list[str], epoch: int, crops: Whole, normals: Any
    ) -> tuple[Any, ...]:
        """Return what is known of a batch, made on a stream of its own, for the current one."""
        import torch

        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            own: Any = partial(host_image, normals)
            if self._lows is not None:
                places = self._lows.draws.numbers(keys)
                own = OnGpu(places, sizes_of(normals), addresses_of(normals))
            given = self._giver.given(keys, epoch, crops, own)
            self._held.keep(normals, self._stream)
        current.wait_stream(self._stream)
        converted(given, lambda one: one.record_stream(current))
        return given

    def close(self) -> None:
        """End the threads that make maps and draw."""
        if self._lows is not None:
            self._lows.close()
        self._pool.shutdown(wait=False, cancel_futures=True)


def sizes_of(images: Any) -> npt.NDArray[np.int64]:
    """Return height and width of images of DALI (N, 2)."""
    return np.array(images.shape(), np.int64)[:, :2]


def addresses_of(images: Any) -> npt.NDArray[np.uint64]:
    """Return where images of DALI lie (N)."""
    return addresses([images[i] for i in range(len(images))])


def host_image(images: Any, number: int) -> npt.NDArray[np.uint8]:
    """Return one of the images of a DALI output, in host memory."""
    image = images[number]
    if not hasattr(image, "as_cpu"):
        return np.asarray(image)
    from torch.utils.dlpack import from_dlpack

    return np.asarray(from_dlpack(image).cpu())  # once torch's current stream has come to it


def device_of(device_id: int | None) -> str:
    """Return torch's name of a GPU, by its number, or of the CPU."""
    return "cpu" if device_id is None else f"cuda:{device_id}"
