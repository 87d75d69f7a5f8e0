"""Publishing a unit, its receipt last, and closing a set: tables, lists, then `set.json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...engines.engine import Engine
from ...engines.local import LocalEngine
from ...storage import atomic
from ...storage.parquet import pc, pq, read_table
from ...storage.stores import map_concurrent
from ...storage.untrusted import FORMAT, parse_json, read_regular
from ..labels.coco import annotation_path, write_annotations
from ..labels.label_table import read_about, read_left_out
from ..labels.photo_labels import BOXES, labels_of
from ..selection.plan import SPARE, SPLITS, TEST
from .info import CANDIDATES, PAIRS, REFUSED, WORK_FOLDER, BuildNote, SetInfo, facts_of, write_set
from .layouts import layout_named
from .layouts.layout import split_of, unit_number
from .receipts import Receipt, RefusedPair, receipt_path, write_receipt
from .sample import LOW, NORMAL, Sample, ending
from .tables import REFUSED_SCHEMA, read_checked, schema_of, unit_table

LABELS_STAGE = "labels"
"""The stage, in `refused.parquet`, of annotations that are not taken."""
_MANY = 4000  # pairs whose records are worth other processes


def publish_unit(
    root: Path,
    layout: str,
    unit: str,
    fingerprint: str,
    samples: Iterable[Sample],
    refused: Sequence[RefusedPair] = (),
    left_out: Sequence[RefusedPair] = (),
) -> Receipt:
    """Write a unit, then its receipt.

    samples: taken one by one; what it raises leaves nothing published. Without any, the unit has no
      files.
    refused: looked at after the samples.
    left_out: annotations that do not fit their photographs; looked at after the samples.
    """
    records: list[bytes] = []
    with layout_named(layout).writer(root, unit) as out:
        for sample in samples:
            out.add(sample)
            records.append(sample.record_bytes)
        files = out.close() if records else []
    receipt = Receipt(
        format=FORMAT,
        unit=unit,
        fingerprint=fingerprint,
        pairs=len(records),
        refused=list(refused),
        left_out=list(left_out),
        files=files,
    )
    if records:
        keep_records(root, receipt, records)
    write_receipt(root, receipt)
    return receipt


def keep_records(root: Path, receipt: Receipt, records: Sequence[bytes]) -> None:
    """Note a unit's records where a build works, so that closing it need not read them again."""
    data = b"".join(records)
    seal = f"{receipt.sealed().sha256} {atomic.sha256_bytes(data)}\n".encode()
    atomic.write_bytes(_records_path(root, receipt.unit), seal + data)


def read_kept_records(root: Path, receipt: Receipt) -> list[dict[str, Any]] | None:
    """Return the records that `keep_records` kept of this unit, if any."""
    try:
        seal, _, data = read_regular(_records_path(root, receipt.unit)).partition(b"\n")
    except OSError:
        return None
    if seal.split() != [receipt.sha256.encode(), atomic.sha256_bytes(data).encode()]:
        return None
    return [parse_json(record) for record in data.splitlines()]


def _records_path(root: Path, unit: str) -> Path:
    return root / WORK_FOLDER / "records" / f"{unit}.jsonl"


def finish_set(
    root: Path,
    recipe: str,
    note: BuildNote,
    libraries: dict[str, str],
    draw_fields: list[pa.Field],
    *,
    receipts: dict[str, Receipt],
    engine: Engine | None = None,
) -> SetInfo:
    """Write tables, lists and `set.json` of a set whose units are done, and delete its work folder.

    libraries: versions for the record.
    draw_fields: columns of the drawn parameters, named by their paths in the records' `draw`.
    engine: reads the records of large sets; this process by default.
    """
    layout = note.request.output.layout
    receipts = {
        unit: receipts[unit]
        for unit in sorted(receipts, key=lambda unit: (split_of(unit), unit_number(unit)))
    }
    by_split = {
        split: [receipts[unit] for unit in units] for split, units in groupby(receipts, split_of)
    }

    files = [root / name for name in note.planned_by]
    files.append(_write_pairs(root, layout, receipts, note.labelled, draw_fields, engine))
    if note.labelled:
        files += _write_annotations(root, layout, by_split, note.lows_only)
    files.append(_write_refused(root, receipts, read_left_out(root) if note.labelled else []))
    for split, own in by_split.items():
        files += layout_named(layout).write_lists(root, split, [one for one in own if one.pairs])
    facts = dict(zip(files, map_concurrent(facts_of, files, root), strict=True))
    facts |= {receipt_path(root, unit): receipt.facts() for unit, receipt in receipts.items()}
    counts = {
        split: sum(receipt.pairs for receipt in by_split.get(split, ()))
        for split in SPLITS
        if split != TEST or TEST in by_split
    }
    counts["refused"] = photographs_in(read_table(root / REFUSED)).num_rows
    info = SetInfo(
        name=note.request.output.name,
        layout=layout,
        seed=note.request.seed,
        recipe=recipe,
        counts=counts,
        fingerprint=note.fingerprint,
        build=note,
        libraries=libraries,
        units={unit: receipt.pairs for unit, receipt in receipts.items()},
        files={path.relative_to(root).as_posix(): one for path, one in facts.items()},
    ).sealed()
    atomic.remove_temporaries(root)
    write_set(root, info)
    atomic.remove_tree(root / WORK_FOLDER)
    return info


