"""Light of unevenly lit pairs: what fusing and tone mapping took out of it, by lightness and place.

A pair has ten numbers: how much darker it is, stops at each lightness, and how much of the light
around a place is undone with it; and the spread of what they leave, by place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np

from ..camera.illumination import blur_weights, cell_luminance
from ..kernels.arrays import FloatArray, IntArray
from ..kernels.curves import CURVE_LEVELS, LEVEL_LIGHT
from ..kernels.exposure import GUIDES
from ..kernels.illumination import CELLS
from .columns import GRID_CELLS, clip_to_bounds, column_indices
from .field import parts_of
from .pairs import Pair

_FEWEST = 0.5  # of the variance that numbers of even light leave: more is even light's
_LEAST_EV = 0.3  # deviation within a picture, of what those leave
_AROUND = 0.05  # share of the light around that is undone: curves of tone undo none
_ROUNDS, _STEPS = 4, 8
_ERROR, _INDEPENDENT = 0.3, 300  # EV that parts err by; parts, as neighbours err alike
_FIRST_SPREAD = np.array([1.5] * GUIDES + [0.4])
_LEAST_SPREAD = 0.15
_DARKEST = 2.0**-10
_SHADOWS = 0.03  # light of a normal
_PER_SATURATION, _PALE, _MOST_EXPONENT = 0.5, 0.85, 1.3  # .85 is that of lows of exponent 1


class _Parts(NamedTuple):
    """Parts of a pair, as of `field.parts_of`."""

    lit: FloatArray  # (N, GUIDES)
    dark: FloatArray  # (N), stops
    around: FloatArray  # (N), stops of the light around, of the mean
    place: IntArray  # (N), which of the grid's cells, and whether it is bright
    luminance: FloatArray  # (32, 32)


def light_of_pairs(
    pairs: Sequence[Pair], values: FloatArray, saturation: float = 1.0
) -> FloatArray | None:
    """Return values (N, C) whose tone is that of uneven light; None where it is even.

    values: with the tone of even light, which is taken where that leaves about as little.
    saturation: of the lows, over their normals', in the median; strong colours are of a contrast
      of each channel by itself.
    """
    exponent = float(np.clip(1 + _PER_SATURATION * (saturation - _PALE), 1, _MOST_EXPONENT))
    parts = [_parts(pair, exponent) for pair in pairs]
    mean: FloatArray = np.zeros(GUIDES + 1)
    precision: FloatArray = np.diag(_FIRST_SPREAD**-2.0)
    for number in range(_ROUNDS):
        found = np.array([_solved(one, mean, precision) for one in parts])
        found[:, 0] += found[:, 4]
        found[:, 1 : 1 + GUIDES] -= found[:, 4:5]
        own = found[:, 1:]
        if len(pairs) > GUIDES + 2 and number < _ROUNDS - 1:
            mean = own.mean(axis=0)
            spread = np.cov(own.T) + np.eye(GUIDES + 1) * _LEAST_SPREAD**2
            precision = np.asarray(np.linalg.inv(spread), np.float64)
    curves = values[:, column_indices("tone.curve")].reshape(len(values), 3, -1)
    left, even = np.array(
        [
            (_deviation(one, _left(one, numbers)), _even_left(one, curve, exponent))
            for one, numbers, curve in zip(parts, found, curves[:, 1], strict=True)
        ]
    ).T
    if (
        np.median(even) < _LEAST_EV
        or np.median(left**2) > _FEWEST * np.median(even**2)
        or np.median(found[:, -1]) < _AROUND
    ):
        return None
    made = values.copy()
    made[:, column_indices("tone.exponent")] = exponent
    made[:, column_indices("tone.curve", "noise.offset")] = 0
    middle = np.log2(np.maximum(curves[:, :, CURVE_LEVELS.index(128)], 1e-6))
    made[:, column_indices("white_balance.error_ev")] = middle[:, [0, 2]] - middle[:, 1:2]
    made[:, column_indices("illumination.smooth.sigma_ev")] = 0
    made[:, column_indices("exposure.ev")[0]] = [
        -numbers[0] - _mean_ev(one, numbers) for one, numbers in zip(parts, found, strict=True)
    ]
    undone = column_indices("illumination.scene_light.undone", "illumination.scene.strength")
    made[:, undone] = own
    made[:, column_indices("illumination.scene_light.grid")[0]] = [
        _spread(one, numbers) for one, numbers in zip(parts, found, strict=True)
    ]
    return clip_to_bounds(made)


def _parts(pair: Pair, exponent: float) -> _Parts:
    found = parts_of(pair.normal, pair.low, exponent)
    luminance = cell_luminance(pair.normal)
    smooth = np.log2(np.maximum(blur_weights() @ luminance @ blur_weights().T, _DARKEST))
    smooth -= smooth.mean()
    shape = found.kept.shape
    around = cv2.resize(smooth, shape[::-1], interpolation=cv2.INTER_LINEAR)[found.kept]
    rows, columns = (np.arange(n) * GRID_CELLS // n for n in shape)
    places = (rows[:, None] * GRID_CELLS + columns)[found.kept]
    lit = found.lit.astype(np.float64)
    bright = np.argmax(lit, axis=1) >= GUIDES // 2
    return _Parts(
        lit,
        np.log2(found.dark).astype(np.float64),
        np.asarray(around, np.float64),
        2 * places + bright,
        luminance,
    )


def _made(one: _Parts, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the stops of parts of the low by ten numbers, and each lightness's share of them."""
    by_level = one.lit * 2.0 ** numbers[1 : 1 + GUIDES]
    total = by_level.sum(axis=1)
    made = np.log2(total) + numbers[0] + numbers[-1] * one.around
    return made, by_level / total[:, None]


