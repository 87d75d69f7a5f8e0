"""Decoded images on a GPU, which DALI crops, resizes and flips."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..options import Options
from ..stored_pairs import check_one_size
from . import pipelines

AHEAD = 2
"""Batches that DALI transforms side by side on a GPU."""


@dataclass
class StartedTransform:
    """Images that are being transformed.

    rows: which of a batch's samples they are.
    inputs: what keeps the memory that they are made from.
    images: one tensor, once it is there.
    """

    rows: Any
    inputs: Any = None
    images: Any = None


class TransformPipeline:
    """The pipeline `pipelines.transformed_images` on a GPU, built for the first batch it is fed.

    images: at most so many in a batch.
    """

    def __init__(self, options: Options, device_id: int | None, images: int) -> None:
        self._options, self._device_id, self._count = options, device_id, images
        self._pipelines: list[Any] = []
        self._within: deque[tuple[StartedTransform, Any]] = deque()

    def begin(
        self, begun: StartedTransform, images: Sequence[Any], crops: Any, stream: Any
    ) -> None:
        """Begin to transform images on a GPU: DALI does it while the next ones are decoded.

        begun: gets its images from `finish`, or when the one after the next is begun.
        images: tensors of DALI, or of torch.
        crops: array (N, 7); see `augment.crops_of`.
        stream: CUDA stream of torch; inputs are made on it, and outputs are for it.
        """
        if not self._pipelines:
            self._pipelines = [self._built() for _ in range(AHEAD)]
        if len(self._within) == len(self._pipelines):
            self.finish(self._within[0][0], stream)
        self._pipelines.append(self._pipelines.pop(0))
        pipeline = self._pipelines[0]
        # One kernel copies a batch; hundreds of copies keep Python's lock for some milliseconds.
        pipeline.feed_input("image", images, cuda_stream=stream, use_copy_kernel=True)
        if self._options.cuts:
            pipeline.feed_input("window", np.ascontiguousarray(crops[:, :4]))
        if self._options.augment:
            pipeline.feed_input("flips", np.ascontiguousarray(crops[:, 4:]))
        pipeline.schedule_run()
        begun.inputs = images
        self._within.append((begun, pipeline))

    def finish(self, begun: StartedTransform, stream: Any) -> None:
        """Fill in the images of a batch: torch's own tensor, which outlives DALI's."""
        while begun.images is None:
            first, pipeline = self._within.popleft()
            (images,) = pipeline.outputs(stream)
            first.images = _tensor_of(images).clone()

    def _built(self) -> Any:
        pipeline = pipelines.transformed_images(
            self._options,
            batch_size=self._count,
            num_threads=max(self._options.workers, 1),
            device_id=self._device_id,
            prefetch_queue_depth=1,
        )
        pipeline.build()
        return pipeline


def _tensor_of(images: Any) -> Any:
    """Return a torch tensor over DALI's memory, without a copy."""
    from torch.utils.dlpack import from_dlpack

    try:
        return from_dlpack(images.as_tensor())
    except Exception:
        check_one_size(images.shape())
        raise
