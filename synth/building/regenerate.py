"""Regenerate a set from its own shards: with other noise, other splits, or in the other layout."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from ...engines.engine import Engine
from ...engines.local import LocalEngine
from ...engines.process import available_cores
from ...errors import DamagedError, SetError
from ...manifests.config import validate
from ...manifests.labels.label_table import LABELS, read_labels
from ...manifests.recorded_request import OutputOptions, RecordedRequest
from ...manifests.selection.plan import PlanOptions, splits_of
from ...manifests.sets.info import (
    PLAN,
    RECIPE,
    BuildNote,
    OriginSet,
    SetInfo,
    differences,
    facts_of,
    read_note,
    write_note,
)
from ...manifests.sets.layouts.layout import split_of, unit_name, unit_number
from ...manifests.sets.pair_set import PairSet, open_set
from ...manifests.sets.receipts import read_receipts
from ...manifests.sets.tables import read_plan
from ...manifests.sets.units import Unit, each_unit
from ...manifests.sets.workspace import missing_units, refuse_changes, refuse_mixing, working_on
from ...progress import Progress, progress_of
from ...storage.atomic import atomic_write, sha256_bytes, write_bytes
from ...storage.parquet import pq
from ...storage.stores import as_path
from ...storage.untrusted import inside, opened
from ..models import form_of
from ..recipes.load import Recipe, load_recipe, recipe_yaml, recorded_recipe
from ..recipes.overrides import Overrides, override_texts
from .build import close_set
from .make_unit import Making, remake_unit
from .planning import parquet_bytes, units_of, warm_workers
from .request import deciding_versions, in_form_of


class Parts(NamedTuple):
    """Parts of a set's units, each of which becomes a unit; in other splits if there is a plan.

    plan: the new `plan.parquet`; b"" where it stays.
    labels: the new `labels.parquet`, its row groups being those of the new plan; b"" where there
    are no labels.
    """

    units: list[Unit]
    plan: bytes = b""
    labels: bytes = b""


def regenerate(
    origin: PairSet | str | Path,
    root: str | Path,
    recipe: Recipe | str | None = None,
    overrides: Overrides = (),
    seed: int | None = None,
    workers: int | None = None,
    progress: Progress | bool | None = None,
    *,
    val: int | None = None,
    test: int | None = None,
    lows_only: bool = False,
    engine: Engine | None = None,
) -> SetInfo:
    """Make the same pairs with another recipe, other values of it, or another seed; or split anew.

    Keys, splits, order and shard boundaries stay, and normals are carried over byte for byte. With
    nothing changed the result has the bytes of `origin`. Stopped, the same call continues. With
    `val` or `test` alone lows and draws stay too: only the splits are others.

    Parameters
    ----------
    origin : Path
        A finished set.
    root : Path
        Folder of the new one: new, empty, or begun by the same call.
    recipe : Recipe, optional
        By default the set's own.
    overrides : dict, str or iterable of str
        Single values to change, as of `load_recipe`.
    seed : int, optional
        Random seed of the lows.
    workers, progress, engine
        See `gloam.build`.
    val, test : int, optional
        Pairs for validation and for testing, by default as many as `origin` was built with. They
        are those that a build with these numbers chooses.
    lows_only : bool
        Leave the normals in `origin`, and write lows and records only. Loaders take the two sets
        together.

    Raises
    ------
    SetError
        When `origin` is not finished or damaged, or `root` holds something else or was begun with
        other settings.
    ConfigError
        When a value is wrong.

    Examples
    --------
    >>> import gloam
    >>> info = gloam.regenerate("SET", "noisier", overrides=["camera.iso=6400"])
    >>> info.counts["train"]
    4
    """
    origin, root = open_set(origin), as_path(root)
    recipe = load_recipe(recipe) if isinstance(recipe, str) else recipe
    overrides = override_texts(overrides)
    known = origin.info.build.request
    chosen = load_recipe(
        recipe or recorded_recipe(known.recipe, f"recipe of {origin.root}"), overrides
    )
    changed: dict[str, Any] = {"recipe": chosen.model_dump(mode="json")}
    if lows_only and origin.live:
        raise SetError.at(
            origin.root,
            "holds no lows, but draws: regenerate it without --lows-only, which is quick",
        )
    if seed is not None:
        changed["low_seed"] = None if seed == known.plan.seed else seed
    plan = _other_splits(origin, val, test)
    parts = None
    if plan is not None:
        if lows_only:
            raise SetError.at(
                origin.root,
                "sets of lows only have the splits of the set that holds their normals; leave out"
                " --lows-only, or --val and --test",
            )
        changed["plan"] = plan.model_dump(exclude_unset=True)
        parts = split_again(origin, plan.val or 0, plan.test)
    request = validate(RecordedRequest, known.model_dump() | changed, "options")
    kept = parts is not None and recipe is None and not overrides and seed is None
    with progress_of(progress) as shown:
        engine = engine or LocalEngine(workers or available_cores())
        recipe = None if kept else chosen
        return _remake(origin, root, request, recipe, engine, shown, lows_only, parts=parts)


def _other_splits(origin: PairSet, val: int | None, test: int | None) -> PlanOptions | None:
    """Return the set's plan with other numbers; None where they are those that it has."""
    plan = origin.info.build.request.plan
    wanted = plan.val if val is None else val, plan.test if test is None else test
    if wanted == (plan.val, plan.test):
        return None
    values = plan.model_dump(exclude_unset=True, exclude={"test"}) | {"val": wanted[0]}
    return validate(PlanOptions, values | ({"test": wanted[1]} if wanted[1] else {}), "options")


