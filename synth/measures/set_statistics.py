"""Statistics of a set or of folders, by several workers; in files, columns to compare with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from ...engines.engine import Counted, Engine, check_paths, ignore_progress
from ...engines.local import LocalEngine, local_engine
from ...errors import ConfigError, ImageRefused, SetError, SourceError
from ...manifests.sets.pair_set import PairSet, is_set, open_set
from ...manifests.sets.units import Unit, each_unit
from ...manifests.sources.folders import evenly
from ...progress import Progress, Silent
from ...storage.stores import as_path
from ...storage.untrusted import whole
from ...storage.yaml_files import load_yaml
from ..clips import frames_of, is_clip
from ..draws.record import CameraDraw
from ..kernels.arrays import Pixels
from ..models import component_of, has_lamps, parse_draw
from ..recipes.load import recorded_recipe
from ..recipes.mixture_recipe import MixtureRecipe
from ..renderers import pixels_of
from . import wrong_pairs
from .columns import ADDED, ALL_LABELS, Statistic, all_statistics, statistic_rows
from .pair_files import PairFiles, each_pair, pairs_of_folders
from .pair_statistics import LABELS, PERCENTILES, clip_statistics, summary
from .photon_transfer import TransferPoint, by_sensor, pool_points, transfer_points, transfer_ratio


class MeasuredPair(NamedTuple):
    """Measurements of a pair.

    row: its columns. unit: that of a set that holds it, "" of folders. files: those of folders.
    component: the recipe of a mixture that it was drawn by.
    means: mean levels of low and normal; None of a low alone.
    area: share of the picture whose low is the brighter one (`brighter_area`), NaN where lamps are
      to be, and of a low alone.
    mismatch: of a real pair whose low and normal do not show the same, see `mismatch`.
    """

    key: str
    row: dict[str, float]
    unit: str = ""
    component: str = ""
    means: tuple[float, float] | None = None
    area: float = math.nan
    mismatch: str = ""
    files: PairFiles | None = None


@dataclass(frozen=True)
class Measured:
    """The table of what was measured: a row a pair.

    transfer: the photon transfer curve, where the pairs have draws of the camera model.
    damaged: units, pairs and images that could not be measured, each with the reason.
    """

    pairs: list[MeasuredPair]
    transfer: list[TransferPoint] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, float]]:
        """Columns of each pair."""
        return [one.row for one in self.pairs]

    @property
    def means(self) -> list[tuple[float, float]]:
        """Mean levels of each pair's low and normal; empty of lows alone."""
        return [one.means for one in self.pairs if one.means]

    @property
    def mismatched(self) -> dict[str, str]:
        """Pairs whose low and normal do not show the same: what they show, by key."""
        return wrong_pairs.those_told({one.key: one.mismatch for one in self.pairs if one.means})

    def by_component(self) -> dict[str, list[dict[str, float]]]:
        """Return the rows of each component of a mixture, by its name, as they come."""
        found: dict[str, list[dict[str, float]]] = {}
        for one in self.pairs:
            if one.component:
                found.setdefault(one.component, []).append(one.row)
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

    def lines(self, references: Mapping[str, Mapping[str, Any]], *, full: bool) -> list[str]:
        """Return percentiles beside those of references, as lines to print.

        full: noise and tone by level and channel, too.
        """
        tables = [summary(self.rows), *references.values()]
        rows = statistic_rows(tables, ALL_LABELS if full else LABELS, _cell)
        width = 1 + max(len(label) for label, _ in rows)
        what = "pairs" if any("exposure_ev" in row for row in self.rows) else "images"
        lines = [
            f"{len(self.rows):,} {what}; percentiles 5 / 50 / 95",
            *(_line(*row, width, 25) for row in [("", ["here", *references]), *rows]),
        ]
        lines += (
            [wrong_pairs.mismatch_line(self.mismatched, len(self.rows))] if self.mismatched else []
        )
        lines += [wrong_pairs.damage_line(self.damaged)] if self.damaged else []
        if parts := self.by_component():
            counts = [f"{len(held):,}" for held in parts.values()]
            rows = [("", list(parts)), ("pairs", counts), *median_rows(parts, _cell)]
            lines += ["\nmedians of each component:", *(_line(*row, 46, 16) for row in rows), ""]
        if self.transfer:
            lines.append(
                "photon transfer, variance of green measured over that of the camera file:"
            )
        for (camera, iso), points in by_sensor(self.transfer).items():
            lines.append(
                f"  {camera} ISO {iso:.0f}: {transfer_ratio(points):.2f} at levels"
                f" {points[0].level:.0f} to {points[-1].level:.0f}"
            )
        return lines


