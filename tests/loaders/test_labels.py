"""Labels beside pairs: in step, and moved as the pixels are, whoever loads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import gloam
from gloam.errors import LoaderError
from gloam.loaders.augment import crop_numbers, draw_crop
from gloam.loaders.labels import batch_labels
from gloam.loaders.options import Options
from gloam.manifests.sets.stored_labels import LabelRows

from ..labelled import NAMES, class_source, coco_source, likeness, voc_source

COUNT = 16
BATCH = 4


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("labelled")
    sources = [
        f"voc={voc_source(folder / 'VOC2012', COUNT)}",
        f"coco={coco_source(folder / 'coco', COUNT)}@instances_train2017",
        f"classes={class_source(folder / 'classes', COUNT)}",
    ]
    options = {"labels": True, "select": False, "shard_size": 7, "recipe": "even"}
    gloam.build(folder / "stored", sources, val=8, **options)
    gloam.build(folder / "live", sources, val=8, low_codec="none", **options)
    gloam.export(folder / "stored", folder / "files", layout="files")
    return {name: folder / name for name in ("stored", "live", "files")}


LOADERS = {
    "shards": ("PairLoader", "stored", {}),
    "files": ("PairLoader", "files", {}),
    "live": ("PairLoader", "live", {}),
    "resident": ("PairLoader", "stored", {"resident": True}),
    "torch": ("TorchLoader", "stored", {"workers": 1}),
    "torch here": ("TorchLoader", "files", {"workers": 0}),
    "torch live": ("TorchLoader", "live", {"workers": 0}),
}


def loader(kind: str, sets: dict[str, Path], **options):
    name, which, more = LOADERS[kind]
    common = {"batch_size": BATCH, "device": "cpu", "labels": True, "keys": True, "workers": 2}
    return getattr(gloam, name)(sets[which], **{**common, "dtype": "uint8", **more, **options})


FORMS = {
    "whole": {"batch_size": 1},
    "padded": {"pad": True, "augment": True},
    "resized": {"size": (90, 120), "crop": "resize"},
    "turned": {"size": 96, "crop": "resize", "augment": True},
    "random": {"size": 64, "crop": "random", "augment": True},
    "enlarged": {"size": 200, "crop": "random"},
    "random-resized": {"size": (72, 96), "crop": "random-resized", "augment": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", LOADERS)
def test_labels_lie_where_the_pixels_are(kind, form, sets):
    objects = masked = 0
    with loader(kind, sets, **FORMS[form]) as batches:
        records = {one["key"]: one for one in gloam.open_set(batches.contents.root).records()}
        for _, normals, keys, labels in batches:
            assert set(labels) == {"class", "boxes", "classes", "difficult", "crowd", "mask"}
            assert labels["mask"].shape == (len(keys), *normals.shape[2:])
            for i, key in enumerate(keys):
                record = records[key]["labels"]
                assert labels["class"][i] == record["class_number"]
                pixels = normals[i].permute(1, 2, 0).numpy()
                objects += len(labels["boxes"][i])
                check_boxes(pixels, labels["boxes"][i], labels["classes"][i])
                masked += check_mask(pixels, labels["mask"][i].numpy(), records[key])
                assert len(labels["boxes"][i]) <= len(record["boxes"])
                if FORMS[form].get("crop", "resize") == "resize":
                    assert labels["classes"][i].tolist() == record["classes"]
                    assert labels["crowd"][i].tolist() == record["crowd"]
                    assert labels["difficult"][i].tolist() == record["difficult"]
    assert objects > 25
    assert masked > 1


def check_boxes(pixels: np.ndarray, boxes: torch.Tensor, classes: torch.Tensor) -> None:
    height, width = pixels.shape[:2]
    for box, number in zip(boxes.numpy(), classes.tolist(), strict=True):
        left, top, right, bottom = box
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
        if min(right - left, bottom - top) < 5:
            continue
        inside = likeness(pixels, sorted(NAMES)[number])
        within = inside[
            int(np.ceil(top)) + 1 : int(bottom) - 1, int(np.ceil(left)) + 1 : int(right) - 1
        ]
        assert within.mean() > 0.9
        # Beyond each edge that is not the image's own the thing has ended.
        beyond = [
            inside[int(top) + 2 : int(bottom) - 2, int(left) - 3 : int(left) - 2]
            if left > 4
            else 0,
            inside[int(top) + 2 : int(bottom) - 2, int(right) + 2 : int(right) + 3],
            inside[int(top) - 3 : int(top) - 2, int(left) + 2 : int(right) - 2] if top > 4 else 0,
            inside[int(bottom) + 2 : int(bottom) + 3, int(left) + 2 : int(right) - 2],
        ]
        assert all(np.mean(part) < 0.1 for part in beyond if np.size(part))


def check_mask(pixels: np.ndarray, mask: np.ndarray, record: dict) -> int:
    if (mask == 255).all() or not np.isin(mask, [1, 2, 3]).any():
        return 0
    for number, name in enumerate(NAMES, 1):
        known = mask != 255  # elsewhere it was padded
        assert (likeness(pixels, name) != (mask == number))[known].mean() < 0.06, record["key"]
    return 1


@pytest.mark.parametrize("kind", ["shards", "files", "live", "resident", "torch"])
def test_ranks_epochs_and_resuming_keep_them_in_step(kind, sets):
    options = {"size": 64, "crop": "random", "augment": True, "seed": 3}
    seen = []
    for rank in range(2):
        with loader(kind, sets, rank=rank, world_size=2, **options) as whole:
            batches = [batch for _ in range(2) for batch in whole]
        with loader(kind, sets, rank=rank, world_size=2, **options) as first:
            taken = []
            for batch in first:
                taken.append(batch)
                if len(taken) == 2:
                    state = first.state_dict()
                    break
        with loader(kind, sets, rank=rank, world_size=2, **options) as second:
            second.load_state_dict(state)
            taken += [batch for _ in range(2) for batch in second]
        assert len(taken) == len(batches)
        for one, other in zip(taken, batches, strict=True):
            assert one[2] == other[2]
            assert torch.equal(one[1], other[1])
            for name in ("boxes", "classes"):
                assert all(map(torch.equal, one[3][name], other[3][name]))
            assert torch.equal(one[3]["mask"], other[3]["mask"])
        seen += [key for batch in batches[: len(batches) // 2] for key in batch[2]]
    assert len(set(seen)) == len(seen) == 40


def test_without_labels_a_batch_is_as_ever(sets):
    with loader("shards", sets, labels=False, keys=False, size=64) as batches:
        assert len(next(iter(batches))) == 2
    with loader("torch here", sets, keys=False, size=64) as batches:
        low, normal, labels = next(iter(batches))
        assert low.shape == normal.shape
        assert isinstance(labels, dict)


def test_what_has_no_labels_says_so(photographs, tmp_path, sets):
    gloam.build(tmp_path / "set", f"folder={photographs}", select=False, low_codec="none")
    for name in ("PairLoader", "TorchLoader"):
        with pytest.raises(LoaderError, match=r"has no labels; gloam build --labels"):
            getattr(gloam, name)(tmp_path / "set", batch_size=2, labels=True, device="cpu")
        with pytest.raises(LoaderError, match="has no labels"):
            getattr(gloam, name)([("a", "b")], batch_size=1, labels=True, device="cpu")
    with pytest.raises(LoaderError, match="leave resident_side out"):
        loader("resident", sets, resident_side=64)


def test_only_what_is_wholly_outside_of_a_crop_is_left_out():
    options = Options(batch_size=1, size=(50, 50), crop="random")
    crop = draw_crop(options, crop_numbers(options, 0, ["k"])[0], 100, 100)
    boxes = np.array(
        [
            [crop.left - 20, crop.top, crop.left, crop.top + 9],
            [crop.left - 20, crop.top, crop.left + 2, crop.top + 9],
            [crop.left + 10, crop.top + 10, crop.left + 30, crop.top + 90],
        ],
        np.float32,
    )
    rows = LabelRows(
        np.array([-1], np.int32),
        np.array([3]),
        boxes,
        np.arange(3, dtype=np.int32),
        *np.zeros((2, 3), bool),
    )
    made = batch_labels(rows, np.array([crop]), [], ("boxes", "classes"), options)
    assert made["classes"][0].tolist() == [1, 2]
    assert made["boxes"][0].tolist() == [[0, 0, 2, 9], [10, 10, 30, 50]]
    assert "class" not in made
