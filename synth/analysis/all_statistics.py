"""All statistics of a pair: overview, noise and tone."""

from __future__ import annotations

import numpy as np

from ..kernels.arrays import Pixels
from .noise_statistics import NOISE_LABELS, noise_statistics, smooth_places
from .pair_statistics import LABELS, flattest, low_statistics, noise, pair_statistics, texture
from .tone_statistics import TONE_LABELS, tone_statistics

ALL_LABELS = LABELS | NOISE_LABELS | TONE_LABELS
"""Every statistic, and what it is called in print."""
_SIDE = 1024
"""Pixels: of larger images noise and tone are measured of the middle, which has enough of both."""


def all_statistics(low: Pixels, normal: Pixels | None = None) -> dict[str, float]:
    """Measure everything that is known how to measure of a pair, or of a low alone.

    low: uint8 array (H, W, 3), RGB.

    Returns a dict by the names of `ALL_LABELS`; NaN where an image is too small or too black for
    one. Raises ValueError when the sizes differ.
    """
    known = None
    if normal is None:
        found = low_statistics(low) | noise(low, flattest(low))
    else:
        textures = texture(normal)
        found = pair_statistics(low, normal, textures)
        normal = middle(normal, _SIDE)
        known = textures if normal.shape[:2] == textures.shape else None
    low = middle(low, _SIDE)
    found |= noise_statistics(low, smooth_places(low, normal, known))
    return found if normal is None else found | tone_statistics(low, normal)


def middle(image: Pixels, side: int) -> Pixels:
    """Return the middle of an image, at most so many pixels high and wide.

    It begins at multiples of 8, where the blocks of JPEG do.
    """
    top, left = (max(0, (length - side) // 2) // 8 * 8 for length in image.shape[:2])
    return np.ascontiguousarray(image[top : top + side, left : left + side])
