"""A split for testing, beside training and validation."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import ConfigError, SetError
from gloam.manifests.sets.problems import verify_set
from gloam.manifests.sets.stage import stage
from gloam.storage.parquet import read_table
from gloam.synth.building.regenerate import regenerate
from gloam.synth.publishing.publish import publish, rebuild

OPTIONS = {"val": 5, "select": False, "shard_size": 6, "recipe": "even"}


@pytest.fixture(scope="module")
def sets(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("splits")
    gloam.build(folder / "two", f"folder={photographs}", **OPTIONS)
    gloam.build(folder / "three", f"folder={photographs}", test=4, **OPTIONS)
    return {name: folder / name for name in ("two", "three")}


def keys(root: Path, split: str) -> set[str]:
    return {record["key"] for record in gloam.open_set(root).records(split)}


def test_it_takes_from_training_alone(sets):
    two, three = (gloam.open_set(sets[name]) for name in ("two", "three"))
    assert two.counts == {"train": 19, "val": 5}
    assert three.counts == {"train": 15, "val": 5, "test": 4}
    assert keys(sets["two"], "val") == keys(sets["three"], "val")
    assert keys(sets["three"], "train") | keys(sets["three"], "test") == keys(sets["two"], "train")
    assert not keys(sets["three"], "train") & keys(sets["three"], "test")
    assert "test" not in two.info.build.request.model_dump()["plan"]
    pairs = {pair.key: pair for pair in two.pairs()}
    for pair in three.pairs():
        assert pair.low.data == pairs[pair.key].low.data


@pytest.mark.parametrize("layout", ["shards", "files"])
def test_a_set_is_split_anew_without_making_its_lows(photographs, tmp_path, layout):
    folder = tmp_path / "photos" / "class"
    shutil.copytree(photographs, folder)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8 not a photograph")
    options = {**OPTIONS, "labels": True, "layout": layout}
    gloam.build(tmp_path / "set", f"classes={folder.parent}", **options)
    gloam.build(tmp_path / "built", f"classes={folder.parent}", **(options | {"val": 8, "test": 3}))
    regenerate(tmp_path / "set", tmp_path / "new", val=8, test=3)
    origin, new, built = (gloam.open_set(tmp_path / name) for name in ("set", "new", "built"))
    assert new.counts == built.counts
    assert not verify_set(tmp_path / "new")
    for split in ("train", "val", "test"):
        assert keys(tmp_path / "new", split) == keys(tmp_path / "built", split)
    stored = {pair.key: pair for pair in origin.pairs()}
    for pair in new.pairs():
        assert pair == stored[pair.key]
    assert new.info.build.versions == origin.info.build.versions
    plan = new.table("plan")
    labels = read_table(tmp_path / "new" / "labels.parquet")
    assert labels["key"].to_pylist() == plan["key"].to_pylist()
    noisier = regenerate(tmp_path / "set", tmp_path / "noisier", seed=4, val=0, test=0)
    assert noisier.counts == {"train": 24, "val": 0, "refused": 1}
    with pytest.raises(ConfigError, match="only 25 pairs"):
        regenerate(tmp_path / "set", tmp_path / "none", val=26)
    with pytest.raises(SetError, match="leave out --lows-only"):
        regenerate(tmp_path / "set", tmp_path / "none", val=6, lows_only=True)


def test_a_hundredth_is_for_validation_where_nobody_said(photographs, tmp_path):
    asked = {name: value for name, value in OPTIONS.items() if name != "val"}
    root = tmp_path / "set"
    assert gloam.build(root, f"folder={photographs}", **asked).info.counts["val"] == 1
    assert gloam.build(root, f"folder={photographs}", **asked).made == 0
    with pytest.raises(SetError, match=r"plan\.val: 1, now 2"):
        gloam.build(root, f"folder={photographs}", **asked, val=2)
    begun = tmp_path / "begun"  # before there was such a default, by the same call
    gloam.build(begun, f"folder={photographs}", **asked, val=0)
    assert gloam.build(begun, f"folder={photographs}", **asked).info.counts["val"] == 0


@pytest.mark.parametrize("name", ["PairLoader", "TorchLoader"])
def test_loaders_load_it(sets, name):
    with getattr(gloam, name)(
        sets["three"], "test", batch_size=3, size=32, keys=True, device="cpu", workers=1
    ) as loader:
        found = [key for batch in loader for key in batch[2]]
    assert sorted(found) == sorted(keys(sets["three"], "test"))


@pytest.mark.slow
def test_it_goes_wherever_the_set_goes(sets, photographs, tmp_path):
    wanted = keys(sets["three"], "test")
    gloam.export(sets["three"], tmp_path / "files", layout="files")
    regenerate(sets["three"], tmp_path / "other", seed=3)
    stage(sets["three"], tmp_path / "staged")
    stage(sets["three"], tmp_path / "staged")
    publish(sets["three"], tmp_path / "published", "plan")
    rebuild(tmp_path / "published", tmp_path / "again", [f"folder={photographs}"])
    for name in ("files", "other", "staged", "again"):
        assert verify_set(tmp_path / name, strict=True) == []
        assert keys(tmp_path / name, "test") == wanted
    assert len(list((tmp_path / "files" / "test" / "low").iterdir())) == 4
    gloam.export(sets["three"], tmp_path / "lol", for_="lol")
    assert {path.stem for path in (tmp_path / "lol/test/low").iterdir()} == wanted
    publish(sets["three"], tmp_path / "hub")
    assert "shards/test-*.tar" in (tmp_path / "hub" / "README.md").read_text()


def test_the_command_counts_it_and_refuses_too_much(photographs, tmp_path):
    arguments = ["build", str(tmp_path / "set"), "--source", f"folder={photographs}", "--no-select"]
    options = ["--val", "5", "--test", "4", "--low-codec", "none"]
    run = CliRunner().invoke(command, [*arguments, *options])
    assert run.exit_code == 0, run.output
    assert "24 pairs: train 15, val 5, test 4" in run.output
    with pytest.raises(ConfigError, match="val = 20, test = 4: of 24 pairs in all none would be"):
        gloam.build(tmp_path / "b", f"folder={photographs}", val=20, test=4, select=False)


def test_a_stopped_copy_of_a_labelled_set_goes_on(tmp_path):
    from ...labelled import voc_source

    gloam.build(
        tmp_path / "set", f"voc={voc_source(tmp_path / 'VOC', 6)}", labels=True, select=False
    )
    stage(tmp_path / "set", tmp_path / "staged")
    (tmp_path / "staged" / "set.json").unlink()
    stage(tmp_path / "set", tmp_path / "staged")
    assert verify_set(tmp_path / "staged", strict=True) == []
    assert (tmp_path / "staged" / "README.md").is_file()
