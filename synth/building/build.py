"""Building a set: plan, execute, publish.

`build_request` decides what has to be done, workers do it, `close_set` closes it.

A build that was stopped at any moment goes on with the same request: the plan is on disk before the
first pair is made, and a unit is done when, and only when, its receipt is there. Nothing depends on
which run or worker made what.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import pyarrow as pa

from ...engines.engine import Engine, check_paths
from ...engines.local import LocalEngine
from ...engines.process import available_cores
from ...errors import ConfigError, GloamError, GloamWarning, SetError, SourceError
from ...manifests.config import validate
from ...manifests.recorded_request import OutputOptions
from ...manifests.selection.bounds import EVERYTHING, load_profile
from ...manifests.selection.plan import SPARE, PlanOptions
from ...manifests.sets.close import LABELS_STAGE, finish_set, photographs_in
from ...manifests.sets.info import (
    CANDIDATES,
    README,
    REFUSED,
    WORK_FOLDER,
    BuildNote,
    SetInfo,
    note_path,
)
from ...manifests.sets.receipts import Receipt, read_receipts
from ...manifests.sets.tables import read_checked
from ...manifests.sets.units import each_unit
from ...manifests.sets.workspace import missing_units, prepare_output, working_on
from ...manifests.sources import Source, parse_source
from ...manifests.sources.collections import CLIPS
from ...manifests.sources.spec import name_sources
from ...progress import Progress, Silent, progress_of
from ...storage.atomic import remove_tree, write_bytes
from ...storage.locks import exclusive
from ...storage.parquet import pc, read_table
from ...storage.stores import as_path, in_store
from ...storage.yaml_files import load_yaml
from ..recipes.load import Recipe, load_recipe
from ..recipes.overrides import Overrides, override_texts
from .draw_columns import draw_fields
from .make_unit import make_unit
from .planning import Planned, Run, jobs_of, list_sources, load_or_make_plan, units_of
from .readme import readme
from .request import BuildFile, Request

_WINDOWS = ("frames", "stride", "step")
_RECORDED = ("numpy", "numba", "pyarrow", "pydantic", "scikit-image")


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
            raise ConfigError(f"task {self.index} of {self.count}: must be 0 to {self.count - 1}")


def build_request(
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

    Whoever comes first plans, the others wait for it. When all tasks are done, `build_request` with
    the same request closes the set.

    request, root, workers, cache, progress, engine: as of `build_request`.

    Returns (made, left): shards that this call made, and those of other tasks that are not there
    yet. Raises SetError, SourceError, ConfigError, WorkerLost as of `build_request`.
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
        recipe.name,
        note,
        {name: metadata.version(name) for name in _RECORDED},
        draw_fields(recipe),
        receipts=receipts,
        engine=engine,
    )
    if not (root / README).is_file():  # no part of the set: nothing tells it from an edited one
        write_bytes(root / README, readme(root, info).encode())
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
    request, root = run.request, run.root
    units = units_of(ready.pairs)
    if task is not None:
        units = {unit: units[unit] for unit in [*units][task.index :: task.count]}
    missing = missing_units(root, request.output.layout, units, ready.note)
    if missing:
        listed = ready.listed if ready.listed is not None else list_sources(run)
        wanted = {unit: units[unit] for unit in missing}
        jobs = jobs_of(run, ready, wanted, listed)
        total, left = (sum(map(len, rows.values())) for rows in (units, wanted))
        run.progress.stage("building", total)
        each_unit(make_unit, jobs, run.engine, run.progress.at, total - left)
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


class BuildOptions(TypedDict, total=False):
    """Options of `build` that a request is made of."""

    config: str | Path | None
    recipe: Recipe | str | None
    overrides: Overrides
    profile: str | Path | None
    select: bool | None
    pairs: int | None
    val: int | None
    test: int | None
    seed: int | None
    layout: Literal["shards", "files"] | None
    shard_size: int | None
    low_codec: Literal["png", "jpeg", "none"] | None
    low_quality: int | None
    low_chroma: Literal["444", "422", "420"] | None
    max_side: int | None
    max_pixels: int | None
    labels: bool | None
    frames: int | None
    stride: int | None
    step: int | None
    name: str | None
    exclude: str | Path | Iterable[str | Path]


def build(
    root: str | Path,
    sources: str | Source | Iterable[str | Source] = (),
    *,
    workers: int | None = None,
    cache: str | Path | None = None,
    progress: Progress | bool | None = None,
    max_refused: float = 1.0,
    engine: Engine | None = None,
    **options: Unpack[BuildOptions],
) -> Report:
    """Make a set of pairs from photographs, or continue one that the same call began.

    Parameters
    ----------
    root : str or Path
        Folder of the set; new, empty, or of this same build.
    sources : str, Source, or several
        Photographs, as `folder=photos` or `voc=VOCdevkit/VOC2012@trainval:1000`; those inside
        scikit-image where there are none.
    config : str or Path, optional
        A build file; other arguments override it.
    pairs, val, test : int, optional
        Number of pairs in all (default: every suitable photograph), for validation (default: a
        hundredth, at least one; an existing set keeps its own) and for testing (default: 0).
    recipe : Recipe or str, optional
        A shipped recipe's name, a YAML file, or a loaded recipe ("train-any").
    overrides : dict, str or iterable of str
        Single values of the recipe to change, such as `{"camera.iso": 3200}` or `camera.iso=3200`.
    seed : int, optional
        Random seed (0).
    layout, shard_size, low_codec, low_quality, low_chroma, max_side, max_pixels, labels, name
        Optional.
        See `recorded_request.OutputOptions` and `plan.PlanOptions`.
    frames, stride, step : int, optional
        Windows of `clips=` sources: frames of each clip, frame step within a clip (1), and frames
        from the start of one clip to the start of the next (`frames`).
    profile : str or Path, optional
        YAML bounds on suitable photographs.
    select : bool, optional
        False takes every photograph that can be read.
    exclude : str, Path, or several
        Sets whose scenes to leave out, such as a benchmark's: folders of images, gloam's sets, or
        real ones as "lol-v1=FOLDER"; see `gloam.leaks`. Photographs in frames, or of which such a
        picture is a smaller part, are not looked for.
    workers : int, optional
        Processes, by default as many as there are cores. They change no byte.
    cache : str or Path, optional
        Folder to keep measurements in, for later builds.
    progress : Progress or bool, optional
        Receives the progress. By default bars, in a terminal or a notebook; none for False.
    max_refused : float
        Largest share of the planned pairs that may fail while they are made.
    engine : Engine, optional
        Does the work, instead of processes of this machine.

    Returns
    -------
    Report

    Raises
    ------
    ConfigError, SourceError, SetError, WorkerLost
        See `build_request` beside it.

    Examples
    --------
    >>> import gloam
    >>> report = gloam.build("made", ["folder=photos"], val=1, recipe="even", select=False)
    >>> report.info.counts
    {'train': 5, 'val': 1, 'refused': 0}
    """
    request = make_request(sources, **options)
    cached, own = None if cache is None else as_path(cache), workers or available_cores()
    with progress_of(progress) as shown:
        return build_request(request, as_path(root), own, cached, shown, max_refused, engine=engine)


def make_request(
    sources: str | Source | Iterable[str | Source], **options: Unpack[BuildOptions]
) -> Request:
    """Make a request from a build file and options, which override it; all are those of `build`.

    Raises ConfigError with the key, its value and what is allowed.
    """
    given = {name: one for name, one in _renamed(options).items() if one is not None}
    config, profile, select = (given.pop(name, None) for name in ("config", "profile", "select"))
    recipe, overrides = given.pop("recipe", None), given.pop("overrides", ())
    values = _renamed(load_yaml(as_path(config)) if config else {})
    file = validate(BuildFile, values, str(config))
    if select is False and profile:
        raise ConfigError("--no-select and --profile exclude each other")
    named = [sources] if isinstance(sources, str | Source) else sources
    chosen = [parse_source(one) if isinstance(one, str) else one for one in named]
    chosen = chosen or list(file.sources)
    takes_everything = select is False or (select is None and not file.select and not profile)
    bounds = Path(profile) if profile else (Path(file.profile) if file.profile else None)
    exclude = given.pop("exclude", ()) or file.exclude
    excluded = [exclude] if isinstance(exclude, str | Path) else exclude
    if excluded:
        from ..measures.leaks import pictures  # for no help to wait for

        pictures.cache_clear()  # a folder may hold other ones by now
    windows = {name: given.pop(name) for name in _WINDOWS if name in given}
    if windows and not any(source.kind == CLIPS for source in chosen):
        first = next(iter(windows))
        raise ConfigError(f"--{first} is of {CLIPS}= sources; there is none", key=first)
    chosen = [_with_windows(source, windows) for source in chosen]
    fields = OutputOptions.model_fields
    output = file.output.model_dump() | {k: v for k, v in given.items() if k in fields}
    plan = {"val": None} | file.plan.model_dump(exclude_unset=True)
    plan |= {k: v for k, v in given.items() if k not in fields}
    changes = [*override_texts(file.set), *override_texts(overrides)]
    return validate(
        Request,
        {
            "sources": tuple(name_sources(chosen or [Source(kind="sample")])),
            "profile": EVERYTHING if takes_everything else load_profile(bounds),
            "plan": validate(PlanOptions, plan, "options"),
            "recipe": load_recipe(file.recipe if recipe is None else recipe, changes),
            "output": validate(OutputOptions, output, "options"),
            "not_like": tuple(map(str, excluded)),
        },
        "options",
    )


def _renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a call or a file under the names that they have now."""
    made = dict(values)
    if made.get("not_like"):
        warnings.warn("not_like is called exclude now", GloamWarning, stacklevel=4)
        made["exclude"] = made["not_like"]
    made.pop("not_like", None)
    return made


def _with_windows(source: Source, windows: dict[str, Any]) -> Source:
    """Return a source of clips with the windows that were asked for; others as they are."""
    if source.kind != CLIPS:
        return source
    values = source.model_dump() | windows
    if not values["frames"]:
        raise ConfigError(
            f"{CLIPS}={source.path}: say how many frames a clip has: --frames 8, say", key="frames"
        )
    return validate(Source, values, "options")
