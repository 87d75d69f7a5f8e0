"""The search: moments first, each by the parameter that moves it; then all by least squares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..recipes.load import Recipe
from .measure import LEVELS, Table
from .parameters import Parameters


class Point(Protocol):
    """What is searched: numbers by name, and the recipe that they stand for."""

    def __hash__(self) -> int: ...

    @property
    def steps(self) -> Mapping[str, float]:
        """How far each goes for a derivative: much more than an image more or less changes."""

    def values(self) -> dict[str, float]:
        """Return the numbers."""

    def moved(self: P, **changes: float) -> P:
        """Return the point with some numbers changed, within their bounds."""

    def recipe(self, name: str = "", about: str = "") -> Recipe:
        """Return the recipe."""


P = TypeVar("P", bound=Point)
Measure = Callable[[P], Table]
_SCALES = {  # what counts as one unit of difference
    "mean": 0.001,
    "exposure_ev": 0.05,
    "exposure_mean": 0.05,
    "field_ev": 0.02,
    "low_grid_ev": 0.05,
    "noise_r": 0.05,
    "noise_g": 0.05,
    "noise_b": 0.05,
    "correlation_rg": 0.03,
    "correlation_gb": 0.03,
    "autocorrelation": 0.03,
    "zeros": 0.002,
    "exponent": 0.05,
    "scale": 0.02,
    "cast_red": 0.05,
    "cast_blue": 0.05,
    **{f"level_{channel}_{level}": 0.05 for channel in "rgb" for level in LEVELS},
}
_WEIGHTS = np.array([0.1, 0.3, 1.0, 0.3, 0.1])  # of the percentiles 5, 25, 50, 75, 95
_SHARE = 0.05
_FURTHEST = 20  # units that count
_SURE = 0.02
"""How much a step away from where the search began weighs: a tenth of a unit at a median. It
decides between parameters that no statistic tells apart."""
_ALIKE = 3  # times that derivatives are used
_ENOUGH = 0.99  # of the distance before: it comes no nearer


def residuals(target: Table, found: Table) -> npt.NDArray[np.float64]:
    """Return how far percentiles are from those that are wanted, in units, weighed."""
    made = []
    of_levels = any(name.startswith("level_") for name in target)
    for name, scale in _SCALES.items():
        if of_levels and name.startswith("noise_"):
            continue  # that of the scene's own flattest places
        if name in target:
            if name not in found:
                made.append(np.sqrt(_WEIGHTS) * _FURTHEST)
                continue
            share = 0.0 if _is_absolute(name) else _SHARE  # of the value, where that is larger
            unit = np.maximum(scale, share * np.abs(target[name]))
            apart = (found[name] - target[name]) / unit
            made.append(np.sqrt(_WEIGHTS) * np.clip(apart, -_FURTHEST, _FURTHEST))
    return np.concatenate(made)


def distance(target: Table, found: Table) -> float:
    """Return the sum of the squares of `residuals`."""
    apart = residuals(target, found)
    return float(apart @ apart)


def _is_absolute(name: str) -> bool:
    """Return whether a statistic's unit is the same whatever its value."""
    return name.startswith(("low_grid", "normal_grid", "cast", "exposure"))


def by_least_squares(
    target: Table,
    start: P,
    measures: tuple[Measure[P], Measure[P]],
    names: Sequence[str],
    evaluations: int,
) -> tuple[P, Table]:
    """Find parameters whose percentiles are the target's, by Levenberg's and Marquardt's steps.

    Parameters
    ----------
    target : Table
    start : Point
    measures : two functions of a Point
        With the same random numbers every time: what is wanted to agree, and what is measured of
        fewer images, of which derivatives are taken.
    names : sequence of str
        Of the parameters that are searched.
    evaluations : int
        Of both, at most.

    Returns
    -------
    parameters, Table
        The nearest, and what they make.
    """
    measure, measure_few = measures
    first = best = start
    table = measure(best)
    closest, damping, left = distance(target, table), 0.1, evaluations - 1
    while names and left > len(names) + 1:
        before = closest
        slopes = _slopes(target, best, measure_few, names)
        left -= len(names) + 1
        for _ in range(_ALIKE):
            if left <= 0:
                break
            step = _step(slopes, residuals(target, table), _away(best, first, names), damping)
            tried = best.moved(
                **{
                    name: best.values()[name] + best.steps[name] * float(one)
                    for name, one in zip(names, step, strict=True)
                }
            )
            found = measure(tried)
            left -= 1
            if distance(target, found) < closest:
                best, table, closest = tried, found, distance(target, found)
                damping = max(damping / 4, 1e-3)
            else:
                damping *= 5
        if closest > _ENOUGH * before:
            break
    return best, table


