"""Calibration by simulation: adjust parameters by the error of the simulated lows' statistics.

Lows are made of the same normals, with the parameters of today; what is measured of these and of
the real ones differs; each parameter is moved by the difference. The tail of read noise, its share
and its mean, goes by Gauss and Newton's steps. Pairs that a camera took at one setting are found by
their noise: that of most pictures is that of a few.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..kernels.arrays import FloatArray, IntArray
from ..kernels.curves import CURVE_LEVELS, LEVEL_LIGHT, linear_to_srgb, srgb_to_linear, toe_of
from ..measures.noise_and_tone import LEVELS, TONES
from .fitted_recipe import (
    CHANNELS,
    COLUMNS,
    MIDDLES,
    Shared,
    clip_to_bounds,
    column_indices,
    is_uneven,
    level_lights,
    light_of_levels,
    width,
    within_bounds,
)
from .pairs import PairMeasures

_FEWEST_FILLED = 12  # pairs that show how levels go together
_FILL_STEPS = 20
_RIDGE = 0.01  # squares of log2 levels
_TOES = 0.03, 0.035, 0.04, 0.045, 0.055
_AXES = ("across", "row"), ("down", "column")
_MOST_LAG = 0.69
_CODED = 2  # steps of it: neighbours agree by JPEG, too, and grain adds half to that
_TOP = 64  # level from which on scenes have more structure than noise
_DARKER = 0.5  # EV: pairs of nearly equal exposure have their noise above `_TOP`
_MIDDLE = CURVE_LEVELS.index(128)
_WHITE = f"spread_{TONES[-2]}"  # of the light of what normals show as white
_MOST_WHITE = 1.5  # times what the lows show
_SPREADS = [f"spread_{least}" for least in TONES[2:-3]]  # of the light of mid-tones
_OF_FIELD = 1.5  # of a smooth field's variance, of what it adds to theirs
_CURVE = column_indices("tone.curve")
# Of the light by channel that is left below that by lightness: light of lows, in levels, that noise
# leaves sure; that of a normal's black, which gains can move; and a step, at most.
_SURE_LIGHT, _BLACK, _MOST_EV = 0.3, 2e-5, 2.0
_OWN = 0.95  # of what a pair is apart from its group's median
_EASED = 0.6  # of a step: JPEG cuts weak noise, and what is left grows faster than what was there
_MOST_CURVE = 1.0
_LEAST_KURTOSIS, _MOST_KURTOSIS = 0.3, 3.0  # that a step is divided by; log of a factor
_SURE = 3  # pairs that show a level
_LEAST_OUTLIERS = 0.1  # of 10,000 samples
_CORRELATIONS = ("red_green", "rg"), ("green_blue", "gb"), ("red_blue", "rb")

_OF_TAIL = (
    *((f"skewness_{{}}_{least}", 1.0) for least in (1, 2, 3, 4, 6)),
    *((f"kurtosis_{{}}_{least}", 0.35) for least in (1, 2, 3, 4, 6)),
    *((f"black_{{}}_{least}", 4.0) for least in (0, 1, 2)),
)
"""What tells of the tail where black cuts it and beyond, and how much it counts."""
_TAIL_STEP, _MOST_TAIL = 0.3, 0.6  # logs: of the share and the mean
TAIL_STEPS = np.tile([_TAIL_STEP, 0.0], (3, 1)), np.tile([0.0, _TAIL_STEP], (3, 1))
"""Steps (3, 2) for `tail_slopes`: of the share, and of the mean."""
_TAIL_RIDGE = np.diag([0.3, 0.03])
_OWN_TAIL_RIDGE, _OWN_NOISE_RIDGE = 2.0, 0.5  # of one pair's own
_SHARES, _MEANS = (0.004, 0.3), (0.05, 6.0)
_GAP = 0.08  # of log deviation: settings differ by more; pictures of one by .03
_WIDEST = 0.5
_FEWEST = 5  # pairs that show a setting's noise at every level


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
    places = np.arange(len(CURVE_LEVELS))
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
    for _ in range(_FILL_STEPS if len(levels) >= _FEWEST_FILLED else 0):
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


def by_level(measures: PairMeasures, what: str, channel: int) -> FloatArray:
    """Return a statistic of each pair and level (N, L), NaN where it is not known.

    Levels without any noise, such as a black channel's, tell nothing; nor do bright ones of dark
    pairs.
    """
    letter = CHANNELS[channel][0]
    found, noise = (
        np.stack([measures[f"{one}_{letter}_{least}"] for least in LEVELS[:-1]], axis=1)
        for one in (what, "deviation")
    )
    bright = np.array(LEVELS[:-1]) >= _TOP
    dark = measures["exposure_ev"][:, None] > _DARKER
    return np.where((noise > 0) & ~(bright & dark), found, np.nan)


def with_tone(values: FloatArray, light: FloatArray, toe: float) -> FloatArray:
    """Return values (N, C) by which lows have a light (N, 3, 8) at `CURVE_LEVELS` of normals.

    It is in levels of the straight part; that of black may be below 0.
    """
    made = values.copy()
    offset = np.minimum(light[:, :, 0], 0)
    scene = np.maximum.accumulate(light - offset[:, :, None], axis=2) / (255 * toe_of(toe).slope)
    ev = np.log2(LEVEL_LIGHT[CURVE_LEVELS[_MIDDLE]] / np.maximum(scene[:, 1, _MIDDLE], 1e-6))
    made[:, column_indices("exposure.ev")[0]] = ev
    made[:, _CURVE] = (scene * 2 ** ev[:, None, None]).reshape(len(values), -1)
    made[:, column_indices("noise.offset")] = offset
    return made


def tone_in(values: FloatArray, toe: float) -> FloatArray:
    """Return the light (N, 3, 8) that `with_tone` put into values (N, C)."""
    gain = 255 * toe_of(toe).slope * 2 ** -values[:, column_indices("exposure.ev")[0]]
    scene = values[:, _CURVE].reshape(len(values), 3, -1)
    return gain[:, None, None] * scene + values[:, column_indices("noise.offset")][:, :, None]


def initial_values(real: PairMeasures, toe: float, *, paired: bool) -> FloatArray:
    """Return first values (N, C): each pair's tone, one noise of all.

    Lows without normals give the exposure alone, which is a guess.
    """
    values = np.zeros((len(real.rows), len(COLUMNS)))
    if paired:
        light = np.interp(filled(real.tone), np.arange(256), light_of_levels(toe))
        values = with_tone(values, light, toe)
    else:
        exposures = np.nan_to_num(real["exposure_ev"])
        values[:, column_indices("exposure.ev")[0]] = exposures
    for i, channel in enumerate(CHANNELS):
        read, shot, _ = _transfer(real, toe, i)
        values[:, column_indices(f"noise.read.{channel}")] = max(read, 0.05) ** 0.5
        values[:, column_indices(f"noise.shot.{channel}")] = max(shot, 0.01)
        values[:, column_indices(f"noise.tail.{channel}")] = 1
    for pair, name in _CORRELATIONS:
        values[:, column_indices(f"noise.correlation.{pair}")] = _median(
            real[f"correlation_{name}"]
        )
    return clip_to_bounds(values)


def curve_of(real: PairMeasures) -> float:
    """Return the toe of the low's curve by which noise is nearest to that of a sensor.

    Its variance is then a straight line over light, from black to where the curve bends and on, if
    not up to white, where cameras bend light further.
    """
    misfits = [sum(_transfer(real, toe, i)[2] for i in range(3)) for toe in _TOES]
    return _TOES[int(np.argmin(misfits))]


def _transfer(real: PairMeasures, toe: float, channel: int) -> tuple[float, float, float]:
    """Return read noise's variance and gain of all pairs' medians, and the misfit."""
    light = level_lights(toe)
    # Levels of the low for each level of the straight part.
    slopes = 1 / np.interp(MIDDLES, np.arange(256), np.gradient(light_of_levels(toe)))
    deviation = by_level(real, "deviation", channel)
    counts = np.isfinite(deviation).sum(axis=0)
    least = np.array(LEVELS[:-1])
    known = (counts >= min(3, len(deviation))) & (least > 0) & (least < _TOP)
    if not known.any():
        return 0.5, 0.2, 0.0
    variance = (np.nanmedian(deviation[:, known], axis=0) / slopes[known]) ** 2
    weight = np.sqrt(counts[known]) / variance
    design = np.stack([np.ones(known.sum()), light[known]], axis=1) * weight[:, None]
    (read, shot), *_ = np.linalg.lstsq(design, weight * variance, rcond=None)
    apart = design @ np.array([read, shot]) - weight * variance
    return float(read), float(shot), float(apart @ apart)


def adjust_tone(
    values: FloatArray, real: PairMeasures, made: PairMeasures, toe: float, *, paired: bool
) -> FloatArray:
    """Return values whose tone is moved, pair by pair, and shift; without normals the exposure."""
    if not paired:
        moved = values.copy()
        away = np.nan_to_num(real["exposure_ev"] - made["exposure_ev"])
        moved[:, column_indices("exposure.ev")[0]] += away
        return clip_to_bounds(moved)
    wanted, found = (
        np.interp(one.tone, np.arange(256), light_of_levels(toe)) for one in (real, made)
    )
    if is_uneven(values):
        moved = values.copy()
        step = np.log2((wanted + _SURE_LIGHT) / (np.maximum(found, 0) + _SURE_LIGHT))
        gains = np.array([_median(one[:, 2:]) for one in step])
        moved[:, column_indices("exposure.ev")[0]] -= gains
        step = np.clip(np.nan_to_num(step - gains[:, None, None]), -_MOST_EV, _MOST_EV)
        curve = np.maximum(values[:, _CURVE].reshape(step.shape), _BLACK) * 2**step
        moved[:, _CURVE] = np.maximum.accumulate(curve, axis=2).reshape(len(values), -1)
    else:
        light = tone_in(values, toe)
        moved = with_tone(values, light + np.nan_to_num(wanted - found), toe)
    white = column_indices("highlights.sigma_ev")[0]
    square = values[:, white] ** 2 + real[_WHITE] ** 2 - made[_WHITE] ** 2
    # What lows clip, too, does not follow: of equal exposure all that normals do.
    own = np.minimum(np.sqrt(np.maximum(square, 0)), _MOST_WHITE * real[_WHITE])
    own = np.where(np.isfinite(own), own, _median(own))
    moved[:, white] = np.where(real["exposure_ev"] > _DARKER, own, 0)
    smooth = column_indices("illumination.smooth.sigma_ev")[0]
    more = _mean(np.stack([real[one] ** 2 - made[one] ** 2 for one in _SPREADS], axis=1))
    square = values[:, smooth] ** 2 + _OF_FIELD * np.nan_to_num(more)
    moved[:, smooth] = np.sqrt(np.maximum(square, 0))
    shift = column_indices("degradations.shift.length")[0]
    square = real["shift"] ** 2 - made["shift"] ** 2
    length = np.sqrt(np.maximum(values[:, shift] ** 2 + np.nan_to_num(square), 0))
    moved[:, shift] = np.minimum(length, 1.0)
    return clip_to_bounds(moved)


def adjust_noise(
    values: FloatArray,
    real: PairMeasures,
    made: PairMeasures,
    shared: Shared,
    groups: IntArray,
    *,
    own: bool = True,
) -> tuple[FloatArray, Shared]:
    """Return values and what pairs share, with noise moved by the real lows' less the made ones'.

    Read and shot noise of each group go by its medians, the curve by what these leave. The rest is
    each pair's own.

    own: whether a pair's read and shot noise are, too.
    """
    moved, curve = values.copy(), shared.curve.copy()
    light = shared.light
    eased = np.where(values[:, column_indices("degradations.jpeg.quality")[0]] > 0, _EASED, 1.0)
    for i, channel in enumerate(CHANNELS):
        read, shot, tail, rows = (
            column_indices(f"noise.{part}.{channel}")[0]
            for part in ("read", "shot", "tail", "rows")
        )
        ratio = np.log(by_level(real, "deviation", i) / by_level(made, "deviation", i))
        black = values[:, read] ** 2 * width(values[:, tail], shared.share[i])
        left = ratio.copy()
        for group in np.unique(groups):
            here = np.flatnonzero(groups == group)
            total = np.median(black[here])
            counts = np.isfinite(ratio[here]).sum(axis=0)
            known = counts >= min(3, len(here))
            step = np.zeros(2)
            share = total / (total + np.median(values[here, shot]) * light)
            design = np.stack([share, 1 - share], axis=1)
            if known.any():
                weight = np.sqrt(counts[known])[:, None]
                aim = 2 * np.nanmedian(ratio[here][:, known], axis=0)
                some = design[known] * weight
                ridge = 0.02 * len(here) * np.eye(2)
                step = np.linalg.solve(some.T @ some + ridge, some.T @ (aim * weight[:, 0]))
            step = np.clip(step, -1.5, 1.5)
            moved[here, read] *= np.exp(eased[here] * step[0] / 2)
            moved[here, shot] *= np.exp(eased[here] * step[1])
            left[here] -= design @ step / 2
            if own and known.any():
                apart = ratio[here] - np.nanmedian(np.where(counts > 0, ratio[here], 0.0), axis=0)
                of_pairs = _OWN * eased[here] * _own_steps(2 * apart, design)
                moved[here, read] *= np.exp(of_pairs[0] / 2)
                moved[here, shot] *= np.exp(of_pairs[1])
        step = np.clip(_by_light(left, light), -0.5, 0.5)
        curve[i] = np.clip(curve[i] + step, -_MOST_CURVE, _MOST_CURVE)
        square = _signed(real[f"rows_{channel[0]}"]), _signed(made[f"rows_{channel[0]}"])
        apart = _by_group(square[0], groups) - _by_group(square[1], groups)
        moved[:, rows] = np.sqrt(np.maximum(values[:, rows] ** 2 + apart, 0))
        for axis, name in _AXES:
            place = column_indices(f"noise.grain.{channel}.{axis}")[0]
            key = f"lag_{name}_{channel[0]}"
            away = _away(real[key] - made[key], groups, _OWN)
            away *= np.where(eased < 1, _CODED, 1)
            moved[:, place] = _weight(_lag(values[:, place]) + away)
    heavier = _mean(np.hstack([_heavier(real, made, i) for i in range(3)]))
    moved[:, column_indices("noise.kurtosis")[0]] += _away(heavier, groups, 0.6)
    for pair, name in _CORRELATIONS:
        place = column_indices(f"noise.correlation.{pair}")[0]
        # Fisher's transform: near 1, where JPEG takes them, they hardly move otherwise.
        found, now = (_fisher(one[f"correlation_{name}"]) for one in (real, made))
        away = _away(found - now, groups, _OWN)
        moved[:, place] = np.tanh(_fisher(values[:, place]) + away)
    return clip_to_bounds(moved), replace(shared, curve=curve)


def _own_steps(apart: FloatArray, design: FloatArray) -> FloatArray:
    """Return by how much the logs of pairs' read and shot noise are moved (2, N).

    apart: float array (N, L), of log variance by level. design: float array (L, 2), the shares of
    read and shot noise in it.
    """
    known = np.isfinite(apart)[:, :, None]
    some = np.where(known, design, 0)
    square = some.swapaxes(1, 2) @ some + _OWN_NOISE_RIDGE * np.eye(2)
    aim = (some * np.nan_to_num(apart)[:, :, None]).sum(axis=1)
    return np.linalg.solve(square, aim[:, :, None])[:, :, 0].T


def adjust_form(
    values: FloatArray, real: PairMeasures, made: PairMeasures, shared: Shared
) -> Shared:
    """Return what pairs share, with skewness and kurtosis by light moved by what pairs show.

    The rarer the wider samples are, the more of them are far outliers, of equal kurtosis: nearly in
    proportion, from a half to a thirtieth.
    """
    light = shared.light
    skewness, kurtosis = shared.skewness.copy(), shared.kurtosis.copy()
    usual = np.median(values[:, column_indices("noise.kurtosis")[0]]) * np.exp(kurtosis)
    common = _median(_mean(np.hstack([_heavier(real, made, i) for i in range(3)])))
    for i in range(3):
        apart, heavier = (
            by_level(real, what, i) - by_level(made, what, i) for what in ("skewness", "kurtosis")
        )
        skewness[i] += np.clip(_by_light(apart, light), -0.5, 0.5)
        step = _by_light(heavier - common, light) / np.maximum(usual[i], _LEAST_KURTOSIS)
        kurtosis[i] += np.clip(step, -1, 1)
    outliers = [
        _mean(np.stack([one[f"outliers_{c[0]}"] for c in CHANNELS], axis=1)) for one in (real, made)
    ]
    known = np.isfinite(outliers).all(axis=0)  # black lows show none
    found, now = (np.log(_LEAST_OUTLIERS + _median(one[known])) for one in outliers)
    wide = shared.wide * np.exp(np.clip(now - found, -1, 1))
    return replace(
        shared,
        skewness=np.clip(skewness, -2, 2),
        kurtosis=np.clip(kurtosis, -3, _MOST_KURTOSIS),
        wide=float(within_bounds("noise.wide_share", wide)),
    )


def _by_light(apart: FloatArray, light: FloatArray) -> FloatArray:
    """Return medians over pairs (N, L), of levels of such light; 0 where too few show any.

    Those of levels that are not known go between those that are, and on from the last ones.
    """
    known = np.isfinite(apart).sum(axis=0) >= _SURE
    if not known.any():
        return np.zeros(len(light))
    return np.interp(light, light[known], np.nanmedian(apart[:, known], axis=0))


def _by_group(values: FloatArray, groups: IntArray) -> FloatArray:
    """Return the median of each one's group (N); 0 where that shows nothing."""
    return np.array([_median(values[groups == group]) for group in range(groups.max() + 1)])[groups]


