"""The noise of sites of draws, and what pixels take of it, as kernels of maps are given it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..draws.table import DrawTable
from ..kernels.channel_noise import Mixing
from ..kernels.exposure import Matrix
from ..kernels.moments import ROUNDING, SiteNoise
from ..kernels.numbers.quantiles import CENTRE, OCTAVES, PER_HALF
from .mosaic_noise import (
    Floats,
    blur_overlaps,
    site_weights,
    smoothed_products,
)

ALIKE = np.array([1, 1, 1, 0, 0], np.float32)
"""`SiteNoise.shared` of noise of channels, in its own deviations."""


def site_noise(table: DrawTable, numbers: Any) -> tuple[SiteNoise, Floats]:
    """Return the noise of sites of D draws of a table, and what levels and their blur take of it.

    SiteNoise has arrays of D of what it holds. The other is an array (D, 2, 2, 3, 6, 3, 3): see
    `mosaic_noise.smoothed_products`, and at last for what a pixel shares with no other; of noise of
    channels where there is any; zeros where chroma is not smoothed. Of draws with noise of channels
    sites have no noise of their own: zeros.
    """
    draws = table.draws[numbers]
    noisy, smooth = draws["noisy"] > 0, draws["taps"] > 0
    read, fourth = _cumulants(table.read[numbers, 0].astype(np.float64))
    read += ROUNDING
    rows, columns = (
        draws[name].astype(np.float64) ** 2
        for name in ("camera_sensor_row_sigma", "pattern_columns")
    )
    columns *= draws["patterned"] > 0
    to_light = _matrices(draws, "srgb", Matrix._fields)
    units = np.stack([draws[f"{name}_gain"] for name in ("red", "green", "blue")], -1)
    unit = draws["camera_sensor_white"] - draws["camera_sensor_black"]
    to_light *= units[:, None] / unit[:, None, None]
    squares, powers = np.zeros((len(draws), 2, 2, 3, 3, 5)), np.zeros((len(draws), 2, 2, 2, 3, 3))
    taken = np.zeros((len(draws), 2, 2, 3, 6, 3, 3))
    most = max(int(draws["taps"].max()), 1)
    overlaps = blur_overlaps(table.blur[numbers][smooth, :most].astype(np.float64))
    taken[smooth, ..., 5, :, :] = _middle(overlaps)
    for method in np.unique(draws["method"][~noisy]).tolist():
        alike = ~noisy & (draws["method"] == method)
        squares[alike] = _squares(method)
        of_light = np.einsum("djc,pqcayx->dpqjayx", to_light[alike], site_weights(method))
        squared = of_light * of_light  # powers by NumPy take ten times as long
        powers[alike] = np.stack(
            [(squared * of_light).sum((-1, -2)), (squared * squared).sum((-1, -2))], 3
        )
        alike &= smooth
        if alike.any():
            found = smoothed_products(method, overlaps[:, alike[smooth]])
            both = np.einsum("dja,dkb->dabjk", to_light[alike], to_light[alike])
            mixed = found.reshape(len(found), -1, 9) @ both.reshape(-1, 9, 9)
            taken[alike, ..., :5, :, :] = mixed.reshape(found.shape)
    grainy = smooth & noisy
    if grainy.any():
        products = _grain_products(draws[grainy], overlaps[:, noisy[smooth]])
        taken[grainy, ..., :3, :, :] = products[:, None, None]
    shared = np.stack([read, read, read, rows, columns], -1)
    made = (one.astype(np.float32) for one in (shared, fourth, squares, powers))
    return SiteNoise(draws["camera_sensor_gain"], *made), taken.astype(np.float32)


def _matrices(draws: npt.NDArray[Any], name: str, fields: tuple[str, ...]) -> Floats:
    return np.stack([draws[f"{name}_{one}"] for one in fields], -1).astype(float).reshape(-1, 3, 3)


def _middle(overlaps: Floats) -> Floats:
    """Return what levels and their blurs take of a pixel's own (D, 1, 1, 3, 1, 1)."""
    own = overlaps[..., overlaps.shape[-1] // 2].sum(-1) ** 2
    return own.T[:, None, None, :, None, None]


@lru_cache(maxsize=4)
def _squares(method: int) -> Floats:
    """Return `SiteNoise.squares` of a method."""
    found = smoothed_products(method, blur_overlaps(np.ones((1, 1))))
    return np.moveaxis(found[0, :, :, 0], 2, -1)


def _grain_products(draws: npt.NDArray[Any], overlaps: Floats) -> Floats:
    """Return what levels and their blurs take of channels' independent numbers (D, 3, 3, 3, 3)."""
    one = np.ones(len(draws))
    zero = 0 * one
    gr, gg, br, bg, bb = (draws[f"mixing_{name}"].astype(np.float64) for name in Mixing._fields)
    mixed = np.array([[one, zero, zero], [gr, gg, zero], [br, bg, bb]])
    middle, shares = overlaps.shape[-1] // 2, draws["grain_scale"].astype(np.float64) ** 2
    for name in ("down", "across"):
        side = draws[f"grain_{name}"].astype(np.float64)
        products = np.stack([side**2, 2 * side, 1 + 2 * side**2, 2 * side, side**2], -1)
        near = overlaps[..., middle - 2 : middle + 3].sum(2)
        shares = shares * np.einsum("pdm,dm->pd", near, products)
    return np.einsum("pd,jad,kad->dpajk", shares, mixed, mixed)


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