def _away(best: Point, first: Point, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return how many steps parameters have gone."""
    ended, begun = best.values(), first.values()
    return np.array([(ended[name] - begun[name]) / best.steps[name] for name in names])


def _slopes(
    target: Table, best: P, measure: Measure[P], names: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Return by how much residuals grow with a step of each parameter (residuals, parameters)."""
    base, made = residuals(target, measure(best)), []
    for name in names:
        tried = best.moved(**{name: best.values()[name] + best.steps[name]})
        moved = float(_away(tried, best, [name])[0])
        if moved < 0.5:  # at its bound
            tried = best.moved(**{name: best.values()[name] - best.steps[name]})
            moved = float(_away(tried, best, [name])[0])
        made.append((residuals(target, measure(tried)) - base) / moved)
    return np.stack(made, axis=1)


def _step(
    slopes: npt.NDArray[np.float64],
    apart: npt.NDArray[np.float64],
    away: npt.NDArray[np.float64],
    damping: float,
) -> npt.NDArray[np.float64]:
    """Return how many steps of each parameter bring residuals down, three at most."""
    square = slopes.T @ slopes
    some = damping * np.diag(square) + 1e-6
    step = np.linalg.solve(square + np.diag(some + _SURE), -(slopes.T @ apart + _SURE * away))
    return np.asarray(np.clip(step, -3, 3))


def by_moments(
    target: Table, start: Parameters, measure: Measure[Parameters], rounds: int
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


def lacking(target: Table, found: Table) -> dict[str, float]:
    """Return by how much exposure, ISO and contrast fall short, each by its own statistic.

    In EV, stops, and as an exponent; without pairs nothing is known of contrast.
    """
    # Deviations of shot noise go with the root of the gain.
    octaves = 2 * float(np.log2(max(target["noise_g"][2], 0.05) / max(found["noise_g"][2], 0.05)))
    changes = {"iso": float(np.clip(octaves, -2, 2))}
    if "exposure_ev" in target:
        changes["ev"] = 0.9 * _lacks(target, found, "exposure_ev")
    else:
        # A low's mean falls by about half a stop for each of exposure.
        ratio = found["mean"][2] / max(target["mean"][2], 1e-3)
        changes["ev"] = 1.6 * float(np.log2(max(ratio, 1e-3)))
    if "exponent" in target:
        changes["contrast"] = 0.5 * _lacks(target, found, "exponent")
    return changes


def _by_moments(now: Parameters, target: Table, found: Table) -> Parameters:
    """Move each parameter by what its own statistic lacks."""
    values = now.values()
    changes = {name: values[name] + more for name, more in lacking(target, found).items()}
    brightness = "exposure_ev" if "exposure_ev" in target else "mean"
    changes["ev_spread"] = now.ev_spread * _wider(target, found, brightness)
    if "exponent" in target:
        changes["contrast_spread"] = now.contrast_spread * _wider(target, found, "exponent")
    name = "field_ev" if "field_ev" in target else "low_grid_ev"
    if name in target:
        ratio = target[name][2] / max(float(found[name][2]), 1e-3)
        changes["field"] = max(now.field, 0.05) * float(np.clip(ratio, 0.5, 2))
    iso = changes["iso"]
    if iso > now.moved(iso=iso).iso:
        changes["gain"] = now.gain + 0.5 * (iso - now.moved(iso=iso).iso)
    elif now.gain:
        changes["gain"] = now.gain - 0.5 * max(now.iso - iso, 0.0)
    changes["iso_spread"] = max(now.iso_spread, 0.1) * _wider(
        _logarithms(target, "noise_g"), _logarithms(found, "noise_g"), "noise_g"
    )
    changes["chroma"] = now.chroma + 0.6 * _lacks(target, found, "correlation_rg")
    if "cast_red" in target:
        wider = _wider(target, found, "cast_red") * _wider(target, found, "cast_blue")
        changes["cast_spread"] = max(now.cast_spread, 0.02) * wider**0.5
    return now.moved(**changes)


def _logarithms(table: Table, name: str) -> Table:
    return {name: np.log2(np.maximum(table[name], 0.05))}


def _lacks(target: Table, found: Table, name: str) -> float:
    """Return how much the median must grow; 0 where it is not known."""
    if name not in target or name not in found:
        return 0.0
    return float(target[name][2] - found[name][2])


def _wider(target: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray], name: str) -> float:
    """Return by how much the middle half must grow, damped; 1 where it is not known."""
    if name not in target or name not in found:
        return 1.0
    ratio = (target[name][3] - target[name][1]) / max(found[name][3] - found[name][1], 1e-3)
    return float(np.clip(ratio, 0.4, 2.5)) ** 0.7
