"""Closing a set.

When every unit has its receipt, its tables and lists are written, then `set.json`, and it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...engines.engine import Engine
from ...engines.local import LocalEngine
from ...storage.atomic import atomic_write, remove_temporaries, remove_tree
from ...storage.stores import each
from ...storage.tables import count_rows, read_table
from ..selection.plan import SPARE
from .info import (
    CANDIDATES,
    PAIRS,
    PLAN,
    RECIPE,
    REFUSED,
    WORK_FOLDER,
    BuildNote,
    SetInfo,
    facts_of,
    write_set,
)
from .layouts import layout_named
from .layouts.layout import unit_name
from .publish_unit import kept_records
from .receipts import Receipt, read_receipts, receipt_path
from .sample import LOW, NORMAL

_MANY = 4000  # pairs whose records are worth other processes
_PAIR_FIELDS = [
    pa.field("key", pa.string()),
    pa.field("split", pa.string()),
    pa.field("shard", pa.int32()),
    pa.field("source", pa.string()),
    pa.field("path", pa.string()),
    pa.field("width", pa.int32()),
    pa.field("height", pa.int32()),
    pa.field("converted", pa.string()),
]
_MEMBER_FIELDS = [("sha256", pa.string()), ("bytes", pa.int64()), ("suffix", pa.string())]
_REFUSED_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("key", "source", "path", "stage", "reason", "detail")]
)


def finish_set(
    root: Path,
    name: str,
    layout: str,
    recipe: str,
    note: BuildNote,
    libraries: dict[str, str],
    draw_fields: list[pa.Field],
    *,
    receipts: dict[str, Receipt] | None = None,
    engine: Engine | None = None,
) -> SetInfo:
    """Write the tables, lists and `set.json` of a set whose units are all done.

    Then delete the work folder.

    Parameters
    ----------
    root : Path
    name, layout, recipe : str
        As `SetInfo` holds them.
    note : BuildNote
    libraries : dict
        Versions for the record.
    draw_fields : list of pyarrow.Field
        Columns of the drawn parameters, named by their paths in the records' `draw`.
    receipts : dict, optional
        Of all units, by their names, if they were read already.
    engine : Engine, optional
        Where the records of large sets are read; here by default.
    """
    plan = read_table(root / PLAN, columns=["split", "shard"])
    units = sorted(set(zip(plan["split"].to_pylist(), plan["shard"].to_pylist(), strict=True)))
    names = {unit_name(split, number): (split, number) for split, number in units}
    receipts = receipts or read_receipts(root, list(names))
    receipts = {unit: receipts[unit] for unit in names}

    files = [root / RECIPE, root / PLAN, root / CANDIDATES]
    files.append(_write_pairs(root, layout, names, receipts, draw_fields, engine))
    files.append(_write_refused(root, receipts))
    for split in sorted({split for split, _ in units}):
        own = [receipts[unit] for unit, (s, _) in names.items() if s == split]
        held = [receipt for receipt in own if receipt.pairs]
        files += layout_named(layout).write_lists(root, split, held)
    facts = dict(zip(files, each(facts_of, files, root), strict=True))
    facts |= {receipt_path(root, unit): receipts[unit].facts() for unit in names}

    counts = {
        split: sum(r.pairs for u, r in receipts.items() if names[u][0] == split)
        for split in ("train", "val")
    }
    counts["refused"] = count_rows(root / REFUSED)
    info = SetInfo(
        name=name,
        layout=layout,
        seed=low_seed(note),
        recipe=recipe,
        counts=counts,
        fingerprint=note.fingerprint,
        build=note,
        libraries=libraries,
        units={unit: receipt.pairs for unit, receipt in receipts.items()},
        files={path.relative_to(root).as_posix(): one for path, one in facts.items()},
    ).sealed()
    remove_temporaries(root)
    write_set(root, info)
    remove_tree(root / WORK_FOLDER)
    return info


def low_seed(note: BuildNote) -> int:
    """Return the seed that a set's lows are drawn with: the plan's, or one of their own."""
    own = note.request.get("low_seed")
    return int(note.request["plan"]["seed"] if own is None else own)


@dataclass(frozen=True)
class _Rows:
    """The rows of a unit, to be read."""

    root: Path
    layout: str
    receipt: Receipt
    split: str
    shard: int
    schema: pa.Schema


def _write_pairs(
    root: Path,
    layout: str,
    names: dict[str, tuple[str, int]],
    receipts: dict[str, Receipt],
    draw_fields: list[pa.Field],
    engine: Engine | None,
) -> Path:
    """Write `pairs.parquet`, a row group a unit, so that memory does not grow with the set."""
    held = [receipt for receipt in receipts.values() if receipt.pairs]
    members = (
        next(layout_named(layout).records(root, held[0]))["members"] if held else (LOW, NORMAL)
    )
    fields = list(_PAIR_FIELDS)
    fields += [
        pa.field(f"{member}_{name}", kind) for member in members for name, kind in _MEMBER_FIELDS
    ]
    fields += [field.with_name(_column(field.name)) for field in draw_fields]
    schema = pa.schema(fields)
    jobs = (
        _Rows(root, layout, receipts[unit], split, number, schema)
        for unit, (split, number) in names.items()
        if receipts[unit].pairs
    )
    many = sum(receipt.pairs for receipt in held) > _MANY
    tables = (engine if many and engine is not None else LocalEngine()).map(_rows, jobs)
    path = root / PAIRS
    with atomic_write(path) as handle, pq.ParquetWriter(handle, schema) as writer:
        for table in tables:
            writer.write_table(table)
    return path


def _rows(job: _Rows) -> pa.Table:
    """Read the rows of a unit."""
    records: Iterable[dict[str, Any]] | None = kept_records(job.root, job.receipt)
    if records is None:
        records = layout_named(job.layout).records(job.root, job.receipt)
    rows = [_row(record, job.split, job.shard) for record in records]
    return pa.Table.from_pylist(rows, schema=job.schema)


def _row(record: dict[str, Any], split: str, shard: int) -> dict[str, Any]:
    row = {name: record[name] for name in ("key", "source", "path", "width", "height", "converted")}
    row |= {"split": split, "shard": shard}
    row |= {
        f"{member}_{name}": facts[name]
        for member, facts in record["members"].items()
        for name, _ in _MEMBER_FIELDS
    }
    return row | {_column(path): value for path, value in _leaves(record["draw"])}


def _column(path: str) -> str:
    """Name the column of a drawn parameter.

    It is `draw_camera_sensor_gain` for `camera.sensor.gain`.
    """
    return f"draw_{path.replace('.', '_')}"


def _leaves(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the drawn parameters of a record, by their paths."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _write_refused(root: Path, receipts: dict[str, Receipt]) -> Path:
    """Write `refused.parquet`.

    It holds every photograph that was found unsuitable, or that failed when its pair was made, and
    why.
    """
    candidates = read_table(
        root / CANDIDATES, columns=["key", "source", "path", "reason", "detail"]
    )
    rows = list(_unsuitable(candidates))
    rows += [
        {**refused.model_dump(), "stage": "building"}
        for receipt in receipts.values()
        for refused in receipt.refused
    ]
    with atomic_write(root / REFUSED) as handle:
        pq.write_table(pa.Table.from_pylist(rows, schema=_REFUSED_SCHEMA), handle)
    return root / REFUSED


def _unsuitable(candidates: pa.Table) -> Iterator[dict[str, str]]:
    reasons = candidates.column("reason").to_numpy(zero_copy_only=False)
    refused = candidates.filter(pa.array((reasons != "") & (reasons != SPARE)))
    for row in refused.to_pylist():
        yield row | {"stage": "selecting"}
