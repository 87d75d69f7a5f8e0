"""Intervals by resampling scenes: pictures of one scene are not independent."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_CONFIDENCE = 0.95
_DRAWS = 2000


def interval(values: Floats, scenes: npt.NDArray[np.int64], seed: int = 0) -> tuple[Floats, Floats]:
    """Return the 95 % interval of the mean over pictures, by the bootstrap over scenes.

    Whole scenes are drawn. A percentile interval of few scenes is too narrow, by the missing
    n / (n - 1) and by Student's t: its percentiles are moved outwards for both (Hesterberg, "What
    teachers should know about the bootstrap", The American Statistician 69 (2015), "expanded
    percentile").

    values: float array (P,) or (P, C); of each picture; or differences of two methods' values, for
      their paired interval.
    scenes: int array (P,); what each picture shows.

    Returns (low, high): arrays (C,), or numbers; NaN with one scene.
    """
    names, places = np.unique(scenes, return_inverse=True)
    count = len(names)
    if count < 2:
        nothing = np.full(values.shape[1:], np.nan)
        return nothing, nothing
    sums = np.zeros((count, *values.shape[1:]))
    np.add.at(sums, places, values)
    chosen = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), _DRAWS)
    pictures = chosen @ np.bincount(places)
    means = (chosen @ sums) / (pictures if values.ndim == 1 else pictures[:, None])
    tail = NormalDist().cdf(-math.sqrt(count / (count - 1)) * _students_t(count - 1))
    low, high = np.quantile(means, (tail, 1 - tail), axis=0)
    return low, high


def _students_t(freedom: int) -> float:
    """Return the quantile of Student's t at .975 (Abramowitz and Stegun, 26.7.5)."""
    if freedom < 3:
        return {1: 12.706, 2: 4.303}[freedom]
    z = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))
