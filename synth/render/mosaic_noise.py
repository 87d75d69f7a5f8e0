"""What pixels take of the sensor's sites, and what varies with them.

Each output is a sum over sites, weighted by binning or demosaic, the colour matrix, the slope of
the encoding and chroma noise reduction; its variance is the sum of the sites' by the squared
weights. Light and slope are taken to be those of the pixel over the few sites about it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..kernels.demosaic import BILINEAR, BINNED, BORDER, MALVAR

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


@lru_cache(maxsize=4)
def site_weights(method: int) -> Floats:
    """Return what a pixel takes of sites: (2, 2, 3, 3, n, n).

    By the parity of its row and column, its channel, and the sites' colour.
    """
    if method == BINNED:
        quad = np.zeros((3, 3, 2, 2))
        quad[0, 0, 0, 0] = quad[2, 2, 1, 1] = 1
        quad[1, 1, [0, 1], [1, 0]] = 0.5
        return np.broadcast_to(quad, (2, 2, *quad.shape))
    if method < BILINEAR:
        return np.broadcast_to(np.eye(3)[..., None, None], (2, 2, 3, 3, 1, 1))
    own, place = np.arange(2)[:, None], np.arange(5)
    parity = (own + place - BORDER) % 2
    colours = _SITE[parity[:, None, :, None], parity[None, :, None, :]]
    of_colour = colours[:, :, None] == np.arange(3)[:, None, None]
    return demosaic_weights(method)[:, :, :, None] * of_colour[:, :, None]


def products(one: Floats, other: Floats) -> Floats:
    """Return products (2, 2, 5, 3, 3) of weights of two channels, (2, 2, 3, 3, n, n) each.

    Summed over sites of red, green and blue; over rows, all sites of which share something; over
    columns.
    """
    alone = np.einsum("pqjayx,pqkayx->pqajk", one, other)
    rows = np.einsum("pqjy,pqky->pqjk", one.sum((3, 5)), other.sum((3, 5)))
    columns = np.einsum("pqjx,pqkx->pqjk", one.sum((3, 4)), other.sum((3, 4)))
    return np.concatenate([alone, rows[:, :, None], columns[:, :, None]], 2)


def smoothed_products(weights: Floats, step: int, blur: Floats) -> Floats:
    """Return what levels and their blur take of noise: (2, 2, 3, 6, 3, 3).

    By parity of row and column; of the level, of it and its blur, and of the blur: `products`, and
    for what a pixel shares with no other. weights: of a channel's light; see `site_weights`. step:
    of sites from one pixel to the next.
    """
    reach = len(blur) - 1
    alone = np.pad(weights, [(0, 0)] * 4 + [(step * reach,) * 2] * 2)
    smooth = alone
    for parity, line in ((0, -2), (1, -1)):  # a neighbour has its own parity
        smooth = sum(
            blur[abs(i)] * np.roll(smooth, (-i, step * i), (parity, line))
            for i in range(-reach, reach + 1)
        )
    middle, squares = blur[0] ** 2, (2 * (blur**2).sum() - blur[0] ** 2) ** 2
    parts = [
        np.concatenate([products(one, other), np.full((2, 2, 1, 3, 3), own)], 2)
        for one, other, own in (
            (alone, alone, 1.0),
            (alone, smooth, middle),
            (smooth, smooth, squares),
        )
    ]
    return np.stack(parts, 2)


def demosaiced(means: npt.NDArray[np.float32], weights: Floats) -> npt.NDArray[np.float32]:
    """Return sums (n, h, w) over sites around pixels of the electrons (3, h + 4, w + 4) under each.

    weights: (2, 2, n, 5, 5), by the parity of the pixel's row and column.
    """
    height, width = means.shape[1] - 2 * BORDER, means.shape[2] - 2 * BORDER
    sites = np.empty(means.shape[1:], np.float32)
    made = np.zeros((3, height, width), np.float32)
    for i in (0, 1):
        for j in (0, 1):
            sites[i::2, j::2] = means[_SITE[i, j], i::2, j::2]
    for i, j, c, y, x in np.argwhere(weights):
        part = sites[y + i : y + height : 2, x + j : x + width : 2]
        made[c, i::2, j::2] += np.float32(weights[i, j, c, y, x]) * part
    return made


@lru_cache(maxsize=4)
def scatter_weights(method: int) -> Floats:
    """Return the sites of each colour that a pixel's noise is mostly of: (2, 2, 3, 5, 5)."""
    squares = (site_weights(method) ** 2).sum(2)
    return squares / squares.sum((-1, -2), keepdims=True)
