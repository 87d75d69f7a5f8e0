"""Look-up tables of the kernels: computed in float64, rounded once, so that they are the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

POISSON_LIMIT = 16
"""Electrons from which on Poisson draws use the normal expansion instead of the alias tables."""
POISSON_STEPS_PER_ELECTRON = 8
POISSON_SLOTS = 64
"""Counts 0 to 63 of one alias table; for a mean below 16 more than 63 electrons have a probability under 1e-17."""

_CELL_BITS = 5
QUANTILE_SHIFT = 23 - _CELL_BITS
QUANTILE_START = 126 << _CELL_BITS
"""Index of the cell of 0.5, the smallest numerator of a tail probability, among the float32 cells."""
QUANTILE_CELLS = 32 << _CELL_BITS
_VALUE_BITS = 18
QUANTILE_DELTA_BITS = 14

Quantile = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]


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
        cells = np.arange(QUANTILE_CELLS + 1, dtype=np.int64) + QUANTILE_START
        numerators = (cells << QUANTILE_SHIFT).astype(np.int32).view(np.float32).astype(np.float64)
        # The last edge is 2^31, as 32 octaves end at the median.
        value = upper_quantile(np.minimum(numerators / 2**32, 0.5))
        value[-1] = 0.0
        fall = value[:-1] - value[1:]
        value_unit = float(value[0]) / (2**_VALUE_BITS - 1)
        fall_unit = float(fall.max()) / (2**QUANTILE_DELTA_BITS - 1)
        values = np.rint(value[:-1] / value_unit).astype(np.uint32)
        self.entries: npt.NDArray[np.uint32] = (values << np.uint32(QUANTILE_DELTA_BITS)) | np.rint(fall / fall_unit).astype(
            np.uint32
        )
        self.units = np.array([value_unit, fall_unit / 2**QUANTILE_SHIFT], dtype=np.float32)


@lru_cache(maxsize=1)
def normal_quantile() -> PackedQuantile:
    """The standard normal distribution."""
    inverse = NormalDist().inv_cdf
    return PackedQuantile(lambda tails: np.array([-inverse(p) for p in tails]))


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
    uint32 array of 128 * 64
        Per slot a 24-bit threshold and, in the lowest 8 bits, the count to take when the random bits are not below it.
    """
    tables = []
    for step in range(POISSON_LIMIT * POISSON_STEPS_PER_ELECTRON):
        mean = step / POISSON_STEPS_PER_ELECTRON
        weights = [math.exp(-mean + n * math.log(mean) - math.lgamma(n + 1)) if mean else float(n == 0) for n in range(64)]
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
