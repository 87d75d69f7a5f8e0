"""The labels of one photograph, as its source has them or as they lie on the stored normal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from ...errors import SetError
from ...storage.untrusted import parse_json
from .placement import Placement

CLASS, BOXES, CLASSES, MASK = "cls", "boxes", "classes", "mask"
"""Names of the members that hold labels."""
NO_CLASS = -1
"""The number of a photograph without a class, among others that have one."""
VOID = 255
"""Value of a mask's unlabelled pixels (VOC's border)."""
_DIGITS = 3  # of coordinates, in pixels


def encodable(text: str) -> str:
    """Return a text whose lone surrogates, which no file can hold, are replaced by "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


def side_of(value: Any) -> int:
    """Return a side of an image, in pixels, that a file tells; 0 where it does not."""
    try:
        return max(0, int(float(value)))
    except (TypeError, ValueError, OverflowError):
        return 0


def one_line(value: Any) -> str:
    """Return a name (a text, or a number) on one line, as `classes.txt` has it; "" of others."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in encodable(str(value))).split())


class LeftOut(NamedTuple):
    """An annotation that is of no use, and so is not taken.

    reason: its kind in a few words, to count it by.
    detail: the file, the number of the annotation or image there, and what is wrong.
    path: the photograph's in its source, "" where none is known.
    """

    reason: str
    detail: str
    path: str = ""


@dataclass(frozen=True)
class Marked:
    """An object that is marked on a photograph.

    name: name of its class.
    box: (left, top, right, bottom); pixels, from the image's upper left corner to the object's
      edges: the right and lower edges of an object that ends in column 9, row 4 are 10 and 5.
    difficult: VOC's: left out when detectors are judged.
    crowd: COCO's: one box around many.
    polygons: its outline, x and y in turn, in as many parts as it has; empty when it has none.
    runs: or which pixels are its own: lengths of runs outside and inside in turn, column by column,
      as COCO counts them.
    runs_of: (width, height); size of the image that the runs are of, (0, 0) when that is not said.
    origin: file and number of the annotation, to name it by.
    """

    name: str
    box: tuple[float, float, float, float]
    difficult: bool = False
    crowd: bool = False
    polygons: tuple[tuple[float, ...], ...] = ()
    runs: tuple[int, ...] = ()
    runs_of: tuple[int, int] = (0, 0)
    origin: str = ""


@dataclass(frozen=True)
class Labels:
    """Labels of one photograph.

    name: name of its own class, "" without one.
    mask: a PNG whose samples are numbers of classes, as the source counts them; empty without one.
    size: (width, height); size of the image that the annotations speak of; (0, 0) when they do not
      say.
    """

    name: str = ""
    marked: tuple[Marked, ...] = ()
    captions: tuple[str, ...] = ()
    mask: bytes = field(default=b"", repr=False)
    size: tuple[int, int] = (0, 0)

    def placed(self, placement: Placement) -> tuple[Labels, list[LeftOut]]:
        """Return them as they lie on the stored normal, and what has no place there.

        They are turned, scaled, and cut at its edges. The mask is left as it is.
        """
        kept: list[Marked] = []
        left_out: list[LeftOut] = []
        for one in self.marked:
            try:
                kept.append(_place_object(one, placement))
            except ValueError as error:
                left_out.append(LeftOut("box or mask", f"{one.origin}: {error}"))
        return replace(self, marked=tuple(kept), size=placement.stored), left_out

    def as_json(self) -> str:
        """Return all but the mask as text, from which `from_json` makes them again."""
        own = {**vars(self), "mask": None}
        return json.dumps(own, separators=(",", ":"), sort_keys=True, default=vars)


_LABELS = TypeAdapter(Labels)


def from_json(text: str, mask: bytes = b"") -> Labels:
    """Read what `Labels.as_json` wrote, and add the mask."""
    return _LABELS.validate_python({**parse_json(text), "mask": mask})


def _place_object(one: Marked, placement: Placement) -> Marked:
    box = _rounded_pixels(placement.box(one.box))
    if box[2] <= box[0] or box[3] <= box[1]:
        raise ValueError(f"nothing of its box lies inside the image of {placement.shown}")
    if one.runs and one.runs_of not in ((0, 0), placement.given):
        width, height = one.runs_of
        raise ValueError(f"a mask of {width} x {height} for an image of {placement.shown}")
    return replace(
        one,
        box=box,
        polygons=tuple(_rounded_pixels(placement.points(part)) for part in one.polygons),
        runs=placement.runs(one.runs) if one.runs else (),
        runs_of=placement.stored if one.runs else (0, 0),
    )


def _rounded_pixels(values: Iterable[float]) -> Any:
    return tuple(round(float(value), _DIGITS) for value in values)


def labels_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the labels of a record of a set that has some. Raises SetError when it has none."""
    if "labels" not in record:
        raise SetError(f"{record['key']}: its record has no labels, though its set says so")
    labels: dict[str, Any] = record["labels"]
    return labels


def record_of(labels: Labels, classes: Mapping[str, int]) -> dict[str, Any]:
    """Return what a sample's record holds of its labels, a type for each field whatever it holds.

    labels: on the stored normal.

    Returns a dict: `class` and `class_number` ("" and -1 without), `names`, `classes` (their
    numbers), `boxes` (left, top, right, bottom in pixels), `difficult` and `crowd`, one each for
    every object; `segmentation` too, each COCO's own as JSON text, or ""; and `captions`.
    """
    marked = labels.marked
    return {
        "class": labels.name,
        "class_number": classes[labels.name] if labels.name else NO_CLASS,
        "names": [one.name for one in marked],
        "classes": [classes[one.name] for one in marked],
        "boxes": [list(one.box) for one in marked],
        "difficult": [one.difficult for one in marked],
        "crowd": [one.crowd for one in marked],
        "segmentation": [_segmentation_json(one, labels.size) for one in marked],
        "captions": list(labels.captions),
    }


def _segmentation_json(one: Marked, size: tuple[int, int]) -> str:
    if one.runs:
        value: Any = {"counts": list(one.runs), "size": [size[1], size[0]]}
    elif one.polygons:
        value = [list(part) for part in one.polygons]
    else:
        return ""
    return json.dumps(value, separators=(",", ":"))
