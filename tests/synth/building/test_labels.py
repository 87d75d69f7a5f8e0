"""Labels of sources, in the set that is built of them: where they lie, and that they are kept."""

from __future__ import annotations

import io
import json
from collections import Counter
from itertools import product

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from PIL import Image
from pycocotools.coco import COCO

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import ConfigError, SourceError
from gloam.manifests.images.npy import npy_bytes
from gloam.manifests.labels.label_table import read_left_out
from gloam.manifests.labels.placement import mask_of, runs_of
from gloam.manifests.sets.problems import verify_set
from gloam.synth.building.deep_verify import recheck_set
from gloam.synth.building.regenerate import regenerate

from ...labelled import (
    NAMES,
    class_source,
    coco_source,
    likeness,
    orientation_of,
    size_of,
    things,
    voc_source,
)
from ...trees import files_of

COUNT = 16
TWO = np.ones((2, 2), np.uint8)
OPTIONS = {"labels": True, "select": False, "shard_size": 7, "recipe": "even"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("labelled")
    return [
        f"voc={voc_source(folder / 'VOC2012', COUNT)}",
        f"coco={coco_source(folder / 'coco', COUNT)}@instances_train2017",
        f"classes={class_source(folder / 'classes', COUNT)}",
    ]


@pytest.fixture(scope="module", params=[None, 96])
def labelled(request, sources, tmp_path_factory) -> gloam.manifests.sets.pair_set.PairSet:
    root = tmp_path_factory.mktemp("sets") / "set"
    gloam.build(root, sources, val=9, max_side=request.param, **OPTIONS)
    return gloam.open_set(root)


def edges(found: np.ndarray) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(found.any(1)), np.flatnonzero(found.any(0))
    return columns[0], rows[0], columns[-1] + 1, rows[-1] + 1


def test_boxes_lie_on_what_they_were_drawn_on(labelled):
    seen = 0
    for pair in labelled.pairs():
        labels, normal = pair.record["labels"], pair.decoded("normal")
        height, width = normal.shape[:2]
        for name, box in zip(labels["names"], labels["boxes"], strict=True):
            left, top, right, bottom = box
            assert 0 <= left < right <= width
            assert 0 <= top < bottom <= height
            around = np.zeros((height, width), bool)
            around[
                max(0, int(top) - 4) : int(bottom) + 5, max(0, int(left) - 4) : int(right) + 5
            ] = True
            found = edges(likeness(normal, name) & around)
            assert np.abs(np.subtract(found, box)).max() <= 1.5, (pair.key, name)
            seen += 1
    assert seen > 60


def test_counts_of_classes_are_the_source_s(labelled):
    counts = Counter(name for record in labelled.records() for name in record["labels"]["names"])
    wanted: Counter[str] = Counter({"van": 1})  # which lies half outside; the other is not there
    for first, many in ((0, COUNT - 1), (100, COUNT)):
        for seed in range(first, first + many):
            wanted.update(name for name, _ in things(seed, *size_of(seed)))
    assert counts == wanted
    classes = Counter(record["labels"]["class"] for record in labelled.records())
    assert classes == {"": 2 * COUNT, "lemon": 6, "mug": 5, "van": 5}


def test_masks_move_with_their_pictures(labelled):
    seen = 0
    for pair in labelled.pairs():
        mask = np.asarray(Image.open(io.BytesIO(pair.members["mask"].data)))
        normal = pair.decoded("normal")
        assert mask.shape == normal.shape[:2]
        if (mask == 255).all():
            assert pair.record["source"] != "voc" or int(pair.record["path"][-6:-4]) in (
                *(seed for seed in range(COUNT) if seed % 3),
                COUNT - 1,
            )
            continue
        for number, name in enumerate(NAMES, 1):
            outside = likeness(normal, name) != (mask == number)
            assert outside.mean() < 0.03, pair.key
        seen += 1
    assert seen == 5


def test_members_hold_what_records_say(labelled):
    classes = (labelled.root / "classes.txt").read_text().splitlines()
    assert classes == ["lemon", "mug", "van"]
    for pair in labelled.pairs():
        labels = pair.record["labels"]
        assert list(pair.members) == ["low", "normal", "cls", "boxes", "classes", "mask"]
        assert int(pair.members["cls"].data) == labels["class_number"]
        if labels["class"]:
            assert classes[labels["class_number"]] == labels["class"]
        boxes, numbers = (array(pair.members[name].data) for name in ("boxes", "classes"))
        assert boxes.dtype == np.float32
        assert numbers.dtype == np.int32
        assert boxes.shape == (len(labels["names"]), 4)
        assert np.array_equal(boxes, np.array(labels["boxes"], np.float32).reshape(-1, 4))
        assert [classes[number] for number in numbers] == labels["names"]


def array(data: bytes) -> np.ndarray:
    return np.load(io.BytesIO(data))


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_pycocotools_reads_the_annotations(labelled, capsys):
    rows = pq.read_table(labelled.root / "pairs.parquet").to_pylist()
    pairs = {pair.key: pair for pair in labelled.pairs()}
    seen = 0
    for split, member in product(("train", "val"), ("low", "normal")):
        coco = COCO(labelled.root / "annotations" / f"instances_{member}_{split}.json")
        assert len(coco.imgs) == labelled.counts[split]
        names = {one["id"]: one["name"] for one in coco.dataset["categories"]}
        assert names == {1: "lemon", 2: "mug", 3: "van"}
        for number, image in coco.imgs.items():
            pair = pairs[rows[number]["key"]]
            assert image["file_name"].startswith(f"{pair.key}.{member}.")
            normal = pair.decoded("normal")
            assert (image["height"], image["width"]) == normal.shape[:2]
            for one in coco.imgToAnns[number]:
                left, top, width, height = one["bbox"]
                if not one["segmentation"]:
                    continue
                mask = coco.annToMask(one).astype(bool)
                inside = np.zeros_like(mask)
                inside[round(top) : round(top + height), round(left) : round(left + width)] = True
                assert (mask & inside).sum() / (mask | inside).sum() > 0.85
                assert abs(one["area"] - mask.sum()) <= 0.1 * one["area"]
                seen += one["iscrowd"]
        captions = COCO(labelled.root / "captions" / f"captions_{member}_{split}.json")
        for one in captions.anns.values():
            key = rows[one["image_id"]]["key"]
            seed = int(pairs[key].record["path"].rpartition("/")[2][:-4])
            assert one["caption"] == f"Picture “{seed}”"
    assert seen > 5


def test_a_labelled_set_is_verified_regenerated_and_exported(labelled, tmp_path):
    assert verify_set(labelled) == []
    assert recheck_set(labelled) == []
    regenerate(labelled, tmp_path / "same")
    assert files_of(tmp_path / "same") == files_of(labelled.root)
    regenerate(labelled, tmp_path / "noisier", overrides=["camera.iso=6400"])
    gloam.export(labelled, tmp_path / "files", layout="files")
    gloam.export(tmp_path / "files", tmp_path / "back", layout="shards")
    for name in ("noisier", "files", "back"):
        assert verify_set(tmp_path / name) == []
    wanted = [record["labels"] for record in labelled.records()]
    for name in ("noisier", "files"):
        assert [one["labels"] for one in gloam.open_set(tmp_path / name).records()] == wanted
    shard = "shards/train-000000.tar"
    assert (tmp_path / "back" / shard).read_bytes() == (labelled.root / shard).read_bytes()
    for path in (tmp_path / "files" / "annotations").iterdir():
        for image in json.loads(path.read_text())["images"]:
            assert (tmp_path / "files" / image["file_name"]).is_file()
            assert f"/{path.stem.split('_')[1]}/" in image["file_name"]


def test_workers_and_restarts_change_no_byte(sources, tmp_path):
    for workers, name in ((1, "one"), (2, "two")):
        gloam.build(tmp_path / name, sources, workers=workers, low_codec="none", **OPTIONS)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    (tmp_path / "two" / "receipts" / "train-000001.json").unlink()
    (tmp_path / "two" / "labels.parquet").write_bytes(b"damaged")
    gloam.build(tmp_path / "two", sources, low_codec="none", **OPTIONS)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_without_labels_nothing_of_them_is_there(sources, tmp_path):
    gloam.build(tmp_path / "set", sources, select=False, low_codec="none")
    assert not {path.name for path in (tmp_path / "set").iterdir()} & {
        "labels.parquet",
        "classes.txt",
        "annotations",
    }
    assert "labels" not in next(gloam.open_set(tmp_path / "set").records())


def test_what_cannot_be_labelled_is_said(photographs, sources, tmp_path):
    with pytest.raises(ConfigError, match="none of the sources has labels"):
        gloam.build(tmp_path / "a", f"folder={photographs}", labels=True)
    with pytest.raises(SourceError, match="has no annotations/instances"):
        gloam.build(tmp_path / "b", f"coco={photographs}", labels=True)
    coco = coco_source(tmp_path / "coco", 2)
    path = coco.parent / "annotations" / "instances_train2017.json"
    path.write_text(path.read_text().replace(".jpg", "-other.jpg"))
    path.with_name("captions_train2017.json").unlink()
    with pytest.raises(SourceError, match="none of its 2 photographs has a label, such as 0000"):
        gloam.build(tmp_path / "c", f"coco={coco}", labels=True, select=False)


def test_annotations_that_do_not_fit_are_left_out_named_and_counted(tmp_path):
    voc = voc_source(tmp_path / "VOC", 8)
    (voc / "Annotations" / "000001.xml").write_text("<annotation><object></annotation>")
    Image.new("L", (3, 3)).save(voc / "SegmentationClass" / "000003.png")
    (voc / "SegmentationClass" / "000006.png").write_bytes(b"no picture")
    other = (voc / "Annotations" / "000002.xml").read_text()
    width, height = size_of(2)
    other = other.replace(f"<width>{width}<", f"<width>{height}<").replace(
        f"<height>{height}<", f"<height>{width + 9}<"
    )
    (voc / "Annotations" / "000002.xml").write_text(other)
    options = ["--labels", "--no-select", "--val", "0", "--low-codec", "none"]
    arguments = ["--source", f"voc={voc}", *options]
    run = CliRunner().invoke(command, ["build", str(tmp_path / "set"), *arguments])
    assert run.exit_code == 0, run.output
    assert "annotations left out: mask 2, XML 1, annotation of another size 1" in run.output
    assert "Annotations/000001.xml: not XML" in run.output
    found = gloam.open_set(tmp_path / "set")
    assert (found.counts, found.info.counts["refused"]) == ({"train": 8, "val": 0}, 0)
    rows = {row["path"][-10:-4]: row for row in found.table("refused").to_pylist()}
    assert {row["stage"] for row in rows.values()} == {"labels"}
    assert "its mask: annotated as 3 x 3" in rows["000003"]["detail"]
    assert "000002.xml: annotated as" in rows["000002"]["detail"]
    assert set(rows) == {"000001", "000002", "000003", "000006"}
    assert verify_set(found) == []
    regenerate(found, tmp_path / "again", overrides=["camera.iso=6400"])
    again = gloam.open_set(tmp_path / "again").table("refused").to_pylist()
    assert again == found.table("refused").to_pylist()
    # Split again they are those of other units.
    sources = read_left_out(tmp_path / "set")
    regenerate(found, tmp_path / "parted", val=3)
    parted = gloam.open_set(tmp_path / "parted")
    assert (read_left_out(parted.root), verify_set(parted)) == (sources, [])
    assert (len(sources), parted.counts) == (1, {"train": 5, "val": 3})


def test_labels_of_a_smaller_copy_are_scaled(tmp_path):
    coco = coco_source(tmp_path / "coco", 9)
    gloam.build(tmp_path / "whole", f"coco={coco}", low_codec="none", labels=True, select=False)
    path = coco.parent / "annotations" / "instances_train2017.json"
    value = json.loads(path.read_text())
    for one in value["images"]:
        one["width"], one["height"] = 2 * one["width"], 2 * one["height"]
    for one in value["annotations"]:
        one["bbox"] = [2 * side for side in one["bbox"]]
        if isinstance(one["segmentation"], dict):
            mask = np.kron(
                mask_of(one["segmentation"]["counts"], *one["segmentation"]["size"]), TWO
            )
            one["segmentation"] = {"counts": list(runs_of(mask)), "size": list(mask.shape)}
        else:
            one["segmentation"] = [[2 * side for side in part] for part in one["segmentation"]]
    path.write_text(json.dumps(value))
    gloam.build(tmp_path / "double", f"coco={coco}", low_codec="none", labels=True, select=False)
    whole, double = (
        [one["labels"] for one in gloam.open_set(tmp_path / name).records()]
        for name in ("whole", "double")
    )
    assert whole == double


def test_annotations_of_the_upright_picture_are_left_as_they_are(tmp_path):
    voc = voc_source(tmp_path / "VOC", 6)
    turned = next(seed for seed in range(6) if orientation_of(seed) >= 5)
    path = voc / "Annotations" / f"{turned:06d}.xml"
    width, height = size_of(turned)
    path.write_text(
        f"<annotation><size><width>{height}</width><height>{width}</height></size><object>"
        "<name>lemon</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>7</ymax></bndbox>"
        "</object></annotation>"
    )
    (voc / "SegmentationClass" / f"{turned:06d}.png").unlink(missing_ok=True)
    gloam.build(tmp_path / "set", f"voc={voc}", labels=True, select=False)
    records = gloam.open_set(tmp_path / "set").records()
    found = next(one for one in records if one["path"].endswith(f"{turned:06d}.jpg"))
    assert found["labels"]["boxes"] == [[0, 0, 9, 7]]


@pytest.mark.parametrize("shape", [(0, 4), (3, 4), (0,), (100_000,)])
def test_arrays_are_numpy_s(shape):
    made = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    data = npy_bytes(made)
    assert len(data) == 128 + made.nbytes
    assert np.array_equal(array(data), made)
