"""Annotations of COCO, read: one JSON file for all photographs, beside them or in their archive.

And a set's labels written in that form, of its lows and of its normals:
`annotations/instances_{low,normal}_{split}.json`; captions, which have no boxes, lie in a folder of
their own, since converters take every file of `annotations` for one of boxes.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from ...errors import SetError, SourceError
from ...storage.atomic import atomic_write
from ...storage.stores import as_path
from ...storage.untrusted import naming, parse_json
from ..sources.containers import list_container, read_beside, read_text
from ..sources.matching import match, normalize_name
from .photo_labels import Labels, LeftOut, Marked, encodable, labels_of, one_line, side_of
from .placement import runs_in

FOLDERS = {"instances": "annotations", "captions": "captions"}
"""Folder of the files of each kind."""
_KINDS = tuple(FOLDERS)
_SHOWN = 40  # characters of a value that is told


class _Odd(ValueError):
    """A fault of an annotation: its kind, and the value."""

    def __init__(self, kind: str, value: Any) -> None:
        super().__init__(f"{kind} {_shown(value)}")
        self.kind = kind


@dataclass
class _Image:
    """Annotations of one image, from all files."""

    name: str = ""
    size: tuple[int, int] = (0, 0)
    files: dict[str, str] = field(default_factory=dict)
    unclear: str = ""
    marked: list[Marked] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


class Annotations:
    """All annotation files of a COCO source.

    photographs: collection of str; the paths of all its photographs.
    listing: name of its list, such as `instances_train2017`, whose annotations are meant; those of
      all lists by default.
    classes: in the order of their ids, which have gaps.
    left_out: annotations of no image that the files list.

    Raises SourceError when there are none, or a file holds something else.
    """

    def __init__(self, path: str, photographs: Collection[str], listing: str = "") -> None:
        self._path = path
        self._images: dict[str, _Image] = {}
        self.left_out: list[LeftOut] = []
        names: dict[int | str, str] = {}
        texts = self._texts(listing)
        if not texts:
            wanted = f"annotations/{listing or 'instances_*'}.json"
            raise SourceError.at(path, f"has no {wanted}, neither in nor beside it, so no labels")
        for name, text in texts:
            what = f"{name} is not a COCO annotation file: "
            with naming(path, ValueError, RecursionError, what=what, kind=SourceError):
                self._take(encodable(name), _parse_json_file(text), names)
        order = sorted(names, key=lambda key: (isinstance(key, str), key))
        self.classes = list(dict.fromkeys(names[number] for number in order))
        paths = {normalize_name(one): one for one in photographs}
        matches = match(self._images, paths, path)
        self._found = {paths[own]: self._images[name] for name, own in matches.found.items()}
        for name, why in matches.unclear.items():
            files = ", ".join(self._images[name].files.values())
            self.left_out.append(LeftOut("name that is not clear", f"{files}: {why}"))

    def read_labels(self, images: Sequence[str]) -> Iterator[tuple[Labels, list[LeftOut]]]:
        """Yield the labels of some photographs, and what of their annotations is not taken.

        They are named by their paths in the source.
        """
        for path in images:
            image = self._found.get(path, _Image())
            if image.unclear:
                yield Labels(), [LeftOut("name that is not clear", image.unclear, path)]
                continue
            labels = Labels(
                marked=tuple(image.marked), captions=tuple(image.captions), size=image.size
            )
            yield labels, [one._replace(path=path) for one in image.left_out]

    def _texts(self, listing: str) -> list[tuple[str, str]]:
        root = as_path(self._path)
        inside: dict[str, list[tuple[str, Callable[[], str]]]] = {}
        beside: dict[str, list[tuple[str, Callable[[], str]]]] = {}
        for entry in list_container(root):
            at = PurePosixPath(entry.name)
            if at.parent.name in FOLDERS.values() and at.suffix.lower() == ".json":
                text = partial(read_text, self._path, entry)
                inside.setdefault(at.stem, []).append((entry.name, text))
        for folder in (root.parent / name for name in FOLDERS.values()):
            for path in sorted(folder.glob("*")) if folder.is_dir() else ():
                if path.suffix.lower() == ".json":
                    named = f"{folder.name}/{path.name}", partial(read_beside, path)
                    beside.setdefault(path.stem, []).append(named)
        stems = inside.keys() | beside.keys()
        if listing:
            _, _, which = listing.partition("_")
            stems &= {listing, *(f"{kind}_{which}" for kind in _KINDS)}
        else:
            stems = {name for name in stems if name.startswith(_KINDS)}
        found, order = beside | inside, sorted(stems, reverse=True)  # instances before captions
        return [(name, read()) for stem in order for name, read in found[stem]]

    def _take(self, file: str, value: Any, names: dict[int | str, str]) -> None:
        """Take what a file says. Raises ValueError when it is not laid out as COCO's."""
        images = self._take_images(file, _list_of(value, "images"))
        own: dict[int | str, str] = {}
        listed = _list_of(value, "categories") if value.get("categories") else []
        for number, one in enumerate(listed):
            try:
                key, name = _id_of(one), one_line(_field_of(one, "name"))
                if not name or own.setdefault(key, name) != name:
                    raise _Odd("category", one)
            except _Odd as odd:
                self.left_out.append(LeftOut(odd.kind, f"{file}: category no. {number}: {odd}"))
        for key, name in own.items():
            if names.setdefault(key, name) != name:
                other = _shown(names[key])
                raise ValueError(
                    f"its category {key} is {_shown(name)}, another file's {other}; name the"
                    " file that is meant: coco=PATH@NAME"
                )
        for number, one in enumerate(_list_of(value, "annotations")):
            given = one.get("id") if isinstance(one, dict) else None
            origin = f"{file}: annotation {f'no. {number}' if given is None else _shown(given)}"
            into = None
            try:
                key = _id_of(one, "image_id")
                into = images.get(key)
                if into is None:
                    raise _Odd("image that is not listed" if key not in images else "image", key)
                _annotate(into, one, own, origin)
            except _Odd as odd:
                to = self.left_out if into is None else into.left_out
                given = _shown(one.get("image_id")) if isinstance(one, dict) else "?"
                whose = f"image {given}" if into is None else into.name
                to.append(LeftOut(odd.kind, f"{origin} of {whose}: {odd}"))

    def _take_images(self, file: str, listed: list[Any]) -> dict[int | str, _Image | None]:
        """Return a file's images by their ids; None is one that is of no use."""
        images: dict[int | str, _Image | None] = {}
        names: dict[int | str, str] = {}
        kind = PurePosixPath(file).stem.partition("_")[0]
        for number, one in enumerate(listed):
            key: int | str | None = None
            try:
                key = _id_of(one)
                given = _field_of(one, "file_name")
                name = normalize_name(encodable(given)) if isinstance(given, str) else ""
                if not name:
                    raise _Odd("file_name", given)
                if names.setdefault(key, name) != name:
                    raise _Odd("id that stands twice", key)
                image = self._images.setdefault(name, _Image(name))
                size = side_of(one.get("width")), side_of(one.get("height"))
                if kind == _KINDS[1]:  # captions speak of no pixels
                    size = 0, 0
                if 0 not in size and image.size not in ((0, 0), size):
                    raise _Odd("another size than before", list(size))
                if image.files.setdefault(kind, file) != file:
                    image.unclear = f"{image.files[kind]} and {file} both have {name}"
                image.size = image.size if 0 in size else size
                images[key] = image
            except _Odd as odd:
                self.left_out.append(LeftOut(odd.kind, f"{file}: image no. {number}: {odd}"))
                if key is not None:
                    images[key] = None
        return images


