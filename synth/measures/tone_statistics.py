"""Statistics of a low's tone, colour and registration against its normal."""

from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np

from ..kernels.arrays import FloatArray, FloatImage, Mask, Pixels
from ..kernels.curves import LEVEL_LIGHT, linear_to_srgb
from .noise_statistics import CHANNELS
from .pair_statistics import block_means

TONES = (0, 16, 32, 64, 112, 160, 192, 224, 250, 256)
"""Bounds of the levels of the normal, of 255, at which tone is measured."""
MIDDLE = (64, 160)
"""Levels of the normal, of 255, that tone is relative to."""
_BLOCK = 10  # pixels of a block
_ENOUGH = 4  # blocks
_LEAST = 1e-5  # of linear light: a thirtieth of the first level
_LEVEL_LIGHT = LEVEL_LIGHT.astype(np.float32)

TONE_LABELS = {
    "normal_mean": "mean of the normal, sRGB 0-1",
    "balance_red": "white balance: red gained on green, EV",
    "balance_blue": "white balance: blue gained on green, EV",
    "saturation": "saturation, low over normal",
    "shift": "shift of low against normal, pixels",
    "detail": "detail of the low, of the normal's",
    **{
        f"tone_{channel}_{least}": (
            f"tone {channel.upper()} at {least} to {most} of the normal, EV from its middle"
        )
        for channel in CHANNELS
        for least, most in pairwise(TONES)
    },
    **{
        f"spread_{least}": f"spread of the tone at {least} to {most} of the normal, EV"
        for least, most in pairwise(TONES)
    },
}
"""Every statistic of tone, and what it is called in print."""


def tone_statistics(low: Pixels, normal: Pixels) -> dict[str, float]:
    """Measure the low's tone, colour and registration against its normal.

    low, normal: uint8 arrays (H, W, 3) of equal size, RGB.

    Returns a dict by the names of `TONE_LABELS`; NaN where a picture has too few blocks of a level.
    """
    light, lit = (block_means(_LEVEL_LIGHT[image], _BLOCK) for image in (low, normal))
    level = 255 * linear_to_srgb(np.minimum(lit, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = np.log2(np.maximum(light, _LEAST)) - np.log2(np.maximum(lit, _LEAST))
    measured = {"normal_mean": float(normal.mean()) / 255}
    middles = []
    for number, channel in enumerate(CHANNELS):
        own = level[:, number]
        middles.append(_mean(light, lit, number, (own >= MIDDLE[0]) & (own < MIDDLE[1])))
        for least, most in pairwise(TONES):
            here = (own >= least) & (own < most)
            measured[f"tone_{channel}_{least}"] = _mean(light, lit, number, here) - middles[-1]
            if channel == "g":
                enough = here.sum() >= 4 * _ENOUGH
                measured[f"spread_{least}"] = float(gain[here, 1].std()) if enough else float("nan")
    measured["balance_red"] = middles[0] - middles[1]
    measured["balance_blue"] = middles[2] - middles[1]
    measured["saturation"] = _saturation(light, lit)
    return measured | _registration(low, normal)


def _mean(light: FloatArray, lit: FloatArray, channel: int, here: Mask) -> float:
    """Return by how many EV a channel's light changed at some blocks."""
    if here.sum() < _ENOUGH:
        return float("nan")
    dark, bright = light[here, channel].mean(), lit[here, channel].mean()
    return float(np.log2(max(dark, _LEAST) / max(bright, _LEAST)))


def _saturation(light: FloatArray, lit: FloatArray) -> float:
    """Return the slope of the low's differences of red and blue from green on the normal's."""
    dark, bright = light / max(light.mean(), _LEAST), lit / max(lit.mean(), _LEAST)
    # Of each picture's own grey, so that white balance is none of it.
    dark, bright = (
        dark / np.maximum(dark.mean(axis=0), _LEAST),
        bright / np.maximum(bright.mean(axis=0), _LEAST),
    )
    apart = [(one - one[:, 1:2])[:, ::2].ravel() for one in (dark, bright)]
    square = float(apart[1] @ apart[1])
    return float(apart[0] @ apart[1]) / square if square > 1e-9 else float("nan")


def _registration(low: Pixels, normal: Pixels) -> dict[str, float]:
    """Return how far a low is shifted against its normal, and how much of its detail it has.

    The low as it would be without noise, by the mean of its green at each level of the normal's, is
    compared by least squares with its gradients and its fine structure (Lucas and Kanade, 1981).
    """
    dark, bright = low[..., 1], normal[..., 1]
    count = np.bincount(bright.ravel(), minlength=256)
    total = np.bincount(bright.ravel(), dark.ravel(), 256)
    known = np.flatnonzero(count >= 20)
    none = {"shift": float("nan"), "detail": float("nan")}
    if len(known) < 16:
        return none
    curve = np.interp(np.arange(256), known, total[known] / count[known]).astype(np.float32)
    expected, found = (_band(image) for image in (curve[bright], dark.astype(np.float32)))
    down, across = np.gradient(expected)
    terms = np.stack([across.ravel(), down.ravel(), expected.ravel()]).astype(np.float64)
    square = terms @ terms.T
    if min(np.diag(square)) < 1e-3 * expected.size:
        return none
    right, below, detail = np.linalg.solve(square, terms @ found.ravel().astype(np.float64))
    return {"shift": float(np.hypot(right, below)), "detail": float(detail)}


def _band(image: FloatImage) -> FloatImage:
    """Return structure of some pixels' size."""
    fine = cv2.GaussianBlur(image, (0, 0), 1)
    return fine - cv2.GaussianBlur(image, (0, 0), 4)
