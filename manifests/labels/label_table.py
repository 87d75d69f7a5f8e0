"""`labels.parquet`: what the sources say of a plan's photographs, a row group for each unit.

Read once, when the plan is made; workers take the labels of their unit from it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple, TypeVar

import pyarrow as pa
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from ...errors import ConfigError, SetError, SourceError
from ...storage.parquet import pq, read_schema, read_table
from ...storage.untrusted import inside, naming, parse_json, shown
from ..images.opening import encode_by_opencv
from ..sources import Source
from . import voc
from .coco import Annotations
from .photo_labels import BOXES, CLASS, CLASSES, MASK, Labels, LeftOut, from_json, one_line
from .placement import numbers_in, placement_of

LABELS, CLASS_LIST = "labels.parquet", "classes.txt"
LABELLED_KINDS = ("classes", "imagenet", "voc", "coco")
"""Kinds of sources that have labels."""
_SYNSET = re.compile(r"n\d{8}")
_SCHEMA = pa.schema(
    [pa.field("key", pa.string()), pa.field("labels", pa.string()), pa.field("mask", pa.binary())]
)


class _About(TypedDict):
    classes: list[str]
    roles: list[Literal["cls", "boxes", "classes", "mask"]]


_ABOUT, _LEFT_OUT = TypeAdapter(_About), TypeAdapter(list[dict[str, str]])
T = TypeVar("T", pa.Table, pa.Schema)


class _Known(NamedTuple):
    """The labels of a source's planned photographs, its classes in order, and what is not taken."""

    labels: dict[str, Labels]
    classes: list[str]
    left_out: list[LeftOut]


def read_source_labels(
    plan: pa.Table, listed: pa.Table, sources: Sequence[Source]
) -> tuple[bytes, bytes]:
    """Read the labels of all planned pairs.

    plan, listed: tables of `make_plan` and `list_candidates`.

    Returns the contents of `labels.parquet` and `classes.txt`: the names of the classes
    in the order of their numbers, those of the first source first.

    Raises ConfigError when no source has labels; SourceError when there are no annotations, or no
    photograph of a source has a label by them.
    """
    kinds = [source.kind for source in sources if source.kind in LABELLED_KINDS]
    if not kinds:
        raise ConfigError(
            f"--labels: none of the sources has labels; {', '.join(LABELLED_KINDS)} have"
            " (classes=DIR for a folder of class folders)"
        )
    known = {source.name: _labels_of_source(source, plan, listed) for source in sources}
    classes = list(dict.fromkeys(name for one in known.values() for name in one.classes))
    masks = any(labels.mask for one in known.values() for labels in one.labels.values())
    roles = [CLASS] * any(kind in ("classes", "imagenet") for kind in kinds)
    roles += [BOXES, CLASSES] * any(kind in ("voc", "coco") for kind in kinds) + [MASK] * masks
    about = {"classes": json.dumps(classes), "roles": json.dumps(roles)}
    left_out = [{"source": name, **one._asdict()} for name in known for one in known[name].left_out]
    columns = (plan[name].to_pylist() for name in ("split", "shard", "key", "source", "path"))
    rows = zip(*columns, strict=True)
    units = [list(unit) for _, unit in groupby(rows, lambda row: row[:2])]
    if left_out:  # in a row group of its own, after those of the units
        about["left_out"] = str(len(units))
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, _SCHEMA.with_metadata(about)) as writer:
        for unit in units:
            found = [(key, known[name].labels.get(path, Labels())) for *_, key, name, path in unit]
            table = [
                [key for key, _ in found],
                [labels.as_json() for _, labels in found],
                [labels.mask for _, labels in found],
            ]
            writer.write_table(pa.table(table, schema=_SCHEMA), row_group_size=max(len(found), 1))
        if left_out:
            table = [[""] * len(left_out), list(map(json.dumps, left_out)), [b""] * len(left_out)]
            writer.write_table(pa.table(table, schema=_SCHEMA), row_group_size=len(left_out))
    return buffer.getvalue(), "".join(f"{name}\n" for name in classes).encode()


def _labels_of_source(source: Source, plan: pa.Table, listed: pa.Table) -> _Known:
    if source.kind not in LABELLED_KINDS:
        return _Known({}, [], [])
    paths, every = _paths_of_source(plan, source), _paths_of_source(listed, source)
    if source.kind in ("coco", "voc"):
        known = _read_annotations(source, paths, every)
    else:
        given = classes_in(every) if source.kind == "classes" else map(synset_of, every)
        names = (name if name.isprintable() else one_line(name) for name in given)
        names_of = dict(zip(every, names, strict=True))
        classes = sorted({name for name in names_of.values() if name})
        known = _Known({path: Labels(name=names_of[path]) for path in paths}, classes, [])
    if paths and not any(
        one.name or one.marked or one.captions or one.mask for one in known.labels.values()
    ):
        why = f"; {known.left_out[0].detail}" if known.left_out else ""
        raise SourceError(
            f"{source.kind}={source.path}: none of its {len(paths):,} photographs has a label,"
            f" such as {paths[0]}{why}; mend its annotations, or leave --labels out",
            path=source.path,
        )
    return known


def synset_of(path: str) -> str:
    """Return the synset in a path of ImageNet's, "" where there is none (its validation images)."""
    return next((part for part in PurePosixPath(path).parts[:-1] if _SYNSET.fullmatch(part)), "")


