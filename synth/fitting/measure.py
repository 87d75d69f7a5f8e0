"""Measure real pairs, and the simulated lows of their normals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...engines.local import count, local_engine
from ..analysis.all_statistics import all_statistics
from ..kernels.arrays import FloatArray, Pixels
from ..models import draw, render
from ..recipes.load import Recipe
from .columns import recipe_of_columns
from .pairs import Pair
from .tone import NAMES, tone_of

_GROUP = 4  # pairs a job


@dataclass(frozen=True)
class PairMeasures:
    """Measures of N pairs.

    rows: `all_statistics` of each.
    tone: float array (N, 8); `tone_of` each, NaN where there is none, or none was wanted.
    """

    rows: list[dict[str, float]]
    tone: FloatArray

    def __getitem__(self, name: str) -> FloatArray:
        """Return a statistic of all pairs (N)."""
        return np.array([row[name] for row in self.rows])


def measure_pairs(
    pairs: Sequence[Pair],
    toe: float | None,
    made_by: FloatArray | Recipe | None,
    seed: int,
    workers: int | None,
    at: Callable[[int], None],
) -> PairMeasures:
    """Measure real pairs, or lows simulated from their normals.

    toe: of the lows' curve; None where no tone is wanted. made_by: parameters (N, C), which need
    the curve, or a recipe that they are drawn from.
    """
    jobs = [
        (
            pairs[i : i + _GROUP],
            toe,
            made_by[i : i + _GROUP] if isinstance(made_by, np.ndarray) else made_by,
            seed,
        )
        for i in range(0, len(pairs), _GROUP)
    ]
    found = [one for many in local_engine(workers).map(_measured, jobs, at) for one in many]
    return PairMeasures([row for row, _ in found], np.array([tone for _, tone in found]))


def tones(pairs: Sequence[Pair], toe: float) -> FloatArray:
    """Return the tones (N, 8) of real pairs, by another curve."""
    return np.array([_tone(pair.low, pair, toe) for pair in pairs])


def _tone(low: Pixels, pair: Pair, toe: float | None) -> FloatArray:
    found = None if toe is None else tone_of(low, pair.normal, toe)
    return np.full(len(NAMES), np.nan) if found is None else found


def _measured(
    job: tuple[Sequence[Pair], float | None, FloatArray | Recipe | None, int],
) -> list[tuple[dict[str, float], FloatArray]]:
    pairs, toe, made_by, seed = job
    made = []
    for i, pair in enumerate(pairs):
        low = pair.low
        if made_by is not None:
            recipe = made_by
            if isinstance(recipe, np.ndarray):
                assert toe is not None
                recipe = recipe_of_columns(recipe[i], toe)
            low = render(pair.normal, draw(recipe, seed, pair.key))
        made.append((all_statistics(low, pair.normal), _tone(low, pair, toe)))
        count()
    return made
