"""Names, numbers and files of sets that somebody else wrote."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from gloam.errors import ConfigError, SetError
from gloam.storage.stores import LARGE, as_path
from gloam.storage.untrusted import (
    LIST_LINES,
    Count,
    Digest,
    Key,
    MemberName,
    SetPath,
    Side,
    Size,
    Suffix,
    UnitName,
    inside,
    open_regular,
    opened,
    outside,
    parse_json,
    read_regular,
    shown,
    whole,
)

ODD = [
    *("..", "../x", "a/../../x", "/x", "//x", "a//b", "a/", "./a", "", ".", "a/./b", "..\\x"),
    *("C:\\x", "c:x", "a\0b", "a\nb", "\udcff", "a" * 256, "/".join("a" * 600), "a\x1b[31m"),
]


@pytest.mark.parametrize("name", ODD)
def test_names_that_leave_a_folder_are_refused(tmp_path: Path, name: str) -> None:
    assert outside(name)
    for root in (tmp_path, as_path("s3://bucket/set")):
        with pytest.raises(SetError, match="names a file outside the set") as refused:
            inside(root, name, "set.json")
        assert str(refused.value).startswith(f"{root}: set.json: ")
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["a", "a/b.c", "train/low/x-1_2.png", "stra\u00dfe/ein bild.jpg", "..a"]
)
def test_names_below_a_folder_are_joined(tmp_path: Path, name: str) -> None:
    assert inside(tmp_path, name) == tmp_path / name
    assert inside(as_path("s3://bucket/set"), name) == as_path(f"s3://bucket/set/{name}")


@pytest.mark.parametrize("link", ["low", "low/a.png"])
def test_links_out_of_a_set_are_refused(tmp_path: Path, link: str) -> None:
    root, beside = tmp_path / "set", tmp_path / "beside"
    (root / link).parent.mkdir(parents=True)
    beside.mkdir()
    (beside / "a.png").write_bytes(b"x")
    (root / link).symlink_to(beside if link == "low" else beside / "a.png")
    with pytest.raises(
        SetError, match=r"is a link to .*; copy the set with what its links lead to"
    ):
        inside(root, "low/a.png")


def test_links_within_a_set_and_to_a_set_are_followed(tmp_path: Path) -> None:
    root = tmp_path / "set"
    (root / "blobs").mkdir(parents=True)
    (root / "blobs" / "x").write_bytes(b"x")
    (root / "a").symlink_to("blobs/x")
    (tmp_path / "link").symlink_to(root)
    for folder in (root, tmp_path / "link"):
        with opened(folder, "a") as handle:
            assert handle.read() == b"x"


def test_pipes_devices_and_folders_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe", tmp_path / "zero", tmp_path):
        with pytest.raises(OSError, match="is not a regular file"):
            open_regular(path)
        with pytest.raises(OSError, match="is not a regular file"):
            read_regular(path)
    with pytest.raises(SetError, match="is not a regular file"), opened(tmp_path, "pipe"):
        pass


def test_no_more_is_read_than_a_file_has_or_may_have(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(100))
    assert read_regular(tmp_path / "x", 100) == bytes(100)
    with pytest.raises(OSError, match="has 100 bytes, more than the 99"):
        read_regular(tmp_path / "x", 99)
    os.truncate(tmp_path / "x", 1 << 40)  # a hole
    with pytest.raises(OSError, match="more than"):
        read_regular(tmp_path / "x")
    if Path("/proc/self/stat").exists():
        assert read_regular(Path("/proc/self/stat")) == b""


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (Key, ["a", "voc-2007_1", "a" * 80], ["", "A", "-a", "a" * 81, "a.b", "a/b", "a\n", 3]),
        (UnitName, ["train-000000", "val-1234567"], ["train-0", "x-000000", "../train-000000"]),
        (MemberName, ["low", "normal.007"], ["", "Low", "low.", "low.x", "../low", "low/x"]),
        (Suffix, ["", "png", "npy"], ["p/g", "..", "png\n", "x" * 11]),
        (SetPath, ["set.json", "a/b/c.d", "receipts/train-000000.json"], [*ODD, ".gloam/x", "a b"]),
        (Digest, ["", "0" * 64], ["x", "0" * 65, "A"]),
        (Count, [0, 10**9], [-1, 10**15, None, "a", float("inf"), float("nan"), 1.5]),
        (Size, [0, 1 << 48], [-1, 1 << 49, 10**30]),
        (Side, [1, 49_000], [0, 1 << 21]),
    ],
)  # fmt: skip
def test_what_is_a_name_and_what_a_number(kind: Any, right: list[Any], wrong: list[Any]) -> None:
    adapter = TypeAdapter(kind)
    for value in right:
        assert adapter.validate_python(value) == value
    for value in wrong:
        with pytest.raises(ValidationError):
            adapter.validate_python(value)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a":' * 5_000, "NaN", "[Infinity]", "9" * 5_000, "{"]
)
def test_json_that_is_none_is_an_ordinary_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_lists_are_lists_of_shards_or_of_images() -> None:
    assert LIST_LINES.match(b"shards/train-000000.tar\n" * 3)
    assert LIST_LINES.match(b"train/low/a-1.png 0\ntrain/low/b.png 1\n" * 100_000)
    for line in (
        b"../a.png 0\n",
        b"/a.png 0\n",
        b"train/low/../a.png 0\n",
        b"train/low/a.png\n",
        b"a",
    ):
        assert not LIST_LINES.match(line)


def test_values_are_shown_short_and_on_one_line() -> None:
    assert shown("a\nb") == repr("a\nb")
    assert len(shown("x" * 10**6)) < 80
    assert shown([[0] * 10**6]) == "a list"
    assert re.fullmatch(r"a number", shown(10**1000))


@pytest.mark.parametrize("value", [True, 2.0, 2.5, "2", None, [2], float("nan"), -1, 10, 10**40])
def test_a_whole_number_is_no_truth_and_no_float(value):
    assert whole("pairs", np.int64(2), 1, 9) == 2
    with pytest.raises(ConfigError, match=r"pairs = .*: must be a whole number from 1 to 9"):
        whole("pairs", value, 1, 9)


def test_a_large_file_of_which_next_to_nothing_is_stored_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jpg"
    for behind, before in ((b"", b"\xff\xd8"), (b"\xff\xd9", b"")):
        with path.open("wb") as file:
            file.write(before)
            file.truncate(LARGE + 1 - len(behind))
            file.seek(0, os.SEEK_END)
            file.write(behind)
        with pytest.raises(OSError, match="33,554,433 bytes, of which next to nothing is stored"):
            read_regular(path)
        with path.open("r+b") as file:  # a fiftieth of it
            file.seek(1 << 20)
            file.write(b"1" * (1 << 20))
        assert len(read_regular(path)) == LARGE + 1
        path.unlink()