def _left(one: _Parts, numbers: FloatArray) -> FloatArray:
    return one.dark - _made(one, numbers)[0]


def _deviation(one: _Parts, left: FloatArray) -> float:
    """Return the deviation of what is left, but of what black offsets may have brightened."""
    shown = one.lit.sum(axis=1) > _SHADOWS
    return float(left[shown].std()) if shown.any() else 0.0


def _even_left(one: _Parts, curve: FloatArray, exponent: float) -> float:
    """Return the deviation of what the tone of even light leaves."""
    lit = np.sqrt(one.lit.sum(axis=1) ** (1 / exponent))
    nodes = np.sqrt(LEVEL_LIGHT[list(CURVE_LEVELS)])
    left = one.dark - 2 * np.log2(np.maximum(np.interp(lit, nodes, np.sqrt(curve)), 1e-4))
    return _deviation(one, left)


def _solved(one: _Parts, mean: FloatArray, precision: FloatArray) -> FloatArray:
    """Return the ten numbers of a pair, by Gauss and Newton's steps from where pairs are."""
    count = len(one.dark)
    middle = np.concatenate([[0.0], mean])
    prior = np.zeros((GUIDES + 2, GUIDES + 2))
    prior[1:, 1:], prior[0, 0] = precision, 1e-4
    numbers = middle.copy()
    if not count:
        return numbers
    numbers[0] = float(np.median(one.dark - np.log2(one.lit.sum(axis=1))))
    sure = min(count, _INDEPENDENT) / count / _ERROR**2
    for _ in range(_STEPS):
        made, shares = _made(one, numbers)
        left = one.dark - made
        slopes = np.column_stack([np.ones(count), shares, one.around])
        weight = sure / np.maximum(1, np.abs(left) / (2 * _ERROR))
        weighted = slopes * weight[:, None]
        side = weighted.T @ left - prior @ (numbers - middle)
        numbers = np.clip(numbers + np.linalg.solve(weighted.T @ slopes + prior, side), -16, 16)
    return numbers


def _mean_ev(one: _Parts, numbers: FloatArray) -> float:
    """Return the mean over cells of light by lightness, which kernels take off."""
    guide = np.minimum(np.sqrt(one.luminance), 1) * (GUIDES - 1)
    near = np.maximum(1 - np.abs(guide.reshape(-1, 1) - np.arange(GUIDES)), 0)
    return float(np.log2(near @ 2.0 ** numbers[1 : 1 + GUIDES]).mean())


def _spread(one: _Parts, numbers: FloatArray) -> float:
    """Return the deviation by place, dark and bright apart, of what ten numbers leave."""
    left = _left(one, numbers)
    counts = np.bincount(one.place, minlength=2 * GRID_CELLS**2)
    means = np.bincount(one.place, left, minlength=len(counts)) / np.maximum(counts, 1)
    known = counts > CELLS
    return float(means[known].std()) if known.sum() > 2 else 0.0
