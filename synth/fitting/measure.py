"""Measure real pairs, and the simulated lows of their normals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...engines.local import count, local_engine
from ..kernels.arrays import FloatArray
from ..measures.all_statistics import all_statistics
from ..models import draw, render
from ..recipes.load import Recipe
from .columns import Shared, recipe_of_columns
from .pairs import Pair
from .tone import tone_levels

_GROUP = 4  # pairs a job


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
    at: Callable[[int], None],
) -> PairMeasures:
    """Measure real pairs, or lows simulated from their normals.

    shared: what pairs share. made_by: parameters (N, C), which need it, or a recipe that they are
    drawn from.
    """
    jobs = [
        (
            pairs[i : i + _GROUP],
            shared,
            made_by[i : i + _GROUP] if isinstance(made_by, np.ndarray) else made_by,
            seed,
        )
        for i in range(0, len(pairs), _GROUP)
    ]
    found = [one for many in local_engine(workers).map(_measured, jobs, at) for one in many]
    return PairMeasures([row for row, _ in found], np.array([tone for _, tone in found]))


def _measured(
    job: tuple[Sequence[Pair], Shared | None, FloatArray | Recipe | None, int],
) -> list[tuple[dict[str, float], FloatArray]]:
    pairs, shared, made_by, seed = job
    made = []
    for i, pair in enumerate(pairs):
        low = pair.low
        if made_by is not None:
            recipe = made_by
            if isinstance(recipe, np.ndarray):
                assert shared is not None
                recipe = recipe_of_columns(recipe[i], shared)
            low = render(pair.normal, draw(recipe, seed, pair.key))
        tone = tone_levels(low, pair.normal) if pair.known else np.full((3, 8), np.nan)
        made.append((all_statistics(low, pair.normal), tone))
        count()
    return made
