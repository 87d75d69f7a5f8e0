"""What is a photograph among the files of a source; others are counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gloam.errors import SourceError
from gloam.manifests.sources import list_source


def test_pictures_that_are_not_read_are_counted_by_kind(
    tmp_path: Path, fill_folder: Any, jpegs: list[bytes]
) -> None:
    names = ["a.jpg", "b.CR2", "c.cr2", "d.gif", "e", "README", "notes.txt", ".hidden", "._b.jpg"]
    folder = fill_folder(tmp_path / "photos", dict.fromkeys(names, jpegs[0]))
    passed: Counter[str] = Counter()
    assert [image.path for image in list_source("folder", str(folder), "", passed)] == ["a.jpg"]
    assert passed == {".cr2": 2, ".gif": 1, "without suffix": 1, "hidden files": 1}
    only = fill_folder(tmp_path / "raw", {"b.CR2": jpegs[0]})
    with pytest.raises(SourceError, match=r"holds no photograph .* and passed over: \.cr2 1"):
        list_source("folder", str(only))


def test_names_that_go_on_behind_a_suffix_are_counted_by_it(
    tmp_path: Path, fill_folder: Any, jpegs: list[bytes]
) -> None:
    """Downloads, backups and tools leave them; what is said of a photograph is none."""
    names = ["1.jpg_large", "2.jpg!w600", "3.JPEG?x=1", "4.jpg.1", "5.jpg~", "6.png (1)", "7.pjpeg"]
    texts = ["ok.jpg.xmp", "ok.jpg.json", "notes.pngs", "a.tiffany"]
    folder = fill_folder(tmp_path / "photos", dict.fromkeys(["ok.jpg", *names, *texts], jpegs[0]))
    passed: Counter[str] = Counter()
    assert [image.path for image in list_source("folder", str(folder), "", passed)] == ["ok.jpg"]
    assert passed == {".jpg*": 4, ".jpeg*": 1, ".png*": 1, ".pjpeg": 1}


def test_archives_inside_a_source_and_photographs_beside_its_folders_are_counted(
    tmp_path: Path, fill_folder: Any, write_tar: Any, jpegs: list[bytes]
) -> None:
    files = {"n01440764/1.JPEG": jpegs[0], "other/2.JPEG": jpegs[1], "n01440764.tar.gz": b"x"}
    for source in (
        fill_folder(tmp_path / "train", {**files, "n02.TAR": b"x"}),
        write_tar(tmp_path / "train.tar", {**files, "n02.TAR": b"x"}),
    ):
        passed: Counter[str] = Counter()
        found = [image.path for image in list_source("imagenet", str(source), "", passed)]
        assert found == ["n01440764/1.JPEG"]
        assert passed == {"outside of the kind's folders": 1, ".gz": 1, ".tar": 1}


def test_lows_of_gloams_own_pairs_are_not_photographs(
    tmp_path: Path,
    write_tar: Any,
    fill_folder: Any,
    jpegs: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = {}
    for key in ("n-1", "n-2"):
        members |= {f"{key}.json": b"{}", f"{key}.low.png": jpegs[0], f"{key}.normal.jpg": jpegs[1]}
    members |= {
        "n-3.json": b"{}",
        "n-3.low.png": jpegs[0],
        "n-4.jpg": jpegs[1],
    }  # not a pair: who knows what it is
    tar = write_tar(tmp_path / "train-000000.tar", members)
    for kind in ("webdataset", "archive"):
        passed: Counter[str] = Counter()
        names = [image.path.rpartition("/")[2] for image in list_source(kind, str(tar), "", passed)]
        assert names == ["n-1.normal.jpg", "n-2.normal.jpg", "n-3.low.png", "n-4.jpg"]
        assert passed == {"lows of gloam's pairs": 2}
    folder = fill_folder(
        tmp_path / "set",
        {"set.json": b"{}", "train/low/a.png": jpegs[0], "train/normal/a.jpg": jpegs[1]},
    )
    for root, within in ((folder, ""), (tmp_path, "set/")):
        passed = Counter()
        paths = [image.path for image in list_source("folder", str(root), "", passed)]
        assert paths == [f"{within}train/normal/a.jpg"]
        assert passed["lows of gloam's pairs"] == 1
    (tmp_path / "other" / "low").mkdir(parents=True)
    (tmp_path / "other" / "low" / "a.jpg").write_bytes(jpegs[0])
    monkeypatch.chdir(tmp_path / "other")
    assert [image.path for image in list_source("folder", ".")] == ["low/a.jpg"]
