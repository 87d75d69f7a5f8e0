"""Building a set: plan, execute, publish. `build` decides what has to be done, workers do it,
`finish_set` closes it.

A build that was stopped at any moment goes on with the same request: the plan is on disk before the
first pair is made, and a unit is done when, and only when, its receipt is there. Nothing depends on
which run or worker made what.
"""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ...engines.forkserver import prepare_workers
from ...engines.local import ordered_map
from ...errors import ConfigError, DamagedError, SetError
from ...manifests.selection.candidates import leave_unmeasured, list_candidates, measure_candidates
from ...manifests.selection.plan import SPARE, make_plan
from ...manifests.sets.close import finish_set
from ...manifests.sets.info import (
    CANDIDATES,
    PLAN,
    RECIPE,
    REFUSED,
    SET_FILE,
    WORK_FOLDER,
    BuildNote,
    SetInfo,
    differences,
    facts_of,
    read_note,
    read_set,
    write_note,
)
from ...manifests.sets.receipts import read_receipt
from ...manifests.sets.workspace import missing_units, prepare_output, refuse_mixing, working_on
from ...progress import Progress, Silent
from ...storage.atomic import sha256_bytes, write_bytes
from ...storage.locks import exclusive, in_turn
from ...storage.tables import read_table
from ..kernels.compiling.places import announce_compiling
from ..models import draw_type
from ..recipes.load import recipe_yaml
from . import PRELOAD
from .draw_columns import draw_fields
from .request import Request, deciding_versions, recorded_versions
from .units import tasks_of, units_of
from .worker import make_unit


