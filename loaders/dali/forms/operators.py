"""What DALI makes of encoded images, inside pipelines: decoded, cut, resized, flipped, typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvidia import dali

from ...options import Options

fn: Any = dali.fn
types: Any = dali.types

Forms = Callable[[Any], list[Any]]
"""Of DALI's BatchInfo: returns for each pair of a batch the window (top, left, height, width) and
the flips (across, down, turned) as int32 array (7)."""
BATCHES = {"batch": True, "batch_info": True}
"""How DALI is to call a function for a batch."""
_TYPES = {"float32": types.FLOAT, "float16": types.FLOAT16, "uint8": types.UINT8}


def formed(images: list[Any], window: Any, flips: Any, options: Options) -> list[Any]:
    """Bring decoded images into form, by a window (top, left, height, width) and flips."""
    if options.cuts:
        images = _alike(fn.slice, images, start=window[:2], shape=window[2:], axes=[0, 1])
    if options.size is not None:
        images = _alike(fn.resize, images, size=options.size, antialias=True)
    if options.augment:
        images = _alike(fn.flip, images, horizontal=flips[0], vertical=flips[1])
        if options.square:
            images = _turned(images, flips[2] == 1)
    return normalised(images, options)


def room_for(normal: Any, options: Options) -> Any:
    """Return memory for lows of the normals' sizes, which kernels fill.

    Nothing on the CPU, and where a size is asked for: there lows are formed by kernels too.
    """
    if options.device == "gpu" and options.size is None:
        return fn.copy(normal)
    return fn.constant(idata=0, dtype=types.INT32)


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


def decoded_by_two(images: Any, options: Options) -> Any:
    """Decode encoded images that lows are made of, on a GPU by two operators that share them.

    While one waits for cores that are busy with lows, the other one keeps the decoding hardware
    busy: on an H200 some 28,000 live pairs a second in place of 23,000; three or four are no
    faster.
    """
    if options.device == "cpu" or options.exact:
        return decoded(images, options)
    if (images.shape()[0] & 1) == 0:  # noqa: SIM108 - DALI follows statements alone
        made = decoded(images, options)
    else:
        made = decoded(images, options)
    return made


def processed(images: list[Any], options: Options, forms: Forms | None = None) -> list[Any]:
    """Decode and bring into form encoded images of one size, with the same draws for all.

    The draws are DALI's own, or those of a function.
    """
    if forms is not None:
        form = fn.external_source(source=forms, **BATCHES)
        return formed(_alike(decoded, images, options=options), form[:4], form[4:], options)
    if options.crop == "random":
        shape = fn.peek_image_shape(images[-1])
    images = _alike(decoded, images, options=options)
    if options.size is not None:
        if options.crop == "resize":
            images = _alike(fn.resize, images, size=options.size, antialias=True)
        elif options.crop == "random-resized":
            how = {"size": options.size, "random_area": [0.35, 1.0], "antialias": True}
            images = _alike(fn.random_resized_crop, images, **how)
        else:
            height, width = options.size
            if shape[0] < height or shape[1] < width:
                larger = {"size": options.size, "mode": "not_smaller", "antialias": True}
                images = _alike(fn.resize, images, **larger)
            at_x, at_y = fn.random.uniform(range=[0.0, 1.0]), fn.random.uniform(range=[0.0, 1.0])
            images = _alike(fn.crop, images, crop=options.size, crop_pos_x=at_x, crop_pos_y=at_y)
    if options.augment:
        across, down = fn.random.coin_flip(), fn.random.coin_flip()
        images = _alike(fn.flip, images, horizontal=across, vertical=down)
        if options.square:
            images = _turned(images, fn.random.coin_flip(dtype=types.BOOL))
    return normalised(images, options)


def _turned(images: list[Any], turned: Any) -> list[Any]:
    """Swap rows and columns of images where that is drawn."""
    if turned:
        images = _alike(fn.transpose, images, perm=[1, 0, 2], transpose_layout=False)
    return images


def _alike(operator: Callable[..., Any], images: list[Any], **how: Any) -> list[Any]:
    """Apply an operator to images, with the same draws for all."""
    made = operator(images if len(images) > 1 else images[0], **how)
    return list(made) if isinstance(made, list | tuple) else [made]


def normalised(images: list[Any], options: Options) -> list[Any]:
    """Pad images, and bring them into the type, range and layout that are asked for."""
    if options.pad:
        images = _alike(fn.pad, images, axis_names="HW")
    signed = options.value_range[0] < 0 and options.dtype != "uint8"
    plain = options.dtype == "uint8"
    return _alike(
        fn.crop_mirror_normalize,
        images,
        dtype=_TYPES[options.dtype],
        output_layout=options.layout,
        mean=[127.5] if signed else [0.0],
        std=[1.0] if plain else ([127.5] if signed else [255.0]),
    )
