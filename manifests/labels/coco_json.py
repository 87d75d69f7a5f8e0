"""A set's labels in COCO's form, of its lows and of its normals.

`annotations/instances_{low,normal}_{split}.json`; captions, which have no boxes, lie in a folder of
their own, since converters take every file of `annotations` for one of boxes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from ...errors import SetError
from ...storage.atomic import atomic_write
from ...storage.untrusted import parse_json
from .photo_labels import labels_of

FOLDERS = {"instances": "annotations", "captions": "captions"}
"""Folder of the files of each kind."""
FIRST = 1
"""The id of the first class: number 0 is background to many detectors."""


def annotation_path(kind: str, member: str, split: str) -> str:
    """Return where a file of annotations lies in its set or export."""
    return f"{FOLDERS[kind]}/{kind}_{member}_{split}.json"


def write_annotations(
    path: Path,
    records: Iterable[tuple[int, str, dict[str, Any]]],
    classes: Sequence[str],
    kind: str = "instances",
) -> Path:
    """Write the annotations of the lows or the normals of a split.

    path: path of the file.
    records: iterable of (row of `pairs.parquet`, name of the image's file, record).
    classes: names; number i has the id i + 1.
    kind: "instances" or "captions".

    Returns the path of the file: COCO's `images` (ids are rows of `pairs.parquet`), `annotations`,
    and for instances `categories`.
    """
    made = 0
    with atomic_write(path) as handle, TemporaryFile() as rest:
        handle.write(b'{"images":[')
        for index, (row, name, record) in enumerate(records):
            image = {
                "id": row,
                "file_name": name,
                "width": record["width"],
                "height": record["height"],
            }
            _write(handle, image, index)
            labels = labels_of(record)
            captions = [{"caption": caption} for caption in labels["captions"]]
            of_kind = captions if kind == "captions" else _instances(record["key"], labels)
            for annotation in of_kind:
                made += 1
                _write(rest, {"id": made, "image_id": row, **annotation}, made - 1)
        handle.write(b'],"annotations":[')
        rest.seek(0)
        shutil.copyfileobj(rest, handle)
        handle.write(b"]")
        if kind == "instances":
            named = [{"id": FIRST + i, "name": name} for i, name in enumerate(classes)]
            handle.write(b',"categories":' + _json(named))
        handle.write(b"}\n")
    return path


def _write(handle: IO[bytes], value: Any, index: int) -> None:
    handle.write((b"," if index else b"") + _json(value))


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _instances(key: str, labels: dict[str, Any]) -> Iterable[dict[str, Any]]:
    columns = ("classes", "boxes", "crowd", "difficult", "segmentation")
    for number, box, crowd, difficult, outline in zip(
        *(labels[name] for name in columns), strict=True
    ):
        left, top, right, bottom = box
        area = (right - left) * (bottom - top)
        try:
            shape = parse_json(outline) if outline else []
            area = _area(shape, area)
        except (ValueError, TypeError, LookupError) as error:
            raise SetError(f"{key}: its record has an invalid outline: {error}") from error
        yield {
            "category_id": FIRST + number,
            "bbox": [left, top, round(right - left, 3), round(bottom - top, 3)],
            "area": round(area, 3),
            "iscrowd": int(crowd),
            "ignore": int(difficult),
            "segmentation": shape,
        }


def _area(shape: Any, box: float) -> float:
    """Return the pixels of an outline: of a mask, of polygons (Gauss), or else of the box."""
    if isinstance(shape, dict):
        return float(sum(shape["counts"][1::2]))
    if not shape:
        return box
    area = 0.0
    for part in shape:
        x, y = np.array(part, np.float64).reshape(-1, 2).T
        area += abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2
    return area
