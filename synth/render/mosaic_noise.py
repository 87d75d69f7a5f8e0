"""Noise behind a demosaic: which sites each pixel is made of, and what varies with them.

Each output is a sum over sites, weighted by the demosaic, the colour matrix, the slope of the
encoding and chroma noise reduction; its variance is the sum of the sites' by the squared weights.
Light and slope are taken to be those of the pixel over the few sites about it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..kernels.curves import LUMA
from ..kernels.demosaic import BORDER, MALVAR

Floats = npt.NDArray[np.float64]
_SITE = np.array([[0, 1], [1, 2]])  # the colour of a site by its row's and column's parity


@lru_cache(maxsize=4)
def demosaic_weights(method: int) -> Floats:
    """Return what a pixel takes of the sites around it: (2, 2, 3, 5, 5).

    By the parity of its row and column, and its channel.
    """
    sharp = 1.0 if method == MALVAR else 0.0
    near, side, far, beyond, corner = (np.zeros((5, 5)) for _ in range(5))
    own = near.copy()
    own[2, 2] = 1
    near[[1, 3], 2] = 1  # above and below
    side[2, [1, 3]] = 1
    far[[0, 4], 2] = 1
    beyond[2, [0, 4]] = 1
    corner[[1, 1, 3, 3], [1, 3, 1, 3]] = 1
    green = 0.25 * (near + side) + sharp * (0.5 * own - 0.125 * (far + beyond))
    opposite = 0.25 * corner + sharp * (0.75 * own - 0.1875 * (far + beyond))
    across = 0.5 * side + sharp * (0.625 * own - 0.125 * (corner + beyond) + 0.0625 * far)
    down = 0.5 * near + sharp * (0.625 * own - 0.125 * (corner + far) + 0.0625 * beyond)
    weights = [
        [[own, green, opposite], [across, own, down]],
        [[down, own, across], [opposite, green, own]],
    ]
    return np.array(weights)


@lru_cache(maxsize=64)
def _blurred_weights(method: int, blur: tuple[float, ...]) -> Floats:
    """Return what the blur of a pixel's channel takes of sites: (2, 2, 3, n, n)."""
    weights, reach = demosaic_weights(method), len(blur) - 1
    side = 2 * (reach + BORDER) + 1
    made = np.zeros((2, 2, 3, side, side))
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            share = blur[abs(i)] * blur[abs(j)]
            rows, columns = slice(reach + i, reach + i + 5), slice(reach + j, reach + j + 5)
            turned = np.roll(weights, (-i, -j), (0, 1))  # the neighbour's own parity
            made[..., rows, columns] += share * turned
    return made


def demosaiced(means: npt.NDArray[np.float32], method: int) -> npt.NDArray[np.float32]:
    """Return the electrons (3, h, w) of pixels from those under each (3, h + 4, w + 4)."""
    height, width = means.shape[1] - 2 * BORDER, means.shape[2] - 2 * BORDER
    sites = np.empty(means.shape[1:], np.float32)
    made = np.zeros((3, height, width), np.float32)
    for i in (0, 1):
        for j in (0, 1):
            sites[i::2, j::2] = means[_SITE[i, j], i::2, j::2]
    weights = demosaic_weights(method)
    for i, j, c, y, x in np.argwhere(weights):
        part = sites[y + i : y + height : 2, x + j : x + width : 2]
        made[c, i::2, j::2] += np.float32(weights[i, j, c, y, x]) * part
    return made


def mosaic_variances(
    site: npt.NDArray[np.float32],
    slopes: npt.NDArray[np.float32],
    to_light: Floats,
    method: int,
    blur: npt.NDArray[np.float32],
    strength: float,
) -> Floats:
    """Return the variance of levels (3, h, w).

    Parameters
    ----------
    site : array (3, h, w)
        Variance of a site of each colour, DN^2.
    slopes : array (3, h, w)
        Levels for each unit of light of each channel.
    to_light : array (3, 3)
        Light of each channel for each DN of red, green and blue.
    method, blur, strength
        Of demosaic and chroma noise reduction.
    """
    alone = demosaic_weights(method)
    reach = max(len(blur) - 1, 0)
    alone = np.pad(alone, [(0, 0)] * 3 + [(reach, reach)] * 2)
    smooth = _blurred_weights(method, tuple(blur.tolist())) if reach else alone
    strength = strength if reach else 0.0
    variances = np.empty(site.shape)
    parity = np.add.outer(np.arange(alone.shape[3]), np.zeros(alone.shape[4], np.int64))
    for i in (0, 1):
        for j in (0, 1):
            rows = (parity - reach - BORDER + i) % 2
            colours = _SITE[rows, (parity.T - reach - BORDER + j) % 2]
            own, blurred = (np.tensordot(to_light, one[i, j], 1) for one in (alone, smooth))
            v, d = site[:, i::2, j::2], slopes[:, i::2, j::2]
            for c in range(3):
                apart = np.eye(3)[c] - LUMA
                factors = LUMA + (1 - strength) * apart
                taken = factors[:, None, None] * own + strength * apart[:, None, None] * blurred
                total = np.zeros(v.shape[1:])
                for colour in range(3):
                    some = taken[:, colours == colour]
                    together = np.einsum("ayx,ab,byx->yx", d, some @ some.T, d, optimize=True)
                    total += v[colour] * together
                variances[c, i::2, j::2] = total
    return variances
