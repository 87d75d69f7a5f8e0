"""Point spread of motion blur, defocus and misregistration: where a pixel's light comes from.

Computed on the host in float64 from plain arithmetic, rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_FINE = 8
"""Points a pixel, of paths and discs."""


class Spread(NamedTuple):
    """Point spread functions of images, as lists of offsets and weights.

    places: int32 array (P, 2), from how many rows and columns away it comes; none where nothing
    spreads.
    """

    places: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]  # (P), how much of it: they sum to 1

    @classmethod
    def concat(cls, parts: Iterable[Spread]) -> Spread:
        """Return those of many images, one after the other."""
        held = list(parts) or [NOTHING]
        return cls(
            np.concatenate([part.places for part in held]),
            np.concatenate([part.weights for part in held]),
        )

    @classmethod
    def nowhere(cls) -> Spread:
        """Return one place that nothing comes from, for devices that hold no empty arrays."""
        return cls(np.zeros((1, 2), np.int32), np.zeros(1, np.float32))


NOTHING = Spread(np.empty((0, 2), np.int32), np.empty(0, np.float32))


class Spreads:
    """Point spreads of many images; equal ones are stored once."""

    def __init__(self) -> None:
        self._parts: list[Spread] = []
        self._known: dict[tuple[float, ...], tuple[int, int]] = {}
        self._end = 0

    def place(
        self,
        length: float,
        angle: float,
        radius: float,
        shift: float = 0.0,
        direction: float = 0.0,
        lit: bool = False,
    ) -> tuple[int, int]:
        """Return how many places one has, and which is the first among all of them.

        lit: whether lamps are added to light before it spreads, though it may come from no other
        place than the pixel's own.
        """
        key = length, angle if length else 0.0, radius, shift, direction if shift else 0.0, lit
        if key not in self._known:
            part = spread(*key[:5])
            if lit and not len(part.weights):
                part = Spread(np.zeros((1, 2), np.int32), np.ones(1, np.float32))
            count = len(part.weights)
            self._known[key] = count, self._end if count else 0
            self._parts.append(part)
            self._end += count
        return self._known[key]

    def concat(self) -> Spread:
        """Return all of them, one after the other."""
        return Spread.concat(self._parts)


@lru_cache(maxsize=256)
def spread(
    length: float, angle: float, radius: float, shift: float = 0.0, direction: float = 0.0
) -> Spread:
    """Return how light spreads along a line, and over a disc, all of it shifted.

    length: of the line, pixels. angle: of its direction, radians. radius: of the disc, pixels.
    shift, direction: how far away light comes from, pixels, and where to, radians.
    """
    if length <= 0 and radius <= 0 and shift <= 0:
        return NOTHING
    grid = _line(length, angle) if length > 0 else np.ones((1, 1))
    if radius > 0:
        grid = _spread_again(grid, _disc(radius))
    if shift > 0:
        grid = _spread_again(grid, _shifted(shift, direction))
    reach = len(grid) // 2
    found = np.argwhere(grid != 0)
    weights = grid[grid != 0]
    weights = weights / math.fsum(weights.tolist())
    return Spread(np.ascontiguousarray(found - reach, dtype=np.int32), weights.astype(np.float32))


def _line(length: float, angle: float) -> npt.NDArray[np.float64]:
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


def _disc(radius: float) -> npt.NDArray[np.float64]:
    """Return the share of each pixel that a disc covers, by 8 x 8 points; the middle has some."""
    reach = math.ceil(radius)
    places = (np.arange((2 * reach + 1) * _FINE) + 0.5) / _FINE - (reach + 0.5)
    inside = (places[:, None] ** 2 + places**2 <= radius**2).astype(np.float64)
    side = 2 * reach + 1
    grid: npt.NDArray[np.float64] = inside.reshape(side, _FINE, side, _FINE).sum((1, 3))
    grid[reach, reach] = max(grid[reach, reach], 1.0)
    return grid


def _shifted(length: float, angle: float) -> npt.NDArray[np.float64]:
    """Return what of each pixel a point so far away takes, by cubic convolution.

    It is R. G. Keys' kernel of a = -1/2 (IEEE TASSP 29(6), 1981).
    """
    reach = math.ceil(length) + 2
    places = np.arange(-reach, reach + 1)
    down, across = (_cubic(np.abs(places - length * part(angle))) for part in (math.sin, math.cos))
    return down[:, None] * across


def _cubic(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    weights: npt.NDArray[np.float64] = np.where(x < 1, near, np.where(x < 2, far, 0.0))
    return weights


def _spread_again(
    one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Convolve two square grids about their middles; summed in order."""
    side = len(one) + len(other) - 1
    grid = np.zeros((side, side))
    for y, x in np.argwhere(one != 0).tolist():
        grid[y : y + len(other), x : x + len(other)] += one[y, x] * other
    return grid
