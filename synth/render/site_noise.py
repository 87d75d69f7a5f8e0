"""Shares that pixels of a draw take of the variances of its sensor's sites.

Each level is a sum over sites, weighted by binning or demosaic, the colour matrix, the slope of the
encoding and chroma smoothing; its variance is the sum of the sites' by the squared weights. Light
and slope are taken to be those of the pixel over the few sites about it, so that shares depend on
the draw alone.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..draws.table import DrawTable
from ..kernels.channel_noise import patch_node
from ..kernels.chroma import MOST_TAPS
from ..kernels.curves import LUMA
from ..kernels.demosaic import BILINEAR, BINNED, BORDER, demosaic_row
from ..kernels.level_noise import ROUNDING
from ..kernels.numbers.quantiles import CENTRE, OCTAVES, PER_HALF

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
"""Channels whose levels are multiplied in variances."""
_SITE = np.array([[0, 1], [1, 2]])  # the colour of a site by its row's and column's parity
_FAR = 4  # pixels apart, at most, that share sites
_REACH = 2 * MOST_TAPS - 1  # pixels apart, at most, whose blurs or patches overlap


class SiteNoise(NamedTuple):
    """Noise of D draws by its sources; float32 arrays.

    shared: variances of a site's read noise, of what sites of a row have in common, and a column.
    light: variance of linear light for that of each source, by the parity of row and column; and
      third cumulant for those of sites of red, green and blue.
    smoothed: the same of levels after chroma smoothing, see `level_noise.smoothed_variance`: what
      a pixel has of itself, that with its blur, and of the blur alone.
    """

    shared: Singles  # (D, 3)
    light: Singles  # (D, 4, 3, 8)
    smoothed: Singles  # (D, 4, 3, 3, 6, 6)


def site_noise(table: DrawTable, numbers: Any) -> SiteNoise:
    """Return the noise of sites of D draws of a table."""
    draws = table.draws[numbers]
    read = table.read[numbers, 0].astype(np.float64)
    rows, columns = draws["camera_sensor_row_sigma"], draws["pattern_columns"]
    columns = np.where(draws["patterned"] > 0, columns, 0)
    variance = np.einsum("di,ij,dj->d", read, _quantile_squares(read.shape[1]), read) + ROUNDING
    near = _overlaps(table.blur[numbers].astype(np.float64))
    shares = np.zeros((len(draws), 3, 4, 6, 3, 3))  # by part, parity, source, and two channels
    light = np.zeros((len(draws), 4, 3, 8))
    noisy = draws["noisy"] > 0
    for method in np.unique(draws["method"][~noisy]):
        own = np.flatnonzero(~noisy & (draws["method"] == method))
        taken = np.einsum("djc,pqcayx->dpqjayx", _to_light(draws[own]), site_weights(int(method)))
        light[own, :, :, 5:] = (taken**3).sum((-1, -2)).reshape(len(own), 4, 3, 3)
        to_light = _to_light(draws[own])[:, None, None, None]
        of_sites = _products(int(method), near[own])
        shares[own, :, :, :5] = to_light @ of_sites @ np.swapaxes(to_light, -1, -2)
    if noisy.any():
        mixed = _mixing(draws[noisy]).transpose(0, 2, 1)
        grain = _grains(near[noisy].sum(2), table.grains[numbers][noisy], draws["grainy"][noisy])
        of_numbers = np.einsum("dpa,daj,dak->dpajk", grain, mixed, mixed)
        shares[noisy, :, :, :3] = of_numbers[:, :, None]
    alone = near[..., _REACH].sum(2) ** 2
    shares[:, :, :, 5] = alone[:, :, None, None, None] * np.eye(3)
    light[..., :5] = np.diagonal(shares[:, 0, :, :5], axis1=-2, axis2=-1).swapaxes(-1, -2)
    strength = draws["isp_chroma_strength"].astype(np.float64)[:, None, None]
    blurred = strength * (np.eye(3) - np.array(LUMA))
    own = np.eye(3) - blurred
    one, other = np.stack([own, own, blurred], 1), np.stack([own, 2 * blurred, blurred], 1)
    levels = np.einsum("dpci,dpcj,dpqaij->dqpcaij", one, other, shares)
    smoothed = [levels[..., i, j] + (levels[..., j, i] if i != j else 0) for i, j in PAIRS]
    shared = np.stack([variance, rows * rows, columns * columns], -1)
    arrays = shared, light, np.stack(smoothed, -2)
    return SiteNoise(*(np.ascontiguousarray(one, np.float32) for one in arrays))


def _overlaps(blur: Floats) -> Floats:
    """Return how much of two pixels of a line so far apart a level and its blur hold.

    The level and itself, it and its blur, or the blur and itself: sums of products of their weights
    (D, 3, 2, 2 * _REACH + 1), of the pairs whose first pixel lies at an even distance, or odd.
    """
    found = np.zeros((len(blur), 3, 2, 2 * _REACH + 1))
    both = np.concatenate([blur[:, :0:-1], blur], 1)
    middle = slice(_REACH - MOST_TAPS + 1, _REACH + MOST_TAPS)
    found[:, 0, 0, _REACH] = 1
    found[:, 1, 0, middle] = both
    wide = np.pad(both, ((0, 0), (_REACH, _REACH)))
    moved = np.lib.stride_tricks.sliding_window_view(wide, both.shape[1], axis=1)
    odd = np.arange(1 - MOST_TAPS, MOST_TAPS) % 2
    for parity in (0, 1):
        found[:, 2, parity] = (moved @ (both * (odd == parity))[..., None])[..., 0]
    return found


def _products(method: int, near: Floats) -> Floats:
    """Return what a level and its blur take of sites, as covariances of raw channels.

    (D, 3, 4, 5, 3, 3), by parity, for the variance of sites of each colour, of rows and columns.
    """
    sites, rows, columns = _site_tables(method)
    here = near[..., _REACH - _FAR : _REACH + _FAR + 1]
    odd = np.arange(-_REACH, _REACH + 1) % 2
    lines = np.stack([near[..., odd == 0].sum(-1), near[..., odd == 1].sum(-1)], -1)
    shape = (*near.shape[:2], 4, -1, 3, 3)
    parts = [
        (one[:, :, :, None, :, None] * other[:, :, None, :, None, :]).reshape(len(near), 3, -1)
        @ table.reshape(-1, table.shape[-1])
        for one, other, table in ((here, here, sites), (here, lines, rows), (lines, here, columns))
    ]
    return np.concatenate([part.reshape(shape) for part in parts], 3)


@lru_cache(maxsize=4)
def _site_tables(method: int) -> tuple[Floats, Floats, Floats]:
    """Return what two pixels share, as sums of products of `site_weights`.

    By parities from the middle to the first one, and rows and columns from it to the second where
    sites are the same, or along a line that distance's parity; then for pixels of each parity.
    """
    weights, step = site_weights(method), 2 if method == BINNED else 1  # sites, pixel by pixel
    canvas, side = np.pad(weights, [(0, 0)] * 4 + [(step * _FAR,) * 2] * 2), 2 * _FAR + 1
    down, across = canvas.sum((3, 5)), canvas.sum((3, 4))
    sites = np.empty((2, 2, side, side, 4 * 27))
    rows, columns = np.empty((2, 2, side, 2, 4 * 9)), np.empty((2, 2, 2, side, 4 * 9))
    for u, v, m, n in np.ndindex(2, 2, side, side):
        own = np.roll(canvas, (-u, -v), (0, 1))
        far = m - _FAR, n - _FAR
        moves = -u - far[0], -v - far[1], step * far[0], step * far[1]
        other = np.roll(canvas, moves, (0, 1, 4, 5))
        sites[u, v, m, n] = np.einsum("pqjayx,pqkayx->pqajk", own, other).ravel()
    for u, v, m, odd in np.ndindex(2, 2, side, 2):
        far = m - _FAR
        other = np.roll(down, (-u - far, -v - odd, step * far), (0, 1, 3))
        own = np.roll(down, (-u, -v), (0, 1))
        rows[u, v, m, odd] = np.einsum("pqjy,pqky->pqjk", own, other).ravel()
        other = np.roll(across, (-u - odd, -v - far, step * far), (0, 1, 3))
        own = np.roll(across, (-u, -v), (0, 1))
        columns[u, v, odd, m] = np.einsum("pqjx,pqkx->pqjk", own, other).ravel()
    return sites, rows, columns


def _grains(near: Floats, grains: Singles, patches: npt.NDArray[np.int32]) -> Floats:
    """Return how much of the noise of three channels a level and its blur hold: (D, 3, 3).

    near: (D, 3, 2 * _REACH + 1). grains: (D, 3, GRAIN). patches: sides of D patches, or less than 2
    where there are none.
    """
    sides = grains[..., :2].astype(np.float64)
    ends, beside, own = sides**2, 2 * sides, 1 + 2 * sides**2
    lines = np.stack([ends, beside, own, beside, ends], -1)
    here = near[..., _REACH - 2 : _REACH + 3]
    down, across = (np.einsum("dpm,dcm->dpc", here, lines[:, :, k]) for k in (0, 1))
    found: Floats = down * across * grains[:, None, :, 2].astype(np.float64) ** 2
    alike = np.array([_patch(int(size)) for size in patches])
    side = np.einsum("dpm,dm->dp", near, alike)
    return found + (side * side)[..., None] * grains[:, None, :, 3].astype(np.float64) ** 2


@lru_cache(maxsize=32)
def _patch(size: int) -> Floats:
    """Return how alike noise in patches is, pixels of a line so far apart, in the mean."""
    found = np.zeros(2 * _REACH + 1)
    if size > 1:
        weights = np.zeros((5 * size, 8))
        for place in range(5 * size):
            node, before, after = patch_node(place, size)
            weights[place, int(node) : int(node) + 2] = before, after
        alike = weights @ weights.T
        for apart in range(1 - 2 * size, 2 * size):
            of_place = [alike[i, i + apart] for i in range(2 * size, 3 * size)]
            found[_REACH + apart] = np.mean(of_place)
    return found


def _to_light(draws: Any) -> Floats:
    """Return what linear light takes of the DN of red, green and blue sites: (D, 3, 3)."""
    matrix = np.stack([[draws[f"srgb_{j}{k}"] for k in "rgb"] for j in "rgb"])
    gains = np.stack([draws[f"{name}_gain"] for name in ("red", "green", "blue")])
    unit = draws["camera_sensor_white"].astype(np.float64) - draws["camera_sensor_black"]
    return np.ascontiguousarray((matrix.astype(np.float64) * gains / unit).transpose(2, 0, 1))


def _mixing(draws: Any) -> Floats:
    """Return what noise of channels takes of three independent numbers: (D, 3, 3)."""
    mixed = np.zeros((len(draws), 3, 3))
    mixed[:, 0, 0] = 1
    for name, place in {"gr": (1, 0), "gg": (1, 1), "br": (2, 0), "bg": (2, 1)}.items():
        mixed[:, *place] = draws[f"mixing_{name}"]
    mixed[:, 2, 2] = draws["mixing_bb"]
    return mixed


@lru_cache(maxsize=1)
def _quantile_squares(count: int) -> Floats:
    """Return means of products of a quantile polynomial's terms over its upper half."""
    depth = np.linspace(1, OCTAVES + 1, 4801)
    terms = ((np.sqrt(depth) - CENTRE) * PER_HALF)[:, None] ** np.arange(count)
    weights = 2.0 ** (1 - depth) * math.log(2) * (depth[1] - depth[0])
    weights[[0, -1]] /= 2
    squares: Floats = terms.T @ (weights[:, None] * terms)
    return squares


@lru_cache(maxsize=4)
def demosaic_weights(method: int) -> Floats:
    """Return what a pixel takes of sites (2, 2, 3, 5, 5): by its parity and channel."""
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
    """Return what a pixel takes of sites (2, 2, 3, 3, n, n): by parity, channel, their colour."""
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


@lru_cache(maxsize=4)
def scatter_weights(method: int) -> Floats:
    """Return the sites of each colour that a pixel's noise is mostly of: (2, 2, 3, 5, 5)."""
    squares = (site_weights(method) ** 2).sum(2)
    return squares / squares.sum((-1, -2), keepdims=True)
