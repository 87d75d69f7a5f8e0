"""Building a set: plan, execute, publish.

`build` decides what has to be done, workers do it, `close_set` closes it.

A build that was stopped at any moment goes on with the same request: the plan is on disk before the
first pair is made, and a unit is done when, and only when, its receipt is there. Nothing depends on
which run or worker made what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ...engines.engine import Engine, check_paths
from ...engines.local import LocalEngine
from ...errors import ConfigError, GloamError, SetError, SourceError
from ...manifests.selection.plan import SPARE
from ...manifests.sets.close import LABELS_STAGE, finish_set, photographs_in
from ...manifests.sets.info import CANDIDATES, REFUSED, WORK_FOLDER, BuildNote, SetInfo, note_path
from ...manifests.sets.receipts import Receipt, read_receipts
from ...manifests.sets.tables import read_checked
from ...manifests.sets.workspace import missing_units, prepare_output, working_on
from ...progress import Progress, Silent
from ...storage.atomic import remove_tree
from ...storage.locks import exclusive
from ...storage.stores import in_store
from ...storage.tables import read_table
from ..recipes.load import Recipe
from .cards.readme import write_readme
from .draw_columns import draw_fields
from .jobs import jobs_of, units_of
from .planning import Planned, Run, list_sources, load_or_make_plan
from .request import Request, recorded_versions
from .worker import make_unit


@dataclass(frozen=True)
class Report:
    """The result of a build.

    reasons: dict of source to Counter of reason, photographs that did not become pairs, those that
      the number of pairs left out included.
    passed: dict of source to Counter of kind, files of the sources that may be photographs and are
      not taken, where this run listed them.
    left_out: dict of source to list of (reason, detail), annotations that are not taken.
    """

    root: Path
    info: SetInfo
    candidates: int  # photographs that the sources hold
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    made: int = 0  # units that this run made; the others were done before
    passed: dict[str, Counter[str]] = field(default_factory=dict)
    left_out: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Report {self.root}: {self.info!r}, of {self.candidates:,} candidates>"


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
    *,
    engine: Engine | None = None,
) -> Report:
    """Build a set, or continue or repair one that the same request began.

    root: folder of the set; new, empty, or of this same build.
    workers: processes of this machine. Has no influence on a single byte.
    cache: folder to keep measurements of candidates in, for later builds; by default they live as
      long as the build.
    max_refused: largest share of the planned pairs that may fail while they are made; with more the
      set is left open.
    engine: where the work is done, instead of processes of this machine.

    Raises SetError when the folder cannot be written, holds something else, or a build with another
    request; or when too many pairs failed, all of which it names; SourceError when a source is
    missing, broken, or changed since the plan was made; ConfigError when there are fewer suitable
    candidates than pairs asked for; WorkerLost when a worker died:
    as after any other stop, the same call continues.
    """
    run = _begun(request, root, engine or LocalEngine(workers), cache, progress)
    with _undo_if_new(root), working_on(root):
        ready = load_or_make_plan(run)
        made = _make_missing(run, ready)
        receipts = _receipts(root, ready.pairs, max_refused)
        info = close_set(root, request.recipe, ready.note, receipts, run.engine)
        return _report(root, info, made, run.passed)


def build_task(
    request: Request,
    root: Path,
    task: Task,
    workers: int = 1,
    cache: Path | None = None,
    progress: Progress | None = None,
    *,
    engine: Engine | None = None,
) -> tuple[int, int]:
    """Make the shards of one task of a build that several processes or machines share.

    They share it on one file system.

    Whoever comes first plans, the others wait for it. When all tasks are done, `build` with the
    same request closes the set.

    request, root, workers, cache, progress, engine: as of `build`.

    Returns (made, left): shards that this call made, and those of other tasks that are not there
    yet. Raises SetError, SourceError, ConfigError, WorkerLost as of `build`.
    """
    run = _begun(request, root, engine or LocalEngine(workers), cache, progress)
    prepare_output(root)
    with exclusive(root / WORK_FOLDER / "lock", shared=True):
        with exclusive(root / WORK_FOLDER / "planning", wait=True):
            ready = load_or_make_plan(run)
        made = _make_missing(run, ready, task)
        units = units_of(ready.pairs)
        return made, len(missing_units(root, request.output.layout, units, ready.note))


def close_set(
    root: Path, recipe: Recipe, note: BuildNote, receipts: dict[str, Receipt], engine: Engine
) -> SetInfo:
    """Write the tables and the `set.json` of a set whose units are all done, and its README.md."""
    info = finish_set(
        root,
        note.request.output.name,
        note.request.output.layout,
        recipe.name,
        note,
        recorded_versions(),
        draw_fields(recipe),
        receipts=receipts,
        engine=engine,
    )
    write_readme(root, info)
    return info


class _NoPairs(SourceError):
    """All photographs are refused."""


@contextmanager
def _undo_if_new(root: Path) -> Iterator[None]:
    """After an error, remove the set's folder again if it is new and holds no plan, or no pair.

    Measurements that took long are kept: the next try, with other numbers, begins with them.
    """
    new = not in_store(root) and not root.exists()
    try:
        yield
    except GloamError as error:
        work = root / WORK_FOLDER
        parts = list((work / "measured").glob("part-*")) if work.is_dir() else []
        if new and not note_path(root).is_file() and len(parts) <= 1:
            remove_tree(work)
            with suppress(OSError):
                root.rmdir()
        elif new and isinstance(error, _NoPairs):
            remove_tree(root)
        raise


def _begun(
    request: Request, root: Path, engine: Engine, cache: Path | None, progress: Progress | None
) -> Run:
    check_paths(engine, root, cache, *(source.path for source in request.sources))
    if isinstance(engine, LocalEngine) and engine.workers > 1 and in_store(root):
        engine = replace(engine, workers=engine.workers + 1)  # as one waits for the store
    return Run(request, root, engine, cache, progress or Silent())


def _make_missing(run: Run, ready: Planned, task: Task | None = None) -> int:
    """Make the units that are not there (of one task); how many those were."""
    request, root, progress = run.request, run.root, run.progress
    units = units_of(ready.pairs)
    if task is not None:
        units = {
            unit: rows
            for i, (unit, rows) in enumerate(units.items())
            if i % task.count == task.index
        }
    missing = missing_units(root, request.output.layout, units, ready.note)
    if missing:
        listed = ready.listed if ready.listed is not None else list_sources(run)
        wanted = {unit: units[unit] for unit in missing}
        jobs = jobs_of(run, ready, wanted, listed)
        total = sum(map(len, units.values()))
        before = total - sum(map(len, wanted.values()))
        progress.stage("building", total)
        progress.at(before)
        for _ in run.engine.map(make_unit, jobs, lambda counted: progress.at(before + counted)):
            pass
    return len(missing)


def _receipts(root: Path, plan: pa.Table, most: float) -> dict[str, Receipt]:
    """Read all units' receipts; too many refused pairs, and no pair at all, are an error."""
    receipts = read_receipts(root, list(units_of(plan)))
    refused = [refused for receipt in receipts.values() for refused in receipt.refused]
    if len(refused) == len(plan):
        counted = Counter(one.reason for one in refused).most_common()
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in counted)
        first = refused[0]
        raise _NoPairs(
            f"{first.source}: all {len(plan):,} photographs are refused ({reasons}), such as"
            f" {first.path}: {first.detail}; name a source of photographs that can be read"
        )
    if len(refused) > most * len(plan):
        named = "\n".join(
            f"  {one.source}: {one.path}: {one.reason}: {one.detail}" for one in refused
        )
        raise SetError.at(
            root,
            f"{len(refused)} of {len(plan)} planned pairs failed, more than --max-refused"
            f" allows ({most:.3g} of them); the set is left open, and the same command with a"
            f" larger --max-refused closes it without them:\n{named}",
        )
    return receipts


def _report(root: Path, info: SetInfo, made: int, passed: dict[str, Counter[str]]) -> Report:
    candidates = read_checked(root / CANDIDATES, ["source", "reason"])
    refused = read_table(root / REFUSED)
    spare = candidates.filter(pc.equal(candidates["reason"], SPARE))
    reasons: dict[str, Counter[str]] = {}
    for row in (*spare.to_pylist(), *photographs_in(refused).to_pylist()):
        reasons.setdefault(row["source"], Counter())[row["reason"]] += 1
    left_out: dict[str, list[tuple[str, str]]] = {}
    for row in refused.to_pylist():
        if row["stage"] == LABELS_STAGE:
            left_out.setdefault(row["source"], []).append((row["reason"], row["detail"]))
    return Report(root, info, len(candidates), reasons, made, passed, left_out)
