"""DALI's operators and pipelines: decoding, and what DALI transforms better than gloam's kernels.

DALI decodes; which images come when, what is drawn, and windows are gloam's, so that no pipeline
has a state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from nvidia import dali

from ...manifests.images.opening import pixel_limit
from ..options import Options
from ..stored_pairs import check_one_size

fn: Any = dali.fn
types: Any = dali.types
pipeline_def: Any = dali.pipeline_def

F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {"float32": types.FLOAT, "float16": types.FLOAT16, "uint8": types.UINT8}
SIDE_BY_SIDE: dict[str, Any] = {"concurrency": dali.OperatorConcurrency.FULL}
"""For pipelines on a GPU: operators run side by side. On an H200 that takes the hardware decoders
from 80 to nearly 100 % of their time (benchmarks/results/loaders-h200.txt).

Each backend keeps its one stream. With a stream for each operator those behind a decoder share its
own; DALI hands it the memory that it has on that stream without waiting, and tells nvImageCodec not
to wait either: where a GPU is busy with training, images are then overwritten by the next batch's
before they are resized (DALI 2.4: 1 to 6 % of batches, benchmarks/results/busy-h200.txt)."""
DECODERS_ALONE = SIDE_BY_SIDE | {"stream_policy": dali.StreamPolicy.PER_OPERATOR}
"""For those whose decoders have no operators on a GPU behind them, and whose outputs stay until all
that reads them is done; see `prefetch.StreamKeepAlive`."""
GPU_CODECS = ("h264", "hevc")
"""Codecs, by FFmpeg's names, that DALI decodes on GPUs. Others, which may hold packets that only
show an earlier frame again, were not tried there."""
CPU_CODECS = ("vp8", "vp9", "mjpeg")
PIXEL_FORMS = ("yuv420p", "yuvj420p")
"""Codecs that it decodes everywhere."""
AHEAD = 2
"""Batches that DALI transforms side by side on a GPU."""


@pipeline_def(enable_conditionals=True)
def encoded_images(source: Callable[[], Any], options: Options, side: int | None = None) -> Any:
    """Take encoded images from a function, of each step as many as there are, and decode them.

    Their memory is to live on until the step is there.

    side: images whose longer side is longer are made smaller.
    """
    given = 3 if options.device == "gpu" and not options.exact else 2
    rows, size, *half = fn.external_source(
        source=_first_of(source, given), num_outputs=given, batch=True, no_copy=True
    )
    encoded = fn.slice(rows, start=[0], shape=size, axes=[0])
    image = decoded_by_two(encoded, half, options)
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


def pipeline_size(
    options: Options, images: int, device_id: int | None, ahead: int = 1
) -> dict[str, Any]:
    """Return a pipeline's arguments for batches of at most so many images, some made ahead."""
    size = {"batch_size": images, "num_threads": max(options.workers, 1)}
    return size | {"device_id": device_id, "prefetch_queue_depth": ahead}


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


def plain(function: F) -> F:
    """Mark a function that branches on no data: DALI then takes .2 s less to build a pipeline."""
    marked: F = dali.pipeline.do_not_convert(function)
    return marked


@plain
def _first_of(source: Callable[[], Any], count: int) -> Callable[[], Any]:
    """Return a function of the first `count` results of another.

    DALI would convert one that is made in a pipeline's function, and all that it calls.
    """
    return lambda: source()[:count]


@plain
def decoded(images: Any, options: Options) -> Any:
    """Decode an encoded image, or a list of several."""
    if options.exact and options.device == "gpu":
        return fn.decoders.image(images, device="cpu", output_type=types.RGB).gpu()
    if options.device == "cpu":
        return fn.decoders.image(images, device="cpu", output_type=types.RGB)
    # Without fancy upsampling colour edges differ by up to 68 levels from what libjpeg-turbo, and
    # so every other program, makes of the same bytes; with it by 3 to 5, at no cost that could be
    # measured on an H200.
    return fn.decoders.image(
        images,
        device="mixed",
        output_type=types.RGB,
        hw_decoder_load=options.hw_decoder_load,
        jpeg_fancy_upsampling=True,
    )


