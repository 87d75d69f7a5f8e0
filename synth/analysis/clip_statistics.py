"""Statistics of clips: common to their frames, and different between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from ..kernels.arrays import Pixels
from .pair_statistics import correlation, luminance

_FAINTEST = 2.0**-20
_FLATTEST = 0.2  # of the pixels, as of `pair_statistics`
_MOVED = 2.0  # levels by which a normal's pixel may differ between frames and count as still


def clip_statistics(lows: Sequence[Pixels], normals: Sequence[Pixels]) -> dict[str, float]:
    """Measure a clip.

    lows, normals: sequences of uint8 arrays (H, W, 3), the frames.

    Returns `flicker_ev`, the standard deviation over frames of the exposure (normal over low), and
    `temporal_correlation`, that of the noise of green in frames that follow each other, where the
    scene is flat and stands still; NaN where it is nowhere.
    """
    exposures = [
        np.log2(max(float(luminance(n).mean()), _FAINTEST))
        - np.log2(max(float(luminance(low).mean()), _FAINTEST))
        for low, n in zip(lows, normals, strict=True)
    ]
    pairs: tuple[list[npt.NDArray[np.float32]], list[npt.NDArray[np.float32]]] = ([], [])
    residuals = [_residual(low) for low in lows]
    for one, other in pairwise(range(len(lows))):
        still = _still(normals[one], normals[other])
        pairs[0].append(residuals[one][still])
        pairs[1].append(residuals[other][still])
    both = [np.concatenate([np.empty(0, np.float32), *part]) for part in pairs]
    return {
        "flicker_ev": float(np.std(exposures)),
        "temporal_correlation": correlation(both[0], both[1]),
    }


def _residual(low: Pixels) -> npt.NDArray[np.float32]:
    green = low[..., 1].astype(np.float32)
    made: npt.NDArray[np.float32] = green - cv2.GaussianBlur(green, (0, 0), 2)
    return made


def _still(before: Pixels, after: Pixels) -> npt.NDArray[np.bool_]:
    one, other = (frame[..., 1].astype(np.float32) for frame in (before, after))
    mean = cv2.GaussianBlur(one, (0, 0), 2)
    texture = cv2.GaussianBlur(one * one, (0, 0), 2) - mean * mean
    flat: npt.NDArray[np.bool_] = texture <= np.quantile(texture, _FLATTEST)
    return flat & (np.abs(one - other) <= _MOVED)
