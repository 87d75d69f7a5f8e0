"""The tail of read noise: its share and its mean, by Gauss and Newton's steps of simulated lows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..kernels.arrays import FloatArray
from .columns import CHANNELS, Shared, column_indices
from .measure import PairMeasures

_STATISTICS = (
    *((f"skewness_{{}}_{least}", 1.0) for least in (1, 2, 3, 4, 6)),
    *((f"kurtosis_{{}}_{least}", 0.35) for least in (1, 2, 3, 4, 6)),
    *((f"black_{{}}_{least}", 4.0) for least in (0, 1, 2)),
)
"""What tells of the tail where black cuts it and beyond, and how much it counts."""
_STEP, _MOST = 0.3, 0.6  # logs: of the share and the mean
TAIL_STEPS = np.tile([_STEP, 0.0], (3, 1)), np.tile([0.0, _STEP], (3, 1))
"""Steps (3, 2) for `tail_slopes`: of the share, and of the mean."""
_RIDGE = np.diag([0.3, 0.03])
_SHARES, _MEANS = (0.004, 0.3), (0.05, 6.0)


def with_tail(values: FloatArray, shared: Shared, step: FloatArray) -> tuple[FloatArray, Shared]:
    """Return values (N, C) and what pairs share, with the tail moved, and read noise as strong.

    step: float array (3, 2), by how much the logs of a channel's share and mean are moved.
    """
    moved, share = values.copy(), shared.share.copy()
    for i, channel in enumerate(CHANNELS):
        read, tail = (column_indices(f"noise.{part}.{channel}")[0] for part in ("read", "tail"))
        was = width(values[:, tail], share[i])
        share[i] = np.clip(share[i] * np.exp(step[i, 0]), *_SHARES)
        moved[:, tail] = np.clip(values[:, tail] * np.exp(step[i, 1]), *_MEANS)
        moved[:, read] *= np.sqrt(was / width(moved[:, tail], share[i]))
    return moved, replace(shared, share=share)


def tail_slopes(base: PairMeasures, of_share: PairMeasures, of_mean: PairMeasures) -> FloatArray:
    """Return how statistics go with the tail (3, S, 2).

    They are those of lows of equal seeds: as they are, and with each of `TAIL_STEPS`.
    """
    first = _statistics(base)
    return np.stack(
        [_medians(_statistics(one) - first) / _STEP for one in (of_share, of_mean)], axis=2
    )


def tail_step(real: PairMeasures, made: PairMeasures, slopes: FloatArray) -> FloatArray:
    """Return the step (3, 2) by which made lows come nearer to real ones."""
    away = _medians(_statistics(real) - _statistics(made))
    ridge = _RIDGE + np.eye(2) / len(real.rows)
    steps = [
        np.linalg.solve(own.T @ own + ridge, own.T @ apart)
        for own, apart in zip(slopes, away, strict=True)
    ]
    return np.clip(steps, -_MOST, _MOST)


def width(mean: FloatArray, share: FloatArray | float) -> FloatArray:
    """Return the variance of read noise with a tail, over that without."""
    return 1 + 2 * share * mean**2 - (share * mean) ** 2


def _statistics(measures: PairMeasures) -> FloatArray:
    """Return what tells of the tail, of each pair (N, 3, S)."""
    of_channels = [
        np.stack([weight * measures[name.format(c[0])] for name, weight in _STATISTICS], axis=1)
        for c in CHANNELS
    ]
    return np.stack(of_channels, axis=1)


def _medians(apart: FloatArray) -> FloatArray:
    """Return the medians (3, S) over pairs; 0 of what none or few show."""
    known = np.isfinite(apart).sum(axis=0) >= min(3, len(apart))
    return np.asarray(np.nanmedian(np.where(known, apart, 0.0), axis=0))
