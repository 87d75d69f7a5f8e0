"""What pixels take of the sensor's sites, and what varies with them.

Each output is a sum over sites, weighted by binning or demosaic, the colour matrix, the slope of
the encoding and chroma noise reduction; its variance is the sum of the sites' by the squared
weights. Light and slope are taken to be those of the pixel over the few sites about it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.demosaic import BILINEAR, BINNED, BORDER, MALVAR

Floats = npt.NDArray[np.float64]
_SITE = np.array([[0, 1], [1, 2]])  # the colour of a site by its row's and column's parity
_FAR = 4  # pixels apart, at most, that share sites


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


class Shared(NamedTuple):
    """What two channels of pixels that are apart take of the same sites, and of their lines.

    By the parity of the first pixel's row and column, then by rows and columns from it to the
    second, -m to m where sites are the same; along a line, by that distance's parity.
    """

    sites: Floats  # (2, 2, 2 m + 1, 2 m + 1, 3, 3, 3): colour of sites, channel, channel
    rows: Floats  # (2, 2, 2 m + 1, 2, 3, 3)
    columns: Floats  # (2, 2, 2, 2 m + 1, 3, 3)


@lru_cache(maxsize=4)
def shared_sites(method: int) -> Shared:
    """Return what pixels share, as sums of products of `site_weights`."""
    weights = site_weights(method)
    step = 2 if method == BINNED else 1  # of sites from one pixel to the next
    far = (weights.shape[-1] - 1) // step
    apart = range(-far, far + 1)
    down = [_moved(np.roll(weights, -m, 0), step * m, -2) for m in apart]
    across = [_moved(np.roll(weights, -m, 1), step * m, -1) for m in apart]
    both = [[_moved(np.roll(one, -n, 1), step * n, -1) for n in apart] for one in down]
    rows = [[np.roll(one, -n, 1).sum((3, 5)) for n in (0, 1)] for one in down]
    columns = [[np.roll(one, -n, 0).sum((3, 4)) for n in (0, 1)] for one in across]
    return Shared(
        np.einsum("pqjayx,mnpqkayx->pqmnajk", weights, both),
        np.einsum("pqjy,mnpqky->pqmnjk", weights.sum((3, 5)), rows),
        np.einsum("pqjx,mnpqkx->pqnmjk", weights.sum((3, 4)), columns),
    )


def _moved(weights: Floats, places: int, axis: int) -> Floats:
    """Return weights moved along an axis; what leaves at its end is lost."""
    padding = [(0, 0)] * weights.ndim
    padding[axis] = max(places, 0), max(-places, 0)
    size = weights.shape[axis]
    return np.pad(weights, padding).take(np.arange(size) + max(-places, 0), axis)


def blur_overlaps(blur: Floats) -> Floats:
    """Return how much of pixels at a distance levels and their blurs hold: (3, D, 2, 2 n + 1).

    Of the level and itself, of it and its blur, and of the blur and itself: products of their
    weights along a line, by the parity of the first pixel's distance from the middle, then by that
    from it to the second, -n to n. blur: (D, taps), weights from the middle on.
    """
    count, reach = len(blur), blur.shape[1] - 1
    n = 2 * reach + _FAR
    taps = np.concatenate([blur[:, :0:-1], blur], 1)
    padded = np.pad(taps, [(0, 0), (n, n)])
    made = np.zeros((3, count, 2, 2 * n + 1))
    made[0, :, 0, n] = 1
    made[1, :, 0] = padded[:, reach : reach + 2 * n + 1]
    products = taps[:, None] * np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, 1)
    for parity in (0, 1):
        made[2, :, parity] = products[:, :, (reach + parity) % 2 :: 2].sum(2)
    return made


def smoothed_products(method: int, overlaps: Floats) -> Floats:
    """Return what levels and their blurs take of noise: (D, 2, 2, 3, 5, 3, 3).

    By parity of row and column, and by what `blur_overlaps` tells: covariance of two channels
    for the variance of sites of each colour, of what those of a row share, and of a column.
    """
    middle, far = overlaps.shape[-1] // 2, shared_sites(method).sites.shape[2] // 2
    near = overlaps[..., middle - far : middle + far + 1]
    parity = (np.arange(overlaps.shape[-1]) - middle) % 2
    lines = np.stack([overlaps[..., parity == 0].sum(-1), overlaps[..., parity == 1].sum(-1)], -1)
    made = np.zeros((overlaps.shape[1], 2, 2, 3, 5, 3, 3))
    for part, u, v in ((0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 0, 1), (2, 1, 0), (2, 1, 1)):
        down, across = (near[part, :, u], lines[part, :, u]), (near[part, :, v], lines[part, :, v])
        sites, rows, columns = _shared_by_distance(method, u, v)
        made[:, :, :, part, :3] += _summed(down[0], across[0], sites)
        made[:, :, :, part, 3:4] += _summed(down[0], across[1], rows)
        made[:, :, :, part, 4:] += _summed(down[1], across[0], columns)
    return made


@lru_cache(maxsize=16)
def _shared_by_distance(method: int, down: int, across: int) -> Shared:
    """Return `shared_sites` of pixels so many rows and columns on, of distances all else (M N, P).

    Kept: to arrange them takes longer than to sum them.
    """
    moved = (np.roll(one, (-down, -across), (0, 1)) for one in shared_sites(method))
    return Shared(
        *(
            one.transpose(2, 3, 0, 1, *range(4, one.ndim)).reshape(-1, one[:, :, 0, 0].size)
            for one in moved
        )
    )


def _summed(down: Floats, across: Floats, shared: Floats) -> Floats:
    """Return sums over distances, by D weights of each down and across: (D, 2, 2, a, 3, 3)."""
    weights = (down[:, :, None] * across[:, None]).reshape(len(down), -1)
    summed: Floats = (weights @ shared).reshape(len(down), 2, 2, -1, 3, 3)
    return summed


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
