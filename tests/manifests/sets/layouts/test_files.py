"""The files layout: a folder of lows, of normals and of draws, with equal names."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from gloam.errors import SetError
from gloam.manifests.sets import layout as layouts
from gloam.manifests.sets.folders import FilesWriter, read_pairs, read_records
from gloam.manifests.sets.receipts import Receipt, UnitFile, read_receipt, write_receipt
from gloam.manifests.sets.sample import FORMAT, Pair


def write_files(
    root: Path, pairs: list[Pair], unit: str = "train-000000"
) -> dict[str, dict[str, Any]]:
    with FilesWriter(root, unit) as writer:
        for pair in pairs:
            writer.add(pair)
        return writer.close()


def files_below(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_each_pair_becomes_three_files_under_its_key(tmp_path: Path, pairs: list[Pair]) -> None:
    write_files(tmp_path, pairs)
    expected = {}
    for pair in pairs:
        expected[f"train/low/{pair.key}.{pair.low_suffix}"] = pair.low
        expected[f"train/normal/{pair.key}.{pair.normal_suffix}"] = pair.normal
        expected[f"train/draw/{pair.key}.json"] = pair.members()[0][1]
    found = files_below(tmp_path)
    assert found == expected
    for pair in pairs:
        assert json.loads(found[f"train/draw/{pair.key}.json"]) == pair.record


@pytest.mark.parametrize(("unit", "split"), [("val-000000", "val"), ("train-000123", "train")])
def test_the_split_is_that_of_the_unit(
    tmp_path: Path, pairs: list[Pair], unit: str, split: str
) -> None:
    write_files(tmp_path, pairs, unit)
    assert {name.split("/")[0] for name in files_below(tmp_path)} == {split}


def test_close_tells_path_size_and_checksum_of_every_file_in_order(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    facts = write_files(tmp_path, pairs)
    found = files_below(tmp_path)
    assert facts == {
        name: {"sha256": hashlib.sha256(d).hexdigest(), "bytes": len(d)}
        for name, d in found.items()
    }
    expected = []
    for pair in pairs:
        low, normal = f"low/{pair.key}.{pair.low_suffix}", f"normal/{pair.key}.{pair.normal_suffix}"
        expected += [f"train/{name}" for name in (f"draw/{pair.key}.json", low, normal)]
    assert list(facts) == expected


def test_pairs_and_records_come_back_in_order(tmp_path: Path, pairs: list[Pair]) -> None:
    order = [pairs[i] for i in (3, 0, 6, 1, 2, 5, 4)]
    facts = write_files(tmp_path, order)
    assert list(read_pairs(tmp_path, facts)) == order
    assert list(read_records(tmp_path, facts)) == [pair.record for pair in order]


def test_pairs_come_back_in_order_through_their_receipt(tmp_path: Path, pairs: list[Pair]) -> None:
    """The plan mixes the sources; lists and tables, which are made through receipts, must not sort
    them apart again."""
    order = [pairs[i] for i in (3, 0, 6, 1, 2, 5, 4)]
    facts = write_files(tmp_path, order)
    files = [UnitFile.model_validate({"path": name} | fact) for name, fact in facts.items()]
    write_receipt(
        tmp_path,
        Receipt(
            format=FORMAT,
            unit="train-000000",
            fingerprint="0" * 64,
            pairs=7,
            refused=[],
            files=files,
        ),
    )
    receipt = read_receipt(tmp_path, "train-000000")
    assert [pair.key for pair in read_pairs(tmp_path, receipt.file_dicts())] == [
        pair.key for pair in order
    ]


def test_two_units_of_a_split_share_its_folders_and_are_read_apart(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    first = write_files(tmp_path, pairs[:3], "train-000000")
    second = write_files(tmp_path, pairs[3:], "train-000001")
    assert list(read_pairs(tmp_path, first)) == pairs[:3]
    assert list(read_pairs(tmp_path, second)) == pairs[3:]


def test_the_layout_reads_and_writes_the_same_files(tmp_path: Path, pairs: list[Pair]) -> None:
    with layouts.writer(layouts.FILES, tmp_path, layouts.unit_name("val", 0)) as writer:
        for pair in pairs:
            writer.add(pair)
        files = writer.close()
    assert list(layouts.read_pairs(layouts.FILES, tmp_path, "val-000000", files)) == pairs
    assert list(layouts.read_records(layouts.FILES, tmp_path, "val-000000", files)) == [
        pair.record for pair in pairs
    ]


def test_writing_again_over_what_a_killed_run_left_gives_the_same_files(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    with FilesWriter(tmp_path / "twice", "train-000000") as writer:
        for pair in pairs[:4]:
            writer.add(pair)
    (tmp_path / "twice" / "train" / "low" / f"{pairs[0].key}.{pairs[0].low_suffix}").write_bytes(
        b"torn"
    )
    assert write_files(tmp_path / "twice", pairs) == write_files(tmp_path / "once", pairs)
    assert files_below(tmp_path / "twice") == files_below(tmp_path / "once")


def test_no_temporary_name_is_left(tmp_path: Path, pairs: list[Pair]) -> None:
    write_files(tmp_path, pairs)
    assert not [path for path in tmp_path.rglob("*") if ".tmp-" in path.name]


def test_a_unit_without_pairs_has_no_files(tmp_path: Path) -> None:
    facts = write_files(tmp_path, [])
    assert facts == {}
    assert list(read_pairs(tmp_path, facts)) == []


@pytest.mark.parametrize("kind", ["draw", "low", "normal"])
def test_a_missing_file_is_named(tmp_path: Path, pairs: list[Pair], kind: str) -> None:
    facts = write_files(tmp_path, pairs)
    (path,) = (tmp_path / "train" / kind).glob(f"{pairs[2].key}.*")
    path.unlink()
    found = read_pairs(tmp_path, facts)
    assert [next(found), next(found)] == pairs[:2]
    with pytest.raises(SetError, match=rf"{kind}/{pairs[2].key}\.\w+: No such file"):
        next(found)


def test_a_damaged_record_is_named(tmp_path: Path, pairs: list[Pair]) -> None:
    facts = write_files(tmp_path, pairs)
    (tmp_path / "train" / "draw" / f"{pairs[0].key}.json").write_bytes(b"{")
    with pytest.raises(SetError, match=rf"draw/{pairs[0].key}\.json: not a pair's record"):
        list(read_pairs(tmp_path, facts))