@dataclass(frozen=True)
class Report:
    """What a build did.

    Attributes
    ----------
    root : Path
    info : SetInfo
    candidates : int
        Photographs that the sources hold.
    reasons : dict of source to Counter of reason
        Photographs that did not become pairs, those that the number of pairs left out included.
    made : int
        Units that this run made; the others were done before.
    passed : dict of source to Counter of kind
        Files of the sources that may be photographs and are not taken, where this run listed them.
    """

    root: Path
    info: SetInfo
    candidates: int
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    made: int = 0
    passed: dict[str, Counter[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A part of a build: the shards whose number leaves `index` when divided by `count`."""

    index: int
    count: int

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.count:
            raise ConfigError(
                f"task {self.index} of {self.count}: must be from 0 to {self.count - 1}"
            )


def build(
    request: Request,
    root: Path,
    workers: int = 1,
    cache: Path | None = None,
    progress: Progress | None = None,
    max_refused: float = 1.0,
) -> Report:
    """Build a set, or continue or repair one that was begun with the same request.

    Parameters
    ----------
    request : Request
    root : Path
        Folder of the set; new, empty, or of this same build.
    workers : int
        Processes. Has no influence on a single byte.
    cache : Path, optional
        Folder to keep measurements of candidates in, for later builds; by default they live as long
        as the build.
    progress : Progress, optional
    max_refused : float
        Largest share of the planned pairs that may fail while they are made; with more the set is
        left open.

    Raises
    ------
    SetError
        When the folder cannot be written, holds something else, or a build with another request; or
        when too many pairs failed, all of which it names.
    SourceError
        When a source is missing, broken, or changed since the plan was made.
    ConfigError
        When there are fewer suitable candidates than pairs asked for.
    WorkerLost
        When a worker died. As after any other stop, the same call continues.
    """
    progress = progress or Silent()
    with working_on(root):
        return _build(request, root, workers, cache, progress, max_refused)


def _build(
    request: Request,
    root: Path,
    workers: int,
    cache: Path | None,
    progress: Progress,
    max_refused: float,
) -> Report:
    passed: dict[str, Counter[str]] = {}
    note, listed = _planned(request, root, workers, cache, progress, passed)
    made = _make_missing(
        request, root, note, listed, task=None, workers=workers, progress=progress, passed=passed
    )
    _check_refused(root, max_refused)
    info = finish_set(
        root,
        request.output.name,
        request.output.layout,
        request.recipe.name,
        note,
        recorded_versions(),
        draw_fields(draw_type(request.recipe.model)),
    )
    return _report(root, info, made, passed)


def build_task(
    request: Request,
    root: Path,
    task: Task,
    workers: int = 1,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Make the shards of one task of a build that several processes or machines share, on one file
    system.

    Whoever comes first plans, the others wait for it. When all tasks are done, `build` with the
    same request closes the set.

    Parameters
    ----------
    request, root, workers, cache, progress
        As of `build`.
    task : Task

    Returns
    -------
    (made, left) : shards that this call made, and those of other tasks that are not there yet

    Raises
    ------
    SetError, SourceError, ConfigError, WorkerLost
        As of `build`.
    """
    progress = progress or Silent()
    prepare_output(root)
    with exclusive(root / WORK_FOLDER / "lock", shared=True):
        with in_turn(root / WORK_FOLDER / "planning"):
            note, listed = _planned(request, root, workers, cache, progress, {})
        made = _make_missing(
            request, root, note, listed, task=task, workers=workers, progress=progress, passed={}
        )
        return made, len(missing_units(root, units_of(read_table(root / PLAN)), note))


def _planned(
    request: Request,
    root: Path,
    workers: int,
    cache: Path | None,
    progress: Progress,
    passed: dict[str, Counter[str]],
) -> tuple[BuildNote, pa.Table | None]:
    """The note of the folder's plan, which is made if there is none; and the listed candidates if
    that was so."""
    note = _sound_note(root, request)
    if note is not None:
        return note, None
    listed = _list(request, workers, progress, passed)
    return (
        _plan(request, root, listed, workers, cache or root / WORK_FOLDER / "measured", progress),
        listed,
    )


def _make_missing(
    request: Request,
    root: Path,
    note: BuildNote,
    listed: pa.Table | None,
    *,
    task: Task | None,
    workers: int,
    progress: Progress,
    passed: dict[str, Counter[str]],
) -> int:
    """Make the units that are not there (of one task); how many those were."""
    plan = read_table(root / PLAN)
    units = units_of(plan)
    if task is not None:
        units = {
            unit: rows
            for i, (unit, rows) in enumerate(units.items())
            if i % task.count == task.index
        }
    missing = missing_units(root, units, note)
    if missing:
        listed = listed if listed is not None else _list(request, workers, progress, passed)
        wanted = {unit: units[unit] for unit in missing}
        tasks = tasks_of(request, root, note, plan, wanted, listed)
        total = sum(map(len, units.values()))
        before = total - sum(map(len, wanted.values()))
        progress.stage("building", total)
        progress.at(before)
        for _ in ordered_map(
            make_unit, tasks, workers, lambda counted: progress.at(before + counted)
        ):
            pass
    return len(missing)


def _check_refused(root: Path, most: float) -> None:
    plan = read_table(root / PLAN)
    refused = [refused for unit in units_of(plan) for refused in read_receipt(root, unit).refused]
    if len(refused) > most * len(plan):
        named = "\n".join(
            f"  {one.source}: {one.path}: {one.reason}: {one.detail}" for one in refused
        )
        raise SetError(
            f"{root}: {len(refused)} of {len(plan)} planned pairs failed, more than --max-refused"
            f" allows ({most:.3g} of them); the set is left open, and the same command with a"
            f" larger --max-refused closes it without them:\n{named}"
        )


def _list(
    request: Request, workers: int, progress: Progress, passed: dict[str, Counter[str]]
) -> pa.Table:
    progress.stage("listing", None)
    listed = list_candidates(list(request.sources), progress.at, passed)
    announce_compiling()
    prepare_workers([PRELOAD], workers)  # what needs them comes next
    return listed


def _plan(
    request: Request, root: Path, listed: pa.Table, workers: int, cache: Path, progress: Progress
) -> BuildNote:
    if request.takes_everything:
        # Nothing to choose, so nothing to measure: what cannot be read is refused when its pair is
        # made.
        measured = leave_unmeasured(listed)
    else:
        progress.stage("measuring", len(listed))
        measured = measure_candidates(
            listed, cache, workers, request.output.max_pixels, progress.at
        )
    plan = make_plan(measured, list(request.sources), request.profile, request.plan)
    # Where the photographs lie on this machine is nobody else's business, and would change the
    # set's bytes.
    public = plan.candidates.drop_columns(["container", "member", "offset", "stamp"])
    tables = {CANDIDATES: _parquet(public), PLAN: _parquet(plan.pairs)}
    note = BuildNote(
        request=request.identity(),
        versions=deciding_versions(request),
        plan_sha256=sha256_bytes(tables[PLAN]),
    )
    refuse_mixing(root, note)
    write_bytes(root / RECIPE, recipe_yaml(request.recipe))
    for name, data in tables.items():
        write_bytes(root / name, data)
    write_note(root, note)
    return note


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table.combine_chunks(), buffer)
    return buffer.getvalue()


def _sound_note(root: Path, request: Request) -> BuildNote | None:
    """The note of what the folder holds, if it can be gone on with; None when there is none, or
    when the set's own records are damaged and must be made again from the sources.
    """
    try:
        note = read_note(root)
    except DamagedError:
        return None
    if note is None:
        return None
    _refuse_other(root, request, note)
    if not (root / PLAN).is_file() or facts_of(root / PLAN).sha256 != note.plan_sha256:
        return None
    if (root / SET_FILE).is_file():
        try:
            known = read_set(root).files
        except DamagedError:
            return None
        if any(
            not (root / name).is_file() or facts_of(root / name) != known[name]
            for name in (CANDIDATES, RECIPE)
        ):
            return None
    return note


def _refuse_other(root: Path, request: Request, note: BuildNote) -> None:
    changed = differences(note.request, request.identity()) + differences(
        note.versions, deciding_versions(request), "version"
    )
    if changed:
        shown = "; ".join(changed[:5]) + (
            f"; and {len(changed) - 5} more" if len(changed) > 5 else ""
        )
        raise SetError(
            f"{root}: holds a set begun with other settings ({shown}); repeat its command as it"
            " was, or choose another folder"
        )


def _report(root: Path, info: SetInfo, made: int, passed: dict[str, Counter[str]]) -> Report:
    candidates = read_table(root / CANDIDATES, columns=["source", "reason"])
    refused = read_table(root / REFUSED, columns=["source", "stage", "reason"]).to_pylist()
    reasons: dict[str, Counter[str]] = {}
    for source, reason in zip(
        candidates["source"].to_pylist(), candidates["reason"].to_pylist(), strict=True
    ):
        if reason == SPARE:
            reasons.setdefault(source, Counter())[reason] += 1
    for row in refused:
        reasons.setdefault(row["source"], Counter())[row["reason"]] += 1
    return Report(root, info, len(candidates), reasons, made, passed)
