"""The look-up table of the kernels.

It is computed in float64, rounded once, so that it is the same on every machine.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

POISSON_LIMIT = 8
"""Electrons from which on Poisson draws use the normal expansion instead of the alias tables."""
POISSON_STEPS_PER_ELECTRON = 8
POISSON_SLOTS = 32
"""Counts 0 to 31 of one alias table; for a mean below 8 more than 31 electrons have a probability
under 1e-10."""


@lru_cache(maxsize=1)
def poisson_alias_table() -> npt.NDArray[np.uint32]:
    """Make Walker alias tables of Poisson distributions: means 0, 1/8, ... below POISSON_LIMIT.

    Returns uint32 array of 64 * 32, per slot a 24-bit threshold and, in the lowest 8 bits, the
    count to take when the random bits are not below it.
    """
    tables = []
    for step in range(POISSON_LIMIT * POISSON_STEPS_PER_ELECTRON):
        mean = step / POISSON_STEPS_PER_ELECTRON
        weights = [
            math.exp(-mean + n * math.log(mean) - math.lgamma(n + 1)) if mean else float(n == 0)
            for n in range(POISSON_SLOTS)
        ]
        total = math.fsum(weights)
        tables.append(_alias_slots([POISSON_SLOTS * w / total for w in weights]))
    return np.array(tables, dtype=np.uint32).ravel()


def _alias_slots(weights: list[float]) -> list[int]:
    """Fill slots by Walker's alias method in Vose's form.

    The slots' mean weight is 1; each is split between itself and one other.
    """
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
    return [
        min(round(t * 2**24), 2**24 - 1) << 8 | a for t, a in zip(threshold, alias, strict=True)
    ]
