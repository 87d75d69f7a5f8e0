"""Signs that give lows away, in words: telling statistics, and residuals of pairs.

Residuals are what real lows have less what is made of the same normals, with their errors. The two
lows of a pair have one scene, so that some twenty pairs show what a classifier learns from
hundreds: noise and tone by level and channel, and how neighbours agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..kernels.arrays import FloatArray
from .columns import ADDED, ALL_LABELS, BANKS, Rows, columns
from .noise_and_tone import CHANNELS, LEVELS, TONES

_SURE = 2.6  # Kuiper's statistic, scaled: chance gives as much once in some 20,000 statistics
_MOST = 12
_APART = 0.35  # of a deviation, between medians; below, it is the spreads that differ
_SHADOWS, _HIGHLIGHTS = 64, 160  # levels of the normal
_FAMILIES = {
    # statistics: what it is, what is said where lows have less of it than real ones, and more
    "deviation": ("noise", "too little noise", "too much noise"),
    "skewness": (
        "bright outliers beside dark ones",
        "too few bright outliers beside dark ones",
        "too many bright outliers beside dark ones",
    ),
    "kurtosis": ("outliers of noise", "too few outliers of noise", "too many outliers of noise"),
    "outliers": ("far outliers", "too few far outliers of noise", "too many far outliers of noise"),
    "black": ("black samples", "too few black samples", "too many black samples"),
    "zeros": ("black samples", "too few black samples", "too many black samples"),
    "lag": ("grain", "grain too fine", "grain too coarse"),
    "correlation": ("colour of noise", "noise too colourful", "noise too grey"),
    "rows": ("rows", "rows too even", "banding along rows"),
    "columns": ("columns", "columns too even", "banding along columns"),
    "blocks": ("JPEG's blocks", "too few traces of JPEG's blocks", "JPEG's blocks show"),
    "shadows": ("shadows", "shadows too dark", "shadows too bright"),
    "middle": ("mid-tones", "mid-tones too dark", "mid-tones too bright"),
    "highlights": ("highlights", "highlights too dark", "highlights too bright"),
    "spread": ("light within a tone", "light too even", "light too uneven"),
    "field": ("light over the picture", "light too even", "light too uneven"),
    "exposure": ("exposure", "not dark enough", "too dark"),
    "mean": ("brightness", "too dark", "too bright"),
    "exponent": ("contrast", "contrast too low", "contrast too high"),
    "red": ("white balance of red", "too little red", "too much red"),
    "blue": ("white balance of blue", "too little blue", "too much blue"),
    "saturation": ("saturation", "colours too pale", "colours too strong"),
    "shift": (
        "registration",
        "low and normal are registered too exactly",
        "low and normal are too far apart",
    ),
    "detail": ("detail", "too soft", "too sharp"),
}
_FEWEST = 5  # pairs that show a residual
_PLAIN, _LEAST = 4.0, 0.02
_TOP = 64  # level from which on scenes have more structure than noise
_SMALL = 8  # of few pairs errors are not known well
_FEW = 20
_FORM = "skewness", "kurtosis"
_SHOWN = 8
_EV = ("shadows", "middle", "highlights", "spread", "field", "exposure", "red", "blue")


@dataclass(frozen=True)
class Tell:
    """One thing that gives lows away.

    accuracy: of telling lows by the best of its statistics alone, whether it lies between two
    bounds.
    """

    accuracy: float
    words: str
    names: tuple[str, ...]  # the statistics, the best one first
    real: float  # medians of the best one
    other: float  # medians of the best one

    def __str__(self) -> str:
        return f"{self.accuracy:.0%}  {self.words}"


def find_tells(real: Rows, other: Rows) -> list[Tell]:
    """Return the statistics that tell lows from real ones, at most 12, the surest first.

    Statistics that say the same are one: "too little noise below level 4 in R; at levels 6 to 10,
    16 to 32 in G".

    real, other: `all_statistics` of images.
    """
    names = [*BANKS["noise and tone"], *BANKS["registration"]]
    groups: dict[tuple[str, str], list[tuple[float, str, FloatArray, FloatArray]]] = {}
    for name, first, second in zip(
        names, columns(real, names).T, columns(other, names).T, strict=True
    ):
        first, second = first[np.isfinite(first)], second[np.isfinite(second)]
        family = _family(name)
        if min(len(first), len(second)) < 10 or family is None:
            continue
        apart = kuiper(first, second)
        size = (len(first) * len(second) / (len(first) + len(second))) ** 0.5
        if apart * (size + 0.155 + 0.24 / size) < _SURE:
            continue
        groups.setdefault((family, _way(first, second)), []).append(
            ((1 + apart) / 2, name, first, second)
        )
    made = []
    for (family, way), found in groups.items():
        found.sort(key=lambda one: one[:2], reverse=True)
        accuracy, name, first, second = found[0]
        median, own = float(np.median(first)), float(np.median(second))
        label = ALL_LABELS.get(family, "")
        what, less, more = _FAMILIES.get(family, (label, f"less: {label}", f"more: {label}"))
        said = {"less": less, "more": more}.get(way, f"{what}: {way} from picture to picture")
        where = "" if family in ADDED else _where(family, [one[1] for one in found])
        if family in _EV and way in ("less", "more"):
            said += f" by {abs(own - median):.2g} EV"
        words = f"{said}{where} ({_medians_or_quartiles(first, second, way)}{_of(name)})"
        made.append(Tell(accuracy, words, tuple(one[1] for one in found), median, own))
    return sorted(made, key=lambda tell: -tell.accuracy)[:_MOST]


def kuiper(first: FloatArray, second: FloatArray) -> float:
    """Return Kuiper's statistic of two samples, 0 to 1.

    Half of it is what the best rule "between two bounds, or not" tells beyond a half: it sees
    values that are shifted, and those that vary more or less (Kuiper 1960).
    """
    every = np.sort(np.concatenate([first, second]))
    shares = [
        np.searchsorted(np.sort(one), every, side="right") / len(one) for one in (first, second)
    ]
    apart = shares[0] - shares[1]
    return float(max(apart.max(), 0) - min(apart.min(), 0))


def _way(real: FloatArray, other: FloatArray) -> str:
    """Return whether lows have less or more of something, or how its spread differs."""
    spans = [float(np.subtract(*np.percentile(one, (75, 25)))) / 1.349 for one in (real, other)]
    away = float(np.median(other) - np.median(real))
    if abs(away) >= _APART * max(min(spans), 1e-9):
        return "less" if away < 0 else "more"
    return "varies too little" if spans[1] < spans[0] else "varies too much"


def _medians_or_quartiles(real: FloatArray, other: FloatArray, way: str) -> str:
    """Return medians, or quartiles where spreads differ, with digits enough to differ in print."""
    kind, shares = ("median", (50,)) if way in ("less", "more") else ("quartiles", (25, 75))
    both = [np.percentile(one, shares) for one in (other, real)]
    for digits in (2, 3, 4):
        own, true = (" to ".join(f"{value:.{digits}g}" for value in one) for one in both)
        if own != true:
            break
    return f"{kind} {own}, real {true}"


def _family(name: str) -> str | None:
    """Return what a statistic is told with; one that was added is told alone."""
    if name in ADDED:
        return name
    first, _, rest = name.partition("_")
    if first == "tone":
        level = int(rest.split("_")[1])
        if level < _SHADOWS:
            return "shadows"
        return "highlights" if level >= _HIGHLIGHTS else "middle"
    if name in ("field_ev", "low_grid_ev"):
        return "field"
    if first == "balance":
        return rest
    return first if first in _FAMILIES else None


def _where(family: str, names: Sequence[str]) -> str:
    """Say at which levels, and in which channels where these are not all."""
    tones = family in ("shadows", "middle", "highlights", "spread")
    bounds = TONES if tones else LEVELS
    places: dict[str, set[int]] = {}  # indices of levels, by channel
    for _, *parts in (name.split("_") for name in names):
        channel = next((part for part in parts if part in tuple(CHANNELS)), "")
        levels = {bounds.index(int(part)) for part in parts if part.isdigit()}
        places.setdefault(channel, set()).update(levels)
    channels: dict[str, list[str]] = {}  # those of equal levels
    for channel in sorted(places, key=CHANNELS.index):
        channels.setdefault(_level_ranges(places[channel], bounds), []).append(channel.upper())
    said: list[str] = []
    for words, which in channels.items():
        normal = " of the normal" if tones and not said else ""
        named = which != [""] and len(which) < len(CHANNELS)
        said.append(words + normal + (f" in {', '.join(which)}" if named else ""))
    return ";".join(said)


def _level_ranges(levels: set[int], bounds: Sequence[int]) -> str:
    """Return levels, by indices of their lower bounds, in words: successive ones as one range."""
    if not levels:
        return ""
    firsts = [bounds[i] for i in sorted(levels) if i - 1 not in levels]
    ends = [bounds[i + 1] for i in sorted(levels) if i + 1 not in levels]
    if len(firsts) > 1 or (firsts[0] != bounds[0] and ends[0] != bounds[-1]):
        spans = (f"{first} to {end}" for first, end in zip(firsts, ends, strict=True))
        return f" at levels {', '.join(spans)}"
    if firsts[0] != bounds[0]:
        return f" above level {firsts[0]}"
    return " at all levels" if ends[0] == bounds[-1] else f" below level {ends[0]}"


def _of(name: str) -> str:
    """Say of which channel and level a number is, where there are several."""
    parts = [] if name in ADDED else name.split("_")[1:]
    channel = next((part.upper() for part in parts if set(part) <= set(CHANNELS)), "")
    level = f"level {parts[-1]}" if parts and parts[-1].isdigit() else ""
    words = " at ".join(word for word in (channel, level) if word)
    return f" of {words}" if words else ""


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
        return abs(self.value) > max(_PLAIN * self.error, _LEAST)

    def __str__(self) -> str:
        way = "much" if self.value < 0 else "little"
        size, within = _digits(abs(self.value)), f"(+- {_digits(self.error)})"
        if self.statistic in ADDED:
            return f"{ALL_LABELS[self.statistic]}: {size} too {way} {within}"
        family, part, last = self.statistic.split("_")
        if family == "lag":
            return f"{last.upper()}: neighbours along {part}s agree by {size} too {way} {within}"
        channel = (last if family == "noise" else part).upper()
        if family == "tone":
            way = "bright" if self.value < 0 else "dark"
            said = f"levels {_range(last, TONES)} of the normal are {size} EV too {way} {within}"
            return f"{channel}: {said}, of mid-tones"
        levels = "" if family == "noise" else f" at levels {_range(last, LEVELS)}"
        if family in _FORM:
            return f"{channel}: noise{levels} has {size} too {way} {family} {within}"
        way = "strong" if self.value < 0 else "weak"
        share, error = 100 * abs(np.expm1(-self.value)), 100 * self.error
        others = " of that at others" if levels else ""
        return f"{channel}: noise{levels} is {share:.1f} % too {way} (+- {error:.1f}){others}"


def _digits(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _range(least: str, bounds: Sequence[int]) -> str:
    return f"{least} to {bounds[bounds.index(int(least)) + 1]}"


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
        return [
            f"{pairs} pairs show too little to say whether it is calibrated; {_FEWEST} begin to"
        ]
    plain = [str(one) for one in found if one.plain]
    noise = [one.error for one in found if one.statistic.startswith("deviation")]
    seen = _PLAIN * float(np.median(noise)) if noise else _LEAST
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
    known = counts >= _FEWEST
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
