"""The lists that DALI reads: line i of one belongs to line i of the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from gloam.manifests.sets.close import publish_unit
from gloam.manifests.sets.layouts import FILES, SHARDS
from gloam.manifests.sets.layouts.layout import list_path, write_list
from gloam.manifests.sets.receipts import Receipt, UnitFile
from gloam.manifests.sets.sample import Sample
from gloam.storage.untrusted import FORMAT

PRINT = "0" * 64


def receipt_of(unit: str, *paths: str) -> Receipt:
    """The receipt of a unit whose files are nowhere."""
    files = [UnitFile(path=path, sha256="00", bytes=1) for path in paths]
    return Receipt(format=FORMAT, unit=unit, fingerprint=PRINT, pairs=1, refused=[], files=files)


def test_a_list_is_a_line_each(tmp_path: Path) -> None:
    path = write_list(tmp_path, "train-low", (f"train/low/{i}.png {i}" for i in range(3)))
    assert path == list_path(tmp_path, "train-low") == tmp_path / "lists" / "train-low.txt"
    assert path.read_bytes() == b"train/low/0.png 0\ntrain/low/1.png 1\ntrain/low/2.png 2\n"


def test_shards_and_indexes_are_listed_line_by_line(tmp_path: Path) -> None:
    units = ["train-000002", "train-000000", "train-000001"]
    shards, indexes = SHARDS.write_lists(tmp_path, "train", [receipt_of(unit) for unit in units])
    assert (shards, indexes) == (
        tmp_path / "lists" / "train-shards.txt",
        tmp_path / "lists" / "train-indexes.txt",
    )
    assert shards.read_bytes() == b"".join(f"shards/{unit}.tar\n".encode() for unit in units)
    assert indexes.read_bytes() == b"".join(f"shards/{unit}.idx\n".encode() for unit in units)


def test_listed_shards_and_indexes_are_where_the_writer_puts_them(
    tmp_path: Path, pairs: list[Sample]
) -> None:
    units = ["val-000000", "val-000001"]
    receipts = [publish_unit(tmp_path, "shards", unit, PRINT, pairs[:1]) for unit in units]
    for path in SHARDS.write_lists(tmp_path, "val", receipts):
        lines = path.read_text().splitlines()
        assert len(lines) == 2
        assert all((tmp_path / line).is_file() for line in lines)


def test_lows_and_normals_are_listed_with_equal_labels(tmp_path: Path, pairs: list[Sample]) -> None:
    """Through all units of a split, in their order."""
    receipts = [
        publish_unit(tmp_path, "files", f"train-00000{i}", PRINT, part)
        for i, part in enumerate((pairs[:3], pairs[3:]))
    ]
    low, normal, metadata = FILES.write_lists(tmp_path, "train", receipts)
    assert (low.name, normal.name) == ("train-low.txt", "train-normal.txt")
    rows = [json.loads(line) for line in metadata.read_text().splitlines()]
    assert [row["key"] for row in rows] == [pair.key for pair in pairs]
    for row in rows:
        assert (metadata.parent / row["low_file_name"]).is_file()
        assert (metadata.parent / row["normal_file_name"]).is_file()
    lines = [[line.split(" ") for line in path.read_text().splitlines()] for path in (low, normal)]
    for i, (pair, one, other) in enumerate(zip(pairs, *lines, strict=True)):
        assert one == [f"train/low/{pair.key}.{pair.low.suffix}", str(i)]
        assert other == [f"train/normal/{pair.key}.{pair.normal.suffix}", str(i)]
        assert (tmp_path / one[0]).read_bytes() == pair.low.data
        assert (tmp_path / other[0]).read_bytes() == pair.normal.data


def test_further_members_are_in_neither_list(tmp_path: Path, rich: list[Sample]) -> None:
    """`normal.000` lies in the folder of the normals, and is none."""
    receipt = publish_unit(tmp_path, "files", "train-000000", PRINT, rich)
    for path, kind, suffix in zip(
        FILES.write_lists(tmp_path, "train", [receipt])[:2],
        ("low", "normal"),
        ("png", "jpg"),
        strict=True,
    ):
        lines = [f"train/{kind}/{one.key}.{suffix} {i}" for i, one in enumerate(rich)]
        assert path.read_text().splitlines() == lines


def test_a_split_of_lows_only_has_no_list_of_normals(tmp_path: Path) -> None:
    receipt = receipt_of("train-000000", "train/draw/a.json", "train/low/a.png")
    (tmp_path / "train").mkdir()
    low, metadata = FILES.write_lists(tmp_path, "train", [receipt])
    assert low == list_path(tmp_path, "train-low")
    assert json.loads(metadata.read_bytes()) == {"key": "a", "low_file_name": "low/a.png"}


def test_a_split_without_units_has_no_line_in_any_list(tmp_path: Path) -> None:
    for path in SHARDS.write_lists(tmp_path / "shards", "val", []):
        assert path.read_bytes() == b""
    assert FILES.write_lists(tmp_path / "files", "val", []) == []
    assert not (tmp_path / "files").exists()


def test_lists_are_replaced_whole(tmp_path: Path) -> None:
    SHARDS.write_lists(tmp_path, "train", [receipt_of(f"train-{i:06d}") for i in range(5)])
    SHARDS.write_lists(tmp_path, "train", [receipt_of("train-000000")])
    assert sorted(path.name for path in (tmp_path / "lists").iterdir()) == [
        "train-indexes.txt",
        "train-shards.txt",
    ]
    assert (tmp_path / "lists" / "train-shards.txt").read_text() == "shards/train-000000.tar\n"


@pytest.mark.parametrize("name", ["stra\u00dfe.png", "../x.png", "a/b.png", "A.png", "a", ".png"])
def test_what_cannot_stand_in_a_list_cannot_stand_in_a_receipt(name: str) -> None:
    with pytest.raises(ValidationError):
        receipt_of("train-000000", "train/low/ok.png", f"train/low/{name}")
