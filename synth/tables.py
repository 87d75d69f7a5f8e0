"""Look-up tables of the kernels: computed in float64, rounded once, so that they are the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

import numpy as np
import numpy.typing as npt

POISSON_LIMIT = 8
"""Electrons from which on Poisson draws use the normal expansion instead of the alias tables."""
POISSON_STEPS_PER_ELECTRON = 8
POISSON_SLOTS = 32
"""Counts 0 to 31 of one alias table; for a mean below 8 more than 31 electrons have a probability under 1e-10."""

_CELL_BITS = 5
QUANTILE_SHIFT = 23 - _CELL_BITS
QUANTILE_CELLS = 32 << _CELL_BITS
"""Cells of an interpolated quantile table: 32 octaves of tail probability, 32 cells each."""
_VALUE_BITS = 18
QUANTILE_DELTA_BITS = 14

T = TypeVar("T", bound=np.generic)
Quantile = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]


def _edges(cell_bits: int) -> npt.NDArray[np.float64]:
    """Tail probabilities at the edges of cells: the floats from 0.5 to 2^31 cut at their leading mantissa bits, over 2^32."""
    cells = (np.arange((32 << cell_bits) + 1, dtype=np.int64) + (126 << cell_bits)) << (23 - cell_bits)
    return np.minimum(cells.astype(np.int32).view(np.float32).astype(np.float64) / 2**32, 0.5)


def _rotated(table: npt.NDArray[T], cell_bits: int) -> npt.NDArray[T]:
    """A table stored at its cells' float bits modulo its length, so that the kernel need not subtract where cells begin."""
    return np.roll(table, (126 << cell_bits) % len(table))


class PackedQuantile:
    """The quantile function of a distribution symmetric about 0, as `noise.symmetric_quantile` reads it.

    Parameters
    ----------
    upper_quantile : function of a float64 array of tail probabilities in (0, 1/2]
        The value that is exceeded with that probability; falling, 0 at 1/2.

    Attributes
    ----------
    entries : uint32 array of QUANTILE_CELLS
        The quantile at a cell's outer edge (18 bits) and its fall to the inner edge (14 bits); 32 cells an octave of tail
        probability, from 2^-33 to 1/2.
    units : float32 array of 2
        What one step of either means; of the fall, per step within the cell. Multiply both by a standard deviation.
    """

    def __init__(self, upper_quantile: Quantile) -> None:
        value = upper_quantile(_edges(_CELL_BITS))
        value[-1] = 0.0
        fall = value[:-1] - value[1:]
        value_unit = float(value[0]) / (2**_VALUE_BITS - 1)
        fall_unit = float(fall.max()) / (2**QUANTILE_DELTA_BITS - 1)
        values = np.rint(value[:-1] / value_unit).astype(np.uint32)
        falls = np.rint(fall / fall_unit).astype(np.uint32)
        # Stored at their index modulo the table's length, so that the kernel need not subtract where cells begin.
        packed = _rotated((values << np.uint32(QUANTILE_DELTA_BITS)) | falls, _CELL_BITS)
        self.entries: npt.NDArray[np.uint32] = packed
        self.units = np.array([value_unit, fall_unit / 2**QUANTILE_SHIFT], dtype=np.float32)


@lru_cache(maxsize=1)
def normal_quantile() -> PackedQuantile:
    """The standard normal distribution."""
    return PackedQuantile(_normal)


def _normal(tails: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    inverse = NormalDist().inv_cdf
    return np.array([-inverse(p) for p in tails])


@lru_cache(maxsize=256)
def tukey_lambda_quantile(shape: float) -> PackedQuantile:
    """The Tukey-lambda distribution of a shape and scale 1; logistic for shape 0.

    Q(u) = (u^shape - (1-u)^shape) / shape: Joiner and Rosenblatt, "Some properties of the range in samples from Tukey's
    symmetric lambda distributions", JASA 66 (1971); taken through expm1, as the formula loses digits near shape 0.
    """

    def upper(tails: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        low, high = np.log(tails), np.log1p(-tails)
        if shape == 0.0:
            return high - low
        return (np.expm1(shape * high) - np.expm1(shape * low)) / shape

    return PackedQuantile(upper)


@lru_cache(maxsize=1)
def poisson_alias_table() -> npt.NDArray[np.uint32]:
    """Walker alias tables of Poisson distributions with means 0, 1/8, ... below POISSON_LIMIT.

    Returns
    -------
    uint32 array of 64 * 32
        Per slot a 24-bit threshold and, in the lowest 8 bits, the count to take when the random bits are not below it.
    """
    tables = []
    for step in range(POISSON_LIMIT * POISSON_STEPS_PER_ELECTRON):
        mean = step / POISSON_STEPS_PER_ELECTRON
        weights = [
            math.exp(-mean + n * math.log(mean) - math.lgamma(n + 1)) if mean else float(n == 0) for n in range(POISSON_SLOTS)
        ]
        total = math.fsum(weights)
        tables.append(_alias_slots([POISSON_SLOTS * w / total for w in weights]))
    return np.array(tables, dtype=np.uint32).ravel()


def _alias_slots(weights: list[float]) -> list[int]:
    """Walker's alias method in Vose's form: slots whose mean weight is 1, each split between itself and one other."""
    weights = list(weights)
    threshold, alias = [1.0] * len(weights), list(range(len(weights)))
    small = [i for i, w in enumerate(weights) if w < 1.0]
    large = [i for i, w in enumerate(weights) if w >= 1.0]
    while small and large:
        lower, upper = small.pop(), large.pop()
        threshold[lower], alias[lower] = weights[lower], upper
        weights[upper] -= 1.0 - weights[lower]
        (small if weights[upper] < 1.0 else large).append(upper)
    # A slot whose threshold is 1 keeps its own count as alias, so the cut to 24 bits loses nothing.
    return [min(round(t * 2**24), 2**24 - 1) << 8 | a for t, a in zip(threshold, alias, strict=True)]