def _annotate(image: _Image, one: Any, names: dict[int | str, str], origin: str) -> None:
    """Add an annotation to its image. Raises _Odd when there is anything wrong with it."""
    if "caption" in one:
        caption = one["caption"]
        if not isinstance(caption, str) or not caption.strip():
            raise _Odd("caption", caption)
        image.captions.append(encodable(caption).strip())
        return
    category, crowd = _id_of(one, "category_id"), one.get("iscrowd") or 0
    if category not in names:
        raise _Odd("unknown category", category)
    if crowd not in (0, 1):
        raise _Odd("iscrowd", crowd)
    box = _numbers(one.get("bbox"), "box")
    if len(box) != 4 or box[2] <= 0 or box[3] <= 0 or not math.isfinite(sum(map(abs, box))):
        raise _Odd("box", one.get("bbox"))
    left, top, width, height = box
    outline: Any = one.get("segmentation") or ()
    polygons: tuple[tuple[float, ...], ...] = ()
    runs: tuple[int, ...] = ()
    runs_of = 0, 0
    if isinstance(outline, dict):
        runs, runs_of = _runs_of_mask(outline, image.size)
    else:
        if not isinstance(outline, list | tuple):
            raise _Odd("segmentation", outline)
        # A list of an empty list says as much as none.
        polygons = tuple(_polygon_points(part) for part in outline if part != [])
    image.marked.append(
        Marked(
            names[category],
            (left, top, left + width, top + height),
            crowd=bool(crowd),
            polygons=polygons,
            runs=runs,
            runs_of=runs_of,
            origin=origin,
        )
    )


