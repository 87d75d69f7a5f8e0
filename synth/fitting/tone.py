"""The tone of a pair: which levels its low has where its normal has those of a recipe's curve."""

from __future__ import annotations

import cv2
import numpy as np

from ..kernels.arrays import FloatArray, Pixels
from ..kernels.curves import CURVE_LEVELS, LEVEL_LIGHT, linear_to_srgb, srgb_to_linear, toe_of
from ..measures.pair_statistics import flattest

_BINS = (0, 3), (12, 20), (27, 38), (56, 72), (116, 140), (180, 204), (230, 242), (252, 256)
"""Levels of the normal, smoothed, that count as those of `CURVE_LEVELS`."""
_SMOOTHEST = 0.6  # of the pixels
_BLUR = 2.0
_ENOUGH = 60  # pixels
_FEWEST = 12  # pairs that show how levels go together
_STEPS = 20
_RIDGE = 0.01  # squares of log2 levels


def light_of_levels(toe: float) -> FloatArray:
    """Return the linear light (256) of a low's levels, in levels of its curve's straight part."""
    curve, level = toe_of(toe), np.arange(256) / 255
    straight = curve.slope * 2**curve.end
    power = (np.maximum(level, straight) + curve.a) / (1 + curve.a)
    return 255 * np.where(level <= straight, level, curve.slope * power**2.4)


def tone_levels(low: Pixels, normal: Pixels) -> FloatArray:
    """Return the levels (3, 8) that a low has, in the median, at `CURVE_LEVELS` of its normal.

    low, normal: uint8 arrays (H, W, 3). NaN where a normal shows too little of a level.
    """
    smooth = flattest(normal, _SMOOTHEST)
    dark = cv2.blur(low.astype(np.float32), (3, 3))[smooth]
    lit = cv2.GaussianBlur(normal.astype(np.float32), (0, 0), _BLUR)[smooth]
    found = np.full((3, len(_BINS)), np.nan)
    for i in range(3):
        for number, (least, most) in enumerate(_BINS):
            here = dark[(lit[:, i] >= least) & (lit[:, i] <= most), i]
            if len(here) >= _ENOUGH:
                found[i, number] = np.median(here)
    return found


def filled(levels: FloatArray) -> FloatArray:
    """Return the levels (N, 3, 8) of pairs with those that are not known, which never fall.

    They are what a gain in light would make of those that are known; where there are enough pairs,
    what goes with these in others: the conditional means of a normal distribution of log2 levels.
    """
    known = np.isfinite(levels).reshape(len(levels), -1)
    plain = np.maximum(LEVEL_LIGHT[list(CURVE_LEVELS)], LEVEL_LIGHT[1])
    logs = np.log2(levels + 0.5)
    gains = np.log2(srgb_to_linear(np.maximum(levels, 0.5) / 255) / plain)
    middle = float(np.nanmedian(gains)) if known.any() else 0.0
    places = np.arange(len(_BINS))
    for pair, own in enumerate(gains):
        some = own[np.isfinite(own)]
        for i in range(3):
            here = np.isfinite(own[i])
            gain = np.median(some) if len(some) else middle
            if here.any():
                gain = np.interp(places, places[here], own[i, here])
            levels_then = 255 * linear_to_srgb(np.minimum(2**gain * plain, 1))
            logs[pair, i, ~here] = np.log2(levels_then[~here] + 0.5)
    flat = logs.reshape(len(levels), -1)
    unsure = np.zeros((flat.shape[1],) * 2)
    for _ in range(_STEPS if len(levels) >= _FEWEST else 0):
        mean = flat.mean(axis=0)
        spread = np.cov(flat.T) + unsure / len(flat) + _RIDGE * np.eye(len(mean))
        unsure = np.zeros_like(spread)
        for row, own in zip(flat, known, strict=True):
            if own.any() and not own.all():
                of_known = np.linalg.solve(spread[np.ix_(own, own)], spread[np.ix_(own, ~own)])
                row[~own] = mean[~own] + (row[own] - mean[own]) @ of_known
                unsure[np.ix_(~own, ~own)] += (
                    spread[np.ix_(~own, ~own)] - spread[np.ix_(~own, own)] @ of_known
                )
    rising = np.maximum.accumulate(flat.reshape(levels.shape), axis=2)
    return np.clip(2**rising - 0.5, 0, 255)
