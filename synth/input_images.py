"""Images as they come: of a set's files, or as people hand them in, Pillow's and tensors too."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .kernels.arrays import Pixels
from .kernels.png.file import decode_png


def decode_image(data: bytes, suffix: str) -> Pixels:
    """Decode a stored image of a set to RGB (H, W, 3) uint8.

    The pixels are those of `gloam.manifests.images.decode.decode`; PNGs that gloam wrote take less
    than half of its time.

    suffix: "jpg" or "png".

    Raises ImageRefused when it is damaged.
    """
    from ..manifests.images.decode import decode  # which loads every decoder

    pixels = decode_png(np.frombuffer(data, np.uint8)) if suffix == "png" else None
    return decode(data, suffix) if pixels is None else pixels


class Image(NamedTuple):
    """An image as pixels, and the way back."""

    pixels: Pixels  # uint8 array (H, W, 3), RGB
    back: Callable[[Pixels], Any]  # makes an image of the form that was given from pixels


def image_of(image: Any) -> Image:
    """Take an image in any of its forms.

    image: uint8 array or tensor (H, W, 3) or (3, H, W), RGB, or Pillow image, of whose mode
    `pixels_of_pillow` makes RGB; where both the first and the last side are 3, the last one is that
    of the channels.

    Raises ValueError when it is none of those.
    """
    if hasattr(image, "convert"):  # Pillow's
        from ..manifests.images.decode import pixels_of_pillow

        return Image(pixels_of_pillow(image), sys.modules["PIL.Image"].fromarray)
    shape = tuple(getattr(image, "shape", ()))
    if len(shape) == 3 and 3 in (shape[0], shape[2]):
        turned, turn = (np.asarray, np.asarray) if shape[2] == 3 else (_last, _first)
        if isinstance(image, np.ndarray) and image.dtype == np.uint8:
            return Image(turned(image), turn)
        if hasattr(image, "detach") and str(image.dtype) == "torch.uint8":
            device = image.device
            return Image(
                turned(image.detach().cpu().numpy()),
                lambda pixels: sys.modules["torch"].from_numpy(turn(pixels)).to(device),
            )
    of = f" of shape {shape} and type {getattr(image, 'dtype', 'unknown')}" if shape else ""
    raise ValueError(
        "image must be a uint8 array or tensor (H, W, 3) or (3, H, W), or a Pillow image, not a"
        f" {type(image).__name__}{of}"
    )


def _last(image: Pixels) -> Pixels:
    return np.ascontiguousarray(image.transpose(1, 2, 0))


def _first(pixels: Pixels) -> Pixels:
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))
