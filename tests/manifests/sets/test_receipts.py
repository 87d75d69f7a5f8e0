"""Receipts: the only sign that a unit is done, so nothing but what was written may pass for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gloam.errors import SetError
from gloam.manifests.sets.receipts import (
    Receipt,
    RefusedPair,
    UnitFile,
    is_done,
    read_receipt,
    receipt_path,
    write_receipt,
)
from gloam.storage.atomic import canonical_json, write_bytes
from gloam.storage.untrusted import FORMAT

UNIT = "train-000000"
PRINT = "5ac1" * 16


def receipt_of(**changes: Any) -> Receipt:
    values: dict[str, Any] = {
        "format": FORMAT,
        "unit": UNIT,
        "fingerprint": PRINT,
        "pairs": 7,
        "refused": [
            RefusedPair(
                key="voc-x",
                source="voc",
                path="JPEGImages/x.jpg",
                reason="damaged",
                detail="caf\u00e9",
            )
        ],
        "files": [
            UnitFile(path=f"shards/{UNIT}.tar", sha256="ab" * 32, bytes=20480),
            UnitFile(path=f"shards/{UNIT}.idx", sha256="01" * 32, bytes=93),
        ],
    }
    return Receipt.model_validate(values | changes)


def test_a_receipt_reads_back_as_it_was_written(tmp_path: Path) -> None:
    receipt = receipt_of()
    write_receipt(tmp_path, receipt)
    assert receipt_path(tmp_path, UNIT) == tmp_path / "receipts" / f"{UNIT}.json"
    assert read_receipt(tmp_path, UNIT) == receipt.sealed()
    assert read_receipt(tmp_path, UNIT).files[0] == UnitFile(
        path=f"shards/{UNIT}.tar", sha256="ab" * 32, bytes=20480
    )


def test_two_writes_give_equal_bytes_and_no_temporary_name(tmp_path: Path) -> None:
    write_receipt(tmp_path, receipt_of())
    first = receipt_path(tmp_path, UNIT).read_bytes()
    write_receipt(tmp_path, receipt_of())
    assert receipt_path(tmp_path, UNIT).read_bytes() == first
    assert [path.name for path in (tmp_path / "receipts").iterdir()] == [f"{UNIT}.json"]


def test_the_order_of_the_files_survives(tmp_path: Path) -> None:
    """The files layout reads its pairs in the order of the receipt."""
    names = ["train/draw/b.json", "train/low/b.png", "train/draw/a.json", "train/low/a.png"]
    write_receipt(
        tmp_path, receipt_of(files=[UnitFile(path=name, sha256="00", bytes=1) for name in names])
    )
    assert [file.path for file in read_receipt(tmp_path, UNIT).files] == names


@pytest.mark.slow
def test_any_flipped_bit_is_detected(tmp_path: Path) -> None:
    write_receipt(tmp_path, receipt_of())
    path = receipt_path(tmp_path, UNIT)
    whole = path.read_bytes()
    passed = []
    for bit in range(8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(data)
        try:
            read_receipt(tmp_path, UNIT)
        except SetError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
        else:
            passed.append(bytes(data[max(0, bit // 8 - 20) : bit // 8 + 1]))
    assert passed == [], (
        f"{len(passed)} of {8 * len(whole)} flipped bits pass, the first after {passed[0]!r}"
    )


@pytest.mark.parametrize("length", [0, 1, 50, -2, -1])
def test_a_receipt_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    write_receipt(tmp_path, receipt_of())
    path = receipt_path(tmp_path, UNIT)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(SetError, match="damaged"):
        read_receipt(tmp_path, UNIT)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"null", b"3", b"text", b"\xff\xfe", b'{"format":%d}' % FORMAT]
)
def test_what_is_no_receipt_is_refused(tmp_path: Path, data: bytes) -> None:
    path = receipt_path(tmp_path, UNIT)
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(SetError, match="damaged"):
        read_receipt(tmp_path, UNIT)


def test_the_same_values_written_in_another_way_are_refused(tmp_path: Path) -> None:
    write_receipt(tmp_path, receipt_of())
    path = receipt_path(tmp_path, UNIT)
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=1))
    with pytest.raises(SetError, match="not as it was written"):
        read_receipt(tmp_path, UNIT)


def test_the_receipt_of_another_unit_is_refused(tmp_path: Path) -> None:
    write_receipt(tmp_path, receipt_of())
    receipt_path(tmp_path, UNIT).rename(receipt_path(tmp_path, "train-000001"))
    with pytest.raises(SetError, match="damaged"):
        read_receipt(tmp_path, "train-000001")


def test_a_newer_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = receipt_path(tmp_path, UNIT)
    path.parent.mkdir()
    path.write_text(json.dumps({"format": FORMAT + 1, "whatever": ["it", "holds"]}))
    with pytest.raises(
        SetError,
        match=rf"written by a newer gloam \(format {FORMAT + 1}\); upgrade gloam to read it",
    ):
        read_receipt(tmp_path, UNIT)


def test_an_older_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """Format 1 had it so: whole, with its checksum, and files by their paths."""
    path = receipt_path(tmp_path, UNIT)
    older = receipt_of(format=1).sealed().model_dump()
    write_bytes(path, canonical_json(older | {"files": {"shards/x.tar": {"bytes": 1}}}))
    with pytest.raises(SetError) as refused:
        read_receipt(tmp_path, UNIT)
    assert str(refused.value) == (
        f"{path}: written by an older gloam (format 1, this one has {FORMAT}); build the set anew,"
        " in another folder, or read it with that gloam"
    )
    write_receipt(tmp_path, receipt_of(format=1))  # nor one of that number and this shape
    with pytest.raises(SetError, match="written by an older gloam"):
        read_receipt(tmp_path, UNIT)
    assert not is_done(tmp_path, UNIT, PRINT)


def test_a_missing_receipt_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetError, match=rf"{UNIT}\.json: No such file"):
        read_receipt(tmp_path, UNIT)


def test_done_means_a_whole_receipt_of_this_build(tmp_path: Path) -> None:
    assert not is_done(tmp_path, UNIT, PRINT)
    write_receipt(tmp_path, receipt_of())
    assert is_done(tmp_path, UNIT, PRINT)
    assert not is_done(tmp_path, UNIT, "0" * 64)
    assert not is_done(tmp_path, "train-000001", PRINT)
    path = receipt_path(tmp_path, UNIT)
    path.write_bytes(path.read_bytes()[:-1])
    assert not is_done(tmp_path, UNIT, PRINT)
