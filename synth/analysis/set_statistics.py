"""Statistics of a set or of folders of images, measured by several workers.

Kept in files, they are columns to compare others with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from ...engines.engine import Counted, Engine, check_paths, ignore_progress
from ...engines.local import LocalEngine, count, local_engine
from ...errors import ConfigError, ImageRefused, SetError, SourceError
from ...manifests.config import load_yaml
from ...manifests.images.decode import read_rgb
from ...manifests.sets.pair_set import PairSet, is_set, open_set
from ...manifests.sets.units import Unit, each_unit
from ...manifests.sources.folders import image_pairs
from ...progress import Progress, Silent
from ...storage.stores import as_path
from ...storage.untrusted import whole
from ..clips import frames_of, is_clip
from ..draws.record import CameraDraw
from ..models import component_of, has_lamps, parse_draw
from ..recipes.load import recorded_recipe
from ..recipes.mixture_recipe import MixtureRecipe
from ..renderers import pixels_of
from .all_statistics import ALL_LABELS, all_statistics
from .pair_statistics import PERCENTILES, clip_statistics, summary
from .photon_transfer import TransferPoint, pool_points, transfer_points
from .wrong_pairs import brighter_area, brightness, mismatch, refuse_swapped

_GROUP = 20  # pairs of folders a task


@dataclass(frozen=True)
class Measured:
    """The statistics of pairs.

    transfer: the photon transfer curve, where the pairs have draws of the camera model.
    components: the recipe of a mixture that each pair was drawn by; empty where there is no
      mixture.
    keys, units: of each pair: its key, and the unit of a set that holds it ("" of folders).
    means: mean levels of each pair's low and normal; empty of lows alone.
    areas: share of each picture whose low is the brighter one (`brighter_area`), NaN where lamps
      are to be; empty of lows alone.
    mismatched: real pairs whose low and normal do not show the same: by key, `mismatch`.
    damaged: units, pairs and images that could not be measured, each with the reason.
    """

    rows: list[dict[str, float]]  # the statistics of each pair
    transfer: list[TransferPoint]
    components: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    means: list[tuple[float, float]] = field(default_factory=list)
    areas: list[float] = field(default_factory=list)
    mismatched: dict[str, str] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)

    def by_component(self) -> dict[str, list[dict[str, float]]]:
        """Return the rows of each component of a mixture, by its name, as they come."""
        found: dict[str, list[dict[str, float]]] = {}
        if self.components:
            for name, row in zip(self.components, self.rows, strict=True):
                found.setdefault(name, []).append(row)
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the number of pairs, percentiles 5, 50 and 95, and the photon transfer curve.

        For a mixture, percentiles of each component too. Pairs that do not show the same are
        counted in, and named; damaged images are named.
        """
        made = {**_percentiles(self.rows), "photon_transfer": [p.__dict__ for p in self.transfer]}
        made |= {"mismatched": self.mismatched} if self.mismatched else {}
        made |= {"damaged": self.damaged} if self.damaged else {}
        parts = {name: _percentiles(rows) for name, rows in self.by_component().items()}
        return {**made, "components": parts} if parts else made


def _percentiles(rows: list[dict[str, float]]) -> dict[str, Any]:
    found = summary(rows)
    return {
        "pairs": len(rows),
        "percentiles": {name: list(values) for name, values in found.items()},
    }


