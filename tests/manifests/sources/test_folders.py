"""Which files lie below a folder: links, hidden ones, and what is no file."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gloam.errors import SourceError
from gloam.manifests.sources.folders import files_below, image_files, image_pairs, is_hidden


def below(root: Path, passed: Counter[str] | None = None) -> list[str]:
    return [name for name, _ in files_below(root, passed)]


def test_files_and_folders_behind_links_are_listed(tmp_path: Path, fill_folder: Any) -> None:
    root = fill_folder(tmp_path / "root", {"a/1.jpg": b"one"})
    elsewhere = fill_folder(tmp_path / "elsewhere", {"2.jpg": b"two", "deep/3.jpg": b"three"})
    (root / "link.jpg").symlink_to(elsewhere / "2.jpg")
    for name in ("b", "c"):
        (root / name).symlink_to(elsewhere)
    passed: Counter[str] = Counter()
    expected = ["link.jpg", "a/1.jpg", "b/2.jpg", "b/deep/3.jpg", "c/2.jpg", "c/deep/3.jpg"]
    assert below(root, passed) == expected
    assert passed == {}


@pytest.mark.parametrize("target", [".", "..", "../..", "/", "a", "a/b/loop"])
def test_links_that_lead_in_a_circle_are_counted_and_not_followed(
    tmp_path: Path, fill_folder: Any, target: str
) -> None:
    root = fill_folder(tmp_path / "root", {"a/b/1.jpg": b"one"})
    (root / "a" / "b" / "loop").symlink_to(
        target if target.startswith((".", "/")) else root / target
    )
    passed: Counter[str] = Counter()
    assert below(root, passed) == ["a/b/1.jpg"]
    kind = "broken links" if target.endswith("loop") else "links in a circle"
    assert passed == {kind: 1}


def test_circles_of_several_links_come_to_an_end(tmp_path: Path, fill_folder: Any) -> None:
    root = fill_folder(tmp_path / "root", {"a/1.jpg": b"one"})
    other = fill_folder(tmp_path / "other", {"2.jpg": b"two"})
    (root / "a" / "there").symlink_to(other)
    (other / "back").symlink_to(root / "a")
    passed: Counter[str] = Counter()
    assert below(root, passed) == ["a/1.jpg", "a/there/2.jpg"]
    assert passed == {"links in a circle": 1}


def test_a_folder_may_itself_be_a_link_and_its_path_relative(
    tmp_path: Path, fill_folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fill_folder(tmp_path / "root", {"a/1.jpg": b"one"})
    (root / "loop").symlink_to(root)
    (tmp_path / "link").symlink_to(root)
    monkeypatch.chdir(root)
    for path in (tmp_path / "link", Path(), Path("a/..")):
        assert below(path) == ["a/1.jpg"], path


def test_pipes_and_broken_links_are_counted(tmp_path: Path, fill_folder: Any) -> None:
    root = fill_folder(tmp_path / "root", {"1.jpg": b"one"})
    os.mkfifo(root / "pipe.jpg")
    (root / "zero.jpg").symlink_to("/dev/zero")
    (root / "folder.jpg").mkdir()
    (root / "broken.jpg").symlink_to(tmp_path / "nowhere.jpg")
    passed: Counter[str] = Counter()
    assert below(root, passed) == ["1.jpg"]
    assert passed == {"pipes and devices": 2, "broken links": 1}


HIDDEN = [
    "._1.jpg", "a/._1.jpg", "__MACOSX/1.jpg", "a/@eaDir/1.jpg/thumb.jpg", ".git/1.jpg",
    ".ipynb_checkpoints/1.jpg", "#recycle/1.jpg", "$RECYCLE.BIN/1.jpg", ".Trash-1000/files/1.jpg",
]  # fmt: skip
SHOWN = ["1.jpg", "a/.1.jpg", "a/1._.jpg", "MACOSX/1.jpg", "eaDir/1.jpg", "_.a/1.jpg", "../1.jpg"]


def test_one_rule_says_what_is_hidden(tmp_path: Path, fill_folder: Any) -> None:
    assert all(map(is_hidden, HIDDEN))
    assert not any(map(is_hidden, SHOWN))
    files = dict.fromkeys([*HIDDEN, *SHOWN[:-1]], b"x")
    root = fill_folder(tmp_path / "root", files)
    passed: Counter[str] = Counter()
    assert sorted(below(root, passed)) == sorted(SHOWN[:-1])
    assert passed == {"hidden files": 2, "hidden folders": 7}
    assert sorted(path.as_posix() for path in image_files(root).values()) == sorted(
        (root / name).as_posix() for name in SHOWN[:-1]
    )


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        below(tmp_path / "nowhere")


def test_names_of_two_normal_forms_are_one(tmp_path: Path, fill_folder: Any) -> None:
    composed, apart = (unicodedata.normalize(form, "Caf\u00e9/\u00fc") for form in ("NFC", "NFD"))
    lows = fill_folder(tmp_path / "low", {f"{composed}.png": b""})
    normals = fill_folder(tmp_path / "normal", {f"{apart}.jpg": b""})
    assert list(image_files(lows)) == list(image_files(normals)) == [composed]
    [(name, low, normal)] = image_pairs(lows, normals, 9)
    assert (name, low, normal) == (composed, lows / f"{composed}.png", normals / f"{apart}.jpg")
    fill_folder(lows, {f"{apart}.png": b""})
    with pytest.raises(SourceError, match="has the same name"):
        image_files(lows)
