"""Plan a build: read the plan in its folder or make one, and make jobs of it for workers."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...engines.engine import Engine
from ...errors import DamagedError, SourceError
from ...manifests.labels.label_table import CLASS_LIST, LABELS, read_source_labels
from ...manifests.selection.candidates import (
    leave_unmeasured,
    list_candidates,
    locations,
    measure_candidates,
)
from ...manifests.selection.plan import make_plan
from ...manifests.sets import info
from ...manifests.sets.layouts.layout import unit_name
from ...manifests.sets.tables import read_plan
from ...manifests.sets.workspace import refuse_changes, refuse_mixing
from ...progress import Progress
from ...storage.atomic import sha256_bytes, write_bytes
from ...storage.parquet import pq
from ..kernels.compiling.cache_folders import announce_compiling
from ..measures.leaks import refuse_known_scenes
from ..models import form_of
from ..recipes.load import recipe_yaml
from . import LOADED, WARM
from .make_unit import Making, PlannedPair, UnitJob
from .request import Request, deciding_versions, in_form_of


@dataclass
class Run:
    """One run of a build: what is asked, where, and by whom.

    passed: dict of source to Counter of kind, files of the sources that may be photographs and are
    not taken, once they were listed.
    """

    request: Request
    root: Path
    engine: Engine
    cache: Path | None  # folder to keep measurements in
    progress: Progress
    passed: dict[str, Counter[str]] = field(default_factory=dict)


class Planned(NamedTuple):
    """The plan of a folder.

    listed: the listed candidates, where the plan was made of them just now.
    """

    note: info.BuildNote
    pairs: pa.Table  # the content of `plan.parquet`
    listed: pa.Table | None = None


def load_or_make_plan(run: Run) -> Planned:
    """Read the plan in the folder, or make and write one.

    Raises SetError when the folder holds a build with another request; SourceError, ConfigError as
    of `build`.
    """
    note = _sound_note(run.root, run.request)
    if note is not None:
        return Planned(note, read_plan(run.root))
    return _plan(run, list_sources(run))


def list_sources(run: Run) -> pa.Table:
    """List the candidates that the sources hold now."""
    run.progress.stage("listing", None)
    limit = run.request.output.max_pixels
    listed = list_candidates(list(run.request.sources), run.progress.at, run.passed, limit)
    # What needs it comes next.
    warm_workers(run.engine, run.request.output.low_codec)
    return listed


def _plan(run: Run, listed: pa.Table) -> Planned:
    request, root = run.request, run.root
    if request.takes_everything:
        # Nothing to choose, so nothing to measure: what cannot be read is refused when its pair is
        # made.
        measured = leave_unmeasured(listed)
    else:
        run.progress.stage("measuring", len(listed))
        cache = run.cache or root / info.WORK_FOLDER / "measured"
        measured = measure_candidates(
            listed, cache, run.engine, request.output.max_pixels, run.progress.at
        )
    if request.not_like:
        measured = refuse_known_scenes(measured, request.not_like)
    plan = make_plan(measured, list(request.sources), request.profile, request.plan)
    # Where the photographs lie on this machine is nobody else's business, and would change the
    # set's bytes.
    public = plan.candidates.drop_columns(["container", "member", "offset", "stamp"])
    tables = {
        name: parquet_bytes(table.combine_chunks())
        for name, table in ((info.CANDIDATES, public), (info.PLAN, plan.pairs))
    }
    if request.output.labels:
        run.progress.stage("labels", None)
        tables[LABELS], tables[CLASS_LIST] = read_source_labels(plan.pairs, listed, request.sources)
    chosen = request.plan.model_copy(update={"val": plan.val})
    note = info.BuildNote(
        request=request.model_copy(update={"plan": chosen}).recorded(),
        versions=deciding_versions(request.recipe, request),
        plan_sha256=sha256_bytes(tables[info.PLAN]),
        labels_sha256=sha256_bytes(tables[LABELS]) if request.output.labels else "",
    )
    refuse_mixing(root, note)
    write_bytes(root / info.RECIPE, recipe_yaml(request.recipe))
    for name, data in tables.items():
        write_bytes(root / name, data)
    info.write_note(root, note)
    return Planned(note, plan.pairs, listed)


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a table as a Parquet file, whose pages are of its chunks."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def _sound_note(root: Path, request: Request) -> info.BuildNote | None:
    """Return the note of what the folder holds, if it can be gone on with.

    None when there is none, or when the set's own records are damaged and must be made again from
    the sources. Raises SetError when another request began it.
    """
    try:
        note = info.read_note(root)
    except DamagedError:
        return None
    if note is None:
        return None
    asked = request.recorded().model_dump()
    versions = in_form_of(note.versions, deciding_versions(request.recipe, request))
    if request.plan.val is None:  # as many as the set was begun with
        asked["plan"]["val"] = note.request.plan.val
    changed = info.differences(note.request.model_dump(), asked)
    refuse_changes(root, changed + info.differences(note.versions, versions, "version"))
    wanted = {info.PLAN: note.plan_sha256} | ({LABELS: note.labels_sha256} if note.labelled else {})
    if (root / info.SET_FILE).is_file():
        try:
            known = info.read_set(root).files
        except DamagedError:
            return None
        names = (info.CANDIDATES, info.RECIPE, *([CLASS_LIST] if note.labelled else []))
        wanted |= {name: known[name].sha256 for name in names}
    found = {name: info.facts_of(root / name).sha256 for name in wanted if (root / name).is_file()}
    return note if found == wanted else None


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

    seed, form = note.request.seed, form_of(note.versions)
    how = Making(run.root, note.fingerprint, request.recipe, seed, request.output, form)

    def made() -> Iterator[UnitJob]:
        begin = 0
        for unit, unit_rows in wanted.items():
            own = photographs.slice(begin, len(unit_rows))
            columns = (own[name].to_pylist() for name in ("key", "source", "path"))
            located = locations(found_at.slice(begin, len(unit_rows)))
            pairs = tuple(PlannedPair(*each) for each in zip(*columns, located, strict=True))
            yield UnitJob(how, unit, pairs, request.takes_everything, places.get(unit))
            begin += len(unit_rows)

    return made()


def warm_workers(engine: Engine, low_codec: str) -> None:
    """Have workers load what making units takes: kernels, too, unless the codec of lows is none."""
    if low_codec == "none":
        engine.warm(LOADED)
    else:
        announce_compiling()
        engine.warm(WARM)
