"""What is measured of real pairs and of lows made in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...engines.local import LocalEngine, count
from ..analysis.all_statistics import all_statistics
from ..kernels.arrays import Pixels
from ..models import draw, render
from .columns import recipe_of
from .tone import tone_of

FloatArray = npt.NDArray[np.float64]
_GROUP = 4  # pairs a job


@dataclass(frozen=True)
class Pair:
    """A real pair, or what stands for one: uint8 arrays (H, W, 3)."""

    key: str
    low: Pixels
    normal: Pixels


@dataclass(frozen=True)
class Measures:
    """Measures of N pairs.

    Attributes
    ----------
    rows : list of dict
        `all_statistics` of each.
    tone : float array (N, 8)
        `tone_of` each, NaN where there is none.
    """

    rows: list[dict[str, float]]
    tone: FloatArray

    def __getitem__(self, name: str) -> FloatArray:
        """Return a statistic of all pairs (N)."""
        return np.array([row[name] for row in self.rows])


def measured(
    pairs: Sequence[Pair],
    toe: float,
    values: FloatArray | None,
    seed: int,
    workers: int,
    at: Callable[[int], None],
) -> Measures:
    """Measure real pairs, or with parameters `values` (N, C) what is made of their normals."""
    jobs = [
        (pairs[i : i + _GROUP], toe, None if values is None else values[i : i + _GROUP], seed)
        for i in range(0, len(pairs), _GROUP)
    ]
    found = [one for many in LocalEngine(workers).map(_measured, jobs, at) for one in many]
    return Measures([row for row, _ in found], np.array([tone for _, tone in found]))


def _measured(
    job: tuple[Sequence[Pair], float, FloatArray | None, int],
) -> list[tuple[dict[str, float], FloatArray]]:
    pairs, toe, values, seed = job
    made = []
    for i, pair in enumerate(pairs):
        low = pair.low
        if values is not None:
            low = render(pair.normal, draw(recipe_of(values[i], toe), seed, pair.key))
        tone = tone_of(low, pair.normal, toe)
        row = all_statistics(low, pair.normal)
        made.append((row, np.full(8, np.nan) if tone is None else tone))
        count()
    return made
