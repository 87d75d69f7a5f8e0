"""The units of a plan, and for each the job that a worker makes it from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ...errors import SourceError
from ...manifests.selection.candidates import locations
from ...manifests.sets.layouts.layout import unit_name
from ..models import form_of
from .planning import Planned, Run
from .worker import PlannedPair, UnitJob


def units_of(plan: pa.Table) -> dict[str, list[int]]:
    """Return the rows of the plan by unit, in order."""
    units: dict[str, list[int]] = {}
    rows = zip(plan["split"].to_pylist(), plan["shard"].to_pylist(), strict=True)
    for row, (split, number) in enumerate(rows):
        units.setdefault(unit_name(split, number), []).append(row)
    return units


def jobs_of(
    run: Run, ready: Planned, wanted: dict[str, list[int]], listed: pa.Table
) -> Iterator[UnitJob]:
    """Return the jobs of some units, with the places of their photographs.

    All photographs are checked before; jobs are made as they are taken, while workers are at the
    first ones.

    wanted: dict of unit to rows of the plan. listed: the candidates that the sources hold now.

    Raises SourceError when a photograph is gone, or has another size than when the set was planned.
    """
    rows = np.array([row for unit_rows in wanted.values() for row in unit_rows], np.int64)
    request, note, plan = run.request, ready.note, ready.pairs
    photographs = plan.take(rows)
    names = zip(photographs["source"].to_pylist(), photographs["path"].to_pylist(), strict=True)
    row_of = {name: i for i, name in enumerate(names)}
    found = np.full(len(rows), -1)
    for place, name in enumerate(
        zip(listed["source"].to_pylist(), listed["path"].to_pylist(), strict=True)
    ):
        if name in row_of:
            found[row_of[name]] = place
    changed = (found < 0) | (listed["size"].to_numpy()[found] != photographs["bytes"].to_numpy())
    if changed.any():
        i = int(np.flatnonzero(changed)[0])
        source, path = photographs["source"][i].as_py(), photographs["path"][i].as_py()
        what = "is gone" if found[i] < 0 else "has another size"
        raise SourceError.at(
            source,
            f"{path} {what} since the set was planned; "
            "restore the source and run the same command, or build a new set",
        )
    found_at = listed.take(found)
    places = {unit: place for place, unit in enumerate(units_of(plan))} if note.labelled else {}

    def made() -> Iterator[UnitJob]:
        begin = 0
        for unit, unit_rows in wanted.items():
            own = photographs.slice(begin, len(unit_rows))
            columns = (own[name].to_pylist() for name in ("key", "source", "path"))
            located = locations(found_at.slice(begin, len(unit_rows)))
            yield UnitJob(
                run.root,
                unit,
                note.fingerprint,
                tuple(PlannedPair(*each) for each in zip(*columns, located, strict=True)),
                request.recipe,
                note.request.seed,
                request.output,
                form_of(note.versions),
                unmeasured=request.takes_everything,
                labels=places.get(unit),
            )
            begin += len(unit_rows)

    return made()
