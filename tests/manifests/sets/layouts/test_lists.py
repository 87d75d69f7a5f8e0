"""The lists that DALI reads: line i of one belongs to line i of the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from gloam.manifests.sets.folders import FilesWriter
from gloam.manifests.sets.lists import write_pair_lists, write_shard_lists
from gloam.manifests.sets.sample import Pair
from gloam.manifests.sets.shards import ShardWriter


def test_shards_and_indexes_are_listed_line_by_line(tmp_path: Path) -> None:
    units = ["train-000002", "train-000000", "train-000001"]
    shards, indexes = write_shard_lists(tmp_path, "train", units)
    assert (shards, indexes) == (
        tmp_path / "lists" / "train-shards.txt",
        tmp_path / "lists" / "train-indexes.txt",
    )
    assert shards.read_bytes() == b"".join(f"shards/{unit}.tar\n".encode() for unit in units)
    assert indexes.read_bytes() == b"".join(f"shards/{unit}.idx\n".encode() for unit in units)


def test_listed_shards_and_indexes_are_where_the_writer_puts_them(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    units = ["val-000000", "val-000001"]
    for unit in units:
        with ShardWriter(tmp_path, unit) as writer:
            writer.add(pairs[0])
            writer.close()
    for path in write_shard_lists(tmp_path, "val", iter(units)):
        lines = path.read_text().splitlines()
        assert len(lines) == 2
        assert all((tmp_path / line).is_file() for line in lines)


def test_lows_and_normals_are_listed_with_equal_labels(tmp_path: Path, pairs: list[Pair]) -> None:
    with FilesWriter(tmp_path, "train-000000") as writer:
        for pair in pairs:
            writer.add(pair)
        writer.close()
    low, normal = write_pair_lists(
        tmp_path, "train", ((p.key, p.low_suffix, p.normal_suffix) for p in pairs)
    )
    assert (low.name, normal.name) == ("train-low.txt", "train-normal.txt")
    lines = [[line.split(" ") for line in path.read_text().splitlines()] for path in (low, normal)]
    for i, (pair, one, other) in enumerate(zip(pairs, *lines, strict=True)):
        assert one == [f"train/low/{pair.key}.{pair.low_suffix}", str(i)]
        assert other == [f"train/normal/{pair.key}.{pair.normal_suffix}", str(i)]
        assert (tmp_path / one[0]).read_bytes() == pair.low
        assert (tmp_path / other[0]).read_bytes() == pair.normal


def test_a_split_without_units_has_empty_lists(tmp_path: Path) -> None:
    for path in [*write_shard_lists(tmp_path, "val", []), *write_pair_lists(tmp_path, "val", [])]:
        assert path.read_bytes() == b""


def test_lists_are_replaced_whole(tmp_path: Path) -> None:
    write_shard_lists(tmp_path, "train", [f"train-{i:06d}" for i in range(5)])
    write_shard_lists(tmp_path, "train", ["train-000000"])
    assert sorted(path.name for path in (tmp_path / "lists").iterdir()) == [
        "train-indexes.txt",
        "train-shards.txt",
    ]
    assert (tmp_path / "lists" / "train-shards.txt").read_text() == "shards/train-000000.tar\n"


def test_what_cannot_stand_in_a_list_leaves_no_list(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_pair_lists(tmp_path, "train", [("ok", "png", "jpg"), ("stra\u00dfe", "png", "jpg")])
    assert list((tmp_path / "lists").iterdir()) == []
