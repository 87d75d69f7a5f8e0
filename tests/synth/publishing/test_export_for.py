"""Exports for trainers: what each reads, with every pixel, and that a stop loses nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from PIL import Image
from pycocotools.coco import COCO

import gloam
from gloam.cli.main import gloam as command
from gloam.engines.local import LocalEngine
from gloam.errors import ConfigError, SetError
from gloam.synth.publishing import unit_by_unit as module
from gloam.synth.publishing.export import FORMS
from gloam.synth.publishing.unit_by_unit import verify_export

from ...labelled import class_source, coco_source, voc_source


@pytest.fixture(scope="module")
def stored(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> gloam.PairSet:
    root = tmp_path_factory.mktemp("stored") / "set"
    gloam.build(root, f"folder={photographs}", val=6, shard_size=5, select=False)
    return gloam.open_set(root)


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB"))


def pairs_of(stored, root: Path, low: str, normal: str, train: str, val: str, exact: bool = True):
    """Every pair lies where it should, once, and its pixels are those of the set."""
    for split, named in (("train", train), ("val", val)):
        keys = [pair.key for pair in stored.pairs(split)]
        assert len(list((root / low.format(named)).iterdir())) == len(keys)
        for pair in stored.pairs(split):
            want = pair.pixels()
            for folder, image in zip((low, normal), want, strict=True):
                if not folder:
                    continue
                (found,) = (root / folder.format(named)).glob(f"{pair.key}.*")
                if exact:
                    assert np.array_equal(pixels(found), image)
                else:
                    error = pixels(found).astype(float) - image
                    assert np.sqrt((error**2).mean()) < 1


LAYOUTS = {
    "basicsr": ("{}/low", "{}/normal", "train", "val"),
    "restormer": ("{}/input", "{}/target", "train", "val"),
    "retinexformer": ("{}/low", "{}/normal", "train", "val"),
    "lol": ("{}/low", "{}/high", "our485", "eval15"),
    "kind": ("LOLdataset/{}/low", "LOLdataset/{}/high", "our485", "eval15"),
    "img-gt": ("{}/img", "{}/gt", "train", "test"),
    "zero-dce": ("{}", "", "train_data", "test_data/val"),
    "sci": ("{}", "", "train_low", "test_low"),
    "datasets": ("{}/low", "{}/normal", "train", "validation"),
}


@pytest.mark.parametrize("trainer", LAYOUTS)
def test_pairs_lie_where_the_trainer_looks(stored, trainer, tmp_path):
    root = tmp_path / "export"
    run = CliRunner().invoke(command, ["export", str(stored.root), str(root), "--for", trainer])
    assert run.exit_code == 0, run.output
    assert all(line.replace("{root}", str(root)) in run.output for line in FORMS[trainer].lines)
    if trainer == "datasets":  # metadata lies beside the images' folders
        assert len(list((root / "train").iterdir())) == 3
    pairs_of(stored, root, *LAYOUTS[trainer], exact=trainer != "zero-dce")
    if trainer in ("basicsr", "lol", "kind", "img-gt", "sci"):
        assert {path.suffix for path in root.rglob("*") if path.is_file()} <= {
            ".png",
            ".jsonl",
            ".json",
            ".txt",
            "",
        }
    records = [json.loads(line) for line in (root / "draws/train.jsonl").read_text().splitlines()]
    assert [one["key"] for one in records] == [one.key for one in stored.pairs("train")]
    assert not (root / ".gloam").exists()
    verified = CliRunner().invoke(command, ["verify", str(root)])
    assert verified.exit_code == 0
    again = CliRunner().invoke(command, ["export", str(stored.root), str(root), "--for", trainer])
    assert again.exit_code == 0


def test_basicsr_s_meta_info_names_every_pair(stored, tmp_path):
    gloam.export(stored, tmp_path / "export", for_="basicsr")
    lines = (tmp_path / "export/train/meta_info.txt").read_text().splitlines()
    for line, pair in zip(lines, stored.pairs("train"), strict=True):
        height, width, _ = pair.decoded("normal").shape
        assert line == f"{pair.key}.png ({height},{width},3)"


def test_lmdb_holds_the_files_under_their_keys(stored, tmp_path):
    lmdb = pytest.importorskip("lmdb")
    gloam.export(stored, tmp_path / "export", for_="basicsr-lmdb")
    for split in ("train", "val"):
        for member in ("low", "normal"):
            folder = tmp_path / "export" / split / f"{member}.lmdb"
            lines = (folder / "meta_info.txt").read_text().splitlines()
            names = [line.split(".")[0] for line in lines]
            with (
                lmdb.open(str(folder), readonly=True, lock=False) as database,
                database.begin(buffers=False) as transaction,
            ):
                assert transaction.stat()["entries"] == len(names) == stored.counts[split]
                for pair, line in zip(stored.pairs(split), lines, strict=True):
                    data = transaction.get(pair.key.encode())
                    (tmp_path / "one.png").write_bytes(data)
                    assert np.array_equal(pixels(tmp_path / "one.png"), pair.decoded(member))
                    assert line.endswith(" 1")


def test_class_folders_are_those_of_the_source(tmp_path):
    source = class_source(tmp_path / "classes", 12)
    gloam.build(tmp_path / "set", f"classes={source}", val=3, select=False, labels=True)
    gloam.export(tmp_path / "set", tmp_path / "export", for_="imagefolder")
    for pair in gloam.open_set(tmp_path / "set").pairs():
        split = "train" if (pair.key in keys(tmp_path / "set", "train")) else "val"
        name = pair.record["labels"]["class"]
        low = tmp_path / f"export/low/{split}/{name}/{pair.key}.{pair.low.suffix}"
        assert low.read_bytes() == pair.low.data
        normal = tmp_path / f"export/normal/{split}/{name}/{pair.key}.{pair.normal.suffix}"
        assert normal.read_bytes() == pair.normal.data


def keys(root: Path, split: str) -> set[str]:
    return {record["key"] for record in gloam.open_set(root).records(split)}


@pytest.fixture(scope="module")
def boxed(tmp_path_factory: pytest.TempPathFactory) -> gloam.PairSet:
    folder = tmp_path_factory.mktemp("boxed")
    sources = [
        f"voc={voc_source(folder / 'VOC2012', 7)}",
        f"coco={coco_source(folder / 'coco', 7)}@instances_train2017",
    ]
    options = {"labels": True, "select": False, "low_codec": "none", "shard_size": 4}
    gloam.build(folder / "set", sources, val=4, **options)
    return gloam.open_set(folder / "set")


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_coco_s_annotations_name_lows_and_normals(boxed, tmp_path, capsys):
    gloam.export(boxed, tmp_path / "coco", for_="coco", workers=2)
    records = {record["key"]: record for record in boxed.records()}
    for split, member in product(("train", "val"), ("low", "normal")):
        folder = tmp_path / "coco" / "images" / member / split
        coco = COCO(tmp_path / "coco" / "annotations" / f"instances_{member}_{split}.json")
        assert sorted(one["file_name"] for one in coco.imgs.values()) == sorted(
            path.name for path in folder.iterdir()
        )
        for number, image in coco.imgs.items():
            labels = records[image["file_name"].rpartition(".")[0]]["labels"]
            assert len(coco.imgToAnns[number]) == len(labels["boxes"])
            assert pixels(folder / image["file_name"]).shape[1::-1] == (
                image["width"],
                image["height"],
            )
    # Converters take every file there for one of boxes.
    assert all("instances" in path.name for path in (tmp_path / "coco" / "annotations").iterdir())
    captions = COCO(tmp_path / "coco" / "captions" / "captions_low_train.json")
    assert captions.anns
    assert verify_export(tmp_path / "coco", lambda _: None) == ([], [])


@pytest.mark.parametrize("val", [4, 0])
def test_yolo_s_labels_lie_beside_their_images(boxed, tmp_path, val):
    if not val:
        source = f"voc={voc_source(tmp_path / 'VOC', 3)}"
        options = {"labels": True, "select": False, "low_codec": "none"}
        gloam.build(tmp_path / "set", source, val=0, **options)
        boxed = gloam.open_set(tmp_path / "set")
    gloam.export(boxed, tmp_path / "yolo", for_="yolo")
    records = {record["key"]: record for record in boxed.records()}
    for member in ("low", "normal"):
        about = yaml.safe_load((tmp_path / "yolo" / f"{member}.yaml").read_text())
        assert about["names"] == {0: "lemon", 1: "mug", 2: "van"}
        for split in ("train", "val"):
            images = list((tmp_path / "yolo" / about[split]).iterdir())
            assert len(images) == boxed.counts[split if val else "train"]
            for path in images:
                # As Ultralytics' img2label_paths.
                labels = Path("/labels/".join(str(path).rsplit("/images/", 1))).with_suffix(".txt")
                rows = [list(map(float, line.split())) for line in labels.read_text().splitlines()]
                record = records[path.stem]
                wanted = [
                    (number, box)
                    for number, box, crowd in zip(
                        *(record["labels"][name] for name in ("classes", "boxes", "crowd")),
                        strict=True,
                    )
                    if not crowd
                ]
                assert len(rows) == len(wanted)
                sides = np.array([record["width"], record["height"]])
                for (number, *box), (name, corners) in zip(rows, wanted, strict=True):
                    centre, size = np.array(box[:2]) * sides, np.array(box[2:]) * sides
                    assert number == name
                    found = [*(centre - size / 2), *(centre + size / 2)]
                    assert np.allclose(found, corners, atol=1e-3)


@pytest.mark.parametrize("trainer", ["coco", "yolo"])
def test_a_set_without_boxes_says_what_has_them(stored, trainer, tmp_path):
    with pytest.raises(ConfigError, match=f"--for {trainer}: needs boxes, which .* has not"):
        gloam.export(stored, tmp_path / "export", for_=trainer)


def test_hugging_face_reads_pairs_with_their_draws(stored, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    gloam.export(stored, tmp_path / "export", for_="datasets")
    found = datasets.load_dataset(
        "imagefolder", data_dir=str(tmp_path / "export"), cache_dir=str(tmp_path / "cache")
    )
    for named, split in (("train", "train"), ("validation", "val")):
        for row, pair in zip(found[named], stored.pairs(split), strict=True):
            assert row["key"] == pair.key
            assert np.array_equal(np.asarray(row["low"].convert("RGB")), pair.decoded("low"))
            assert np.array_equal(np.asarray(row["normal"].convert("RGB")), pair.decoded("normal"))
            assert json.loads(row["draw"]) == pair.record["draw"]


def test_lows_of_live_sets_are_made(photographs, stored, tmp_path):
    options = {"val": 6, "shard_size": 5, "select": False, "low_codec": "none"}
    gloam.build(tmp_path / "live", f"folder={photographs}", **options)
    gloam.export(stored, tmp_path / "a", for_="lol")
    gloam.export(tmp_path / "live", tmp_path / "b", for_="lol", workers=2)
    assert images(tmp_path / "a") == images(tmp_path / "b")


def images(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*.png")}


class Stopped(LocalEngine):
    """Ends after a unit."""

    def map(self, function, jobs, at=lambda counted: None):
        results = super().map(function, jobs, at)
        yield next(results)
        raise KeyboardInterrupt


@pytest.mark.parametrize("trainer", ["lol", "basicsr-lmdb"])
def test_a_stopped_export_goes_on(stored, trainer, tmp_path):
    gloam.export(stored, tmp_path / "whole", for_=trainer)
    with pytest.raises(KeyboardInterrupt):
        gloam.export(stored, tmp_path / "export", for_=trainer, engine=Stopped())
    drafts, root = tmp_path / "export" / ".gloam" / "files", tmp_path / "export"
    before = {p.relative_to(drafts): p.stat().st_mtime_ns for p in drafts.rglob("*.png")}
    assert before
    gloam.export(stored, tmp_path / "export", for_=trainer)
    if trainer == "lol":
        assert all((root / name).stat().st_mtime_ns == time for name, time in before.items())
        assert images(tmp_path / "export") == images(tmp_path / "whole")
    sums = [(tmp_path / name / "SHA256SUMS").read_text() for name in ("whole", "export")]
    assert sums[0] == sums[1]
    for line in sums[0].splitlines():
        digest, name = line.split("  ")
        data = (tmp_path / "export" / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest


def test_folders_list_their_files_in_one_order(stored, tmp_path):
    """On /dev/shm, as some trainers pair two listings that nobody sorted."""
    memory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else tmp_path))
    try:
        gloam.export(stored, memory / "export", for_="lol", workers=4)
        for split in ("our485", "eval15"):
            low, high = (os.listdir(memory / "export" / split / name) for name in ("low", "high"))
            assert low == high
    finally:
        shutil.rmtree(memory)


def test_what_a_stop_at_the_very_end_left_is_removed(stored, tmp_path):
    gloam.export(stored, tmp_path / "export", for_="lol")
    (tmp_path / "export" / ".gloam" / "units").mkdir(parents=True)
    gloam.export(stored, tmp_path / "export", for_="lol")
    assert not (tmp_path / "export" / ".gloam").exists()


def test_what_is_in_the_way_is_said(stored, tmp_path):
    gloam.export(stored, tmp_path / "export", for_="lol")
    with pytest.raises(SetError, match="holds another export"):
        gloam.export(stored, tmp_path / "export", for_="sci")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(SetError, match="is no export"):
        gloam.export(stored, tmp_path / "other", for_="lol")
    with pytest.raises(SetError, match="is the set itself"):
        gloam.export(stored, stored.root, for_="lol")
    with pytest.raises(ConfigError, match="must be one of"):
        gloam.export(stored, tmp_path / "new", for_="nobody")
    with pytest.raises(ConfigError, match="needs classes"):
        gloam.export(stored, tmp_path / "new", for_="imagefolder")
    both = ["export", str(stored.root), str(tmp_path / "new"), "--for", "lol", "--layout", "files"]
    run = CliRunner().invoke(command, both)
    assert run.exit_code == 1
    assert "--for, --video and --layout exclude each other" in run.output
    assert not (tmp_path / "new").exists()


def test_a_changed_export_is_found(stored, tmp_path):
    root = tmp_path / "export"
    gloam.export(stored, root, for_="sci")
    first, second, *_ = sorted((root / "train_low").iterdir())
    first.write_bytes(first.read_bytes()[:-1])
    second.unlink()
    run = CliRunner().invoke(command, ["verify", str(root)])
    assert run.exit_code == 1
    assert f"{first.name}: was changed" in run.output
    assert f"{second.name}: No such file" in run.output
    assert "2 problems" in run.output
    shutil.rmtree(root)
    assert module.MARK == "gloam.json"


def test_energon_finds_shards_indexes_and_splits(stored, tmp_path):
    root = tmp_path / "export"
    gloam.export(stored, root, for_="energon")
    info = json.loads((root / ".nv-meta/.info.json").read_text())
    assert info["shard_counts"] == {
        f"shards/{unit.name}.tar": unit.count for unit in stored.units()
    }
    parts = yaml.safe_load((root / ".nv-meta/split.yaml").read_text())["split_parts"]
    assert {split: len(shards) for split, shards in parts.items()} == {
        "train": len(stored.units("train")),
        "val": len(stored.units("val")),
        "test": 0,
    }
    for unit in stored.units():
        tar = f"shards/{unit.name}.tar"
        assert (root / tar).read_bytes() == (stored.root / tar).read_bytes()
        places = np.frombuffer((root / f"{tar}.idx").read_bytes(), "<u8")
        with tarfile.open(root / tar) as archive:
            members = archive.getmembers()
            starts = [one.offset for one in members if one.name.endswith(".json")]
            assert places.tolist() == [*starts, archive.offset]
    loader: dict = {}
    exec((root / ".nv-meta/sample_loader.py").read_text(), loader)
    raw = {"__key__": "k", "low.png": 1, "normal.jpg": 2}
    assert loader["sample_loader"](raw) == {"sequence": [1, 2]}
    assert [loader["part_filter"](part) for part in ("low.png", "json")] == [True, False]
    (root / ".nv-meta/split.yaml").write_text("prepared anew")
    assert CliRunner().invoke(command, ["verify", "--strict", str(root)]).exit_code == 0
    (root / ".nv-meta/sample_loader.py").write_text("import os")
    assert CliRunner().invoke(command, ["verify", str(root)]).exit_code == 1
