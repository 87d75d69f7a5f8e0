"""Boxes as detectors read them: COCO's JSON, and the text files and YAML of Ultralytics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml

from ...manifests.labels.coco_json import annotation_path, write_annotations
from ...manifests.labels.labels import labels_of
from ...manifests.selection.plan import SPLITS, TRAIN, VAL
from ...manifests.sets.sample import LOW, NORMAL
from ...storage.atomic import sha256_file
from .unit_by_unit import Written

Records = Callable[[str], Iterator[dict[str, Any]]]


def yolo_lines(record: dict[str, Any]) -> bytes:
    """Return a line for each object: its class, and its box's centre and size, from 0 to 1.

    Crowds are left out, as Ultralytics' own converter does.
    """
    labels, sides = labels_of(record), (record["width"], record["height"])
    lines = []
    for number, box, crowd in zip(labels["classes"], labels["boxes"], labels["crowd"], strict=True):
        if not crowd:
            ends = [(box[i] / side, box[i + 2] / side) for i, side in enumerate(sides)]
            values = [(a + b) / 2 for a, b in ends] + [b - a for a, b in ends]
            lines.append(" ".join([str(number), *(f"{value:.6f}" for value in values)]))
    return "".join(f"{line}\n" for line in lines).encode()


def label_path(image: str) -> str:
    """Return where Ultralytics looks for an image's labels."""
    return f"labels/{image.removeprefix('images/').rpartition('.')[0]}.txt"


def write_yolo(written: Written, classes: Sequence[str]) -> None:
    """Write `low.yaml` and `normal.yaml`: which images are which split, and the classes' names.

    Ultralytics asks for a validation split: in a set without one it is the training split.
    """
    there = [split for split in SPLITS if any(unit.split == split for unit in written.units)]
    for member in (LOW, NORMAL):
        folders = {split: f"images/{member}/{split}" for split in there}
        begin = {TRAIN: folders.get(TRAIN, ""), VAL: folders.get(TRAIN, "")}
        value: dict[str, Any] = {**begin, **folders, "names": dict(enumerate(classes))}
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
        written.put(f"{member}.yaml", [text.encode()])


def write_coco(written: Written, records: Records, classes: Sequence[str]) -> None:
    """Write COCO's annotations of lows and of normals; names are those below their folders."""
    first = 0
    for split in SPLITS:
        if not any(unit.split == split for unit in written.units):
            continue
        captions = any(labels_of(record)["captions"] for record in records(split))
        for member in (LOW, NORMAL):
            for kind in ("instances", "captions")[: 1 + captions]:
                rows = (
                    (row, record["files"][member].rpartition("/")[2], record)
                    for row, record in enumerate(records(split), first)
                )
                name = annotation_path(kind, member, split)
                path = write_annotations(written.root / name, rows, classes, kind)
                written.sums[name] = sha256_file(path)
        first += sum(unit.count for unit in written.units if unit.split == split)