def classes_in(paths: Sequence[str]) -> list[str]:
    """Return the class of each of all paths of a `classes` source: the folder it lies in.

    Like torchvision's ImageFolder it takes the first folder below the source; or below the one
    folder that all lies in, as archives have it.
    """
    parts = [PurePosixPath(path).parts for path in paths]
    level = 0
    while all(len(one) > level + 2 for one in parts) and len({one[level] for one in parts}) == 1:
        level += 1
    return [one[level] for one in parts]


def _read_annotations(source: Source, paths: list[str], every: list[str]) -> _Known:
    if source.kind == "coco":
        annotations = Annotations(source.path, every, source.listing)
        read = dict(zip(paths, annotations.read_labels(paths), strict=True))
        classes, left_out = annotations.classes, annotations.left_out
    else:
        read = dict(zip(paths, voc.read_voc_labels(source.path, every, paths), strict=True))
        names = {one.name for labels, _ in read.values() for one in labels.marked}
        classes = list(voc.CLASSES) if names <= set(voc.CLASSES) else sorted(names)
        left_out = []
    left_out = [*left_out, *(one for _, without in read.values() for one in without)]
    return _Known({path: labels for path, (labels, _) in read.items()}, classes, left_out)


def _paths_of_source(table: pa.Table, source: Source) -> list[str]:
    rows = zip(table["source"].to_pylist(), table["path"].to_pylist(), strict=True)
    return [path for name, path in rows if name == source.name]


@dataclass(frozen=True)
class UnitLabels:
    """The labels of a unit's photographs, as their sources have them.

    classes: dict of name to number.
    roles: tuple of str; members that the set's samples have of them.
    """

    classes: dict[str, int]
    roles: tuple[str, ...]
    _rows: dict[str, tuple[str, bytes]]

    def of(
        self, key: str, data: bytes, stored: tuple[int, int]
    ) -> tuple[Labels, Sequence[LeftOut]]:
        """Return a photograph's labels as they lie on its stored normal, and what does not fit it.

        data: the photograph.
        stored: (width, height); size of the normal.
        """
        labels = self._known(key)
        try:
            placed, left_out = labels.placed(placement_of(data, stored, labels.size))
        except ValueError as error:
            files = dict.fromkeys(one.origin.partition(": ")[0] for one in labels.marked)
            named = ", ".join(filter(None, files)) or "its annotation"
            found = LeftOut("annotation of another size", f"{named}: {error}")
            placed, left_out = replace(labels, marked=(), size=stored), [found]
        if not labels.mask:
            return placed, left_out
        try:
            mask = numbers_in(labels.mask)
            placement = placement_of(data, stored, mask.shape[::-1])
            return replace(placed, mask=encode_by_opencv(placement.pixels(mask))), left_out
        except ValueError as error:
            left_out.append(LeftOut("mask", f"its mask: {error}"))
            return replace(placed, mask=b""), left_out

    def _known(self, key: str) -> Labels:
        odd = ValueError, LookupError, TypeError, AttributeError
        with naming(f"{LABELS}: {key}", *odd, what="damaged: "):
            labels = from_json(*self._rows[key])
            unknown = {labels.name, *(one.name for one in labels.marked)} - {"", *self.classes}
            if unknown:
                raise ValueError(f"no class is called {shown(min(unknown))}")
        return labels


def read_unit(root: Path, number: int) -> UnitLabels:
    """Read the labels of unit number `number` of a plan."""
    table, about = _read(root, partial(read_table, group=number))
    columns = (table[name].to_pylist() for name in _SCHEMA.names)
    rows = {key: (labels, mask) for key, labels, mask in zip(*columns, strict=True)}
    numbers = {name: i for i, name in enumerate(about["classes"])}
    return UnitLabels(numbers, tuple(about["roles"]), rows)


def read_about(root: Path) -> tuple[list[str], tuple[str, ...]]:
    """Read the names of a set's classes, in the order of their numbers, and its roles of labels."""
    _, about = _read(root, read_schema)
    return about["classes"], tuple(about["roles"])


def read_labels(root: Path) -> pa.Table:
    """Read the labels of all photographs, in the order of the plan."""
    return _read(root, read_table)[0]


def read_left_out(root: Path) -> list[dict[str, str]]:
    """Read which annotations the sources have that are of no use: source, reason, detail, path."""
    number = _read(root, read_schema)[0].metadata.get(b"left_out")
    if number is None:
        return []
    if not number.isdigit():
        raise SetError.at(root / LABELS, "cannot be read: its row group is not a number")
    found = _read(root, partial(read_table, group=int(number)))[0]["labels"].to_pylist()
    with naming(root / LABELS, ValueError, what="cannot be read: "):
        return _LEFT_OUT.validate_python(list(map(parse_json, found)))


def _read(root: Path, read: Callable[[Path], T]) -> tuple[T, _About]:
    """Read something of the table, and what it says of all labels.

    Raises SetError when it cannot be read, or is another table.
    """
    path = inside(root, LABELS)
    with naming(path, OSError, ValueError, LookupError, pa.ArrowException, what="cannot be read: "):
        found = read(path)
        schema = found.schema if isinstance(found, pa.Table) else found
        if not schema.equals(_SCHEMA) or schema.metadata is None:
            raise SetError.at(path, "is not a table of labels")
        about = {name: parse_json(schema.metadata[name.encode()]) for name in ("classes", "roles")}
        return found, _ABOUT.validate_python(about, strict=True)
