"""Steps whose images DALI decodes."""

from __future__ import annotations

import ctypes
import gc
import os
import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from ...errors import LoaderError
from ...synth.kernels.arrays import Pixels
from ..components import OpenComponent
from ..options import Options
from ..read import Source
from ..steps import DecodedStep
from .failures import explained, last_words
from .pipelines import DECODERS_ALONE, SIDE_BY_SIDE, encoded_images, pipeline_size, resized_windows

_built: weakref.WeakSet[Any] = weakref.WeakSet()  # pipelines


class DaliDecoder:
    """Decodes all images of a step by one decoder, on the CPU or a GPU.

    The images of a step depend on that step alone.

    source: of the encoded images.
    images: at most so many in a step.
    device_id: number of the GPU.
    name: of what is loaded, for messages.
    side: on a GPU, to what longer side longer images are made smaller.
    """

    ahead = 0

    def __init__(
        self,
        source: Source,
        components: Sequence[OpenComponent],
        options: Options,
        images: int,
        device_id: int | None,
        name: str,
        side: int | None = None,
    ) -> None:
        self._source, self._device = source, device_id
        self._what = name, options, components
        alone = DECODERS_ALONE if side is None else SIDE_BY_SIDE
        how = pipeline_size(options, images, device_id, options.prefetch)
        how |= {"enable_conditionals": False} if device_id is None else alone
        self._pipeline = built(encoded_images(source, options, side, **how), name)

    def next(self, stream: Any = None) -> DecodedStep:
        """Return the next step; on a GPU, for a stream of torch.

        Raises LoaderError naming the image that cannot be read or decoded.
        """
        try:
            (decoded,) = self._pipeline.run(*([] if self._device is None else [stream]))
        except LoaderError:
            raise
        except Exception as error:  # DALI raises RuntimeError and whatever a source raised
            steps = [one.step for one in self._source.begun]
            raise explained(*self._what, error, steps) from error
        own = self._source.begun.popleft()
        beside = [image for task in own.beside for image in task.result()]
        sizes = np.array(decoded.shape(), np.int64).reshape(-1, 3)[:, :2]
        if beside:
            sizes = np.concatenate([sizes, [image.shape[:2] for image in beside]])
        images: Any = decoded
        if self._device is None:
            images = [np.asarray(decoded[i]) for i in range(len(decoded))] + beside
        elif beside:
            images = [from_dlpack(decoded[i]) for i in range(len(decoded))]
            with torch.cuda.stream(stream):
                images += [torch.from_numpy(one).to(images[0].device) for one in beside]
        return DecodedStep(own.step, images, sizes, own.low, own.normal, (decoded, own.encoded))

    def close(self) -> None:
        """End the threads that read."""
        self._source.close()


class DaliResizer:
    """Resizes windows of stored pairs on the CPU as DALI does: see `pipelines.resized_windows`."""

    def __init__(self, options: Options, images: int) -> None:
        windows = resized_windows(options, **pipeline_size(options, images, None))
        self._pipeline = built(windows, "windows to resize")

    def __call__(self, windows: Sequence[Pixels]) -> Sequence[Pixels]:
        """Return the windows, in the size that is asked for."""
        self._pipeline.feed_input("window", list(windows))
        (made,) = self._pipeline.run()
        return [np.asarray(made[i]) for i in range(len(made))]


@lru_cache(maxsize=1)
def survive_forks() -> None:
    """Keep children that are forked from now on from ending a pipeline of DALI.

    To free one in a worker of a DataLoader, say, would wait for ever for threads that only the
    parent has. So garbage is collected before a fork, and the child never frees what is in use.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=gc.collect, after_in_child=_leave_pipelines_to_parent)


def _leave_pipelines_to_parent() -> None:
    for pipeline in _built:
        running = getattr(pipeline, "_pipe", None)  # a name of DALI's own
        if running is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(running))
            pipeline._pipe = None


def built(pipeline: Any, name: str) -> Any:
    """Build a DALI pipeline of what is loaded by a name.

    Raises LoaderError with what DALI says.
    """
    survive_forks()
    _built.add(pipeline)
    try:
        pipeline.build()
    except Exception as error:  # of a state that is damaged, whatever its parsers raise
        raise LoaderError.at(name, f"DALI: {last_words(error)}") from error
    return pipeline