def _write_pairs(
    root: Path,
    layout: str,
    receipts: dict[str, Receipt],
    labelled: bool,
    draw_fields: list[pa.Field],
    engine: Engine | None,
) -> Path:
    """Write `pairs.parquet`, a row group a unit, so that memory does not grow with the set."""
    filled = [receipt for receipt in receipts.values() if receipt.pairs]
    records = layout_named(layout).records
    members = next(records(root, filled[0]))["members"] if filled else (LOW, NORMAL)
    schema = schema_of(members, labelled, draw_fields)
    read = partial(_unit_rows, root, layout, schema)
    if sum(receipt.pairs for receipt in filled) > _MANY:
        tables = (engine or LocalEngine()).map(read, filled)
    else:
        tables = map_concurrent(read, filled, root)
    path = root / PAIRS
    with atomic.atomic_write(path) as handle, pq.ParquetWriter(handle, schema) as writer:
        for table in tables:
            writer.write_table(table)
    return path


def _unit_rows(root: Path, layout: str, schema: pa.Schema, receipt: Receipt) -> pa.Table:
    split, number = split_of(receipt.unit), unit_number(receipt.unit)
    return unit_table(_unit_records(root, layout, receipt), split, number, schema)


def _unit_records(root: Path, layout: str, receipt: Receipt) -> Iterable[dict[str, Any]]:
    kept = read_kept_records(root, receipt)
    return layout_named(layout).records(root, receipt) if kept is None else kept


def _write_annotations(
    root: Path, layout: str, by_split: dict[str, list[Receipt]], lows_only: bool
) -> list[Path]:
    """Write the labels of lows and of normals in COCO's form, where there are boxes or captions."""
    classes, roles = read_about(root)
    if BOXES not in roles:
        return []
    written, first = [], 0
    for split, receipts in by_split.items():
        rows = partial(_named_rows, root, layout, receipts, first)
        head = next(rows(NORMAL), None)
        there = () if head is None else head[2]["members"]
        captions = any(labels_of(record)["captions"] for _, _, record in rows(NORMAL))
        for member in (LOW,) if lows_only else (LOW, NORMAL):
            for kind in ("instances", "captions")[: 1 + captions]:
                if member in there:
                    path = root / annotation_path(kind, member, split)
                    written.append(write_annotations(path, rows(member), classes, kind))
        first += sum(receipt.pairs for receipt in receipts)
    return written


def _named_rows(
    root: Path, layout: str, receipts: list[Receipt], first: int, member: str
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield of each pair of some units, counted from `first`: number, file of a member, record."""
    for one in receipts:
        for record in _unit_records(root, layout, one) if one.pairs else ():
            name = ending(member, record["members"][member]["suffix"])
            path = layout_named(layout).member_path(split_of(one.unit), record["key"], name)
            yield first, path, record
            first += 1


def photographs_in(refused: pa.Table) -> pa.Table:
    """Return the rows of `refused.parquet` that are of photographs, not of their annotations."""
    return refused.filter(pc.not_equal(refused["stage"], LABELS_STAGE))


def _write_refused(
    root: Path, receipts: dict[str, Receipt], left_out: list[dict[str, str]]
) -> Path:
    """Write `refused.parquet`.

    It holds every photograph that was found unsuitable, or that failed when its pair was made, and
    why; and every annotation that is not taken.
    """
    candidates = read_checked(
        root / CANDIDATES, ["key", "source", "path", "reason", "detail"], keyless=True
    )
    reasons = candidates.column("reason").to_numpy(zero_copy_only=False)
    unsuitable = candidates.filter(pa.array((reasons != "") & (reasons != SPARE)))
    rows = [{**row, "stage": "selecting"} for row in unsuitable.to_pylist()]
    built = [one for receipt in receipts.values() for one in receipt.refused]
    rows += [{**one.model_dump(), "stage": "building"} for one in built]
    rows += [{"key": "", "stage": LABELS_STAGE, **one} for one in left_out]
    unlabelled = [one for receipt in receipts.values() for one in receipt.left_out]
    rows += [{**one.model_dump(), "stage": LABELS_STAGE} for one in unlabelled]
    with atomic.atomic_write(root / REFUSED) as handle:
        pq.write_table(pa.Table.from_pylist(rows, schema=REFUSED_SCHEMA), handle)
    return root / REFUSED
