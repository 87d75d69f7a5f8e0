"""Copies of sets: whole, resumable, refused where they do not belong or fit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import gloam
from gloam.errors import SetError
from gloam.manifests.sets import stage as staging
from gloam.manifests.sets.problems import verify_set
from gloam.manifests.sets.stage import stage

from ...trees import files_of


@pytest.fixture(scope="module", params=["shards", "files"])
def built(request, photographs, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("staging") / "set"
    options = {"val": 4, "shard_size": 5, "recipe": "even", "layout": request.param}
    gloam.build(root, f"folder={photographs}", select=False, **options)
    return root


class Ticks:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.done: list[int] = []

    def stage(self, name: str, total: int | None) -> None:
        self.total = total

    def at(self, done: int) -> None:
        self.done.append(done)


def test_a_copy_has_the_same_bytes_and_is_a_set(built, tmp_path):
    ticks = Ticks()
    copied, kept = stage(built, tmp_path / "copy", progress=ticks)
    assert kept == 0
    assert copied == len(files_of(built))
    assert files_of(tmp_path / "copy") == files_of(built)
    assert verify_set(tmp_path / "copy") == []
    assert ticks.done == sorted(ticks.done)
    assert ticks.done[-1] == ticks.total


def test_a_stopped_copy_goes_on_and_damage_is_mended(built, tmp_path, monkeypatch):
    original = staging._copy_file

    def stop_later(root, target, file, count=[]):  # noqa: B006
        count.append(file)
        if len(count) == 4:
            raise KeyboardInterrupt
        return original(root, target, file)

    monkeypatch.setattr(staging, "_copy_file", stop_later)
    with pytest.raises(KeyboardInterrupt):
        stage(built, tmp_path / "copy")
    monkeypatch.undo()
    assert not (tmp_path / "copy" / "set.json").exists()
    assert stage(built, tmp_path / "copy")[1] == 3
    victim = next(p for p in (tmp_path / "copy").rglob("*.parquet"))
    victim.write_bytes(b"damaged")
    stage(built, tmp_path / "copy")
    assert files_of(tmp_path / "copy") == files_of(built)


def test_it_refuses_what_is_not_a_place_for_it(built, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("mine")
    with pytest.raises(SetError, match=r"other files \(thesis\.tex\)"):
        stage(built, tmp_path / "other")
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["thesis.tex"]
    with pytest.raises(SetError, match="the set itself"):
        stage(built, built)
    monkeypatch.setattr(
        staging.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1)
    )
    with pytest.raises(SetError, match=r"[1-9][0-9.]* MB more"):
        stage(built, tmp_path / "full")


def test_a_damaged_original_is_not_copied(built, tmp_path):
    broken = shutil.copytree(built, tmp_path / "broken")
    victim = next(p for p in broken.rglob("*") if p.suffix in (".tar", ".png"))
    data = victim.read_bytes()
    victim.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    with pytest.raises(SetError, match="is damaged"):
        stage(broken, tmp_path / "copy")
    assert not (tmp_path / "copy" / "set.json").exists()


def test_one_split_alone(built, tmp_path):
    stage(built, tmp_path / "copy", "val")
    assert not [
        name for name in files_of(tmp_path / "copy") if name.startswith(("shards/train", "train/"))
    ]
