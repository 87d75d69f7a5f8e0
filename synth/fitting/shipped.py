"""The nearest of the recipes that gloam ships, and how far lows give reason to move it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..recipes.load import shipped_recipes
from .measure import Table, table_of
from .moved import Moved
from .search import distance, lacking

_FIRST, _ROUNDS = 4, 2
_MIDDLE = slice(1, 4)  # of the percentiles: the outer ones are of a few images
_RESAMPLED = 100
_NEAR = 8.0
"""Times the distance that chance makes, within which a recipe is the nearest as it is."""
_DISTANCES = 1.3, 2.8
"""How far lows are from a recipe, by what chance makes: so far are those of their own now and then,
and from where on there is all reason to move it. Of 30 sets of 200 pairs, made by gloam's own
recipes, the mean is .7 and the largest 1.2."""
_ERRORS, _ERRORS_ELSEWHERE = (1.4, 3.0), (2.5, 4.5)
"""The same of the squares of what percentiles differ by, over their standard errors: of those sets
the mean is .7, the largest 1.2; of 30 sets of lows alone, beside lows of other scenes, 1.3 and
2.3."""

_OF_NOISE = "noise_", "level_", "correlation_", "autocorrelation"
_GRAIN_ALIKE, _GRAIN_GREY = 0.25, 0.5
"""Correlations of neighbours and of red and green above which noise is grain: medians of lows of
`day-to-night`, which have next to no noise, are .33 to .39 and .6 to .8; of `even` -.04 and .3."""

_SCENES_ZEROS = 0.002
"""Share of samples that are 0 by which scenes differ, where resampled lows have next to none."""


def nearest_shipped(
    wanted: Table,
    rows: Sequence[dict[str, float]],
    every: Callable[[Moved], Table],
    some: Callable[[Moved], Table],
    reason: Callable[[Moved], float],
    *,
    movable: bool = False,
) -> Moved:
    """Return the recipe whose lows are nearest: as it is where that is near enough.

    It is, too, where nothing speaks against it: lows of other scenes are far from their own recipe.

    Otherwise after exposure, ISO and contrast were moved by what their own statistics lack.

    Parameters
    ----------
    wanted : Table
    rows : sequence of dict
        Statistics of the lows, that it was made of.
    every, some : functions of Moved
        What a recipe makes of all normals, and of fewer.
    reason : function of Moved
        `reason_to_move` it.
    movable : bool
        Of those that have a camera alone.
    """
    all_of = [one for one in map(Moved.of, shipped_recipes()) if one.moves or not movable]
    ranked = sorted(all_of, key=lambda one: distance(wanted, some(one)))
    first = ranked[:_FIRST]
    apart = [distance(wanted, every(one)) for one in first]
    as_it_is = first[int(np.argmin(apart))]
    if min(apart) < _NEAR * by_chance(wanted, rows, resampled(rows)) or not reason(as_it_is):
        return as_it_is
    nearest, closest = first[0], np.inf
    for now in [one for one in ranked if one.moves][:_FIRST]:
        for turn in range(_ROUNDS + 1):
            found = some(now)
            if distance(wanted, found) < closest:
                nearest, closest = now, distance(wanted, found)
            if turn < _ROUNDS:
                values, lacks = now.values(), lacking(wanted, found)
                now = now.moved(**{n: values[n] + lacks[n] for n in lacks if n in values})
    return nearest


def resampled(rows: Sequence[dict[str, float]]) -> list[Table]:
    """Return tables of images that are drawn from some, some twice, some never.

    They differ as those of other images of the same recipe would (Efron's bootstrap, 1979).
    """
    rng = np.random.default_rng(0)
    return [
        table_of([rows[i] for i in rng.integers(0, len(rows), len(rows))])
        for _ in range(_RESAMPLED)
    ]


def by_chance(wanted: Table, rows: Sequence[dict[str, float]], tables: Sequence[Table]) -> float:
    """Return the mean distance of what was resampled from what it was drawn from.

    By statistics that most images have: of others a resample may have none.
    """
    common = {name: values for name, values in wanted.items() if _is_common(name, rows)}
    return float(np.mean([distance(common, table) for table in tables]))


def reason_to_move(
    wanted: Table,
    rows: Sequence[dict[str, float]],
    made: Sequence[dict[str, float]],
    *,
    paired: bool,
) -> float:
    """Return which share of the way lows give reason to move a recipe, 0 to 1.

    None where chance may well make what they differ by. Parameters that are moved to meet a sample
    meet its chance too, and are nearer to those that made it when they go less far (James and
    Stein, "Estimation with quadratic loss", 1961).

    Parameters
    ----------
    wanted : Table
        Percentiles of the lows.
    rows, made : sequences of dict
        Statistics of the lows, and of what the recipe made.
    paired : bool
        Whether it made them of the same normals. If not, lows differ as scenes do, too: their
        distance tells less, and errors have to be larger.
    """
    own = {
        name: values
        for name, values in table_of(made).items()
        if name in wanted and _is_common(name, rows) and _is_common(name, made)
    }
    lots = resampled(rows), resampled(made)
    grain = not paired and all(is_grain(table) for table in (wanted, own))
    squares = []
    for name in own:
        # No recipe changes the normals'.
        if name != "normal_grid_ev" and not (grain and name.startswith(_OF_NOISE)):
            errors = (
                np.std([table[name] for table in lot if name in table], axis=0) for lot in lots
            )
            least = _SCENES_ZEROS if name == "zeros" and not paired else 0.0
            square = np.maximum(sum(error**2 for error in errors) + least**2, 1e-12)
            squares.append(((wanted[name] - own[name]) ** 2 / square)[_MIDDLE])
    apart = ramp(float(np.mean(squares)), *(_ERRORS if paired else _ERRORS_ELSEWHERE))
    chance = by_chance(wanted, rows, lots[0]) + by_chance(own, made, lots[1])
    if not paired or not chance:  # of one image nobody knows what chance makes
        return apart
    common = {name: wanted[name] for name in own}
    return max(apart, ramp(distance(common, own) / chance, *_DISTANCES))


def is_grain(table: Table) -> bool:
    """Return whether what is measured as noise is the photographs' own grain.

    Neighbours and channels go together in it, as no sensor's noise does; it tells scenes apart.
    """
    alike, grey = (table.get(name) for name in ("autocorrelation", "correlation_rg"))
    return (
        alike is not None
        and grey is not None
        and bool(alike[2] > _GRAIN_ALIKE and grey[2] > _GRAIN_GREY)
    )


def _is_common(name: str, rows: Sequence[dict[str, float]]) -> bool:
    """Return whether most images have a statistic: of few nobody knows how far it errs."""
    return name == "exposure_mean" or sum(np.isfinite(row[name]) for row in rows) > len(rows) / 2


def ramp(value: float, first: float, last: float) -> float:
    """Return 0 up to a first value, 1 from a last one on, and the share of the way between."""
    return float(np.clip((value - first) / (last - first), 0, 1))
