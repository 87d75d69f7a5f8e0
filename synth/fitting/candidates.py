"""Recipes from two families: one that gloam ships, moved, and one made up of numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import count
from typing import TypeVar

import numpy as np

from .measure import Pair, Table, even_keys, made_by, table_of, without_bright_levels
from .moved import Moved
from .parameters import OF_LIGHTS, Parameters
from .search import Point, by_least_squares, by_moments, distance
from .shipped import nearest_shipped, reason_to_move

T = TypeVar("T")
_FEW_IMAGES = 64  # by which parameters are moved first, and derivatives taken
_MANY, _LAST = 80_000_000, 5  # pixels by which the search ends, and how often they are made
_REMEMBERED = 64  # recipes, with statistics of some hundred images each
_LACKS = 0.03  # EV of mean exposure that are made up for
_DEMOSAICED = 0.12  # neighbouring samples' correlation above which they were interpolated
_UNEVEN, _UNEVEN_LOW = 0.7, 1.4  # EV of field, or of lows alone, above which there are lights
_SOME, _SOME_LOWS, _ALL = 0.15, 0.28, 0.7  # such images from which on there are lights, or in all


@dataclass(frozen=True)
class Candidate:
    """A recipe that was found.

    Attributes
    ----------
    point : Point
    table : Table
        What it makes.
    apart : float
        `distance` of that from what is wanted.
    reason : float
        Of one of gloam's: how far lows give reason to move it, 0 to 1; below 1 they are so near to
        it as it is that no other need be looked for.
    """

    point: Moved | Parameters
    table: Table
    apart: float
    reason: float = 1.0


@dataclass(frozen=True)
class Candidates:
    """What is searched with.

    Attributes
    ----------
    rows : sequence of dict
        Statistics of the lows that are given.
    bases : sequence of Pair
        Normals to darken.
    paired : bool
        Whether they are the lows' own.
    pool : Executor
    at : function of a number
        Gets how many recipes were tried.
    """

    rows: Sequence[dict[str, float]]
    bases: Sequence[Pair]
    paired: bool
    pool: Executor
    at: Callable[[int], None]

    @cached_property
    def wanted(self) -> Table:
        """Percentiles of the lows' statistics."""
        return without_bright_levels(table_of(self.rows))

    @cached_property
    def _every(self) -> list[Pair]:
        return _with_keys(self.bases)

    @cached_property
    def _some(self) -> list[Pair]:
        return _with_keys(spread(self.bases, _FEW_IMAGES))

    @cached_property
    def _many(self) -> list[Pair]:
        times = max(_MANY // sum(pair.normal[..., 0].size for pair in self.bases), 1)
        return _with_keys([*self.bases] * min(times, 4))

    @cached_property
    def _made(self) -> Callable[[int, Point], list[dict[str, float]]]:
        """What makes so many images by a recipe, and remembers the last ones: often asked again."""
        # As many images are the same ones, with the same keys.
        lots = {len(lot): lot for lot in (self._some, self._every, self._many)}
        tried = count(1)

        @lru_cache(maxsize=_REMEMBERED)
        def made(many: int, point: Point) -> list[dict[str, float]]:
            self.at(next(tried))
            return made_by(point.recipe(), lots[many], self.paired, self.pool)

        return made

    def _measure(self, of: Sequence[Pair], point: Point) -> Table:
        return table_of(self._made(len(of), point))

    def _reason(self, point: Moved) -> float:
        made = self._made(len(self._every), point)
        return reason_to_move(self.wanted, self.rows, made, paired=self.paired)

    def shipped(self, evaluations: int) -> Candidate:
        """Return the nearest of gloam's recipes, moved as far as lows give reason to."""
        every, some = partial(self._measure, self._every), partial(self._measure, self._some)
        begun = nearest_shipped(self.wanted, self.rows, every, some, self._reason)
        unmoved = Moved.of(begun.base)
        reason, table = self._reason(unmoved), every(unmoved)
        as_it_is = Candidate(unmoved, table, distance(self.wanted, table), reason)
        if not reason:
            return as_it_is
        if not begun.moves:  # and another that can be
            as_it_is = replace(as_it_is, reason=1.0)
            begun = nearest_shipped(self.wanted, self.rows, every, some, self._reason, movable=True)
        best, found = by_least_squares(
            self.wanted, begun, (every, some), self._searched(begun), evaluations
        )
        moved = Candidate(best, found, distance(self.wanted, found), as_it_is.reason)
        return moved if unmoved.moves else min(moved, as_it_is, key=lambda one: one.apart)

    def made_up(self, rounds: int, evaluations: int) -> Candidate:
        """Return the nearest of recipes that are numbers alone."""
        every, some = partial(self._measure, self._every), partial(self._measure, self._some)
        begun, _ = by_moments(self.wanted, self._start(), some, rounds)
        if evaluations:
            begun, _ = min(
                (
                    by_least_squares(
                        self.wanted,
                        replace(begun, matrix=matrix),
                        (some, some),
                        self._searched(begun),
                        len(begun.values()) + _LAST,
                    )
                    for matrix in ("random", "none")
                ),
                key=lambda one: distance(self.wanted, one[1]),
            )
        best, found = by_least_squares(
            self.wanted, begun, (every, some), self._searched(begun), evaluations
        )
        return Candidate(best, found, distance(self.wanted, found))

    def last(self, so_far: Candidate) -> Candidate:
        """Search once more by many images, as what is random besides evens out."""
        many = partial(self._measure, self._many)
        if not so_far.reason:
            return replace(so_far, table=many(so_far.point))
        names = self._searched(so_far.point)
        nearest, found = by_least_squares(
            self.wanted,
            so_far.point,
            (many, partial(self._measure, self._some)),
            names,
            2 * (len(names) + _LAST),
        )
        best = nearest
        if self.paired and names:  # what it compromised on; exposure is what a set is used by
            lack = float(self.wanted["exposure_mean"][2] - found["exposure_mean"][2])
            if _LACKS < abs(lack) < 1:
                best = best.moved(ev=best.values()["ev"] + lack)
        if isinstance(best, Moved):
            best = best.part(so_far.reason)
        if best != nearest:
            found = many(best)
        return Candidate(best, found, distance(self.wanted, found), so_far.reason)

    def _start(self) -> Parameters:
        uneven, some = (
            (self._share("field_ev", _UNEVEN), _SOME)
            if self.paired
            else (self._share("low_grid_ev", _UNEVEN_LOW), _SOME_LOWS)
        )
        return Parameters(
            demosaic="malvar" if self.wanted["autocorrelation"][2] > _DEMOSAICED else "binned",
            lit=uneven > some,
            share=1.0 if uneven > _ALL else max(uneven, 0.05),
        )

    def _share(self, name: str, most: float) -> float:
        """Return the share of images whose statistic is above a value."""
        return float(np.mean([row[name] > most for row in self.rows]))

    def _searched(self, point: Moved | Parameters) -> list[str]:
        """Return the names of the parameters that the lows can tell something of."""
        unknown = set() if self.paired else {"contrast", "contrast_spread", "cast_spread"}
        if isinstance(point, Parameters):
            if not point.lit:
                unknown |= set(OF_LIGHTS)
            unknown.add("share")  # percentiles of two kinds of images tell it badly; it is counted
            if not point.lit or point.share == 1:
                unknown.add("others_field")
            if point.gain == 0:  # as long as the camera's own gain does
                unknown |= {"gain", "gain_spread"}
        return [name for name in point.values() if name not in unknown]


def spread(all_of: Sequence[T], most: int) -> list[T]:
    """Return so many of them at most, evenly spread."""
    places = np.unique(np.linspace(0, len(all_of) - 1, min(most, len(all_of))).astype(int))
    return [all_of[i] for i in places]


def _with_keys(pairs: Sequence[Pair]) -> list[Pair]:
    """Return images with keys whose draws lie evenly."""
    keys = even_keys(len(pairs), seed=0)
    return [Pair(key, pair.normal, pair.measured) for key, pair in zip(keys, pairs, strict=True)]
