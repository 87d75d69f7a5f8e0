"""Measure real pairs, and the simulated lows of their normals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...engines.engine import Counted
from ...engines.local import local_engine
from ..kernels.arrays import FloatArray, Pixels
from ..measures.columns import all_statistics
from ..measures.pair_files import each_pair
from ..models import draw, render
from ..recipes.load import Recipe
from .columns import Shared, recipe_of_columns
from .pairs import Pair
from .tone import tone_levels


@dataclass(frozen=True)
class PairMeasures:
    """Measures of N pairs.

    rows: `all_statistics` of each.
    tone: float array (N, 3, 8); `tone_levels` of each, NaN without a real normal.
    """

    rows: list[dict[str, float]]
    tone: FloatArray

    def __getitem__(self, name: str) -> FloatArray:
        """Return a statistic of all pairs (N)."""
        return np.array([row[name] for row in self.rows])


def measure_pairs(
    pairs: Sequence[Pair],
    shared: Shared | None,
    made_by: FloatArray | Recipe | None,
    seed: int,
    workers: int | None,
    at: Counted,
) -> PairMeasures:
    """Measure real pairs, or lows simulated from their normals.

    shared: what pairs share. made_by: parameters (N, C), which need it, or a recipe that they are
    drawn from.
    """
    lows = [
        _Low(pair, shared, made_by[i] if isinstance(made_by, np.ndarray) else made_by, seed)
        for i, pair in enumerate(pairs)
    ]
    found = each_pair(_measured, lows, local_engine(workers), at)
    kept = [one for one in found if not isinstance(one, str)]
    return PairMeasures([row for row, _ in kept], np.array([tone for _, tone in kept]))


@dataclass(frozen=True)
class _Low:
    """A pair's low, or what is made of its normal."""

    pair: Pair
    shared: Shared | None
    made_by: FloatArray | Recipe | None
    seed: int

    def read(self) -> tuple[Pixels, Pixels]:
        recipe = self.made_by
        if recipe is None:
            return self.pair.low, self.pair.normal
        if isinstance(recipe, np.ndarray):
            assert self.shared is not None
            recipe = recipe_of_columns(recipe, self.shared)
        return render(self.pair.normal, draw(recipe, self.seed, self.pair.key)), self.pair.normal


def _measured(one: _Low, low: Pixels, normal: Pixels) -> tuple[dict[str, float], FloatArray]:
    tone = tone_levels(low, normal) if one.pair.known else np.full((3, 8), np.nan)
    return all_statistics(low, normal), tone
