"""Pairs to fit to, and the statistics of what a recipe makes of the same normals."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from ..analysis.pair_statistics import (
    MeasuredNormal,
    flattest,
    low_statistics,
    mean_light,
    noise,
    pair_statistics,
)
from ..kernels.arrays import Pixels
from ..models import low_maker
from ..parameters.columns import KeyedColumns
from ..recipes.load import Recipe

PERCENTILES = (5, 25, 50, 75, 95)
LEVELS = 3, 6, 12, 24, 48, 96
"""Bounds of the levels at which noise is measured of lows alone."""
_ENOUGH = 400  # pixels of such a level
_FLATTEST = 0.1  # of them
_DARK = 24  # a level below which noise hides the textures of scenes
Table = dict[str, npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Pair:
    """A normal to make lows of, the key of their random numbers, and what was measured of it."""

    key: str
    normal: Pixels
    measured: MeasuredNormal


_DRAWN = (
    "exposure.ev",
    "isp.contrast",
    "camera.iso",
    "illumination.smooth.sigma_ev",
    "isp.chroma.strength",
)
_POOL = 20_000


def even_keys(count: int, seed: int) -> list[str]:
    """Return keys whose random numbers lie evenly, so that few images stand for many.

    They are those of many whose numbers for the parameters that matter are nearest to Roberts' R
    sequence ("The unreasonable effectiveness of quasirandom sequences", 2018).
    """
    pool = [f"fit {i}" for i in range(_POOL)]
    random = KeyedColumns(seed, pool)
    numbers = np.stack([random.uniform(purpose) for purpose in _DRAWN], axis=1)
    root = 1.0
    for _ in range(60):  # the positive root of x^(d + 1) = x + 1
        root = (1 + root) ** (1 / (len(_DRAWN) + 1))
    steps = root ** -np.arange(1.0, len(_DRAWN) + 1)
    keys = []
    for i in range(count):
        away = ((numbers - (0.5 + (i + 1) * steps) % 1) ** 2).sum(axis=1)
        place = int(away.argmin())
        keys.append(pool[place])
        numbers[place] = 9.0  # taken
    return keys


def rows_of(
    lows: Sequence[Pixels], normals: Sequence[MeasuredNormal | None], pool: Executor
) -> list[dict[str, float]]:
    """Measure lows, each with what was measured of its normal, or None."""
    return list(pool.map(_row, lows, normals))


def made_by(
    recipe: Recipe, normals: Sequence[Pair], paired: bool, pool: Executor, seed: int = 0
) -> list[dict[str, float]]:
    """Measure the lows that a recipe makes of normals, with the same random numbers every time."""
    maker = low_maker(recipe, seed, [pair.key for pair in normals])

    def one(number: int, pair: Pair) -> dict[str, float]:
        return _row(maker.low(number, pair.normal), pair.measured if paired else None)

    return list(pool.map(one, range(len(normals)), normals))


def _row(low: Pixels, normal: MeasuredNormal | None) -> dict[str, float]:
    if normal is not None:
        red, blue = cast(mean_light(low), normal.light)
        return pair_statistics(low, normal) | {"cast_red": red, "cast_blue": blue}
    found = low_statistics(low) | noise(low, flattest(low))
    return found | noise_at_levels(low)


def noise_at_levels(low: Pixels) -> dict[str, float]:
    """Return the deviation of each channel where it is flattest, by its level, of 255.

    Where a low is flattest is where it is dark, and how dark that is depends on the scene; what
    noise a level has depends on the camera alone. Of lows that `even` makes of BSDS500 and of
    ImageNet's photographs, medians differ by 3 % on average, up to level 24; above it by 10 %.
    """
    values = low.astype(np.float32)
    square = (values - cv2.GaussianBlur(values, (0, 0), 1)) ** 2
    levels = cv2.split(cv2.GaussianBlur(values, (0, 0), 2))
    roughs = cv2.split(cv2.GaussianBlur(square, (0, 0), 3))
    made = {}
    for name, level, rough, squares in zip("rgb", levels, roughs, cv2.split(square), strict=True):
        for least, most in pairwise(LEVELS):
            here = cv2.inRange(level, float(least), float(np.nextafter(np.float32(most), 0)))
            places = np.flatnonzero(here.view(np.bool_))
            found = float("nan")
            if len(places) >= _ENOUGH:
                own = rough.take(places)
                least_rough = np.partition(own, int(_FLATTEST * (len(own) - 1)))
                flat = own <= least_rough[int(_FLATTEST * (len(own) - 1))]
                found = float(np.sqrt(squares.take(places[flat]).mean(dtype=np.float64)))
            made[f"level_{name}_{least}"] = found
    return made


def without_bright_levels(table: Table) -> Table:
    """Return a table without the noise of levels that show textures, unless all is so bright."""
    most = max(_DARK, 128 * float(table["mean"][2]))
    bright = [f"level_{name}_{level}" for name in "rgb" for level in LEVELS if level >= most]
    return {name: values for name, values in table.items() if name not in bright}


def table_of(rows: Sequence[dict[str, float]]) -> Table:
    """Return `PERCENTILES` of each statistic, NaNs left out; without those that nobody has."""
    made = {}
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        values = values[np.isfinite(values)]
        if len(values):
            made[name] = np.percentile(values, PERCENTILES)
            if name == "exposure_ev":  # what sets are compared by; medians of few err more
                made["exposure_mean"] = np.full(len(PERCENTILES), values.mean())
    return made


def cast(low: npt.NDArray[np.float64], normal: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return by how many EV red and blue gained on green, from a normal's mean light to a low's."""
    if min(float(low.min()), float(normal.min())) <= 1e-5:
        return float("nan"), float("nan")
    ratio = np.log2(low / normal)
    return float(ratio[0] - ratio[1]), float(ratio[2] - ratio[1])