@plain
def bounded(image: Any) -> Any:
    """Return an encoded image, or nothing of it where it has too many pixels.

    Then its decoder fails, and what looks for the reason finds it. It takes some 20 us, half a core
    for the pairs that a GPU decodes in a second: there those of a set are not looked at.
    """
    shape = fn.peek_image_shape(image)
    kept = image.shape()[0] * (shape[0] * shape[1] <= pixel_limit())
    return fn.slice(image, start=[0], shape=fn.stack(fn.cast(kept, dtype=types.INT32)), axes=[0])


def decoded_by_two(images: Any, half: list[Any], options: Options) -> Any:
    """Decode encoded images, on a GPU by two operators that share them.

    While one waits for cores that are busy with lows, the other one keeps the decoding hardware
    busy: on an H200 some 28,000 live pairs a second in place of 23,000; three or four are no
    faster. Of stored pairs one gets lows, one normals: those of one batch have one chroma
    subsampling, then.

    half: of each image 0 or 1, which of the two decodes it; as a list, empty where one is to.
    """
    if options.device == "cpu":
        return decoded(bounded(images), options)
    if not half:
        return decoded(images, options)
    if half[0] == 0:  # noqa: SIM108 - DALI follows statements alone
        made = decoded(images, options)
    else:
        made = decoded(images, options)
    return made


def transform(image: Any, window: Any, flips: Any, options: Options) -> Any:
    """Transform a decoded image, by a window (top, left, height, width) and flips."""
    if options.cuts:
        image = fn.slice(image, start=window[:2], shape=window[2:], axes=[0, 1])
    if options.crop == "random" and options.size is not None:
        # Resizing to the same size would cost a third of the time.
        if window[2] != options.size[0] or window[3] != options.size[1]:
            image = fn.resize(image, size=options.size, antialias=True)
    elif options.size is not None:
        image = fn.resize(image, size=options.size, antialias=True)
    if options.augment:
        image = fn.flip(image, horizontal=flips[0], vertical=flips[1])
        if options.square:
            image = _turned(image, flips[2] == 1)
    return normalised(image, options)


def _turned(image: Any, turned: Any) -> Any:
    """Swap rows and columns of an image where that is drawn."""
    if turned:
        image = fn.transpose(image, perm=[1, 0, 2], transpose_layout=False)
    return image


@plain
def normalised(image: Any, options: Options) -> Any:
    """Pad images, and bring them into the type, range and layout that are asked for."""
    if options.pad:
        image = fn.pad(image, axis_names="HW")
    mean, std = options.mean_and_std
    return fn.crop_mirror_normalize(
        image, dtype=_TYPES[options.dtype], output_layout=options.layout, mean=[mean], std=[std]
    )


@pipeline_def()
def external_clips(source: Callable[[Any], tuple[Any, ...]], options: Options) -> Any:
    """Take videos and the numbers of their frames from a function of DALI's BatchInfo.

    It returns lists of files (uint8 arrays), of numbers of frames, and of heights and widths (int32
    arrays). Yields sequences of frames (F, H, W, 3), without the margins that files for a GPU have.
    """
    how: dict[str, Any] = {"batch": True, "batch_info": True}
    video, frames, size = fn.external_source(source=source, num_outputs=3, **how)
    device = "mixed" if options.device == "gpu" else "cpu"
    decoded = fn.decoders.video(video, frames=frames, device=device)
    return fn.slice(decoded, start=(0, 0), shape=size, axes=(1, 2))


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
    """The pipeline `transformed_images` on a GPU, built for the first batch it is fed.

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
            self._pipelines = [self._build_pipeline() for _ in range(AHEAD)]
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
        from torch.utils.dlpack import from_dlpack

        while begun.images is None:
            first, pipeline = self._within.popleft()
            (images,) = pipeline.outputs(stream)
            try:
                first.images = from_dlpack(images.as_tensor()).clone()
            except Exception:
                check_one_size(images.shape())
                raise

    def _build_pipeline(self) -> Any:
        size = pipeline_size(self._options, self._count, self._device_id)
        pipeline = transformed_images(self._options, **size)
        pipeline.build()
        return pipeline
