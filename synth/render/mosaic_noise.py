"""Find what pixels take of the sensor's sites, and what varies with them.

Each output is a sum over sites, weighted by binning or demosaic, the colour matrix, the slope of
the encoding and chroma noise reduction; its variance is the sum of the sites' by the squared
weights. Light and slope are taken to be those of the pixel over the few sites about it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..kernels.demosaic import BILINEAR, BINNED, BORDER, demosaic_row
from ..kernels.site_noise import FAR, SiteTables

Floats = npt.NDArray[np.float64]
_SITE = np.array([[0, 1], [1, 2]])  # the colour of a site by its row's and column's parity


@lru_cache(maxsize=4)
def demosaic_weights(method: int) -> Floats:
    """Return what a pixel takes of the sites around it: (2, 2, 3, 5, 5).

    By the parity of its row and column, and its channel.
    """
    weights = np.empty((2, 2, 3, 5, 5))
    made = np.empty((3, 2), np.float32)
    for i, j, y, x in np.ndindex(2, 2, 5, 5):
        mosaic = np.zeros((6, 6), np.float32)
        mosaic[i + y, j + x] = 1
        demosaic_row(mosaic, i, method, (made[0], made[1], made[2]))
        weights[i, j, :, y, x] = made[:, j] * (1, 0.5, 1)  # green is made twice as large
    return weights


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


@lru_cache(maxsize=1)
def site_tables() -> SiteTables:
    """Return what pixels share, as sums of products of `site_weights`."""
    side, methods = 2 * FAR + 1, 4
    tables = SiteTables(
        np.zeros(methods, np.int64),
        np.zeros((methods, 2, 2, 3, 3, 5, 5)),
        np.zeros((methods, 2, 2, side, side, 27)),
        np.zeros((methods, 2, 2, side, 2, 9)),
        np.zeros((methods, 2, 2, 2, side, 9)),
    )
    for method in range(methods):
        weights = site_weights(method)
        size, step = weights.shape[-1], 2 if method == BINNED else 1  # of sites, pixel by pixel
        tables.far[method] = far = (size - 1) // step
        tables.weights[method, ..., :size, :size] = weights
        apart, there = range(-far, far + 1), slice(FAR - far, FAR + far + 1)
        down = [_moved(np.roll(weights, -m, 0), step * m, -2) for m in apart]
        across = [_moved(np.roll(weights, -m, 1), step * m, -1) for m in apart]
        both = [[_moved(np.roll(one, -n, 1), step * n, -1) for n in apart] for one in down]
        rows = [[np.roll(one, -n, 1).sum((3, 5)) for n in (0, 1)] for one in down]
        columns = [[np.roll(one, -n, 0).sum((3, 4)) for n in (0, 1)] for one in across]
        alone = np.einsum("pqjayx,mnpqkayx->pqmnajk", weights, both)
        tables.sites[method, :, :, there, there] = alone.reshape(*alone.shape[:4], 27)
        in_rows = np.einsum("pqjy,mnpqky->pqmnjk", weights.sum((3, 5)), rows)
        tables.rows[method, :, :, there] = in_rows.reshape(*in_rows.shape[:4], 9)
        in_columns = np.einsum("pqjx,mnpqkx->pqnmjk", weights.sum((3, 4)), columns)
        tables.columns[method, :, :, :, there] = in_columns.reshape(*in_columns.shape[:4], 9)
    return tables


def _moved(weights: Floats, places: int, axis: int) -> Floats:
    """Return weights moved along an axis; what leaves at its end is lost."""
    padding = [(0, 0)] * weights.ndim
    padding[axis] = max(places, 0), max(-places, 0)
    size = weights.shape[axis]
    return np.pad(weights, padding).take(np.arange(size) + max(-places, 0), axis)


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
