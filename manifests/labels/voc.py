"""Annotations of PASCAL VOC: an XML file beside each photograph, and masks of some."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath
from xml.etree import ElementTree

from ...storage.stores import as_path
from ..sources.containers import Entry, list_container, read_entry
from ..sources.matching import lower_suffix, normalize_name, strip_suffix
from .photo_labels import Labels, LeftOut, Marked, one_line, side_of

CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa"),
    *("train", "tvmonitor"),
)
"""VOC's own, in the order of the numbers in its masks, which begin with 1 (VOC 2012 development
kit, section 3)."""


def read_voc_labels(
    path: str, photographs: Collection[str], images: Sequence[str]
) -> Iterator[tuple[Labels, list[LeftOut]]]:
    """Yield the labels of some photographs of a VOC source, and what is not taken of them.

    One without an XML file has none.

    path, photographs: str, collection of str; the source, and the paths of all its photographs.
    images: the paths of those that are wanted.

    Raises SourceError when a file cannot be read.
    """
    entries = {lower_suffix(normalize_name(one.name)): one for one in list_container(as_path(path))}
    sharing = Counter(strip_suffix(normalize_name(one)) for one in photographs)
    for image in images:
        named = PurePosixPath(normalize_name(image))
        above, stem = named.parent.parent, strip_suffix(named.name)
        found = entries.get(str(above / "Annotations" / f"{stem}.xml"))
        labels = Labels()
        left_out: list[LeftOut] = []
        if found is not None:
            several = sharing[strip_suffix(str(named))] > 1
            labels, left_out = _read_annotation(path, found, named.name if several else "")
        mask = entries.get(str(above / "SegmentationClass" / f"{stem}.png"))
        data = b"" if mask is None else read_entry(path, mask)
        yield (
            Labels(labels.name, labels.marked, (), data, labels.size),
            [one._replace(path=image) for one in left_out],
        )


def _read_annotation(path: str, entry: Entry, name: str) -> tuple[Labels, list[LeftOut]]:
    """Read an XML file; `name` is the photograph's where another one has the same stem."""
    try:
        tree = ElementTree.fromstring(read_entry(path, entry))
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as error:
        return Labels(), [_left_out("XML", entry, f"not XML: {error}")]
    if tree.tag != "annotation":
        return Labels(), [_left_out("XML", entry, f"holds <{tree.tag[:40]}>, not <annotation>")]
    if name and normalize_name((tree.findtext("filename") or "").strip()) != name:
        return Labels(), [_left_out("name that is not clear", entry, f"fits not {name} alone")]
    marked: list[Marked] = []
    left_out: list[LeftOut] = []
    for number, one in enumerate(tree.findall("object"), 1):
        origin = f"{entry.name}: object {number}"
        try:
            marked.append(_read_object(one, origin))
        except ValueError as error:
            left_out.append(LeftOut("object", f"{origin}: {error}"))
    size = side_of(tree.findtext("size/width")), side_of(tree.findtext("size/height"))
    return Labels(marked=tuple(marked), size=(0, 0) if 0 in size else size), left_out


def _left_out(reason: str, entry: Entry, why: str) -> LeftOut:
    return LeftOut(reason, f"{entry.name}: {one_line(why)}")


def _read_object(one: ElementTree.Element, origin: str) -> Marked:
    """Read an object. Raises ValueError when it has no name, or no box of numbers."""
    name, box = one_line(one.findtext("name") or ""), one.find("bndbox")
    if not name:
        raise ValueError("has no name")
    if box is None:
        raise ValueError(f"{name} has no bndbox")
    sides = []
    for side in ("xmin", "ymin", "xmax", "ymax"):
        text = box.findtext(side) or ""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{name}: its bndbox has {side} {text.strip()[:40]!r}")
        sides.append(value)
    x0, y0, x1, y1 = sides
    if x1 < x0 or y1 < y0:
        raise ValueError(f"{name}: its bndbox ends before it begins")
    # The first pixel has the number 1, and the last one belongs to the object.
    difficult = (one.findtext("difficult") or "").strip() == "1"
    return Marked(name, (x0 - 1, y0 - 1, x1, y1), difficult, origin=origin)