def export_layout(
    origin: PairSet,
    root: Path,
    layout: str,
    low_codec: Literal["png", "jpg", "none"],
    engine: Engine,
    progress: Progress,
) -> SetInfo:
    """Write the pairs of a set in another layout; see `gloam.export`."""
    known = origin.info.build.request
    values = known.output.model_dump(exclude_unset=True) | {"layout": layout}
    if origin.live:
        values["low_codec"] = low_codec
    output = validate(OutputOptions, values, "options")
    request = known.model_copy(update={"output": output})
    return _remake(origin, root, request, None, engine, progress)


def _remake(
    origin: PairSet,
    root: Path,
    request: RecordedRequest,
    recipe: Recipe | None,
    engine: Engine,
    progress: Progress,
    lows_only: bool = False,
    *,
    parts: Parts | None = None,
) -> SetInfo:
    origin.check_pass(engine, root)
    parts = parts or Parts([replace(unit, into=unit.name) for unit in origin.units()])
    if recipe is not None:
        warm_workers(engine, request.output.low_codec)
    note = _note(origin.info, request, recipe, lows_only, parts)
    output, form = note.request.output, form_of(note.versions)
    how = Making(root, note.fingerprint, recipe, note.request.seed, output, form, note.lows_only)
    units = {unit.into: unit for unit in parts.units}
    with working_on(root):
        _begin(origin.root, root, note, parts)
        missing = [units[name] for name in missing_units(root, output.layout, units, note)]
        left = sum(len(unit.keys or ()) or unit.count for unit in missing)
        progress.stage("building", len(origin))
        job = partial(remake_unit, how)
        each_unit(job, missing, engine, progress.at, len(origin) - left)
        own = recipe or recorded_recipe(request.recipe, f"recipe of {origin.root}")
        return close_set(root, own, note, read_receipts(root, list(units)), engine)


def _note(
    info: SetInfo, request: RecordedRequest, recipe: Recipe | None, lows_only: bool, parts: Parts
) -> BuildNote:
    """Return what the new set is a function of; unchanged, the old set's own note."""
    changed = differences(info.build.request.model_dump(), request.model_dump())
    # What its photographs were chosen and decoded by stays that of the old set.
    decided = ("measures", "av")
    chosen = {name: version for name, version in info.build.versions.items() if name in decided}
    versions = info.build.versions if recipe is None else deciding_versions(recipe) | chosen
    if not changed:
        versions = in_form_of(info.build.versions, versions)
    changed += differences(info.build.versions, versions, "version")
    if not changed and not lows_only:
        return info.build
    origin: OriginSet = {"name": info.name, "sha256": info.sha256, "changed": changed}
    if lows_only:
        origin["lows_only"] = True
    plan = sha256_bytes(parts.plan) if parts.plan else info.build.plan_sha256
    labels = sha256_bytes(parts.labels) if parts.labels else info.build.labels_sha256
    return BuildNote(
        request=request, versions=versions, plan_sha256=plan, origin=origin, labels_sha256=labels
    )


