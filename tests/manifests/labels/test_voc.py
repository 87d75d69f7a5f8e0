"""VOC's files with odd things in them: each is left out by its name, and the rest is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from gloam.manifests.labels.voc import read_voc_labels

GOOD = "<object><name>cat</name>{}</object>".format(
    "<bndbox><xmin>11</xmin><ymin>11</ymin><xmax>30</xmax><ymax>30</ymax></bndbox>"
)
BOX = (10.0, 10.0, 30.0, 30.0)


def read(folder: Path, text: str | bytes, *photographs: str):
    path = folder / "Annotations" / "a.xml"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    names = photographs or ("JPEGImages/a.jpg",)
    return list(read_voc_labels(str(folder), names, names))


def around(*objects: str, size: str = "") -> str:
    return f"<annotation>{size}{''.join(objects)}</annotation>"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<xmin>11</xmin>", ""),
        ("<xmin>11</xmin>", "<xmin/>"),
        ("<xmin>11</xmin>", "<xmin>11px</xmin>"),
        ("<xmin>11</xmin>", "<xmin>nan</xmin>"),
        ("<ymax>30</ymax>", "<ymax>1e999</ymax>"),
        ("<ymax>30</ymax>", "<ymax>5</ymax>"),
        ("bndbox", "polygon"),
        ("<name>cat</name>", ""),
        ("<name>cat</name>", "<name> </name>"),
    ],
)
def test_an_odd_object_is_left_out_and_named(tmp_path, old, new):
    [(labels, [left_out])] = read(tmp_path, around(GOOD, GOOD.replace(old, new)))
    assert [one.box for one in labels.marked] == [BOX]
    assert left_out.reason == "object"
    assert left_out.detail.startswith("Annotations/a.xml: object 2: ")
    assert left_out.path == "JPEGImages/a.jpg"


def test_files_are_found_whatever_the_case_of_their_suffix(tmp_path):
    for name, data in (
        ("Annotations/a.XML", around(GOOD).encode()),
        ("SegmentationClass/a.PNG", b"x"),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(data)
    [(labels, left_out)] = read_voc_labels(
        str(tmp_path), ["JPEGImages/a.JPG"], ["JPEGImages/a.JPG"]
    )
    assert ([one.box for one in labels.marked], labels.mask, left_out) == ([BOX], b"x", [])


@pytest.mark.parametrize(
    "text",
    [b"", b"<annotation>", b"\x00", b"<html/>", b'<?xml version="1.0" encoding="x-none"?><a/>'],
)
def test_what_is_no_annotation_is_left_out_whole(tmp_path, text):
    [(labels, [left_out])] = read(tmp_path, text)
    assert (labels.marked, left_out.reason) == ((), "XML")


@pytest.mark.parametrize(
    ("width", "size"),
    [("160.0", (160, 120)), (" 160 ", (160, 120)), ("", (0, 0)), ("nan", (0, 0)), ("0", (0, 0))],
)
def test_sizes_are_read_as_people_write_them(tmp_path, width, size):
    text = f"<size><width>{width}</width><height>120</height></size>"
    [(labels, left_out)] = read(tmp_path, around(GOOD, size=text))
    assert (labels.size, left_out, len(labels.marked)) == (size, [], 1)


def test_one_file_for_two_photographs_is_that_of_the_one_it_names(tmp_path):
    names = "JPEGImages/a.jpg", "JPEGImages/a.png"
    named = "<filename>a.png</filename>"
    (jpg, [left_out]), (png, others) = read(tmp_path, around(named, GOOD), *names)
    assert ([len(one.marked) for one in (jpg, png)], others) == ([0, 1], [])
    assert left_out.reason == "name that is not clear"
