"""Annotations of PASCAL VOC: an XML file beside each photograph, and masks of some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from xml.etree import ElementTree

from ...errors import SourceError
from ...storage.stores import place
from ..sources.containers import Entry, list_container
from ..sources.text import read_entry
from .labels import Labels, Marked

CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa"),
    *("train", "tvmonitor"),
)
"""VOC's own, in the order of the numbers in its masks, which begin with 1 (VOC 2012 development
kit, section 3)."""


def read_labels(path: str, images: Sequence[str]) -> Iterator[Labels]:
    """Yield the labels of some photographs of a VOC source.

    One without an XML file has none.

    Parameters
    ----------
    path : str
        Of the source.
    images : sequence of str
        Paths in it.

    Raises
    ------
    SourceError
        When annotations are damaged.
    """
    entries = {entry.name: entry for entry in list_container(place(path))}
    for image in images:
        above, stem = PurePosixPath(image).parent.parent, PurePosixPath(image).stem
        found = entries.get(str(above / "Annotations" / f"{stem}.xml"))
        labels = Labels() if found is None else _read(path, found)
        mask = entries.get(str(above / "SegmentationClass" / f"{stem}.png"))
        data = b"" if mask is None else read_entry(path, mask)
        yield Labels(labels.name, labels.marked, (), data, labels.size)


def classes_of(names: set[str]) -> list[str]:
    """Return the classes in order: VOC's own where all are, else those there are."""
    return list(CLASSES) if names <= set(CLASSES) else sorted(names)


def _read(path: str, entry: Entry) -> Labels:
    try:
        tree = ElementTree.fromstring(read_entry(path, entry))
        size = tree.find("size")
        width, height = (
            (0, 0)
            if size is None
            else (int(size.findtext("width", "0")), int(size.findtext("height", "0")))
        )
        marked = tuple(_marked(one) for one in tree.findall("object"))
    except (ElementTree.ParseError, ValueError) as error:
        raise SourceError(
            f"{path}: {entry.name}: not a VOC annotation: {error}; mend it, or leave --labels out",
            path=path,
            key=entry.name,
        ) from error
    return Labels(marked=marked, size=(width, height))


def _marked(one: ElementTree.Element) -> Marked:
    name, box = one.findtext("name"), one.find("bndbox")
    if not name or box is None:
        raise ValueError("an object without name or bndbox")
    sides = {side: box.findtext(side) for side in ("xmin", "ymin", "xmax", "ymax")}
    lacking = [side for side, text in sides.items() if text is None]
    if lacking:
        raise ValueError(f"{name}: its bndbox has no {lacking[0]}")
    x0, y0, x1, y1 = (float(text or 0) for text in sides.values())
    # The first pixel has the number 1, and the last one belongs to the object.
    return Marked(
        name.strip(),
        (x0 - 1, y0 - 1, x1, y1),
        difficult=one.findtext("difficult", "0").strip() == "1",
    )
