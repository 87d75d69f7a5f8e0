"""Photographs as bytes, and how they become normals.

It finds out what they are and whether they can be used, and makes upright 8-bit RGB normals.

A normal is kept byte for byte when it already is a JPEG or an 8-bit PNG, upright, of RGB in sRGB,
that no reader shows otherwise. Everything else that can be read (greyscale, CMYK, palette, alpha,
16 bit, TIFF, BMP, WebP, with another colour profile, with an orientation or an animation, of which
some readers make other pixels) is converted and encoded anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import simplejpeg
from PIL import Image

from ...errors import ImageRefused, Reason
from .decode import decode, decode_as_rgb, decode_small
from .header import read_header
from .opening import Pixels, encode_by_opencv

NORMAL_QUALITY = 95
"""JPEG quality, without chroma subsampling, of normals that were JPEGs but must be encoded anew."""
_SIXTEENTH = 16  # level: a sixteenth of white
_PNG_OPTIONS = cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY
"""Noise leaves nothing to find for a match search: Huffman coding of differences (OpenCV's
own filter) is the smallest and the fastest here."""


@dataclass(frozen=True)
class Normal:
    """The normal-light image of a pair.

    data: the encoded image.
    suffix: "jpg" or "png".
    size: (height, width).
    converted: why the photograph was encoded anew, "" when `data` is the photograph byte for byte.
    pixels: uint8 array (H, W, 3); `data` decoded: RGB. Empty where it was not at full size.
    """

    data: bytes
    suffix: str
    size: tuple[int, int]
    converted: str
    pixels: Pixels


def load_normal(
    data: bytes, max_side: int | None = None, max_pixels: int | None = None, decoded: bool = True
) -> Normal:
    """Turn a photograph's bytes into the normal of a pair.

    data: a JPEG, PNG, TIFF, BMP or WebP file.
    max_side: shrink larger images to this longer side, by Pillow's Lanczos filter, whose
      fixed-point arithmetic does not depend on the CPU.
    max_pixels: refuse images with more; see `opening.check_pixels`.
    decoded: whether its pixels are wanted. Else of JPEGs that are kept the whole stream is read,
      if only to a small image, so that the same ones are refused.

    Raises ImageRefused when the photograph cannot be used; its `reason` says why.
    """
    header = read_header(data, max_pixels)
    jpeg = header.format == "JPEG"
    shrink = max_side is not None and max(header.width, header.height) > max_side
    suffix = "jpg" if jpeg else "png"
    if not header.convert and not shrink:
        size = header.height, header.width
        if jpeg and not decoded:
            decode_small(data, header, 1)
            return Normal(data, suffix, size, "", np.empty((0, 0, 3), np.uint8))
        return Normal(data, suffix, size, "", decode(data, suffix, max_pixels))
    pixels, reason = decode_as_rgb(data, max_pixels=max_pixels), header.convert or "resized"
    if reason == "16 bit" and pixels.max() <= _SIXTEENTH:
        what = "16-bit samples, all up to 4,095: if they hold 12 bits or fewer, multiply them"
        raise ImageRefused(Reason.UNSUPPORTED, what)
    if jpeg:
        return encode_normal(pixels, max_side, reason)
    pixels = _shrink_pixels(pixels, max_side)
    return Normal(encode(pixels, "png"), "png", pixels.shape[:2], reason, pixels)


def encode_normal(pixels: Pixels, max_side: int | None, reason: str) -> Normal:
    """Make a normal of pixels that are no photograph's file: a JPEG.

    pixels: uint8 array (H, W, 3).
    max_side: see `load_normal`.
    reason: why it is encoded anew.
    """
    encoded = encode(_shrink_pixels(pixels, max_side), "jpg", NORMAL_QUALITY, "444")
    # The low is made from the stored normal as decoded, which JPEG has changed a little.
    decoded = decode(encoded, "jpg", pixels.size)
    return Normal(encoded, "jpg", decoded.shape[:2], reason, decoded)


def _shrink_pixels(pixels: Pixels, max_side: int | None) -> Pixels:
    height, width = pixels.shape[:2]
    if max_side is None or max(height, width) <= max_side:
        return pixels
    share = max_side / max(height, width)
    size = (max(1, round(width * share)), max(1, round(height * share)))
    return np.array(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS))


def encode(pixels: Pixels, suffix: str, quality: int = 95, chroma: str = "444") -> bytes:
    """Encode RGB (H, W, 3) uint8 as "jpg" or "png".

    A "jpg" has a quality of 1 to 100, and chroma "444", "422" or "420"; a "png" is lossless.
    """
    if suffix == "jpg":
        return simplejpeg.encode_jpeg(
            np.ascontiguousarray(pixels), quality, "RGB", chroma, fastdct=False
        )
    return encode_by_opencv(cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), *_PNG_OPTIONS)
