"""Publishing a unit: its samples are written, then its receipt, which says that it is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...storage.atomic import canonical_json, write_bytes
from ...storage.stores import StorePath
from .info import WORK_FOLDER
from .layouts import layout_named
from .receipts import Receipt, RefusedPair, UnitFile, write_receipt
from .rows import keep_table
from .sample import FORMAT, Sample


def publish_unit(
    root: Path,
    layout: str,
    unit: str,
    fingerprint: str,
    samples: Iterable[Sample],
    refused: Sequence[RefusedPair] = (),
    tabulated: Callable[[list[dict[str, Any]]], pa.Table] | None = None,
) -> Receipt:
    """Write a unit, then its receipt.

    Parameters
    ----------
    root : Path
        Of the set.
    layout : str
        "shards" or "files".
    unit : str
        Such as `train-000000`.
    fingerprint : str
        Of the build.
    samples : iterable of Sample
        Taken one by one; what it raises leaves nothing published. Without any, the unit has no
        files.
    refused : sequence of RefusedPair
        Looked at after the samples.
    tabulated : function of the records, optional
        Returns their rows of `pairs.parquet`, which are kept for closing the set.
    """
    far = isinstance(root, StorePath)
    made = 0
    records: list[dict[str, Any]] = []
    with layout_named(layout).writer(root, unit) as out:
        for sample in samples:
            out.add(sample)
            made += 1
            if far or tabulated is not None:
                records.append(sample.record)
        files = out.close() if made else {}
    receipt = Receipt(
        format=FORMAT,
        unit=unit,
        fingerprint=fingerprint,
        pairs=made,
        refused=list(refused),
        files=[UnitFile(path=path, **facts) for path, facts in files.items()],
    )
    if records and far:
        keep_records(root, receipt, records)
    elif records and tabulated is not None:
        keep_table(root, receipt, tabulated(records))
    write_receipt(root, receipt)
    return receipt


def keep_records(root: Path, receipt: Receipt, records: list[dict[str, Any]]) -> None:
    """Note a unit's records where a build works, so that closing it need not read its shards."""
    lines = [receipt.sealed().model_dump()["sha256"], *records]
    write_bytes(_records_path(root, receipt.unit), b"".join(map(canonical_json, lines)))


def kept_records(root: Path, receipt: Receipt) -> list[dict[str, Any]] | None:
    """Return what `keep_records` noted of this very unit, if it did."""
    if not isinstance(root, StorePath):
        return None
    try:
        seal, *records = _records_path(root, receipt.unit).read_bytes().splitlines()
        if json.loads(seal) != receipt.sha256:
            return None
        return [json.loads(record) for record in records]
    except (OSError, ValueError):
        return None


def _records_path(root: Path, unit: str) -> Path:
    return root / WORK_FOLDER / "records" / f"{unit}.jsonl"
