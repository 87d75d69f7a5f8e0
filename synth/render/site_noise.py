"""The noise of sites of draws, and what pixels take of it, as kernels of maps are given it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..draws.table import DrawTable
from ..kernels.moments import ROUNDING, SiteNoise
from ..kernels.numbers.quantiles import CENTRE, OCTAVES, PER_HALF
from ..kernels.site_noise import fill_site_noise
from .mosaic_noise import Floats, site_tables

_MOST_FOURTH = 1e30  # float32 holds its products too; none of a sensor comes near
ALIKE = np.array([1, 1, 1, 0, 0], np.float32)
"""`SiteNoise.shared` of noise of channels, in its own deviations."""


def site_noise(table: DrawTable, numbers: Any) -> tuple[SiteNoise, npt.NDArray[np.float32]]:
    """Return the noise of sites of D draws of a table, and what levels and their blur take of it.

    SiteNoise has arrays of D of what it holds. The other is an array (D, 2, 2, 3, 6, 3, 3): see
    `kernels.site_noise.fill_site_noise`. Of draws with noise of channels, squares and powers are 0.
    """
    draws = table.draws[numbers]
    read, fourth = _cumulants(table.read[numbers, 0].astype(np.float64))
    rows, columns = draws["camera_sensor_row_sigma"], draws["pattern_columns"]
    columns = np.where(draws["patterned"] > 0, columns, 0)
    read += ROUNDING
    shared = np.stack([read, read, read, rows * rows, columns * columns], -1).astype(np.float32)
    squares = np.zeros((len(draws), 2, 2, 3, 3, 5), np.float32)
    powers = np.zeros((len(draws), 2, 2, 2, 3, 3), np.float32)
    taken = np.zeros((len(draws), 2, 2, 3, 6, 3, 3), np.float32)
    weights = table.blur[numbers], table.grains[numbers]
    fill_site_noise(draws, *weights, site_tables(), squares, powers, taken)
    fourth = np.minimum(fourth, _MOST_FOURTH).astype(np.float32)
    own = draws["camera_sensor_gain"], shared, fourth, squares, powers
    return SiteNoise(*own), taken


def _cumulants(coefficients: Floats) -> tuple[Floats, Floats]:
    """Return the second and fourth cumulant of symmetric distributions, by their quantiles.

    The fourth is that whose expansion has the distribution's mean deviation: far tails, which are
    most of a heavy one's own, do not tell of its shape. coefficients: (D, 10).
    """
    means, squares = _quantile_integrals(coefficients.shape[1])
    second = np.einsum("di,ij,dj->d", coefficients, squares, coefficients)
    excess = np.linspace(4, -1, 501)
    mean = (1 - excess / 24) * math.sqrt(2 / math.pi) / np.sqrt(1 + excess * excess / 96)
    deviation = np.sqrt(np.where(second > 0, second, 1))
    return second, second**2 * np.interp(coefficients @ means / deviation, mean, excess)


@lru_cache(maxsize=1)
def _quantile_integrals(count: int) -> tuple[Floats, Floats]:
    """Return means of a quantile polynomial's terms over its upper half, and of their products."""
    depth = np.linspace(1, OCTAVES + 1, 4801)
    terms = ((np.sqrt(depth) - CENTRE) * PER_HALF)[:, None] ** np.arange(count)
    weights = 2.0 ** (1 - depth) * math.log(2) * (depth[1] - depth[0])
    weights[[0, -1]] /= 2
    return weights @ terms, terms.T @ (weights[:, None] * terms)
