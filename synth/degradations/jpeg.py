"""JPEG as the last step of a low: the whole picture's blocks, of a window too."""

from __future__ import annotations

import numpy as np

from ..kernels.arrays import Pixels, Window
from ..kernels.degradations.jpeg import BESIDE, COSINES, UNIT, code_and_decode, quantisers
from .draw import JpegDraw

HALVED = "4:2:0"
_INVERSE = np.ascontiguousarray(COSINES.T)


def jpeg_span(window: Window, height: int, width: int, draw: JpegDraw | None) -> Window:
    """Return what has to be made of a picture so that JPEG is right in a window of it.

    It is of whole blocks of the whole picture's grid, and of those whose chroma reaches into it.
    """
    if draw is None or not draw.quality:
        return window
    top, left = (max(first - BESIDE, 0) // UNIT * UNIT for first in (window.top, window.left))
    bottom = min(-(-(window.top + window.height + BESIDE) // UNIT) * UNIT, height)
    right = min(-(-(window.left + window.width + BESIDE) // UNIT) * UNIT, width)
    return Window(top, left, bottom - top, right - left)


def jpeg(low: Pixels, draw: JpegDraw | None) -> Pixels:
    """Return what JPEG leaves of a low; the low itself where it is not compressed.

    Parameters
    ----------
    low : uint8 array (H, W, 3)
        A whole picture, or what `jpeg_span` says.
    draw : JpegDraw, optional
    """
    if draw is None or not draw.quality:
        return low
    out = np.empty(low.shape, np.uint8)
    low = np.ascontiguousarray(low)
    halved = draw.chroma == HALVED
    code_and_decode(low, quantisers(draw.quality), halved, COSINES, _INVERSE, out)
    return out
