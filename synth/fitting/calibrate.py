"""Calibration by simulation: adjust parameters by the error of the simulated lows' statistics.

Lows are made of the same normals, with the parameters of today; what is measured of these and of
the real ones differs; each parameter is moved by the difference.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..analysis.noise_statistics import LEVELS
from ..kernels.arrays import FloatArray, IntArray
from .columns import CHANNELS, COLUMNS, TAIL_SHARE, clip_to_bounds, column_indices
from .measure import PairMeasures
from .tone import light_of_levels

_TOES = 0.03, 0.035, 0.04, 0.045, 0.055
_TAILS = np.linspace(0, 3, 61)
_AXES = ("across", "row"), ("down", "column")
_WHITE = 0.03  # correlation of neighbours that the structure of scenes gives white noise
_MOST_LAG = 0.66
_TOP = 64  # level from which on scenes have more structure than noise
_KNOWN = [least for least in LEVELS[:-1] if least < _TOP]
_MIDDLES = [(a + b) / 2 for a, b in pairwise(LEVELS) if a < _TOP]
_NEUTRAL = 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0  # a tone: gains, exponent, shoulder, black
_CORRELATIONS = ("red_green", "rg"), ("green_blue", "gb"), ("red_blue", "rb")


def level_lights(toe: float) -> FloatArray:
    """Return the light of the middles of `LEVELS` below 64, in levels of the straight part."""
    return np.interp(_MIDDLES, np.arange(256), light_of_levels(toe))


def by_level(measures: PairMeasures, what: str, channel: int) -> FloatArray:
    """Return a statistic of each pair and level (N, L), NaN where it is not known.

    Levels without any noise, such as a black channel's, tell nothing.
    """
    letter = CHANNELS[channel][0]
    found, noise = (
        np.stack([measures[f"{one}_{letter}_{least}"] for least in _KNOWN], axis=1)
        for one in (what, "deviation")
    )
    return np.where(noise > 0, found, np.nan)


def with_tone(values: FloatArray, tone: FloatArray) -> FloatArray:
    """Return values (N, C) with the tones (N, 8)."""
    made = values.copy()
    green = tone[:, 1]
    made[:, column_indices("exposure.ev")] = green[:, None]
    made[:, column_indices("white_balance.error_ev")] = green[:, None] - tone[:, [0, 2]]
    made[:, column_indices("tone.exponent")] = tone[:, 3:4]
    made[:, column_indices("tone.shoulder")] = tone[:, 4:5]
    made[:, column_indices("noise.offset")] = tone[:, 5:8]
    return made


def tone_in(values: FloatArray) -> FloatArray:
    """Return the tones (N, 8) in values (N, C)."""
    green = values[:, column_indices("exposure.ev")]
    errors = values[:, column_indices("white_balance.error_ev")]
    rest = column_indices("tone.exponent", "tone.shoulder", "noise.offset")
    return np.hstack([green - errors[:, :1], green, green - errors[:, 1:], values[:, rest]])


def initial_values(real: PairMeasures, toe: float, *, paired: bool) -> FloatArray:
    """Return first values (N, C): each pair's tone, one noise of all.

    Lows without normals give the exposure alone, which is a guess.
    """
    count = len(real.rows)
    values = np.zeros((count, len(COLUMNS)))
    if paired:
        tone = np.where(np.isfinite(real.tone), real.tone, np.nanmedian(real.tone, axis=0))
    else:
        tone = np.tile(_NEUTRAL, (count, 1))
        tone[:, :3] = np.nan_to_num(real["exposure_ev"])[:, None]
    values = with_tone(values, tone)
    for i, channel in enumerate(CHANNELS):
        read, shot, _ = _transfer(real, toe, i)
        values[:, column_indices(f"noise.read.{channel}")] = max(read, 0.05) ** 0.5
        values[:, column_indices(f"noise.shot.{channel}")] = max(shot, 0.01)
    for pair, name in _CORRELATIONS:
        values[:, column_indices(f"noise.correlation.{pair}")] = _median(
            real[f"correlation_{name}"]
        )
    return clip_to_bounds(values)


def curve_of(real: PairMeasures) -> float:
    """Return the toe of the low's curve by which noise is nearest to that of a sensor.

    Its variance is then a straight line over light, from black to where the curve bends and on.
    """
    misfits = [sum(_transfer(real, toe, i)[2] for i in range(3)) for toe in _TOES]
    return _TOES[int(np.argmin(misfits))]


def _transfer(real: PairMeasures, toe: float, channel: int) -> tuple[float, float, float]:
    """Return read noise's variance and gain of all pairs' medians, and the misfit."""
    light, slopes = level_lights(toe), _slopes(toe)
    deviation = by_level(real, "deviation", channel)
    counts = np.isfinite(deviation).sum(axis=0)
    known = (counts >= min(3, len(deviation))) & (np.array(_KNOWN) > 0)
    if not known.any():
        return 0.5, 0.2, 0.0
    variance = (np.nanmedian(deviation[:, known], axis=0) / slopes[known]) ** 2
    weight = np.sqrt(counts[known]) / variance
    design = np.stack([np.ones(known.sum()), light[known]], axis=1) * weight[:, None]
    (read, shot), *_ = np.linalg.lstsq(design, weight * variance, rcond=None)
    apart = design @ np.array([read, shot]) - weight * variance
    return float(read), float(shot), float(apart @ apart)


def _slopes(toe: float) -> FloatArray:
    """Return levels of the low for each level of the straight part, at the middles of `LEVELS`."""
    return 1 / np.interp(_MIDDLES, np.arange(256), np.gradient(light_of_levels(toe)))


def adjust_tone(
    values: FloatArray, real: PairMeasures, made: PairMeasures, *, whole: bool, paired: bool
) -> FloatArray:
    """Return values whose tone is moved, pair by pair: `whole`, or only its gains.

    Moved again and again, what a pair hardly shows would wander off. Without normals the exposure
    alone is moved.
    """
    if not paired:
        moved = values.copy()
        away = np.nan_to_num(real["exposure_ev"] - made["exposure_ev"])
        moved[:, column_indices("exposure.ev")[0]] += away
        return clip_to_bounds(moved)
    away = real.tone - made.tone
    if not whole:
        away[:, 3:] = 0
    tone = tone_in(values)
    away = np.where(np.isfinite(away), away, 0.0)
    moved = with_tone(values, tone + away)
    shift = column_indices("degradations.shift.length")
    square = real["shift"] ** 2 - made["shift"] ** 2
    length = np.sqrt(np.maximum(values[:, shift[0]] ** 2 + np.nan_to_num(square), 0))
    moved[:, shift[0]] = np.minimum(length, 1.0)
    return clip_to_bounds(moved)


def adjust_noise(
    values: FloatArray, real: PairMeasures, made: PairMeasures, toe: float, groups: IntArray
) -> FloatArray:
    """Return values whose noise is moved, by the medians of each group of pairs."""
    moved = values.copy()
    light = level_lights(toe)
    for group in np.unique(groups):
        here = np.flatnonzero(groups == group)
        for i, channel in enumerate(CHANNELS):
            read, shot, tail, rows = (
                column_indices(f"noise.{part}.{channel}")[0]
                for part in ("read", "shot", "tail", "rows")
            )
            first, second = (by_level(one, "deviation", i)[here] for one in (real, made))
            ratio = 2 * np.log(first / second)
            own = values[here]
            skewed = _cumulant(by_level(real, "skewness", i)[here], first) - _cumulant(
                by_level(made, "skewness", i)[here], second
            )
            was = _width(own[:, tail])
            total = np.median(own[:, read] ** 2 * was)
            third = np.median((own[:, tail] * own[:, read]) ** 3)
            third += _beyond_chance(skewed[:, 2:5].ravel()) / (6 * TAIL_SHARE)
            # The tail that has this third cumulant where the variance stays.
            new_tail = float(
                np.interp(third / total**1.5, _TAILS**3 / _width(_TAILS) ** 1.5, _TAILS)
            )
            wide = _width(new_tail)
            known = np.isfinite(ratio).sum(axis=0) >= min(3, len(here))
            step = np.zeros(2)
            if known.any():
                of_shot = np.median(own[:, shot]) * light[known]
                share = total / (total + of_shot)
                weight = np.sqrt(np.isfinite(ratio).sum(axis=0)[known])
                design = np.stack([share, 1 - share], axis=1) * weight[:, None]
                aim = np.nanmedian(ratio[:, known], axis=0) * weight
                ridge = 0.02 * len(here) * np.eye(2)
                step = np.linalg.solve(design.T @ design + ridge, design.T @ aim)
            step = np.clip(step, -1.5, 1.5)
            moved[here, read] = own[:, read] * np.sqrt(np.exp(step[0]) * was / wide)
            moved[here, shot] = own[:, shot] * np.exp(step[1])
            moved[here, tail] = new_tail
            name = f"rows_{channel[0]}"
            square = _median(_signed(real[name][here])) - _median(_signed(made[name][here]))
            moved[here, rows] = np.sqrt(np.maximum(own[:, rows] ** 2 + square, 0))
        kurtosis = column_indices("noise.kurtosis")[0]
        heavier = np.concatenate([_heavier(real, made, i)[here].ravel() for i in range(3)])
        moved[here, kurtosis] += _median(heavier)
        for pair, name in _CORRELATIONS:
            place = column_indices(f"noise.correlation.{pair}")[0]
            # Fisher's transform: near 1, where JPEG takes them, they hardly move otherwise.
            found, now = (_fisher(one[f"correlation_{name}"][here]) for one in (real, made))
            moved[here, place] = np.tanh(_fisher(own[:, place]) + _median(found - now))
        for axis, name in _AXES:
            place = column_indices(f"noise.grain.{axis}")[0]
            lags = [real[f"lag_{name}_{c}"][here] - made[f"lag_{name}_{c}"][here] for c in "rgb"]
            moved[here, place] = _weight(_lag(own[:, place]) + _median(np.ravel(lags)))
    return clip_to_bounds(moved)


def _fisher(correlation: FloatArray) -> FloatArray:
    return np.arctanh(np.clip(correlation, -0.98, 0.98))


def _lag(weight: FloatArray) -> FloatArray:
    """Return the correlation of neighbours that have a `noise.grain`."""
    return 2 * weight / (1 + 2 * weight**2)


def _weight(lag: FloatArray) -> FloatArray:
    """Return the `noise.grain` that gives neighbours a correlation; 0 of what scenes may cause."""
    lag = np.clip(lag, -0.5, _MOST_LAG)
    weight = lag / (1 + np.sqrt(1 - 2 * lag**2))
    return np.where(np.abs(lag) < _WHITE, 0.0, weight)


def _heavier(real: PairMeasures, made: PairMeasures, channel: int) -> FloatArray:
    """Return by how much real kurtosis is above made kurtosis (N, 4), where black cuts nothing."""
    return (by_level(real, "kurtosis", channel) - by_level(made, "kurtosis", channel))[:, 4:8]


def _width(tail: Any) -> Any:
    """Return the variance of read noise with a tail, over that without."""
    return 1 + 2 * TAIL_SHARE * tail**2 - (TAIL_SHARE * tail) ** 2


def _cumulant(skewness: FloatArray, deviation: FloatArray) -> FloatArray:
    return skewness * deviation**3


def _signed(values: FloatArray) -> FloatArray:
    return values * np.abs(values)


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean of each row's known values, NaN where none is."""
    known = np.isfinite(values).sum(axis=1)
    return np.where(known > 0, np.nansum(values, axis=1) / np.maximum(known, 1), np.nan)


