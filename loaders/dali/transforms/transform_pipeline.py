"""Decoded pairs on a GPU, which DALI crops, resizes and flips."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...options import Options
from .. import pipelines
from ..batches import tensor_of

AHEAD = 2
"""Batches that DALI transforms side by side on a GPU."""


@dataclass
class StartedBatch:
    """A batch that is being made.

    labels, state: what goes with it.
    inputs: what keeps the memory that it is made from.
    images: (low, normal); once they are there.
    given: what is known of it, in a tuple; empty where nobody asks.
    """

    labels: Any
    state: Any = None
    inputs: Any = None
    images: Any = None
    given: tuple[Any, ...] = ()


class TransformPipeline:
    """The pipeline `pipelines.transform_pairs` on a GPU, built for the first batch it is fed.

    apart: whether lows and normals have crops of their own: a batch's images are then one tensor,
      lows first.
    """

    def __init__(self, options: Options, device_id: int | None, apart: bool = False) -> None:
        self._options, self._device_id, self._apart = options, device_id, apart
        self._pipelines: list[Any] = []
        self._within: deque[tuple[StartedBatch, Any]] = deque()

    def begin(self, begun: StartedBatch, lows: Any, normals: Any, crops: Any, stream: Any) -> None:
        """Begin to transform a batch on a GPU: DALI does it while the next ones are decoded.

        begun: gets its images from `finish`, or when the one after the next is begun.
        lows, normals: lists of tensors, or a list of DALI.
        crops: array (N, 7); see `augment.draw_crops`; of lows, then of normals, where they are
          apart.
        stream: CUDA stream of torch; inputs are made on it, and outputs are for it.
        """
        if not self._pipelines:
            self._pipelines = [self._built() for _ in range(AHEAD)]
        if len(self._within) == len(self._pipelines):
            self.finish(self._within[0][0], stream)
        self._pipelines.append(self._pipelines.pop(0))
        pipeline = self._pipelines[0]
        self._feed(pipeline, lows, normals, crops, stream)
        begun.inputs = begun.inputs, lows, normals
        self._within.append((begun, pipeline))

    def finish(self, begun: StartedBatch, stream: Any) -> None:
        """Fill in the images of a batch: torch's own tensors, which outlive DALI's."""
        while begun.images is None:
            first, pipeline = self._within.popleft()
            first.images = tuple(tensor_of(images).clone() for images in pipeline.outputs(stream))

    def _built(self) -> Any:
        define, each = (
            (pipelines.transform_images, 2) if self._apart else (pipelines.transform_pairs, 1)
        )
        pipeline = define(
            self._options,
            batch_size=each * self._options.batch_size,
            num_threads=max(self._options.workers, 1),
            device_id=self._device_id,
            prefetch_queue_depth=1,
        )
        pipeline.build()
        return pipeline

    def _feed(self, form: Any, lows: Any, normals: Any, crops: Any, stream: Any) -> None:
        options = self._options
        # One kernel copies a batch; hundreds of copies keep Python's lock for some milliseconds.
        how = {"cuda_stream": stream, "use_copy_kernel": True}
        if self._apart:
            form.feed_input("image", [*lows, *normals], **how)
        else:
            form.feed_input("low", lows, **how)
            form.feed_input("normal", normals, **how)
        if options.cuts:
            form.feed_input("window", np.ascontiguousarray(crops[:, :4]))
        if options.augment:
            form.feed_input("flips", np.ascontiguousarray(crops[:, 4:]))
        form.schedule_run()
