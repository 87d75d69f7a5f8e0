"""The tone of a pair: how a normal's light became its low's, by least squares of blocks' means.

low = 2^-ev y (1 + h y^2) + o, where y = x^g, x is the normal's linear light, h the shoulder and g
the exponent of its own camera, o the black offset; ev and o of each channel.
"""

from __future__ import annotations

import numpy as np

from ..analysis.pair_statistics import block_means
from ..kernels.arrays import FloatArray, Pixels
from ..kernels.curves import LEVEL_LIGHT, toe_of

NAMES = (
    *(f"ev {channel}" for channel in ("red", "green", "blue")),
    "tone.exponent",
    "tone.shoulder",
    *(f"noise.offset.{channel}" for channel in ("red", "green", "blue")),
)
"""Parameters fitted to a pair; `ev` in stops, offsets in levels of the low's straight part."""
_PRIOR = (
    np.array([5.0, 5.0, 5.0, 1.02, 1.0, 0.0, 0.0, 0.0]),
    np.diag([9.0, 9.0, 9.0, 0.06**2, 1.0, 0.5**2, 0.5**2, 0.5**2]),
)
"""Mean and covariance of what a pair's tone may be, where nothing else is known."""
_LEAST = np.array([-4.0, -4.0, -4.0, 0.7, 0.0, -8.0, -8.0, -8.0])
_MOST = np.array([16.0, 16.0, 16.0, 1.4, 6.0, 8.0, 8.0, 8.0])
_SIDE = 10  # pixels of a block
_SMOOTHEST = 0.6  # of the blocks
_SATURATED = 250
_ERROR = 0.35  # levels: what blocks err by
_INDEPENDENT = 100  # blocks: what they err by is mostly structure, which neighbours share
_STEPS = 25
_FEWEST = 12  # blocks


def light_of_levels(toe: float) -> FloatArray:
    """Return the linear light (256) of a low's levels, in levels of its curve's straight part."""
    curve, level = toe_of(toe), np.arange(256) / 255
    straight = curve.slope * 2**curve.end
    power = (np.maximum(level, straight) + curve.a) / (1 + curve.a)
    return 255 * np.where(level <= straight, level, curve.slope * power**2.4)


def tone_of(low: Pixels, normal: Pixels, toe: float) -> FloatArray | None:
    """Return the `NAMES` (8) of a pair, None where too little of it can be measured.

    low, normal: uint8 arrays (H, W, 3).
    toe: that of the low's curve.
    """
    dark, lit, slope = _blocks(low, normal, toe)
    if len(dark) < _FEWEST:
        return None
    mean, covariance = _PRIOR
    precision = np.linalg.inv(covariance)
    unit = 255 * toe_of(toe).slope
    error = _ERROR * max(1.0, (len(dark) / _INDEPENDENT) ** 0.5)
    log_lit = np.log(np.maximum(lit, 1e-4))
    found = mean.copy()
    usable = (lit > 0.02) & (dark > 1.5)
    for i in range(3):
        here = usable[:, i] if usable[:, i].sum() >= 4 else lit[:, i] > 0
        ratio = unit * lit[here, i] / np.maximum(dark[here, i], 0.1)
        found[i] = np.log2(np.median(ratio)) if here.any() else mean[i]
    damping, best = 1e-2, np.inf
    for _ in range(_STEPS):
        y, h = np.exp(found[3] * log_lit), found[4]
        gain = unit * 2.0 ** -found[:3]
        made = gain * y * (1 + h * y * y) + found[5:]
        apart = slope * (dark - made) / error
        # Huber's weights: blocks where the two differ by more than noise count less.
        weight = 1 / np.maximum(1, np.abs(apart) / 2)
        away = found - mean
        cost = float((weight * (2 - weight) * apart**2).sum() + away @ precision @ away)
        if cost < best:
            best, kept, damping = cost, found, damping / 3
            jacobian = np.zeros((3, len(dark), 8))
            for i in range(3):
                one = jacobian[i]
                one[:, i] = -np.log(2) * (made[:, i] - found[5 + i])
                one[:, 3] = gain[i] * (y[:, i] + 3 * h * y[:, i] ** 3) * log_lit[:, i]
                one[:, 4] = gain[i] * y[:, i] ** 3
                one[:, 5 + i] = 1
                one *= slope[:, i : i + 1] / error
            flat = jacobian.reshape(-1, 8)
            weighted = flat * weight.T.reshape(-1, 1)
            square = flat.T @ weighted + precision
            side = weighted.T @ apart.T.ravel() - precision @ away
        else:
            damping *= 8
        step = np.linalg.solve(square + damping * np.diag(np.diag(square)), side)
        found = np.clip(kept + step, _LEAST, _MOST)
        if np.abs(step).max() < 1e-4:
            break
    return kept


def _blocks(low: Pixels, normal: Pixels, toe: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return light of low and normal (N, 3) of smooth blocks, and the slope of the low's curve."""
    levels = light_of_levels(toe)
    values = normal.astype(np.float64)
    first, second = block_means(values, _SIDE), block_means(values**2, _SIDE)
    rough = np.sqrt(np.maximum(second - first**2, 0)).max(axis=1)
    shown = block_means(low.astype(np.float64), _SIDE).max(axis=1)
    kept = (first.max(axis=1) < _SATURATED) & (shown < _SATURATED)
    if kept.any():
        kept &= rough <= np.quantile(rough[kept], _SMOOTHEST)
    dark, lit = (block_means(one, _SIDE)[kept] for one in (levels[low], LEVEL_LIGHT[normal]))
    steps = np.gradient(levels)  # light of a level
    return dark, lit, 1 / np.interp(dark, levels, steps)