def _begin(origin: Path, root: Path, note: BuildNote, parts: Parts) -> None:
    """Write the plan, or see that it was this same call that began the folder."""
    try:
        begun = read_note(root)
    except DamagedError:
        begun = None
        refuse_mixing(root, note)
    if begun is not None:
        refuse_changes(root, differences(begun.model_dump(), note.model_dump()))
    recipe = recorded_recipe(note.request.recipe, f"recipe of {origin}")
    own = {RECIPE: recipe_yaml(recipe), PLAN: parts.plan, LABELS: parts.labels}
    for name in note.planned_by:
        if own.get(name):
            write_bytes(root / name, own[name])
            continue
        wanted = facts_of(inside(origin, name))
        if name == PLAN and wanted.sha256 != note.plan_sha256:
            raise SetError.at(origin / name, "damaged; gloam build with the set's options mends it")
        if not (root / name).is_file() or facts_of(root / name) != wanted:
            with opened(origin, name) as source, atomic_write(root / name) as copy:
                shutil.copyfileobj(source, copy)
    if begun is None:
        write_note(root, note)


def split_again(origin: PairSet, val: int, test: int) -> Parts:
    """Choose other validation and test pairs of a finished set.

    They are those that a build with these numbers would choose. Each shard is cut into one of every
    split, so that a pair is read and written once, and never moves between shards.

    Raises ConfigError when nothing would be left to train on; SetError when it is a set of clips,
    whose sequences may not be parted.
    """
    if origin.frames:
        raise SetError.at(
            origin.root, "holds clips, which are split when they are built: gloam build --val N"
        )
    old = read_plan(origin.root)
    keys = old["key"].to_pylist()
    splits = splits_of(keys, origin.info.build.request.plan.seed, val, test)
    parts: list[Unit] = []
    units = {unit.name: unit for unit in origin.units()}
    rows: dict[str, list[int]] = {}
    counts: dict[str, int] = {}
    for unit, own in units_of(old).items():
        for split in dict.fromkeys(splits[row] for row in own):
            new = unit_name(split, counts.setdefault(split, 0))
            counts[split] += 1
            rows[new] = [row for row in own if splits[row] == split]
            part = frozenset(keys[row] for row in rows[new])
            parts.append(replace(units[unit], keys=part, into=new))
    order = sorted(rows, key=lambda unit: (list(counts).index(split_of(unit)), unit_number(unit)))
    return Parts(parts, *_tables(origin, old, {unit: rows[unit] for unit in order}))


def _tables(origin: PairSet, old: pa.Table, rows: dict[str, list[int]]) -> tuple[bytes, bytes]:
    """Return the plan and the labels of new units, each of which has some rows of the old plan."""
    plan = old.take([row for own in rows.values() for row in own])
    for name, values in (
        ("split", [split_of(unit) for unit, own in rows.items() for _ in own]),
        ("shard", [unit_number(unit) for unit, own in rows.items() for _ in own]),
    ):
        place = plan.column_names.index(name)
        plan = plan.set_column(place, plan.field(name), pa.array(values, plan.field(name).type))
    labelled = io.BytesIO()
    if origin.info.build.labelled:
        labels = read_labels(origin.root)  # in the order of the plan
        left_out, about = labels.slice(len(plan)).combine_chunks(), labels.schema.metadata
        if len(left_out):
            about = {**about, b"left_out": str(len(rows)).encode()}
        with pq.ParquetWriter(labelled, labels.schema.with_metadata(about)) as writer:
            for own in rows.values():
                writer.write_table(labels.take(own).combine_chunks(), row_group_size=len(own))
            if len(left_out):
                writer.write_table(left_out, row_group_size=len(left_out))
    return parquet_bytes(plan.combine_chunks()), labelled.getvalue()
