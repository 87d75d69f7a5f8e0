"""Statistics of clips: common to their frames, and different between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import cv2
import numpy as np

from ..kernels.arrays import FloatImage, Pixels
from .pair_statistics import correlation, exposure_ev, flattest, residual

_MOVED = 2  # levels by which a normal's pixel may differ between frames and count as still


def clip_statistics(lows: Sequence[Pixels], normals: Sequence[Pixels]) -> dict[str, float]:
    """Measure a clip.

    lows, normals: sequences of uint8 arrays (H, W, 3), the frames.

    Returns `flicker_ev`, the standard deviation over frames of the exposure (normal over low), and
    `temporal_correlation`, that of the noise of green in frames that follow each other, where the
    scene is flat and stands still; NaN where it is nowhere.
    """
    exposures = [exposure_ev(*pair) for pair in zip(lows, normals, strict=True)]
    pairs: tuple[list[FloatImage], list[FloatImage]] = ([], [])
    residuals = [residual(low[..., 1].astype(np.float32)) for low in lows]
    for one, other in pairwise(range(len(lows))):
        moved = cv2.absdiff(normals[one][..., 1], normals[other][..., 1])
        still = flattest(normals[one]) & (moved <= _MOVED)
        pairs[0].append(residuals[one][still])
        pairs[1].append(residuals[other][still])
    both = [np.concatenate([np.empty(0, np.float32), *part]) for part in pairs]
    return {
        "flicker_ev": float(np.std(exposures)),
        "temporal_correlation": correlation(both[0], both[1]),
    }
