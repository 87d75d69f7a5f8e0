"""JPEG as the last step of a low, on the block grid of the full picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.arrays import FloatImage, Pixels, Window
from ..kernels.degradations.jpeg import BESIDE, COSINES, SIDE, UNIT, code_and_decode, quantisers

HALVED = "4:2:0"


class JpegSetting(NamedTuple):
    """JPEG settings of a low."""

    quality: int  # 1 to 100; 0 for none
    halved: bool  # whether chroma is of 2 x 2 pixels


_INVERSE = np.ascontiguousarray(COSINES.T)
_NEAR = (-6, -5, -4, -3, 3, 4, 5, 6)  # of a quality: others that are compared with it
_ITS_OWN = 0.8  # of their error: what was never a JPEG is at .98 to 1, one of quality 95 at .6
_BLOCKS = 1500  # that are looked at


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


def quality_of_pixels(low: Pixels) -> int:
    """Return the quality, 40 to 95, of the JPEG that a picture was last; 0 of what was none.

    Its own steps change the luma of a JPEG hardly, those of other qualities do, wherever its blocks
    begin: the picture may have been cut since. Above 95 steps are no larger than rounding.

    low: uint8 array (H, W, 3).
    """
    luma = low.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32) - 128
    if min(luma.shape) < 5 * SIDE:
        return 0
    found = (_ITS_OWN, 0)
    for top, left in {(0, 0), (_first(luma.T), _first(luma))}:
        high, wide = (luma.shape[0] - top) // SIDE, (luma.shape[1] - left) // SIDE
        part = luma[top : top + SIDE * high, left : left + SIDE * wide]
        blocks = part.reshape(high, SIDE, wide, SIDE).swapaxes(1, 2).reshape(-1, SIDE, SIDE)
        some = COSINES @ blocks[:: -(-len(blocks) // _BLOCKS)] @ _INVERSE
        errors = np.zeros(102)
        for quality in range(34, 102):
            steps = quantisers(min(quality, 100))[0].reshape(SIDE, SIDE)
            errors[quality] = np.sqrt(np.square(some - steps * np.rint(some / steps)).mean())
        for quality in range(40, 96):
            others = max(float(np.mean([errors[quality + i] for i in _NEAR])), 1e-6)
            found = min(found, (float(errors[quality]) / others, quality))
    return found[1]


def _first(luma: FloatImage) -> int:
    """Return the column that JPEG's blocks seem to begin at: the largest steps are before it."""
    steps = np.abs(np.diff(luma, axis=1)).mean(axis=0)
    whole = len(steps) // SIDE * SIDE
    return (int(steps[:whole].reshape(-1, SIDE).mean(axis=0).argmax()) + 1) % SIDE
