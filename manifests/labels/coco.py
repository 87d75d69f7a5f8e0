"""Annotations of COCO: one JSON file for all photographs, beside them or in their archive."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from ...errors import SourceError
from ...storage.stores import place
from ..sources.containers import list_container
from ..sources.text import read_beside, read_text
from .labels import Labels, Marked
from .runs import runs_in

_FOLDER = "annotations"
_KINDS = "instances", "captions"


class Annotations:
    """What the annotation files of a COCO source say.

    Parameters
    ----------
    path : str
        Of the source.
    listing : str
        Name of its list, such as `instances_train2017`, whose annotations are meant; those of all
        lists by default.

    Attributes
    ----------
    classes : list of str
        In the order of their ids, which have gaps.

    Raises
    ------
    SourceError
        When there are none, or they are damaged.
    """

    def __init__(self, path: str, listing: str = "") -> None:
        self._path = path
        self._images: dict[str, tuple[int, int]] = {}
        self._marked: dict[str, list[Marked]] = defaultdict(list)
        self._captions: dict[str, list[str]] = defaultdict(list)
        names: dict[int, str] = {}
        files = self._files(listing)
        if not files:
            wanted = f"{_FOLDER}/{listing or 'instances_*'}.json"
            raise SourceError(
                f"{path}: has no {wanted}, neither inside nor beside it, so no labels", path=path
            )
        for name, text in files.items():
            try:
                self._take(json.loads(text), names)
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise SourceError(
                    f"{path}: {name} is not a COCO annotation file: {error!r}", path=path
                ) from error
        self.classes = [names[number] for number in sorted(names)]

    def read_labels(self, images: Sequence[str]) -> Iterator[Labels]:
        """Yield the labels of some photographs, by their paths in the source."""
        for image in images:
            stem = PurePosixPath(image).stem
            yield Labels(
                marked=tuple(self._marked.get(stem, ())),
                captions=tuple(self._captions.get(stem, ())),
                size=self._images.get(stem, (0, 0)),
            )

    def _files(self, listing: str) -> dict[str, str]:
        """Read the annotation files, the instances first."""
        root = place(self._path)
        inside = {
            entry.name: entry
            for entry in list_container(root)
            if PurePosixPath(entry.name).parent.name == _FOLDER
        }
        beside = root.parent / _FOLDER
        texts: dict[str, str] = {}
        if listing:
            _, _, which = listing.partition("_")
            stems = {listing, *(f"{kind}_{which}" for kind in _KINDS)}
        else:
            names = [PurePosixPath(name).stem for name in inside]
            names += [path.stem for path in beside.glob("*.json")] if beside.is_dir() else []
            stems = {name for name in names if name.startswith(_KINDS)}
        for stem in sorted(stems, reverse=True):  # instances before captions
            found = next((e for n, e in inside.items() if PurePosixPath(n).stem == stem), None)
            if found is not None:
                texts[found.name] = read_text(self._path, found)
            elif (beside / f"{stem}.json").is_file():
                texts[f"{_FOLDER}/{stem}.json"] = read_beside(beside / f"{stem}.json")
        return texts

    def _take(self, value: Any, names: dict[int, str]) -> None:
        stems: dict[int, str] = {}
        for image in value["images"]:
            stem = PurePosixPath(str(image["file_name"])).stem
            stems[image["id"]] = stem
            self._images[stem] = int(image.get("width", 0)), int(image.get("height", 0))
        own = {one["id"]: str(one["name"]) for one in value.get("categories", ())}
        if any(names.setdefault(number, name) != name for number, name in own.items()):
            raise ValueError("its categories have other names than those of another file")
        for one in value["annotations"]:
            if "caption" in one:
                self._captions[stems[one["image_id"]]].append(str(one["caption"]).strip())
            elif "bbox" in one:
                self._marked[stems[one["image_id"]]].append(_marked(one, own))


def _marked(one: Any, names: dict[int, str]) -> Marked:
    x, y, width, height = map(float, one["bbox"])
    outline: Any = one.get("segmentation") or ()
    polygons: tuple[tuple[float, ...], ...] = ()
    runs: tuple[int, ...] = ()
    if isinstance(outline, dict):
        counts = outline["counts"]
        runs = runs_in(counts) if isinstance(counts, str) else tuple(map(int, counts))
    else:
        polygons = tuple(tuple(map(float, part)) for part in outline)
    return Marked(
        names[one["category_id"]],
        (x, y, x + width, y + height),
        crowd=bool(one.get("iscrowd", 0)),
        polygons=polygons,
        runs=runs,
    )