def _away(apart: FloatArray, groups: IntArray, share: float) -> FloatArray:
    """Return what to move pairs by (N): the median of its group, and a share of its own beyond."""
    middle = _by_group(apart, groups)
    return middle + share * np.where(np.isfinite(apart), apart - middle, 0)


def _fisher(correlation: FloatArray) -> FloatArray:
    return np.arctanh(np.clip(correlation, -0.98, 0.98))


def _lag(weight: FloatArray) -> FloatArray:
    """Return the correlation of neighbours that have a `noise.grain`."""
    return 2 * weight / (1 + 2 * weight**2)


def _weight(lag: FloatArray) -> FloatArray:
    """Return the `noise.grain` that gives neighbours a correlation."""
    lag = np.clip(lag, -0.5, _MOST_LAG)
    return lag / (1 + np.sqrt(1 - 2 * lag**2))


def _heavier(real: PairMeasures, made: PairMeasures, channel: int) -> FloatArray:
    """Return by how much real kurtosis is above made kurtosis (N, 4), where black cuts nothing."""
    return (by_level(real, "kurtosis", channel) - by_level(made, "kurtosis", channel))[:, 4:8]


def _signed(values: FloatArray) -> FloatArray:
    return values * np.abs(values)


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean of each row's known values, NaN where none is."""
    known = np.isfinite(values).sum(axis=1)
    return np.where(known > 0, np.nansum(values, axis=1) / np.maximum(known, 1), np.nan)


