"""The search: moments first, each by the parameter that moves it; then small steps of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .measure import Table
from .parameters import Parameters

Measure = Callable[[Parameters], Table]
_SCALES = {  # what counts as one unit of difference
    "mean": 0.003,
    "exposure_ev": 0.05,
    "field_ev": 0.05,
    "low_grid_ev": 0.05,
    "noise_r": 0.05,
    "noise_g": 0.05,
    "noise_b": 0.05,
    "correlation_rg": 0.03,
    "correlation_gb": 0.03,
    "autocorrelation": 0.03,
    "zeros": 0.003,
    "exponent": 0.05,
    "scale": 0.02,
}
_WEIGHTS = np.array([0.3, 0.5, 1.0, 0.5, 0.3])  # of the percentiles 5, 25, 50, 75, 95
_SHARE = 0.05
_STEPS = {
    "ev": 0.1,
    "ev_spread": 0.15,
    "contrast": 0.05,
    "contrast_spread": 0.05,
    "iso": 0.25,
    "iso_spread": 0.3,
    "field": 0.12,
    "field_spread": 0.2,
    "chroma": 0.08,
}


def distance(target: Table, found: Table) -> float:
    """Return how far percentiles are from those that are wanted."""
    total = 0.0
    for name, scale in _SCALES.items():
        if name in target and name in found:
            share = 0.0 if name.endswith("_ev") else _SHARE  # of the value, where that is larger
            unit = np.maximum(scale, share * np.abs(target[name]))
            apart = np.abs(found[name] - target[name]) / unit
            total += float((_WEIGHTS * np.minimum(apart, 20)).sum())
    return total


def searched(
    target: Table, start: Parameters, measure: Measure, rounds: int, evaluations: int
) -> tuple[Parameters, Table]:
    """Find parameters whose percentiles are the target's.

    Parameters
    ----------
    target : Table
    start : Parameters
    measure : function of Parameters
        With the same random numbers every time.
    rounds : int
        By moments.
    evaluations : int
        Of `measure`, at most, after those of the moments.
    """
    best, table = by_moments(target, start, measure, rounds)
    closest = distance(target, table)
    steps = dict(_STEPS)
    while evaluations > 0 and max(steps[name] / _STEPS[name] for name in steps) > 0.2:
        for name in steps:
            for sign in (1, -1):
                tried = best.moved(**{name: best.values()[name] + sign * steps[name]})
                if tried == best:
                    continue
                evaluations -= 1
                found = measure(tried)
                if distance(target, found) < closest:
                    best, table, closest = tried, found, distance(target, found)
                    steps[name] *= 1.3
                    break
            else:
                steps[name] *= 0.5
            if evaluations <= 0:
                break
    return best, table


def by_moments(
    target: Table, start: Parameters, measure: Measure, rounds: int
) -> tuple[Parameters, Table]:
    """Move all parameters, each by what its own statistic lacks, some times over.

    Returns the nearest, and what it makes.
    """
    best, table = start, measure(start)
    closest = distance(target, table)
    now, found = best, table
    for _ in range(rounds):
        now = _by_moments(now, target, found)
        found = measure(now)
        if distance(target, found) < closest:
            best, table, closest = now, found, distance(target, found)
    return best, table


def _by_moments(now: Parameters, target: Table, found: Table) -> Parameters:
    """Move each parameter by what its own statistic lacks."""
    changes: dict[str, float] = {}
    if "exposure_ev" in target:
        changes["ev"] = now.ev + 0.9 * _lacks(target, found, "exposure_ev")
        changes["ev_spread"] = now.ev_spread * _wider(target, found, "exposure_ev")
    else:
        # A low's mean falls by about half a stop for each of exposure.
        ratio = found["mean"][2] / max(target["mean"][2], 1e-3)
        changes["ev"] = now.ev + 1.6 * float(np.log2(max(ratio, 1e-3)))
        changes["ev_spread"] = now.ev_spread * _wider(target, found, "mean")
    if "exponent" in target:
        changes["contrast"] = now.contrast + 0.5 * _lacks(target, found, "exponent")
        changes["contrast_spread"] = now.contrast_spread * _wider(target, found, "exponent")
    name = "field_ev" if "field_ev" in target else "low_grid_ev"
    if name in target:
        ratio = target[name][2] / max(float(found[name][2]), 1e-3)
        changes["field"] = max(now.field, 0.05) * float(np.clip(ratio, 0.5, 2))
    # Deviations of shot noise go with the root of the gain.
    octaves = 2 * float(np.log2(max(target["noise_g"][2], 0.05) / max(found["noise_g"][2], 0.05)))
    iso = now.iso + float(np.clip(octaves, -2, 2))
    changes["iso"] = iso
    if iso > now.moved(iso=iso).iso:
        changes["gain"] = now.gain + 0.5 * (iso - now.moved(iso=iso).iso)
    elif now.gain:
        changes["gain"] = now.gain - 0.5 * max(now.iso - iso, 0.0)
    changes["iso_spread"] = max(now.iso_spread, 0.1) * _wider(
        _logarithms(target, "noise_g"), _logarithms(found, "noise_g"), "noise_g"
    )
    changes["chroma"] = now.chroma + 0.6 * _lacks(target, found, "correlation_rg")
    return now.moved(**changes)


def _logarithms(table: Table, name: str) -> Table:
    return {name: np.log2(np.maximum(table[name], 0.05))}


def _lacks(target: Table, found: Table, name: str) -> float:
    return float(target[name][2] - found[name][2])


def _wider(target: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray], name: str) -> float:
    """Return by how much the middle half must grow, damped."""
    ratio = (target[name][3] - target[name][1]) / max(found[name][3] - found[name][1], 1e-3)
    return float(np.clip(ratio, 0.4, 2.5)) ** 0.7
