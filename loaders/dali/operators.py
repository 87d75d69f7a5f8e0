"""DALI's operators on images: decode, crop, resize, flip, cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from nvidia import dali

from ...manifests.images.opening import pixel_limit
from ..options import Options

fn: Any = dali.fn
types: Any = dali.types

BATCHES: dict[str, Any] = {"batch": True, "batch_info": True}
"""How DALI is to call a function for a batch."""
F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {"float32": types.FLOAT, "float16": types.FLOAT16, "uint8": types.UINT8}


def plain(function: F) -> F:
    """Mark a function that branches on no data: DALI then takes .2 s less to build a pipeline."""
    marked: F = dali.pipeline.do_not_convert(function)
    return marked


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
    """Decode encoded images, on a GPU by two operators that share them.

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
        image,
        dtype=_TYPES[options.dtype],
        output_layout=options.layout,
        mean=[mean],
        std=[std],
    )