def _median(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else 0.0


def loudness(real: PairMeasures, made: PairMeasures) -> FloatArray:
    """Return by how much the log deviation of real noise is above the made one's (N, 3).

    The mean, for each pair and channel, over the levels that both show, each weighed by how sure it
    is: pairs of a few scenes show few levels.
    """
    ratios = (by_level(real, "deviation", i) / by_level(made, "deviation", i) for i in range(3))
    return np.stack([_mean(np.log(ratio)) for ratio in ratios], axis=1)


def with_tail(values: FloatArray, shared: Shared, step: FloatArray) -> tuple[FloatArray, Shared]:
    """Return values (N, C) and what pairs share, with the tail moved, and read noise as strong.

    step: float array (3, 2), by how much the logs of a channel's share and mean are moved.
    """
    share = np.clip(shared.share * np.exp(step[:, 0]), *_SHARES)
    return _moved_tails(values, shared.share, share, step[:, 1]), replace(shared, share=share)


def own_tails(
    values: FloatArray, real: PairMeasures, made: PairMeasures, shared: Shared, slopes: FloatArray
) -> FloatArray:
    """Return values (N, C) with each pair's tail moved by what it differs from the others."""
    away, of_mean = _of_tail(real) - _of_tail(made), slopes[:, :, 1]
    apart = np.nan_to_num(away - _medians(away))
    step = (apart * of_mean).sum(axis=2) / ((of_mean**2).sum(axis=1) + _OWN_TAIL_RIDGE)
    step = np.clip(step, -_MOST_TAIL, _MOST_TAIL)
    return _moved_tails(values, shared.share, shared.share, step)


def _moved_tails(
    values: FloatArray, was: FloatArray, share: FloatArray, step: FloatArray
) -> FloatArray:
    """Return values whose tails' means have logs moved by a step, and read noise as strong."""
    reads, tails = column_indices("noise.read"), column_indices("noise.tail")
    moved = values.copy()
    moved[:, tails] = np.clip(values[:, tails] * np.exp(step), *_MEANS)
    moved[:, reads] *= np.sqrt(width(values[:, tails], was) / width(moved[:, tails], share))
    return moved


def tail_slopes(base: PairMeasures, of_share: PairMeasures, of_mean: PairMeasures) -> FloatArray:
    """Return how statistics go with the tail (3, S, 2).

    They are those of lows of equal seeds: as they are, and with each of `TAIL_STEPS`.
    """
    first = _of_tail(base)
    return np.stack(
        [_medians(_of_tail(one) - first) / _TAIL_STEP for one in (of_share, of_mean)], axis=2
    )


def tail_step(real: PairMeasures, made: PairMeasures, slopes: FloatArray) -> FloatArray:
    """Return the step (3, 2) by which made lows come nearer to real ones."""
    away = _medians(_of_tail(real) - _of_tail(made))
    ridge = _TAIL_RIDGE + np.eye(2) / len(real.rows)
    steps = [
        np.linalg.solve(own.T @ own + ridge, own.T @ apart)
        for own, apart in zip(slopes, away, strict=True)
    ]
    return np.clip(steps, -_MOST_TAIL, _MOST_TAIL)


def _of_tail(measures: PairMeasures) -> FloatArray:
    """Return what tells of the tail, of each pair (N, 3, S)."""
    of_channels = [
        np.stack([weight * measures[name.format(c[0])] for name, weight in _OF_TAIL], axis=1)
        for c in CHANNELS
    ]
    return np.stack(of_channels, axis=1)


def _medians(apart: FloatArray) -> FloatArray:
    """Return the medians (3, S) over pairs; 0 of what none or few show."""
    known = np.isfinite(apart).sum(axis=0) >= min(3, len(apart))
    return np.asarray(np.nanmedian(np.where(known, apart, 0.0), axis=0))


def settings(noise: FloatArray) -> IntArray:
    """Return the number of each pair's setting, the quietest first.

    noise: float array (N, 3); log of the noise's deviation in each channel, of what one noise of
      all would have at the same levels; NaN where a pair shows none. Settings are what a gap lies
      between in some channel; where there is none, as of a camera that chooses any ISO, they are
      cut into parts that differ little.
    """
    noise = noise[:, np.isfinite(noise).any(axis=0)]  # of channels that show any
    known = np.flatnonzero(np.isfinite(noise).all(axis=1))
    if not noise.size or not len(known):
        return np.zeros(len(noise), np.int64)
    parts = sorted(_parts(noise, known), key=lambda part: float(np.median(noise[part])))
    groups = np.full(len(noise), np.argmax([len(part) for part in parts]))
    for number, part in enumerate(parts):
        groups[part] = number
    return groups  # pairs that show nothing are of the commonest one


def _parts(noise: FloatArray, here: IntArray) -> list[IntArray]:
    if len(here) < 2 * _FEWEST:
        return [here]
    order = here[np.argsort(noise[here], axis=0, kind="stable").T]  # (3, N)
    sorted_noise = np.sort(noise[here], axis=0).T
    gaps = np.diff(sorted_noise[:, _FEWEST - 1 : len(here) - _FEWEST + 1])
    channel, place = divmod(int(gaps.argmax()), gaps.shape[1])
    if gaps.max() <= _GAP:
        channel = int(np.ptp(sorted_noise, axis=1).argmax())
        if np.ptp(sorted_noise[channel]) <= _WIDEST:
            return [here]
        place = int(gaps[channel].argmax())
    cut = place + _FEWEST
    return _parts(noise, order[channel, :cut]) + _parts(noise, order[channel, cut:])
