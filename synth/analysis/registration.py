"""Registration of a pair: how far the low is shifted against its normal, and its detail."""

from __future__ import annotations

import cv2
import numpy as np

from ..kernels.arrays import FloatImage, Pixels


def registration(low: Pixels, normal: Pixels) -> dict[str, float]:
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