def median_rows(
    parts: Mapping[str, list[dict[str, float]]], cell: Callable[[Any], str]
) -> list[tuple[str, list[str]]]:
    """Return the rows of a view of each component's medians; see `statistic_rows`."""
    tables = [{name: one[1] for name, one in summary(rows).items()} for rows in parts.values()]
    return statistic_rows(tables, LABELS, cell, len(tables))


def _line(name: str, cells: Iterable[str], width: int, each: int) -> str:
    return f"{name:{width}}" + "".join(f"{cell:>{each}}" for cell in cells)


def _cell(values: Any) -> str:
    if values is None:
        return "-"
    numbers = [values] if isinstance(values, int | float) else list(values)
    return " / ".join(f"{one:.3f}" if abs(one) < 1 else f"{one:.2f}" for one in numbers)


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
    if most_units is not None:
        units = [units[i] for i in evenly(len(units), most_units)]
    ends = np.cumsum([0, *(unit.count for unit in units)])
    chosen = np.array(evenly(int(ends[-1]), most), int)
    parts = np.split(chosen, np.searchsorted(chosen, ends[1:-1]))
    units = [
        replace(unit, places=frozenset((places - first).tolist()))
        for unit, places, first in zip(units, parts, ends, strict=False)
        if len(places)
    ]
    results = each_unit(partial(_measure_unit, dict(ADDED)), units, engine, at)
    recipe = recorded_recipe(pairs.info.build.request.recipe, f"recipe of {pairs.root}")
    found = [one for own, _, _ in results for one in own]
    if isinstance(recipe, MixtureRecipe):
        seed = pairs.info.seed
        found = [one._replace(component=component_of(recipe, seed, one.key)) for one in found]
    return Measured(
        found,
        pool_points(p for _, points, _ in results for p in points),
        [what for _, _, damaged in results for what in damaged],
    )


def _measure_unit(
    added: dict[str, Statistic], unit: Unit
) -> tuple[list[MeasuredPair], list[TransferPoint], list[str]]:
    """Return what was measured of a unit's pairs, and what could not be."""
    ADDED.update(added)  # which this process may not have
    found: list[MeasuredPair] = []
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
            area = math.nan if has_lamps(drawn) else wrong_pairs.brighter_area(low, normal)
            means = wrong_pairs.brightness(low, normal)
            found.append(MeasuredPair(pair.key, row, unit.name, means=means, area=area))
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
    pairs = pairs_of_folders(lows, normals, most)
    wrong_pairs.warn_of_few_bits(
        lows, [one.low for one in pairs], [one.normal for one in pairs if one.normal]
    )
    results = each_pair(_measure_files, pairs, engine, at)
    made = Measured(
        [one for one in results if not isinstance(one, str)],
        damaged=[one for one in results if isinstance(one, str)],
    )
    if not made.pairs:
        raise SourceError(made.damaged[0])
    if not brighter_lows:
        wrong_pairs.refuse_swapped(
            lows, made.means, [one.files and one.files.low for one in made.pairs]
        )
    return made


def _measure_files(pair: PairFiles, low: Pixels, normal: Pixels | None) -> MeasuredPair:
    found = MeasuredPair(pair.key, all_statistics(low, normal), files=pair)
    if normal is None:
        return found
    return found._replace(
        means=wrong_pairs.brightness(low, normal),
        area=wrong_pairs.brighter_area(low, normal),
        mismatch=wrong_pairs.mismatch(low, normal),
    )


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
