"""The index of a shard, which is DALI's own, and points at every member."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gloam.errors import SetError
from gloam.manifests.sets.layouts.shard_index import Member, read_columns, read_index
from gloam.manifests.sets.layouts.shard_tar import index_path, shard_path
from gloam.manifests.sets.sample import Sample

from .writing import UNIT, write_shard


def test_index_points_at_every_member(shard: Path, pairs: list[Sample]) -> None:
    data = shard_path(shard, UNIT).read_bytes()
    samples = read_index(index_path(shard, UNIT))
    assert len(samples) == len(pairs)
    for sample, pair in zip(samples, pairs, strict=True):
        low, normal = f"low.{pair.low.suffix}", f"normal.{pair.normal.suffix}"
        assert [member.ending for member in sample] == ["json", low, normal]
        assert [member.name for member in sample] == [
            f"{pair.key}.{member.ending}" for member in sample
        ]
        found = [data[member.offset : member.offset + member.size] for member in sample]
        assert json.loads(found[0]) == pair.record
        assert found[1:] == [pair.low.data, pair.normal.data]


@pytest.mark.skipif(importlib.util.find_spec("nvidia.dali") is None, reason="DALI is not installed")
@pytest.mark.parametrize("count", [1, 2, 7])
def test_index_equals_dalis_own_tool(tmp_path: Path, pairs: list[Sample], count: int) -> None:
    write_shard(tmp_path, pairs[:count])
    theirs = tmp_path / "theirs.idx"
    tool = Path(sys.executable).with_name("wds2idx")
    subprocess.run(
        [sys.executable, tool, shard_path(tmp_path, UNIT), theirs],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert index_path(tmp_path, UNIT).read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v1.1 0\n",
        "v1.2 2\njson 512 3 a.json\n",
        "v1.2 1\njson 512 3\n",
        "v1.2 1\njson x 3 a.json\n",
        "v1.2\n",
        "v1.2 1\n\n",
        "\xe4",
    ],
)
def test_what_is_no_index_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.idx").write_bytes(text.encode("latin-1"))
    with pytest.raises(SetError, match=r"x\.idx: not a DALI index of v1\.2"):
        read_index(tmp_path / "x.idx")


def test_a_missing_index_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetError, match=r"x\.idx: No such file"):
        read_index(tmp_path / "x.idx")


def test_index_of_two_members_is_read_into_places(tmp_path: Path) -> None:
    (tmp_path / "x.idx").write_text("v1.2 1\njson 512 3 a.json low.png 1536 70 a.low.png\n")
    assert read_index(tmp_path / "x.idx") == [
        [Member("json", 512, 3, "a.json"), Member("low.png", 1536, 70, "a.low.png")]
    ]


def test_columns_are_those_of_the_index(shard: Path) -> None:
    path = index_path(shard, UNIT)
    samples, tar = read_index(path), shard_path(shard, UNIT).stat().st_size
    columns = read_columns([path.read_bytes()] * 2, [tar, tar], ("normal", "low"), named=True)
    assert columns.counts == [len(samples)] * 2
    assert columns.names == [sample[0].name for sample in samples] * 2
    assert (columns.blocks * 512).tolist() == [
        [sample[i].offset for i in (2, 1)] for sample in samples
    ] * 2
    assert columns.sizes.tolist() == [[sample[i].size for i in (2, 1)] for sample in samples] * 2


def test_columns_are_those_of_the_member_of_that_name() -> None:
    """Not of one whose name only begins with it."""
    members = "json 512 3 a.json normal.000.jpg 1536 70 a.normal.000.jpg"
    text = f"v1.2 1\n{members} normal.jpg 2560 80 a.normal.jpg\n".encode()
    columns = read_columns([text], [10240], ("normal",), named=False)
    assert (columns.blocks.tolist(), columns.sizes.tolist()) == ([[5]], [[80]])


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("json 512 1 a.json low.png 1024 4294967295 a.low.png", "does not lie in its tar"),
        ("json 512 1 a.json low.png 0 2147483648 a.low.png", "does not begin at a block"),
        ("json 512 1 a.json low.png 1024 -1 a.low.png", "does not lie in its tar"),
        ("json 512 1 a.json low.png 9223372036854775296 512 a.low.png", "does not lie in its tar"),
        ("json 512 1 a.json low.png 99999999999999999999 512 a.low.png", "."),
        ("json 512 1 a.json low.png 1025 1 a.low.png", "does not begin at a block"),
        ("json 512 1 a.json low.png 1024", "."),
        ("json 512 1 ../a.json low.png 1024 1 a.low.png", "a name that gloam does not give"),
    ],
)
def test_members_that_no_tar_holds_are_refused(line: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        read_columns([f"v1.2 1\n{line}\n".encode()], [10240], ("low",), named=True)


@pytest.mark.parametrize("count", ["2", "0", "1000000000000000", "x", ""])
def test_an_index_that_counts_otherwise_is_refused(count: str) -> None:
    text = f"v1.2 {count}\njson 512 1 a.json low.png 1024 1 a.low.png\n".encode()
    with pytest.raises(ValueError, match="first line says"):
        read_columns([text], [10240], ("low",), named=False)


@pytest.mark.parametrize(
    "name",
    ["a./../../../x", "../a.json", "a.json/x", "A.json", "/a.json", "a", f"a.{'b' * 95}.png"],
)
def test_names_that_no_shard_holds_are_refused(tmp_path: Path, name: str) -> None:
    ending = name.partition(".")[2] or "json"
    (tmp_path / "x.idx").write_text(f"v1.2 1\n{ending} 512 3 {name}\n")
    with pytest.raises(SetError, match=r"names a file outside the set|is no member"):
        read_index(tmp_path / "x.idx")