def _polygon_points(part: Any) -> tuple[float, ...]:
    points = _numbers(part, "segmentation")
    if len(points) % 2 or len(points) < 6:
        raise _Odd("segmentation", part)
    return points


def _runs_of_mask(
    outline: dict[str, Any], size: tuple[int, int]
) -> tuple[tuple[int, ...], tuple[int, int]]:
    """Return the runs of a mask, and the (width, height) they are of: the image's, if told."""
    counts, sides = outline.get("counts"), outline.get("size")
    try:
        runs = runs_in(counts) if isinstance(counts, str) else _whole_numbers(counts)
    except ValueError as error:
        raise _Odd("mask", counts) from error
    found = size[::-1] if sides is None else _whole_numbers(sides)
    if sides is not None and (len(found) != 2 or min(found) < 1):
        raise _Odd("mask", sides)
    height, width = found
    if min(runs, default=-1) < 0:
        raise _Odd("mask", outline)
    if size not in ((0, 0), (width, height)) or (width and sum(runs) != width * height):
        raise _Odd("mask of another size", [height, width, sum(runs)])
    return runs, (width, height)


def _parse_json_file(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # a number of more digits than Python reads as a whole one
        return json.loads(text, parse_int=float)


def _list_of(value: Any, name: str) -> list[Any]:
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise ValueError(f"it has no list {name!r}")
    return found


def _field_of(one: Any, name: str) -> Any:
    if not isinstance(one, dict):
        raise _Odd("not an object", one)
    return one.get(name)


def _id_of(one: Any, name: str = "id") -> int | str:
    """Return an id: numbers and texts are kept apart, as COCO's own tools do."""
    value = _field_of(one, name)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _Odd(name, value)
    return value


def _numbers(values: Any, name: str) -> tuple[float, ...]:
    given = values if isinstance(values, list) else [None]
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in given):
        with suppress(OverflowError):
            numbers = tuple(map(float, given))
            if all(map(math.isfinite, numbers)):
                return numbers
    raise _Odd(name, values)


def _whole_numbers(values: Any) -> tuple[int, ...]:
    numbers = _numbers(values, "mask")
    if not all(number.is_integer() for number in numbers):
        raise _Odd("mask", values)
    return tuple(map(int, numbers))


def _shown(value: Any) -> str:
    """Return a value as a file has it, cut where it is long."""
    text = str(value) if type(value) is int else json.dumps(value, default=repr)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


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
            sides = {side: record[side] for side in ("width", "height")}
            _write_members(handle, [{"id": row, "file_name": name, **sides}], index)
            labels = labels_of(record)
            captions = [{"caption": caption} for caption in labels["captions"]]
            of_kind = captions if kind == "captions" else _instances_of(record["key"], labels)
            numbered = enumerate(of_kind, made + 1)
            some = [{"id": number, "image_id": row, **own} for number, own in numbered]
            _write_members(rest, some, made)
            made += len(some)
        handle.write(b'],"annotations":[')
        rest.seek(0)
        shutil.copyfileobj(rest, handle)
        handle.write(b"]")
        if kind == "instances":
            named = [{"id": FIRST + i, "name": name} for i, name in enumerate(classes)]
            handle.write(b',"categories":' + _compact_json(named))
        handle.write(b"}\n")
    return path


def _write_members(handle: IO[bytes], some: list[Any], before: int) -> None:
    """Write members of a list that has `before` ones already; at once, as encoders begin slowly."""
    handle.write(b"," if before and some else b"")
    handle.write(_compact_json(some)[1:-1])


def _compact_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _instances_of(key: str, labels: dict[str, Any]) -> Iterable[dict[str, Any]]:
    columns = ("classes", "boxes", "crowd", "difficult", "segmentation")
    for number, box, crowd, difficult, outline in zip(
        *(labels[name] for name in columns), strict=True
    ):
        left, top, right, bottom = box
        area = (right - left) * (bottom - top)
        try:
            shape = parse_json(outline) if outline else []
            area = _outline_area(shape, area)
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


def _outline_area(shape: Any, box: float) -> float:
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
