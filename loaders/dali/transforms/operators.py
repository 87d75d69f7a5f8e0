"""Transforms of encoded images inside DALI pipelines: decode, crop, resize, flip, cast."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

from nvidia import dali

from ....errors import LoaderError
from ....manifests.images.opening import pixel_limit
from ...augment import window_of
from ...options import Options

fn: Any = dali.fn
types: Any = dali.types

Crops = Callable[[Any], Any]
"""Of DALI's BatchInfo: returns a row of `augment.crop_numbers` for each image of a batch."""
BATCHES: dict[str, Any] = {"batch": True, "batch_info": True}
"""How DALI is to call a function for a batch."""
MATH = SimpleNamespace(
    floor=dali.math.floor, sqrt=dali.math.sqrt, minimum=dali.math.min, maximum=dali.math.max
)
"""What `augment.window_of` computes with in a pipeline."""
F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {"float32": types.FLOAT, "float16": types.FLOAT16, "uint8": types.UINT8}


def plain(function: F) -> F:
    """Mark a function that branches on no data: DALI then takes .2 s less to build a pipeline."""
    marked: F = dali.pipeline.do_not_convert(function)
    return marked


def transform(images: list[Any], window: Any, flips: Any, options: Options) -> list[Any]:
    """Transform decoded images, by a window (top, left, height, width) and flips."""
    if options.cuts:
        images = _alike(fn.slice, images, start=window[:2], shape=window[2:], axes=[0, 1])
    if options.crop == "random" and options.size is not None:
        # Resizing to the same size would cost a third of the time.
        if window[2] != options.size[0] or window[3] != options.size[1]:
            images = _alike(fn.resize, images, size=options.size, antialias=True)
    elif options.size is not None:
        images = _alike(fn.resize, images, size=options.size, antialias=True)
    if options.augment:
        images = _alike(fn.flip, images, horizontal=flips[0], vertical=flips[1])
        if options.square:
            images = _turned(images, flips[2] == 1)
    return normalised(images, options)


@plain
def room_for(normal: Any, options: Options) -> Any:
    """Return memory for lows of the normals' sizes, which kernels fill.

    Nothing on the CPU, and where a size is asked for: there lows are transformed by kernels too.
    """
    if options.device == "gpu" and options.size is None:
        return fn.copy(normal)
    return fn.constant(idata=0, dtype=types.INT32)


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


def decoded_by_two(images: Any, options: Options) -> Any:
    """Decode encoded images that lows are made of, on a GPU by two operators that share them.

    While one waits for cores that are busy with lows, the other one keeps the decoding hardware
    busy: on an H200 some 28,000 live pairs a second in place of 23,000; three or four are no
    faster.
    """
    if options.device == "cpu":
        return decoded(bounded(images), options)
    if options.exact:
        return decoded(images, options)
    if (images.shape()[0] & 1) == 0:  # noqa: SIM108 - DALI follows statements alone
        made = decoded(images, options)
    else:
        made = decoded(images, options)
    return made


def processed(images: list[Any], options: Options, crops: Crops | None) -> list[Any]:
    """Decode, crop, resize and flip encoded images of one size, all alike.

    The last one is given whole besides, where maps are made of it.

    Raises LoaderError when images are to be cropped or flipped, and `crops` does not say how.
    """
    window, flips = cropped(images[-1], options, crops)
    if options.device == "cpu":
        images = [bounded(image) for image in images]
    images = _alike(decoded, images, options=options)
    made = transform(images, window, flips, options)
    return [*made, images[-1]] if options.maps else made


@plain
def cropped(image: Any, options: Options, crops: Crops | None) -> tuple[Any, Any]:
    """Return the window (top, left, height, width) and the flips of an encoded image, as int32."""
    if not options.changes:
        return None, None
    if crops is None:
        raise LoaderError("crops is missing: pipelines with a crop or augment=True need them")
    numbers = fn.external_source(source=crops, **BATCHES)
    flips = fn.cast(numbers[4:], dtype=types.INT32)
    if not options.cuts:
        return None, flips
    shape = fn.cast(fn.peek_image_shape(image), dtype=types.FLOAT64)
    places = window_of(shape[0], shape[1], [numbers[i] for i in range(4)], options, MATH)
    return fn.cast(fn.stack(*places), dtype=types.INT32), flips


def _turned(images: list[Any], turned: Any) -> list[Any]:
    """Swap rows and columns of images where that is drawn."""
    if turned:
        images = _alike(fn.transpose, images, perm=[1, 0, 2], transpose_layout=False)
    return images


@plain
def _alike(operator: Callable[..., Any], images: list[Any], **how: Any) -> list[Any]:
    """Apply an operator to images, with the same draws for all."""
    made = operator(images if len(images) > 1 else images[0], **how)
    return list(made) if isinstance(made, list | tuple) else [made]


@plain
def normalised(images: list[Any], options: Options) -> list[Any]:
    """Pad images, and bring them into the type, range and layout that are asked for."""
    if options.pad:
        images = _alike(fn.pad, images, axis_names="HW")
    mean, std = options.mean_and_std
    return _alike(
        fn.crop_mirror_normalize,
        images,
        dtype=_TYPES[options.dtype],
        output_layout=options.layout,
        mean=[mean],
        std=[std],
    )
