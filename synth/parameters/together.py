"""Parameters that are drawn together: rows of a table, or normally distributed ones."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from ...manifests.config import InvalidValue
from .keyed_random import Columns, KeyedRandom, Ragged
from .schema import Added, Section, within_of

_Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
_Row = tuple[_Number, ...]
_MOST_ROWS = 100_000
_ROUNDED = 1e-3  # of a correlation, what is left of rounded numbers


class Together(Section):
    """Parameters of a recipe that are drawn together, in place of their own distributions.

    Either rows of values, such as those fitted to real pairs or the settings of a camera, one of
    which is taken; or their means and covariances. `from: FILE` takes these from a YAML file when
    a recipe is read (`recipes.named_files`): they become part of it.

    columns: paths, such as `exposure.ev`; `white_balance.error_ev.0` where a number is drawn
    several times. weights: how often each row is taken, all alike where not given. What a normal
    distribution draws beyond a parameter's bounds is cut to them.
    """

    columns: tuple[str, ...] = Field(min_length=1)
    rows: Annotated[tuple[_Row, ...], Added()] = Field(default=(), max_length=_MOST_ROWS)
    weights: Annotated[_Row, Added()] = ()
    mean: Annotated[_Row, Added()] = ()
    covariance: Annotated[tuple[_Row, ...], Added()] = ()

    @model_validator(mode="after")
    def _one_form(self) -> Together:
        count = len(self.columns)
        if bool(self.rows) == bool(self.mean):
            raise ValueError("must have either rows, or mean and covariance")
        if len(set(self.columns)) < count:
            raise ValueError("columns: one is named twice")
        for number, row in enumerate(self.rows):
            if len(row) != count:
                raise ValueError(f"rows: number {number} has {len(row)} values, not {count}")
        if self.weights and (len(self.weights) != len(self.rows) or min(self.weights) <= 0):
            raise ValueError("weights: must be as many as rows, each above 0")
        if self.mean:
            sizes = {len(self.mean), len(self.covariance), *map(len, self.covariance)}
            if sizes != {count}:
                raise ValueError(f"mean and covariance must be of {count} columns")
            try:
                _root(self.covariance)
            except ValueError:
                raise ValueError("covariance: must be symmetric and not negative") from None
        return self

    def check(self, recipe: type[Section], name: str, known: set[str]) -> None:
        """Check columns and rows against the fields of a recipe.

        known: paths of other groups, to which those of this one are added.

        Raises Finding when a path is none of a number of it, drawn elsewhere too, or a value
        outside its bounds.
        """
        key = f"together.{name}"
        for i, path in enumerate(self.columns):
            bounds = within_of(recipe, path)
            if bounds is None:
                raise InvalidValue(f"{key}.columns", path, "no number that this recipe draws")
            if path in known:
                raise InvalidValue(f"{key}.columns", path, "is drawn in two groups")
            known.add(path)
            values = [row[i] for row in self.rows] or [self.mean[i]]
            for value in (min(values), max(values)):
                if not bounds.low <= value <= bounds.high or (bounds.whole and self.mean):
                    raise InvalidValue(f"{key}.{path}", value, f"allowed is {bounds}")

    def fill(self, columns: Columns, random: KeyedRandom, name: str, recipe: type[Section]) -> None:
        """Draw the parameters of many images, and put them into their columns."""
        lows, highs, places = _bounds(recipe, self.columns)
        drawn = np.minimum(np.maximum(self._draw(random, f"together.{name}"), lows), highs)
        for (path, number, whole), values in zip(places, drawn.T, strict=True):
            if number is not None:
                several: Ragged = columns[path]
                several.table[:, number] = values
            else:
                columns[path] = values.astype(np.int64) if whole else values

    def _draw(self, random: KeyedRandom, purpose: str) -> Any:
        if self.rows:
            table, ends = _table(self.rows, self.weights)
            place = np.searchsorted(ends, random.uniform(purpose) * ends[-1], side="right")
            return table[np.minimum(place, len(ends) - 1)]
        drawn = np.tile(np.array(self.mean), (len(random), 1))
        columns = _root(self.covariance).T
        for gaussian, column in zip(random.gaussians(purpose, len(columns)), columns, strict=True):
            drawn += gaussian[:, None] * column
        return drawn


@lru_cache(maxsize=64)
def _bounds(recipe: type[Section], columns: tuple[str, ...]) -> tuple[Any, Any, list[Any]]:
    """Return the least values of columns, their largest, and where each value goes.

    A value goes to a path, or a number of the list there, and may be whole.
    """
    lows, highs, places = [], [], []
    for path in columns:
        bounds = within_of(recipe, path)
        assert bounds is not None
        section, _, last = path.rpartition(".")
        place = (section, int(last)) if last.isdigit() else (path, None)
        lows.append(bounds.low)
        highs.append(bounds.high)
        places.append((*place, bounds.whole))
    return np.array(lows), np.array(highs), places


@lru_cache(maxsize=16)
def _table(rows: tuple[_Row, ...], weights: _Row) -> tuple[Any, Any]:
    """Return rows as an array, and the ends of their shares."""
    return np.array(rows), np.cumsum(weights or np.ones(len(rows)))


@lru_cache(maxsize=64)
def _root(covariance: tuple[_Row, ...]) -> Any:
    """Return the lower triangle whose square is a covariance, by Cholesky, in plain numbers.

    A LAPACK's last bits depend on the machine. Numbers may have been rounded, to four digits.

    Raises ValueError when it is none.
    """
    matrix = np.array(covariance, np.float64)
    if (np.diag(matrix) < 0).any():
        raise ValueError
    deviation = np.sqrt(np.diag(matrix))
    scale = np.where(deviation > 0, deviation, 1.0)
    matrix = matrix / scale[:, None] / scale
    root = np.zeros_like(matrix)
    if np.abs(matrix - matrix.T).max(initial=0.0) > _ROUNDED:
        raise ValueError
    for i in range(len(matrix)):
        for j in range(i + 1):
            rest = float(matrix[i, j]) - math.fsum((root[i, :j] * root[j, :j]).tolist())
            if i == j:
                if rest < -_ROUNDED:
                    raise ValueError
                root[i, i] = math.sqrt(rest) if rest > _ROUNDED else 0.0
            elif root[j, j] > 0:
                root[i, j] = rest / root[j, j]
            elif abs(rest) > math.sqrt(_ROUNDED):
                raise ValueError
    return root * deviation[:, None]
