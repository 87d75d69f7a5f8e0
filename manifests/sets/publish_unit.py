"""Publishing a unit: its samples are written, then its receipt, which says that it is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ...storage.atomic import sha256_bytes, write_bytes
from ...storage.untrusted import parse_json, read_regular
from .info import WORK_FOLDER
from .layouts import layout_named
from .receipts import Receipt, RefusedPair, write_receipt
from .sample import FORMAT, Sample


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

    root: folder of the set.
    layout: "shards" or "files".
    unit: such as `train-000000`.
    fingerprint: hash of the build.
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
    seal = f"{receipt.sealed().sha256} {sha256_bytes(data)}\n".encode()
    write_bytes(_records_path(root, receipt.unit), seal + data)


def read_kept_records(root: Path, receipt: Receipt) -> list[dict[str, Any]] | None:
    """Return the records that `keep_records` kept of this unit, if any."""
    try:
        seal, _, data = read_regular(_records_path(root, receipt.unit)).partition(b"\n")
    except OSError:
        return None
    if seal.split() != [receipt.sha256.encode(), sha256_bytes(data).encode()]:
        return None
    return [parse_json(record) for record in data.splitlines()]


def _records_path(root: Path, unit: str) -> Path:
    return root / WORK_FOLDER / "records" / f"{unit}.jsonl"
