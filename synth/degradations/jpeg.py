"""JPEG as the last step of a low, on the block grid of the full picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.arrays import Pixels, Window
from ..kernels.degradations.jpeg import BESIDE, COSINES, UNIT, code_and_decode, quantisers

HALVED = "4:2:0"


class JpegSetting(NamedTuple):
    """JPEG settings of a low."""

    quality: int  # 1 to 100; 0 for none
    halved: bool  # whether chroma is of 2 x 2 pixels


_INVERSE = np.ascontiguousarray(COSINES.T)


def jpeg_span(window: Window, height: int, width: int, setting: JpegSetting) -> Window:
    """Return the area of a picture that JPEG needs for a window of it.

    It is of whole blocks of the whole picture's grid, and of those whose chroma reaches into it.
    """
    if not setting.quality:
        return window
    top, left = (max(first - BESIDE, 0) // UNIT * UNIT for first in (window.top, window.left))
    bottom = min(-(-(window.top + window.height + BESIDE) // UNIT) * UNIT, height)
    right = min(-(-(window.left + window.width + BESIDE) // UNIT) * UNIT, width)
    return Window(top, left, bottom - top, right - left)


def jpeg(low: Pixels, setting: JpegSetting) -> Pixels:
    """Compress a low by JPEG and decode it; return the low itself if its draw has no JPEG.

    low: uint8 array (H, W, 3), a whole picture, or what `jpeg_span` says.
    """
    if not setting.quality:
        return low
    out = np.empty(low.shape, np.uint8)
    low = np.ascontiguousarray(low)
    code_and_decode(low, quantisers(setting.quality), setting.halved, COSINES, _INVERSE, out)
    return out
