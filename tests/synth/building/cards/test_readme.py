"""A set's folder as it lies, read by Hugging Face's datasets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gloam
from gloam.manifests.sets.verify import verify_set
from gloam.synth.building.regenerate import export, regenerate

from ....labelled import class_source, voc_source

datasets = pytest.importorskip("datasets")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    sources = [
        f"voc={voc_source(folder / 'VOC', 8)}",
        f"classes={class_source(folder / 'classes', 5)}",
    ]
    gloam.build(folder / "set", sources, val=3, labels=True, select=False, shard_size=4)
    return folder / "set"


@pytest.fixture(scope="module")
def plain(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("readme") / "set"
    gloam.build(root, f"folder={photographs}", val=5, select=False, recipe="night-lights")
    return root


def loaded(root: Path, cache: Path, *name: str, streaming: bool = False):
    return datasets.load_dataset(str(root), *name, streaming=streaming, cache_dir=str(cache))


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("which", ["labelled", "plain"])
def test_shards_are_read_whole(which, streaming, request, tmp_path):
    root = request.getfixturevalue(which)
    found = loaded(root, tmp_path, streaming=streaming)
    pairs = {pair.key: pair for pair in gloam.open_set(root).pairs()}
    seen = set()
    for named in ("train", "validation"):
        for row in found[named]:
            pair = pairs[row["__key__"].rpartition("/")[2]]
            assert np.array_equal(np.asarray(row["low.png"]), pair.decoded("low"))
            normal = row[f"normal.{pair.normal.suffix}"].convert("RGB")
            assert np.array_equal(np.asarray(normal), pair.decoded("normal"))
            assert row["json"]["draw"] == pair.record["draw"]
            seen.add(pair.key)
    assert seen == pairs.keys()


def test_other_forms_are_read_too(labelled, tmp_path):
    export(labelled, tmp_path / "files", "files")
    regenerate(labelled, tmp_path / "lows", seed=3, lows_only=True)
    for name in ("low", "normal"):
        found = loaded(tmp_path / "files", tmp_path / "cache", name)
        assert {split: len(rows) for split, rows in found.items()} == {"train": 10, "validation": 3}
    rows = loaded(tmp_path / "lows", tmp_path / "cache", streaming=True)["train"]
    assert {"low.png", "cls"} <= set(next(iter(rows)))


def test_it_is_no_part_of_the_set_and_an_edited_one_stays(labelled, photographs, tmp_path):
    root = tmp_path / "set"
    gloam.build(root, f"folder={photographs}", select=False, low_codec="none")
    (root / "README.md").write_text("mine")
    gloam.build(root, f"folder={photographs}", select=False, low_codec="none")
    assert (root / "README.md").read_text() == "mine"
    assert verify_set(root, strict=True) == []
    (root / "README.md").unlink()
    assert verify_set(root, strict=True) == []
