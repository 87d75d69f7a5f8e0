"""Paired residuals: what real lows have less what is made of the same normals, with their errors.

The two lows of a pair have one scene, so that some twenty pairs show what a classifier learns from
hundreds: noise and tone by level and channel, and how neighbours agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..kernels.arrays import FloatArray
from .columns import ADDED, ALL_LABELS, columns
from .noise_statistics import CHANNELS, LEVELS
from .tone_statistics import TONES

FEWEST = 5
"""Pairs that show a statistic."""
_SURE, _LEAST = 4.0, 0.02
_TOP = 64  # level from which on scenes have more structure than noise
_SMALL = 8  # of few pairs errors are not known well
_FEW = 20
_FORM = "skewness", "kurtosis"
_SHOWN = 8
Rows = Sequence[dict[str, float]]


@dataclass(frozen=True)
class Residual:
    """The median over pairs of a statistic of real lows less that of made ones, and its error.

    statistic: of `ALL_LABELS`, or `noise_all_` and a channel for its noise at all levels. Noise is
    compared by its log, at a level beside that of the pair at others; tone in EV.
    """

    statistic: str
    value: float
    error: float
    pairs: int

    @property
    def plain(self) -> bool:
        """True if it is beyond chance, and large: above four errors and 2 %."""
        return abs(self.value) > max(_SURE * self.error, _LEAST)

    def __str__(self) -> str:
        if self.statistic in ADDED:
            way = "much" if self.value < 0 else "little"
            label = ALL_LABELS[self.statistic]
            return f"{label}: {_digits(abs(self.value))} too {way} {self._within()}"
        family, *middle, channel, least = self.statistic.split("_")
        if self.statistic.startswith("noise"):
            family, channel, least = "noise", least, ""
        if family == "lag":
            way = "much" if self.value < 0 else "little"
            said = f"neighbours along {middle[0] if middle else channel}s agree"
            return (
                f"{least.upper()}: {said} by {_digits(abs(self.value))} too {way} {self._within()}"
            )
        if family == "tone":
            most = TONES[TONES.index(int(least)) + 1]
            way = f"EV too {'bright' if self.value < 0 else 'dark'}"
            said = f"levels {least} to {most} of the normal are"
            return (
                f"{channel.upper()}: {said} {_digits(abs(self.value))} {way} {self._within()},"
                " of mid-tones"
            )
        if family in _FORM:
            way = "much" if self.value < 0 else "little"
            where = f"noise at levels {least} to {LEVELS[LEVELS.index(int(least)) + 1]}"
            said = f"has {_digits(abs(self.value))} too {way} {family} {self._within()}"
            return f"{channel.upper()}: {where} {said}"
        way = "strong" if self.value < 0 else "weak"
        share = 100 * abs(np.expm1(-self.value))
        where = f" at levels {least} to {LEVELS[LEVELS.index(int(least)) + 1]}" if least else ""
        return (
            f"{channel.upper()}: noise{where} is {share:.1f} % too {way}"
            f" (+- {100 * self.error:.1f}){' of that at others' if least else ''}"
        )

    def _within(self) -> str:
        return f"(+- {_digits(self.error)})"


def _digits(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def paired_residuals(real: Rows, made: Rows) -> list[Residual]:
    """Return the residuals of noise, its form, neighbours and tone, the surest first.

    real, made: `all_statistics` of lows of the same normals, in one order. Statistics that fewer
    than five pairs show are left out.
    """
    found = [one for names in _families() for one in _of_family(names, real, made)]
    return sorted(found, key=lambda one: -abs(one.value) / one.error)


def residual_lines(found: Sequence[Residual], pairs: int) -> list[str]:
    """Return what residuals say, as lines to print: what is wrong, or that it is calibrated."""
    if not found:
        return [f"{pairs} pairs show too little to say whether it is calibrated; {FEWEST} begin to"]
    plain = [str(one) for one in found if one.plain]
    noise = [one.error for one in found if one.statistic.startswith("deviation")]
    seen = _SURE * float(np.median(noise)) if noise else _LEAST
    few = (
        f"; with {pairs} pairs an error of noise below {100 * seen:.0f} % does not show"
        if seen > 1.5 * _LEAST
        else ""
    )
    if not plain:
        said = "calibrated: of the same normals, nothing is off by four standard errors and 2 %"
        return [said + few]
    more = len(plain) - _SHOWN
    return [
        f"not calibrated, of the same normals{few}:",
        *(f"  {one}" for one in plain[:_SHOWN]),
        *([f"  and {more} more"] if more > 0 else []),
    ]


def _families() -> Iterator[list[str]]:
    """Yield statistics whose errors are alike."""
    levels = [least for least in LEVELS[:-1] if least < _TOP]
    yield [f"deviation_{channel}_{least}" for channel in CHANNELS for least in levels]
    for what in _FORM:
        yield [f"{what}_{channel}_{least}" for channel in CHANNELS for least in levels[4:]]
    yield [f"lag_{axis}_{channel}" for axis in ("row", "column") for channel in CHANNELS]
    yield [f"tone_{channel}_{least}" for channel in CHANNELS for least, _ in pairwise(TONES)]
    yield from ([name] for name in ADDED)


def _of_family(names: list[str], real: Rows, made: Rows) -> list[Residual]:
    one, other = columns(real, names), columns(made, names)
    if names[0] in ADDED or not names[0].startswith("deviation"):
        return _residuals(names, one - other)
    one, other = (np.log(np.where(values > 0, values, np.nan)) for values in (one, other))
    apart = (one - other).reshape(len(one), len(CHANNELS), -1)
    known = np.isfinite(apart).sum(axis=2, keepdims=True)
    mean = np.where(known > 0, np.nansum(apart, axis=2, keepdims=True), np.nan) / known.clip(1)
    return [
        *_residuals([f"noise_all_{channel}" for channel in CHANNELS], mean[:, :, 0]),
        *_residuals(names, (apart - mean).reshape(len(one), -1)),
    ]


def _residuals(names: list[str], apart: FloatArray) -> list[Residual]:
    counts = np.isfinite(apart).sum(axis=0)
    known = counts >= FEWEST
    if not known.any():
        return []
    apart, counts = apart[:, known], counts[known]
    middle = np.nanmedian(apart, axis=0)
    away = np.abs(apart - middle)
    spread: FloatArray = np.nanmedian(away, axis=0) / 0.6745
    # A few pairs that happen to agree are no surer than others.
    spread = np.maximum(spread, (counts < _FEW) * 1.25 * np.nanmean(away, axis=0))
    spread = np.maximum(spread, np.median(spread) * np.minimum(1, _FEW / counts))
    errors = 1.25 * spread / np.sqrt(counts) * (1 + _SMALL / counts) + 1e-9
    kept = [name for name, some in zip(names, known, strict=True) if some]
    return [
        Residual(name, float(value), float(error), int(count))
        for name, value, error, count in zip(kept, middle, errors, counts, strict=True)
    ]
