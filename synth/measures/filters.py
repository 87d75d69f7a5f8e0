"""Random filters: features that know nothing of noise and tone, beside those that do.

64 filters of 5 x 5 pixels and 3 channels, of Gaussian weights, sum 0 and norm 1, always the same.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..kernels.arrays import IntArray, Mask, Pixels
from .noise_statistics import LEVELS

Features = npt.NDArray[np.float32]

COUNT = 64
SIDE = 5  # pixels
PATCH = 64  # pixels
_PATCHES = 12  # an image
_SAMPLES = 12_000  # an image
_ENOUGH = 150  # samples of a level


_WEIGHTS = np.random.default_rng(0).normal(size=(SIDE * SIDE * 3, COUNT))
_WEIGHTS -= _WEIGHTS.mean(axis=0)
_FILTERS: Features = (_WEIGHTS / np.linalg.norm(_WEIGHTS, axis=0)).astype(np.float32)


def filter_features(low: Pixels, smooth: Mask) -> Features:
    """Return what filters give where a scene is smooth, by level of the low.

    low: uint8 array (H, W, 3), RGB. smooth: bool array (H, W).

    Returns float32 array (10 * 128), for each of `LEVELS` and filter log2 of the deviation, and its
    ratio to the mean of magnitudes; NaN where there are too few pixels of a level.
    """
    edge = SIDE // 2
    if min(low.shape[:2]) < SIDE:
        return np.full((len(LEVELS) - 1) * 2 * COUNT, np.nan, np.float32)
    rows, columns = np.nonzero(smooth[edge:-edge, edge:-edge])
    step = max(1, len(rows) // _SAMPLES)
    windows = np.lib.stride_tricks.sliding_window_view(low, (SIDE, SIDE), axis=(0, 1))
    samples = windows[rows[::step], columns[::step]].reshape(-1, SIDE * SIDE * 3)
    responses = samples.astype(np.float32) @ _FILTERS
    level = samples.mean(axis=1)
    made = []
    for least, most in pairwise(LEVELS):
        here = responses[(level >= least) & (level < most)]
        enough = len(here) >= _ENOUGH
        made.append(_spread(here) if enough else np.full(2 * COUNT, np.nan, np.float32))
    return np.concatenate(made)


def patch_places(height: int, width: int) -> IntArray:
    """Return the top left corners (N, 2) of patches of an image, evenly spread."""
    across = max(1, min(width // PATCH, round((_PATCHES * width / max(height, 1)) ** 0.5)))
    down = max(1, min(height // PATCH, _PATCHES // across))
    rows = np.linspace(0, max(0, height - PATCH), down).astype(np.int64)
    columns = np.linspace(0, max(0, width - PATCH), across).astype(np.int64)
    return np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)


def patch_features(low: Pixels, normal: Pixels | None) -> Features:
    """Return what filters give in each patch of `patch_places`, with the means of its channels.

    low, normal: uint8 arrays (H, W, 3), RGB, at least 5 x 5.

    Returns float32 array (N, 134).
    """
    made = []
    for top, left in patch_places(*low.shape[:2]):
        part = slice(top, top + PATCH), slice(left, left + PATCH)
        windows = np.lib.stride_tricks.sliding_window_view(low[part], (SIDE, SIDE), axis=(0, 1))
        samples = windows[::3, ::3].reshape(-1, SIDE * SIDE * 3).astype(np.float32)
        shown = low[part] if normal is None else normal[part]
        means = np.concatenate([image.mean(axis=(0, 1)) for image in (low[part], shown)])
        made.append(np.concatenate([_spread(samples @ _FILTERS), means.astype(np.float32)]))
    return np.stack(made)


def _spread(responses: Features) -> Features:
    deviation = np.sqrt(np.einsum("nf,nf->f", responses, responses) / len(responses))
    magnitude = np.abs(responses).mean(axis=0)
    # What is added is below the rounding of one sample: it keeps black pictures finite.
    return np.concatenate([np.log2(deviation + 0.01), deviation / (magnitude + 1e-3)])