def _median(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else 0.0


def _beyond_chance(values: FloatArray) -> float:
    """Return the median, made smaller by what it may owe to chance: 0 below two errors of it."""
    known = values[np.isfinite(values)]
    if len(known) < 3:
        return 0.0
    middle = float(np.median(known))
    error = 1.25 * np.median(np.abs(known - middle)) / 0.6745 / np.sqrt(len(known))
    return middle * max(0.0, 1 - (2 * error / max(abs(middle), 1e-12)) ** 2)


def loudness(real: PairMeasures, made: PairMeasures) -> FloatArray:
    """Return by how much the log deviation of real noise is above the made one's (N, 3).

    The mean, for each pair and channel, over the levels that both show, each weighed by how sure it
    is: pairs of a few scenes show few levels.
    """
    ratios = (by_level(real, "deviation", i) / by_level(made, "deviation", i) for i in range(3))
    return np.stack([_mean(np.log(ratio)) for ratio in ratios], axis=1)


def with_spread(
    values: FloatArray,
    real: PairMeasures,
    made: tuple[PairMeasures, PairMeasures],
    groups: IntArray,
) -> FloatArray:
    """Return values whose noise differs from pair to pair as the real one does.

    made: of the same parameters and two seeds. What differs between these is chance; what real
    pairs differ by beyond chance is the pairs' own, and all that is moved.
    """
    moved = values.copy()
    loud = [loudness(real, one) for one in made]
    for i, channel in enumerate(CHANNELS):
        away = _own(loud[0][:, i], loud[1][:, i], groups)
        moved[:, column_indices(f"noise.read.{channel}")] *= np.exp(away)[:, None]
        moved[:, column_indices(f"noise.shot.{channel}")] *= np.exp(2 * away)[:, None]
    heavy = [_mean(np.hstack([_heavier(real, one, i) for i in range(3)])) for one in made]
    moved[:, column_indices("noise.kurtosis")[0]] += _own(heavy[0], heavy[1], groups)
    for pair, name in _CORRELATIONS:
        key = f"correlation_{name}"
        first, second = (real[key] - one[key] for one in made)
        moved[:, column_indices(f"noise.correlation.{pair}")[0]] += _own(first, second, groups)
    for axis, name in _AXES:
        first, second = (
            np.mean([real[f"lag_{name}_{c}"] - one[f"lag_{name}_{c}"] for c in "rgb"], axis=0)
            for one in made
        )
        place = column_indices(f"noise.grain.{axis}")[0]
        if moved[:, place].any():
            moved[:, place] = _weight(_lag(moved[:, place]) + _own(first, second, groups))
    return clip_to_bounds(moved)


def _own(first: FloatArray, second: FloatArray, groups: IntArray) -> FloatArray:
    """Return what each pair has of its own (N), of differences from lows of two seeds."""
    away = np.zeros(len(first))
    for group in np.unique(groups):
        here = np.flatnonzero((groups == group) & np.isfinite(first + second))
        if len(here) < 3:
            continue
        mean = (first[here] + second[here]) / 2
        apart = mean - np.median(mean)
        spread = np.subtract(*np.percentile(apart, [84, 16])) / 2
        chance = 1.5 * np.median(np.abs(first[here] - second[here])) ** 2 / (2 * 0.6745**2)
        share = max(0.0, 1 - chance / max(spread**2, 1e-12)) ** 0.5
        away[here] = share * np.clip(apart, -3 * spread, 3 * spread)
    return away