def stats(
    lows: PairSet | str | Path,
    normals: PairSet | str | Path | None = None,
    *,
    pairs: int = 2000,
    brighter_lows: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Measured:
    """Measure how dark, uneven and noisy the pairs of a set, or of two folders, are.

    Parameters
    ----------
    lows : PairSet, str or Path
        A finished set, or a folder of lows.
    normals : PairSet, str or Path, optional
        For a set of lows only, the set that it was made from; for a folder, one of normals of equal
        names. Without, what can be said of lows alone is measured.
    pairs : int
        Largest number of pairs to measure, evenly spread.
    brighter_lows : bool
        Take two folders whose lows are brighter than their normals, as over-exposed ones are.
    workers, progress, engine
        See `gloam.build`; all cores and no bars by default. Progress counts pairs measured.

    Returns
    -------
    Measured

    Raises
    ------
    SetError, SourceError
        When there is nothing to measure, a set is damaged, an image has no partner, or lows are
        brighter than their normals. Damaged images of folders are passed over and named.

    Examples
    --------
    >>> import gloam
    >>> measured = gloam.stats("SET")
    >>> len(measured.rows), measured.rows[0]["exposure_ev"] > 0
    (6, True)
    """
    shown, engine = progress or Silent(), engine or local_engine(workers)
    lows = lows if isinstance(lows, PairSet) else as_path(lows)
    if is_set(lows):
        found = open_set(lows, normals)
        if not len(found):
            raise SetError.at(found.root, "holds no pairs to measure")
        shown.stage("measuring pairs", min(pairs, len(found)))
        measured = measure_set(found, pairs, engine, shown.at)
        if measured.damaged:
            raise SetError.at(found.root, f"{measured.damaged[0]}; gloam verify says what is wrong")
        return measured
    if isinstance(lows, PairSet) or isinstance(normals, PairSet):
        raise SetError(f"{lows}: is no set, but its normals are; give two folders")
    shown.stage("measuring pairs", None)
    folder = None if normals is None else as_path(normals)
    return measure_folders(lows, folder, pairs, engine, shown.at, brighter_lows)


def measure_set(
    pairs: PairSet,
    most: int,
    engine: Engine | None = None,
    at: Counted = ignore_progress,
    most_units: int | None = None,
) -> Measured:
    """Measure at most `most` pairs of a set, evenly spread over it.

    Each unit of which pairs are measured is read whole: `most_units` says of how many at most.
    Those that cannot be read are named in what is returned.

    Raises SetError when the set holds lows only and was opened without its normals.
    """
    most = whole("pairs", most, 1)
    engine = engine or LocalEngine()
    pairs.check_pass(engine)
    units = [unit for unit in pairs.units() if unit.count]
    if most_units is not None and len(units) > most_units:
        units = [units[i] for i in np.linspace(0, len(units) - 1, most_units).astype(int)]
    ends = np.cumsum([0, *(unit.count for unit in units)])
    chosen = np.unique(np.linspace(0, ends[-1] - 1, min(most, int(ends[-1]))).astype(int))
    parts = np.split(chosen, np.searchsorted(chosen, ends[1:-1]))
    units = [
        replace(unit, places=frozenset((places - first).tolist()))
        for unit, places, first in zip(units, parts, ends, strict=False)
        if len(places)
    ]
    results = each_unit(_measure_unit, units, engine, at)
    recipe = recorded_recipe(pairs.info.build.request.recipe, f"recipe of {pairs.root}")
    mixed = isinstance(recipe, MixtureRecipe)
    every = [one for found, _, _ in results for one in found]
    keys = [one.key for one in every]
    return Measured(
        [one.row for one in every],
        pool_points(p for _, points, _ in results for p in points),
        [component_of(recipe, pairs.info.seed, key) for key in keys] if mixed else [],
        keys,
        [unit.name for unit, (own, _, _) in zip(units, results, strict=True) for _ in own],
        [one.means for one in every if one.means],
        [one.area for one in every if one.means],
        damaged=[what for _, _, damaged in results for what in damaged],
    )


class _Pair(NamedTuple):
    """The measures of a pair."""

    key: str
    row: dict[str, float]
    means: tuple[float, float] | None = None
    area: float = math.nan
    mismatch: str = ""


def _measure_unit(unit: Unit) -> tuple[list[_Pair], list[TransferPoint], list[str]]:
    """Return what was measured of a unit's pairs, and what could not be."""
    found: list[_Pair] = []
    points: list[TransferPoint] = []
    damaged: list[str] = []
    try:
        for pair in unit.pairs():
            try:
                low, normal = pixels_of(pair)
                row = all_statistics(low, normal)
                if is_clip(pair.record["members"]):
                    row |= clip_statistics(*frames_of(pair))
                drawn = parse_draw(pair.record["draw"])
            except (ImageRefused, SetError, ValueError) as error:
                damaged.append(f"{unit.name}: {pair.key}: {error}")
                continue
            area = math.nan if has_lamps(drawn) else brighter_area(low, normal)
            found.append(_Pair(pair.key, row, brightness(low, normal), area))
            if isinstance(drawn, CameraDraw):
                points += transfer_points(low, normal, drawn)
    except SetError as error:
        damaged.append(": ".join(unit.where(error)))
    return found, points, damaged


def measure_folders(
    lows: Path,
    normals: Path | None,
    most: int,
    engine: Engine | None = None,
    at: Counted = ignore_progress,
    brighter_lows: bool = False,
) -> Measured:
    """Measure real pairs: a folder of lows and one of normals, or lows alone.

    Images have equal names in both; suffixes may differ. Those that are damaged, or of unlike
    sizes, are passed over and named.

    Raises SourceError when there is nothing to measure, or an image has no partner; and when lows
    are brighter than their normals, unless `brighter_lows`.
    """
    engine = engine or LocalEngine()
    check_paths(engine, lows, normals)
    wanted = image_pairs(lows, normals, most)
    groups = [wanted[i : i + _GROUP] for i in range(0, len(wanted), _GROUP)]
    results = list(engine.map(_measure_files, groups, at))
    every = [one for found, _ in results for one in found]
    damaged = [what for _, bad in results for what in bad]
    if not every:
        raise SourceError(damaged[0])
    means = [one.means for one in every if one.means]
    if not brighter_lows:
        paths = {key: path for key, path, _ in wanted}
        refuse_swapped(lows, means, [paths[one.key] for one in every])
    return Measured(
        [one.row for one in every],
        [],
        keys=[one.key for one in every],
        units=[""] * len(every),
        means=means,
        areas=[one.area for one in every if one.means],
        mismatched={one.key: one.mismatch for one in every if one.mismatch},
        damaged=damaged,
    )


def _measure_files(
    pairs: list[tuple[str, Path, Path | None]],
) -> tuple[list[_Pair], list[str]]:
    """Return what was measured of images, and what could not be."""
    made, damaged = list[_Pair](), list[str]()
    for name, low_path, normal_path in pairs:
        count()
        try:
            low = read_rgb(low_path)
            normal = read_rgb(normal_path) if normal_path else None
            row = all_statistics(low, normal)
        except SourceError as error:
            damaged.append(str(error))
            continue
        except ValueError as error:
            damaged.append(f"{low_path}: {error}")
            continue
        if normal is None:
            made.append(_Pair(name, row))
        else:
            own = brightness(low, normal), brighter_area(low, normal), mismatch(low, normal)
            made.append(_Pair(name, row, *own))
    return made, damaged


DEFINITIONS = 1
"""Raised when a statistic is measured in another way: columns of other definitions are refused."""
_ENOUGH = 5  # images that have a statistic: percentiles of fewer say nothing
_KEYS = {"name", "pairs", "definitions", "percentiles", "statistics"}


def reference_yaml(measured: Measured, name: str) -> bytes:
    """Return statistics as a reference column; without those that fewer than 5 pairs have.

    name: of the column.
    """
    enough = min(_ENOUGH, len(measured.rows))
    table = {
        key: [float(f"{value:.6g}") for value in values]
        for key, values in summary(measured.rows).items()
        if sum(math.isfinite(row.get(key, math.nan)) for row in measured.rows) >= enough
    }
    values = {
        "name": name,
        "pairs": len(measured.rows),
        "definitions": DEFINITIONS,
        "percentiles": list(PERCENTILES),
        "statistics": table,
    }
    return yaml.safe_dump(values, sort_keys=False, default_flow_style=None).encode()


def read_reference(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a column that `reference_yaml` wrote: its name, and percentiles or medians.

    Raises ConfigError when it is no such file, or of other definitions.
    """
    values = load_yaml(path)
    if values.keys() != _KEYS or not isinstance(values["statistics"], dict):
        raise ConfigError(f"{path}: not a reference; gloam stats --save-reference writes them")
    if values["definitions"] != DEFINITIONS or values["percentiles"] != list(PERCENTILES):
        raise ConfigError(
            f"{path}: its statistics are of definitions {values['definitions']}, this gloam"
            f" measures those of {DEFINITIONS}: measure that set again"
        )
    for name, numbers in values["statistics"].items():
        if name not in ALL_LABELS or not _three(numbers):
            raise ConfigError(
                f"{path}: statistics.{name} = {numbers}: expected three numbers, percentiles"
                f" {', '.join(map(str, PERCENTILES))}, of a statistic that gloam stats --json names"
            )
    return str(values["name"]), values["statistics"]


def _three(numbers: Any) -> bool:
    return (
        isinstance(numbers, list)
        and len(numbers) == len(PERCENTILES)
        and all(isinstance(one, int | float) and math.isfinite(one) for one in numbers)
    )
