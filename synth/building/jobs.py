"""The units of a plan, and for each the job that a worker makes it from."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...errors import SourceError
from ...manifests.selection.candidates import locations
from ...manifests.sets.close import low_seed
from ...manifests.sets.info import BuildNote
from ...manifests.sets.layouts.layout import unit_name
from .request import Request
from .worker import PlannedPair, UnitJob


def units_of(plan: pa.Table) -> dict[str, list[int]]:
    """Return the rows of the plan by unit, in order."""
    units: dict[str, list[int]] = {}
    rows = zip(plan["split"].to_pylist(), plan["shard"].to_pylist(), strict=True)
    for row, (split, number) in enumerate(rows):
        units.setdefault(unit_name(split, number), []).append(row)
    return units


def jobs_of(
    request: Request,
    root: Path,
    note: BuildNote,
    plan: pa.Table,
    wanted: dict[str, list[int]],
    listed: pa.Table,
) -> list[UnitJob]:
    """Return the jobs of some units, with the places of their photographs.

    All photographs are checked before the first job is made.

    Parameters
    ----------
    request, root, note
        Of the build.
    plan : Table
    wanted : dict of unit to rows of the plan
    listed : Table
        The candidates that the sources hold now.

    Raises
    ------
    SourceError
        When a photograph is gone, or has another size than when the set was planned.
    """
    rows = [row for unit_rows in wanted.values() for row in unit_rows]
    photographs = plan.take(rows).to_pylist()
    row_of = {(photo["source"], photo["path"]): i for i, photo in enumerate(photographs)}
    found = np.full(len(rows), -1)
    for place, name in enumerate(
        zip(listed["source"].to_pylist(), listed["path"].to_pylist(), strict=True)
    ):
        if name in row_of:
            found[row_of[name]] = place
    sizes = listed["size"].to_numpy()
    planned_sizes = np.array([photo["bytes"] for photo in photographs], np.int64)
    changed = (found < 0) | (sizes[found] != planned_sizes)
    if changed.any():
        i = int(np.flatnonzero(changed)[0])
        photo = photographs[i]
        what = "is gone" if found[i] < 0 else "has another size"
        raise SourceError(
            f"{photo['source']}: {photo['path']} {what} since the set was planned; "
            "restore the source and run the same command, or build a new set",
            path=photo["source"],
        )
    planned = iter(
        [
            PlannedPair(photo["key"], photo["source"], photo["path"], place)
            for photo, place in zip(photographs, locations(listed.take(found)), strict=True)
        ]
    )
    places = {unit: place for place, unit in enumerate(units_of(plan))} if note.labelled else {}
    return [
        UnitJob(
            root,
            unit,
            note.fingerprint,
            tuple(islice(planned, len(unit_rows))),
            request.recipe,
            low_seed(note),
            request.output,
            unmeasured=request.takes_everything,
            labels=places.get(unit),
        )
        for unit, unit_rows in wanted.items()
    ]
