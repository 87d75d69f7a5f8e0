"""Superpixels, small and fast: whether light covers an image in patches that belong together, not pixel by pixel."""

from __future__ import annotations

import cv2
import numba
import numpy as np
import numpy.typing as npt

from .decoding import Pixels

_SIDE = 64
_CELL = 8
_ROUNDS = 2
_COMPACTNESS = 10.0
BRIGHT = 0.25
"""Mean luma (sRGB-encoded, 0 to 1) from which on a superpixel counts as bright."""


def bright_share(rgb: Pixels, luma: npt.NDArray[np.uint8]) -> float:
    """Share of an image's superpixels whose mean luma is at least `BRIGHT`.

    SLIC (Achanta et al., TPAMI 34(11), 2012) in CIELAB on a copy of 64 pixels, cells of 8 pixels, compactness 10.

    Parameters
    ----------
    rgb : uint8 array (H, W, 3)
    luma : uint8 array (H, W)
    """
    height, width = luma.shape
    share = min(1.0, _SIDE / max(height, width))
    size = (max(1, round(width * share)), max(1, round(height * share)))
    lab = cv2.cvtColor(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2LAB)
    small = cv2.resize(luma, size, interpolation=cv2.INTER_AREA)
    labels, count = _slic(lab.astype(np.int32))
    sizes = np.bincount(labels.ravel(), minlength=count)
    sums = np.bincount(labels.ravel(), weights=small.ravel(), minlength=count)
    present = sizes > 0
    return float(np.mean(sums[present] >= BRIGHT * 255 * sizes[present]))


@numba.njit(cache=True)
def _slic(lab):  # type: ignore[no-untyped-def]
    height, width = lab.shape[0], lab.shape[1]
    rows, columns = max(1, height // _CELL), max(1, width // _CELL)
    count = rows * columns
    centres = np.zeros((count, 5))
    for k in range(count):
        y = (k // columns + 0.5) * height / rows
        x = (k % columns + 0.5) * width / columns
        iy, ix = int(y), int(x)
        centres[k, 0], centres[k, 1], centres[k, 2] = lab[iy, ix, 0], lab[iy, ix, 1], lab[iy, ix, 2]
        centres[k, 3], centres[k, 4] = y, x
    labels = np.zeros((height, width), np.int64)
    distances = np.empty((height, width))
    # OpenCV's 8-bit L is stretched from 100 to 255, so compactness is too.
    weight = (_COMPACTNESS * 2.55 / _CELL) ** 2
    for _ in range(_ROUNDS):
        distances[:] = np.inf
        for k in range(count):
            cy, cx = centres[k, 3], centres[k, 4]
            for y in range(max(0, int(cy) - _CELL), min(height, int(cy) + _CELL + 1)):
                for x in range(max(0, int(cx) - _CELL), min(width, int(cx) + _CELL + 1)):
                    dl, da, db = (
                        lab[y, x, 0] - centres[k, 0],
                        lab[y, x, 1] - centres[k, 1],
                        lab[y, x, 2] - centres[k, 2],
                    )
                    d = dl * dl + da * da + db * db + weight * ((y - cy) ** 2 + (x - cx) ** 2)
                    if d < distances[y, x]:
                        distances[y, x] = d
                        labels[y, x] = k
        centres[:] = 0.0
        members = np.zeros(count)
        for y in range(height):
            for x in range(width):
                k = labels[y, x]
                members[k] += 1
                centres[k, 0] += lab[y, x, 0]
                centres[k, 1] += lab[y, x, 1]
                centres[k, 2] += lab[y, x, 2]
                centres[k, 3] += y
                centres[k, 4] += x
        for k in range(count):
            if members[k] > 0:
                centres[k] /= members[k]
    return labels, count
