"""Point spread of motion blur, defocus and misregistration: where a pixel's light comes from.

Computed on the host in float64 from plain arithmetic, rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.arrays import FloatArray, IntArray
from ..kernels.numbers.elementary import rounded_sums
from ..parameters.keyed_random import distinct

_FINE = 8
"""Points a pixel, of paths and discs."""


class Spread(NamedTuple):
    """Point spread functions of images, as lists of offsets and weights.

    places: int32 array (P, 2), from how many rows and columns away it comes; none where nothing
    spreads.
    """

    places: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]  # (P), how much of it: they sum to 1


NOTHING = Spread(np.empty((0, 2), np.int32), np.empty(0, np.float32))
_OWN = Spread(np.zeros((1, 2), np.int32), np.ones(1, np.float32))


def make_spreads(settings: FloatArray) -> tuple[IntArray, Spread]:
    """Return how many places each of N images has and which is the first (N, 2), and all places.

    Equal ones are stored once. settings: array (N, 6), parameters of `spread`.
    """
    once, own = distinct(settings)
    if len(once) == 1:  # of a single image or a plain recipe: arrays take longer
        alone = spread(*once[0].tolist())
        return np.full((len(own), 2), (len(alone.weights), 0)), alone
    length, _, radius, shift = once.T[:4]
    shifted = (shift > 0) & (length <= 0) & (radius <= 0)
    order = (~shifted).argsort(kind="stable")
    counts = np.zeros(len(once), np.int64)
    parts = [spread(*one) for one in once[~shifted].tolist()]
    counts[~shifted] = [len(part.weights) for part in parts]
    if len(parts) < len(once):
        counts[shifted], places = _places(_shifted(shift[shifted], once[shifted, 4].tolist()))
        parts.insert(0, places)
    firsts = np.empty_like(counts)
    firsts[order] = counts[order].cumsum() - counts[order]
    found = np.array([counts, np.where(counts > 0, firsts, 0)])
    return found.T[own], Spread(*map(np.concatenate, zip(*parts, strict=True)))


def spread(
    length: float,
    angle: float,
    radius: float,
    shift: float = 0.0,
    direction: float = 0.0,
    lit: float = 0.0,
) -> Spread:
    """Return the places of light that spreads along a line, and over a disc, all of it shifted.

    length: of the line, pixels. angle: of its direction, radians. radius: of the disc, pixels.
    shift, direction: how far away light comes from, pixels, and where to, radians. lit: above 0
    where lamps are added before, though light may come from no other place than the pixel's own.
    """
    if length <= 0 and radius <= 0 and shift <= 0:
        return _OWN if lit else NOTHING
    grid = _line(length, angle) if length > 0 else np.ones((1, 1))
    if radius > 0:
        grid = _spread_again(grid, _disc(radius))
    if shift > 0:
        grid = _spread_again(grid, _shifted(np.array([shift]), [direction])[0])
    return _places(grid[None])[1]


def _places(grids: FloatArray) -> tuple[IntArray, Spread]:
    """Return how many places point spreads have, and all. grids: about their middles (N, n, n)."""
    totals = rounded_sums(grids.reshape(len(grids), grids.shape[1] ** 2))
    there = grids != 0
    places = np.argwhere(there)[:, 1:] - grids.shape[1] // 2
    weights = (grids / totals[:, None, None])[there]
    # In rows, as a lone one is: kernels are compiled for each order of an array.
    return there.sum((1, 2)), Spread(places.astype(np.int32, order="C"), weights.astype(np.float32))


def _line(length: float, angle: float) -> FloatArray:
    """Return how often a line through the middle passes each pixel, shared among four at a time."""
    reach = math.ceil(length / 2) + 1
    grid = np.zeros((2 * reach + 1, 2 * reach + 1))
    count = max(2, math.ceil(length * _FINE))
    down, across = math.sin(angle), math.cos(angle)
    for i in range(count):
        along = ((i + 0.5) / count - 0.5) * length
        y, x = reach + along * down, reach + along * across
        top, left = math.floor(y), math.floor(x)
        dy, dx = y - top, x - left
        grid[top, left] += (1 - dy) * (1 - dx)
        grid[top, left + 1] += (1 - dy) * dx
        grid[top + 1, left] += dy * (1 - dx)
        grid[top + 1, left + 1] += dy * dx
    # What is less than a thousandth of the largest is left out: rounding of sines, mostly.
    grid[grid < 1e-3 * grid.max()] = 0
    return grid


def _disc(radius: float) -> FloatArray:
    """Return the share of each pixel that a disc covers, by 8 x 8 points; the middle has some."""
    reach = math.ceil(radius)
    places = (np.arange((2 * reach + 1) * _FINE) + 0.5) / _FINE - (reach + 0.5)
    inside = (places[:, None] ** 2 + places**2 <= radius**2).astype(np.float64)
    side = 2 * reach + 1
    grid: FloatArray = inside.reshape(side, _FINE, side, _FINE).sum((1, 3))
    grid[reach, reach] = max(grid[reach, reach], 1.0)
    return grid


def _shifted(far: FloatArray, directions: Sequence[float]) -> FloatArray:
    """Return what of each pixel a point so far away takes, by cubic convolution (N, n, n).

    It is R. G. Keys' kernel of a = -1/2 (IEEE TASSP 29(6), 1981), without what is less than half a
    level beside white: 6 of its 16 places are left for shifts of a tenth of a pixel.
    """
    reach = math.ceil(far.max(initial=0)) + 1
    places = np.arange(-reach, reach + 1)
    apart = far * [[part(one) for one in directions] for part in (math.sin, math.cos)]
    down, across = _cubic(np.abs(places - apart[..., None]))
    grids: FloatArray = down[:, :, None] * across[:, None]
    heights = np.abs(grids)
    grids[heights < heights.max((1, 2), keepdims=True, initial=0) / 512] = 0
    return grids


def _cubic(x: FloatArray) -> FloatArray:
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _spread_again(one: FloatArray, other: FloatArray) -> FloatArray:
    """Convolve two square grids about their middles; summed in order."""
    side = len(one) + len(other) - 1
    grid = np.zeros((side, side))
    for y, x in np.argwhere(one != 0).tolist():
        grid[y : y + len(other), x : x + len(other)] += one[y, x] * other
    return grid
