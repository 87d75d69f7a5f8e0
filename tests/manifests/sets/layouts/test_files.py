"""The files layout: a folder of lows, of normals and of draws, with equal names."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from gloam.errors import SetError
from gloam.manifests.sets.close import publish_unit
from gloam.manifests.sets.layouts import FILES
from gloam.manifests.sets.layouts.files import FilesWriter, file_name
from gloam.manifests.sets.receipts import Receipt, UnitFile, read_receipt
from gloam.manifests.sets.sample import Sample

from ....trees import files_of

PRINT = "0" * 64


def write_files(root: Path, pairs: list[Sample], unit: str = "train-000000") -> list[UnitFile]:
    with FilesWriter(root, unit) as writer:
        for pair in pairs:
            writer.add(pair)
        return writer.close()


def published(root: Path, pairs: list[Sample], unit: str = "train-000000") -> Receipt:
    return publish_unit(root, "files", unit, PRINT, pairs)


def test_each_pair_becomes_three_files_under_its_key(tmp_path: Path, pairs: list[Sample]) -> None:
    write_files(tmp_path, pairs)
    expected = {}
    for pair in pairs:
        expected[f"train/low/{pair.key}.{pair.low.suffix}"] = pair.low.data
        expected[f"train/normal/{pair.key}.{pair.normal.suffix}"] = pair.normal.data
        expected[f"train/draw/{pair.key}.json"] = pair.files()[0][1]
    found = files_of(tmp_path)
    assert found == expected
    for pair in pairs:
        assert json.loads(found[f"train/draw/{pair.key}.json"]) == pair.record


@pytest.mark.parametrize(("unit", "split"), [("val-000000", "val"), ("train-000123", "train")])
def test_the_split_is_that_of_the_unit(
    tmp_path: Path, pairs: list[Sample], unit: str, split: str
) -> None:
    write_files(tmp_path, pairs, unit)
    assert {name.split("/")[0] for name in files_of(tmp_path)} == {split}


def test_close_tells_path_size_and_checksum_of_every_file_in_order(
    tmp_path: Path, pairs: list[Sample]
) -> None:
    facts = write_files(tmp_path, pairs)
    found = files_of(tmp_path)
    assert {(one.path, one.sha256, one.bytes) for one in facts} == {
        (name, hashlib.sha256(d).hexdigest(), len(d)) for name, d in found.items()
    }
    expected = []
    for pair in pairs:
        low, normal = f"low/{pair.key}.{pair.low.suffix}", f"normal/{pair.key}.{pair.normal.suffix}"
        expected += [f"train/{name}" for name in (f"draw/{pair.key}.json", low, normal)]
    assert [one.path for one in facts] == expected


def test_pairs_and_records_come_back_in_order(tmp_path: Path, pairs: list[Sample]) -> None:
    order = [pairs[i] for i in (3, 0, 6, 1, 2, 5, 4)]
    receipt = published(tmp_path, order)
    assert list(FILES.samples(tmp_path, receipt)) == order
    assert list(FILES.records(tmp_path, receipt)) == [pair.record for pair in order]


def test_pairs_come_back_in_order_through_their_receipt(
    tmp_path: Path, pairs: list[Sample]
) -> None:
    """The plan mixes the sources; lists and tables, which are made through receipts, must not sort
    them apart again."""
    order = [pairs[i] for i in (3, 0, 6, 1, 2, 5, 4)]
    published(tmp_path, order)
    receipt = read_receipt(tmp_path, "train-000000")
    assert [pair.key for pair in FILES.samples(tmp_path, receipt)] == [pair.key for pair in order]


def test_a_file_of_no_record_is_named(tmp_path: Path, pairs: list[Sample]) -> None:
    receipt = published(tmp_path, pairs)
    first, *others = receipt.files
    moved = receipt.model_copy(update={"files": [*others, first]})
    with pytest.raises(SetError, match=r"train-000000: train/low/.* belongs to no record"):
        list(FILES.samples(tmp_path, moved))


def test_two_units_of_a_split_share_its_folders_and_are_read_apart(
    tmp_path: Path, pairs: list[Sample]
) -> None:
    first = published(tmp_path, pairs[:3], "train-000000")
    second = published(tmp_path, pairs[3:], "train-000001")
    assert list(FILES.samples(tmp_path, first)) == pairs[:3]
    assert list(FILES.samples(tmp_path, second)) == pairs[3:]


def test_normals_that_are_not_of_the_set_are_left_out(tmp_path: Path, pairs: list[Sample]) -> None:
    """Take a set of lows only, whose records know the normals all the same."""
    lows = [replace(pair, members={"low": pair.low}) for pair in pairs]
    receipt = published(tmp_path, lows)
    assert list(FILES.samples(tmp_path, receipt)) == lows
    assert not (tmp_path / "train" / "normal").exists()


@pytest.mark.parametrize(
    ("member", "path"),
    [
        ("json", "train/draw/k.json"),
        ("low.png", "train/low/k.png"),
        ("boxes.npy", "train/boxes/k.npy"),
        ("normal.000.jpg", "train/normal/k.000.jpg"),
        ("cls", "train/cls/k.cls"),
    ],
)
def test_a_member_lies_in_the_folder_of_its_name(member: str, path: str) -> None:
    assert file_name("train", "k", member) == path


def test_writing_again_over_what_a_killed_run_left_gives_the_same_files(
    tmp_path: Path, pairs: list[Sample]
) -> None:
    with FilesWriter(tmp_path / "twice", "train-000000") as writer:
        for pair in pairs[:4]:
            writer.add(pair)
    (tmp_path / "twice" / "train" / "low" / f"{pairs[0].key}.{pairs[0].low.suffix}").write_bytes(
        b"torn"
    )
    assert write_files(tmp_path / "twice", pairs) == write_files(tmp_path / "once", pairs)
    assert files_of(tmp_path / "twice") == files_of(tmp_path / "once")


def test_no_temporary_name_is_left(tmp_path: Path, pairs: list[Sample]) -> None:
    write_files(tmp_path, pairs)
    assert not [path for path in tmp_path.rglob("*") if ".tmp-" in path.name]


def test_a_unit_without_pairs_has_no_files(tmp_path: Path) -> None:
    assert write_files(tmp_path, []) == []
    receipt = published(tmp_path, [])
    assert receipt.files == []
    assert list(FILES.samples(tmp_path, receipt)) == []
    assert list(FILES.records(tmp_path, receipt)) == []


@pytest.mark.parametrize("kind", ["draw", "low", "normal"])
def test_a_missing_file_is_named(tmp_path: Path, pairs: list[Sample], kind: str) -> None:
    receipt = published(tmp_path, pairs)
    (path,) = (tmp_path / "train" / kind).glob(f"{pairs[2].key}.*")
    path.unlink()
    found = FILES.samples(tmp_path, receipt)
    assert [next(found), next(found)] == pairs[:2]
    with pytest.raises(SetError, match=rf"{kind}/{pairs[2].key}\.\w+: No such file"):
        next(found)


def test_a_damaged_record_is_named(tmp_path: Path, pairs: list[Sample]) -> None:
    receipt = published(tmp_path, pairs)
    (tmp_path / "train" / "draw" / f"{pairs[0].key}.json").write_bytes(b"{")
    with pytest.raises(SetError, match=rf"draw/{pairs[0].key}\.json: not a sample's record"):
        list(FILES.samples(tmp_path, receipt))
