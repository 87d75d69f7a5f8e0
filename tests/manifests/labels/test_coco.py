"""COCO's files with odd things in them: each is left out by its name, and the rest is taken."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gloam.errors import SourceError
from gloam.manifests.labels.coco import Annotations
from gloam.manifests.labels.photo_labels import from_json
from gloam.manifests.labels.placement import Placement

CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
IMAGE = {"id": 1, "file_name": "1.jpg", "width": 160, "height": 120}
GOOD = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20]}
BOX = (10.0, 10.0, 30.0, 30.0)


def written(folder: Path, name: str = "instances_x", **changes: object) -> Path:
    """A source of one photograph, with its annotations inside."""
    value = {"images": [IMAGE], "categories": CATEGORIES, "annotations": [GOOD]} | changes
    path = folder / "annotations" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return folder


def read(source: Path, *photographs: str, listing: str = ""):
    annotations = Annotations(str(source), photographs or ("1.jpg",), listing)
    found = list(annotations.read_labels(photographs or ("1.jpg",)))
    left_out = [*annotations.left_out, *(one for _, some in found for one in some)]
    return [labels for labels, _ in found], left_out


@pytest.mark.parametrize("beside", [False, True])
def test_files_are_found_whatever_the_case_of_their_suffix(tmp_path, beside):
    source = written(tmp_path if beside else tmp_path / "coco")
    path = source / "annotations" / "instances_x.json"
    path.rename(path.with_suffix(".JSON"))
    (tmp_path / "coco").mkdir(exist_ok=True)
    [labels], left_out = read(tmp_path / "coco")
    assert ([one.box for one in labels.marked], left_out) == ([BOX], [])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"bbox": []}, "box"),
        ({"bbox": None}, "box"),
        ({"bbox": [10, 10, 20]}, "box"),
        ({"bbox": ["10", "10", "20", "20"]}, "box"),
        ({"bbox": [True, 10, 20, 20]}, "box"),
        ({"bbox": [10, 10, 0, 20]}, "box"),
        ({"bbox": [10, 10, 20, -1]}, "box"),
        ({"bbox": [math.nan, 10, 20, 20]}, "box"),
        ({"bbox": [10, 10, math.inf, 20]}, "box"),
        ({"bbox": [10, 10, 1e308, 1e308]}, "box"),
        ({"bbox": [10, 10, 10**400, 20]}, "box"),
        ({"bbox": {"x": 1}}, "box"),
        ({"image_id": 99}, "image that is not listed"),
        ({"image_id": "1"}, "image that is not listed"),
        ({"image_id": None}, "image_id"),
        ({"image_id": [1]}, "image_id"),
        ({"image_id": True}, "image_id"),
        ({"category_id": 7}, "unknown category"),
        ({"category_id": "1"}, "unknown category"),
        ({"category_id": math.nan}, "category_id"),
        ({"iscrowd": "0"}, "iscrowd"),
        ({"iscrowd": 2}, "iscrowd"),
        ({"segmentation": [[1, 2, 3, 4, 5]]}, "segmentation"),
        ({"segmentation": [[1, 2, 3, 4]]}, "segmentation"),
        ({"segmentation": [1, 2, 3, 4, 5, 6]}, "segmentation"),
        ({"segmentation": [[1, 2, 3, 4, 5, math.nan]]}, "segmentation"),
        ({"segmentation": "polygon"}, "segmentation"),
        ({"segmentation": {"size": [60, 80], "counts": [1000, 200, 3600]}}, "mask of another size"),
        ({"segmentation": {"size": [160, 120], "counts": [19200]}}, "mask of another size"),
        ({"segmentation": {"size": [120, 160], "counts": [1000, 200]}}, "mask of another size"),
        ({"segmentation": {"size": [120, 160], "counts": [20000, -800]}}, "mask"),
        ({"segmentation": {"size": [120, 160], "counts": "o" * 999}}, "mask"),
        ({"segmentation": {"size": [120, 160], "counts": "\u00fc"}}, "mask"),
        ({"segmentation": {"size": [120, 160]}}, "mask"),
        ({"segmentation": {"size": "120", "counts": [19200]}}, "mask"),
    ],
)
def test_an_odd_annotation_is_left_out_and_named(tmp_path, change, reason):
    source = written(tmp_path, annotations=[GOOD, GOOD | {"id": 2} | change])
    [labels], left_out = read(source)
    assert [one.box for one in labels.marked] == [BOX]
    assert [one.reason for one in left_out] == [reason]
    assert left_out[0].detail.startswith("annotations/instances_x.json: annotation 2 of ")


@pytest.mark.parametrize("odd", [None, 7, "annotation", [1]])
def test_what_is_no_annotation_is_named_by_its_place(tmp_path, odd):
    [labels], [left_out] = read(written(tmp_path, annotations=[GOOD, odd]))
    assert len(labels.marked) == 1
    assert "annotation no. 1 of image ?: not an object" in left_out.detail


@pytest.mark.parametrize("outline", [None, [], [[]], [[], []], ""])
def test_an_empty_outline_is_none(tmp_path, outline):
    [labels], left_out = read(written(tmp_path, annotations=[GOOD | {"segmentation": outline}]))
    assert (labels.marked[0].polygons, labels.marked[0].runs, left_out) == ((), (), [])


@pytest.mark.parametrize(
    "odd",
    [
        None,
        {"id": 2},
        {"id": 2, "file_name": 7},
        {"file_name": "2.jpg"},
        {"id": [2], "file_name": "2.jpg"},
        {"id": 1, "file_name": "2.jpg"},
    ],
)
def test_an_odd_image_is_named_and_its_annotations_with_it(tmp_path, odd):
    images = [{**IMAGE, "id": 3}, odd]
    annotations = [GOOD | {"image_id": 3}, GOOD | {"id": 2, "image_id": 2}]
    if odd and odd.get("id") == 1:
        images = [{**IMAGE, "id": 3}, {**IMAGE, "id": 1, "file_name": "3.jpg"}, odd]
        annotations[1]["image_id"] = 1
    [labels], left_out = read(written(tmp_path, images=images, annotations=annotations))
    assert len(labels.marked) == 1
    assert len(left_out) == 2
    assert "annotations/instances_x.json: image no. " in left_out[0].detail


@pytest.mark.parametrize("side", [None, "160.0", 160.0, math.nan, -5, 10**400, [160]])
def test_sides_that_are_no_numbers_are_not_told(tmp_path, side):
    [labels], left_out = read(written(tmp_path, images=[IMAGE | {"width": side}]))
    told = side in ("160.0", 160.0)
    assert (labels.size, left_out) == ((160, 120) if told else (0, 0), [])


def test_names_of_classes_fit_on_a_line(tmp_path):
    categories = [
        {"id": 1, "name": " traffic\nlight "},
        {"id": 2, "name": "\ud800"},
        {"id": 3, "name": ""},
        {"id": 4},
        {"id": 1, "name": "lamp"},
        "dog",
    ]
    source = written(tmp_path, categories=categories)
    annotations = Annotations(str(source), ["1.jpg"])
    assert annotations.classes == ["traffic light", "?"]
    assert [one.reason for one in annotations.left_out] == ["category"] * 3 + ["not an object"]


def test_a_byte_order_mark_is_no_damage(tmp_path):
    path = written(tmp_path) / "annotations" / "instances_x.json"
    path.write_text(path.read_text(), "utf-8-sig")
    assert len(read(tmp_path)[0][0].marked) == 1


def test_a_number_of_too_many_digits_is_one_odd_annotation(tmp_path):
    path = written(tmp_path, annotations=[GOOD, GOOD | {"id": 2, "image_id": 77}])
    path = path / "annotations" / "instances_x.json"
    path.write_text(path.read_text().replace("77", "7" * 5000))
    [labels], [left_out] = read(tmp_path)
    assert (len(labels.marked), left_out.reason) == (1, "image_id")


def test_masks_of_an_image_whose_size_is_not_told_say_their_own(tmp_path):
    outline = {"size": [60, 80], "counts": [1000, 200, 3600]}
    images = [{"id": 1, "file_name": "1.jpg"}]
    annotations = [GOOD | {"segmentation": outline}]
    [labels], left_out = read(written(tmp_path, images=images, annotations=annotations))
    assert (labels.size, labels.marked[0].runs_of, left_out) == ((0, 0), (80, 60), [])
    upright = Placement((160, 120), 1, (160, 120))
    placed, [left_out] = labels.placed(upright)
    assert placed.marked == ()
    assert left_out.detail.endswith("annotation 1: a mask of 80 x 60 for an image of 160 x 120")
    swapped = replace(labels.marked[0], runs=(19200,), runs_of=(120, 160))
    assert replace(labels, marked=(swapped,)).placed(upright)[0].marked == ()


def test_a_box_that_shrinks_to_nothing_is_left_out(tmp_path):
    [labels], _ = read(written(tmp_path))
    placed, [left_out] = labels.placed(Placement((10**9, 10**9), 1, (160, 120)))
    assert (placed.marked, left_out.reason) == ((), "box or mask")


def test_images_of_equal_names_have_their_own_boxes(tmp_path):
    images = [IMAGE | {"file_name": "a/1.jpg"}, IMAGE | {"id": 2, "file_name": "b\\1.jpg"}]
    annotations = [GOOD, GOOD | {"id": 2, "image_id": 2, "category_id": 2}]
    source = written(tmp_path, images=images, annotations=annotations)
    found, left_out = read(source, "a/1.jpg", "./b/1.jpg", "c/1.jpg")
    assert [[one.name for one in labels.marked] for labels in found] == [["cat"], ["dog"], []]
    assert left_out == []


def test_a_name_that_fits_twice_is_said(tmp_path):
    found, [left_out] = read(written(tmp_path), "a/1.jpg", "b/1.jpg")
    assert [labels.marked for labels in found] == [(), ()]
    assert left_out.detail == "annotations/instances_x.json: 1.jpg fits a/1.jpg and b/1.jpg"


def test_an_image_of_two_files_is_said_and_one_of_them_can_be_chosen(tmp_path):
    written(tmp_path)
    source = written(tmp_path, "instances_y", annotations=[GOOD | {"category_id": 2}])
    [labels], [left_out] = read(source)
    assert labels.marked == ()
    assert "instances_y.json and annotations/instances_x.json both have 1.jpg" in left_out.detail
    [labels], left_out = read(source, listing="instances_y")
    assert ([one.name for one in labels.marked], left_out) == (["dog"], [])


@pytest.mark.parametrize("caption", [None, 7, "", " \n", ["a"]])
def test_captions_that_say_nothing_are_left_out(tmp_path, caption):
    captions = [
        {"id": i, "image_id": 1, "caption": one} for i, one in enumerate((caption, "A cat\n"))
    ]
    written(tmp_path)
    [labels], left_out = read(written(tmp_path, "captions_x", annotations=captions))
    assert labels.captions == ("A cat",)
    assert [one.reason for one in left_out] == ["caption"]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", '{"images": 7, "annotations": []}', '{"images": []}', "[" * 200_000],
)
def test_what_is_no_annotation_file_is_said(tmp_path, text):
    written(tmp_path)
    (tmp_path / "annotations" / "instances_x.json").write_text(text)
    with pytest.raises(SourceError, match=r"instances_x\.json is not a COCO annotation file"):
        read(tmp_path)


def test_files_that_disagree_on_their_categories_say_what_to_do(tmp_path):
    written(tmp_path)
    written(tmp_path, "instances_y", categories=[{"id": 1, "name": "lamp"}])
    with pytest.raises(SourceError, match='category 1 is "cat", another file\'s "lamp"; name the'):
        read(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="file systems elsewhere take no such names")
def test_a_file_whose_name_is_no_text_is_named_in_what_tables_can_hold(tmp_path):
    odd = GOOD | {"id": 2, "category_id": 7}
    written(tmp_path, os.fsdecode(b"instances_\xff"), annotations=[GOOD, odd])
    (tmp_path / "photos").mkdir()
    [labels], [left_out] = read(tmp_path / "photos")  # whose annotations lie beside
    assert left_out.detail.startswith("annotations/instances_?.json: annotation 2 of ")
    assert from_json(labels.as_json()) == labels
