"""Pixels to the bytes of a set's images: PNG, exact, or JPEG."""

from __future__ import annotations

import cv2
import numpy as np
import simplejpeg

from ...errors import ImageRefused, Reason
from .opening import Pixels

_PNG_OPTIONS = [cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY]
"""Noise leaves nothing to find for a match search: Huffman coding of differences (OpenCV's
own filter) is the smallest and the fastest here."""


def encode(pixels: Pixels, suffix: str, quality: int = 95, chroma: str = "444") -> bytes:
    """Encode RGB (H, W, 3) uint8 as "jpg" or "png".

    A "jpg" has a quality of 1 to 100, and chroma "444", "422" or "420"; a "png" is lossless.
    """
    if suffix == "jpg":
        return simplejpeg.encode_jpeg(
            np.ascontiguousarray(pixels), quality, "RGB", chroma, fastdct=False
        )
    done, array = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), _PNG_OPTIONS)
    if not done:
        raise ImageRefused(Reason.DAMAGED, "could not be encoded as PNG")
    return array.tobytes()


def encode_grey(samples: Pixels) -> bytes:
    """Encode samples (H, W) uint8, such as numbers of classes, as a grey PNG."""
    done, array = cv2.imencode(".png", samples)
    if not done:
        raise ImageRefused(Reason.DAMAGED, "could not be encoded as PNG")
    return array.tobytes()
