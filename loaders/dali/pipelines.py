"""DALI pipelines: decoding, and the transforms that DALI makes better than gloam's kernels.

DALI decodes; which images come when, what is drawn, and windows are gloam's, so that no pipeline
has a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from nvidia import dali

from ..options import Options
from .operators import decoded, decoded_by_two, fn, transform

pipeline_def: Any = dali.pipeline_def

SIDE_BY_SIDE: dict[str, Any] = {"concurrency": dali.OperatorConcurrency.FULL}
"""For pipelines on a GPU: operators run side by side. On an H200 that takes the hardware decoders
from 80 to nearly 100 % of their time (benchmarks/results/loaders-h200.txt).

Each backend keeps its one stream. With a stream for each operator those behind a decoder share its
own; DALI hands it the memory that it has on that stream without waiting, and tells nvImageCodec not
to wait either: where a GPU is busy with training, images are then overwritten by the next batch's
before they are resized (DALI 2.4: 1 to 6 % of batches, benchmarks/results/busy-h200.txt)."""
DECODERS_ALONE = SIDE_BY_SIDE | {"stream_policy": dali.StreamPolicy.PER_OPERATOR}
"""For those whose decoders have no operators on a GPU behind them, and whose outputs stay until all
that reads them is done; see `render.stream_keepalive`."""


@pipeline_def(enable_conditionals=True)
def encoded_images(source: Callable[[], Any], options: Options, side: int | None = None) -> Any:
    """Take encoded images from a function, of each step as many as there are, and decode them.

    Their memory is to live on until the step is there.

    side: images whose longer side is longer are made smaller.
    """
    encoded = fn.external_source(source=source, batch=True, no_copy=True)
    image = decoded_by_two(encoded, options)
    if side is not None:
        shape = fn.peek_image_shape(encoded)
        if dali.math.max(shape[0], shape[1]) > side:
            image = fn.resize(image, resize_longer=side, antialias=True)
    return image


@pipeline_def(enable_conditionals=True)
def transformed_images(options: Options) -> Any:
    """Transform decoded images on a GPU, each by a crop of its own that is fed along with it.

    Its inputs are "image" (uint8, HWC), "window" (top, left, height, width: int32) and "flips"
    (across, down, turned: int32).
    """
    # What lies on a GPU is copied: DALI waits for the stream of a copy, but not for the one that
    # made what it shares.
    how: dict[str, Any] = {"device": options.device, "layout": "HWC", "no_copy": False}
    image = fn.external_source(name="image", **how)
    window = fn.external_source(name="window") if options.cuts else None
    flips = fn.external_source(name="flips") if options.augment else None
    return transform(image, window, flips, options)


@pipeline_def
def resized_windows(options: Options) -> Any:
    """Resize windows on the CPU, "window" (uint8, HWC), which live on until that is done."""
    window = fn.external_source(name="window", layout="HWC", no_copy=True)
    return fn.resize(window, size=options.size, antialias=True)


def one_by_one(images: Iterable[bytes], options: Options) -> Any:
    """Return a pipeline, built, that decodes one encoded image a run, and none ahead."""
    arrays = ([np.frombuffer(data, np.uint8)] for data in images)
    pipeline = dali.Pipeline(
        1, 1, None, prefetch_queue_depth=1, exec_pipelined=False, exec_async=False
    )
    with pipeline:
        data = fn.external_source(source=lambda: next(arrays))
        pipeline.set_outputs(decoded(data, options))
    pipeline.build()
    return pipeline


def release_memory() -> None:
    """Release the GPU memory that DALI keeps of closed pipelines."""
    dali.backend.ReleaseUnusedMemory()
