"""`labels.parquet`: what the sources say of a plan's photographs, a row group for each unit.

Read once, when the plan is made; workers take the labels of their unit from it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import ConfigError, SourceError
from ...storage.tables import read_row_group, read_schema
from ..sources import Source
from . import voc
from .class_folders import classes_in, synset_of
from .coco import Annotations
from .labels import BOXES, CLASS, CLASSES, MASK, Labels, from_json
from .placement import placement_of

LABELS, CLASS_LIST = "labels.parquet", "classes.txt"
LABELLED_KINDS = ("classes", "imagenet", "voc", "coco")
"""Kinds of sources that have labels."""
_SCHEMA = pa.schema(
    [pa.field("key", pa.string()), pa.field("labels", pa.string()), pa.field("mask", pa.binary())]
)


class _Known(NamedTuple):
    """The labels of a source's planned photographs, and its classes in order."""

    labels: dict[str, Labels]
    classes: list[str]


def read_all(plan: pa.Table, listed: pa.Table, sources: Sequence[Source]) -> tuple[bytes, bytes]:
    """Read the labels of all planned pairs.

    Parameters
    ----------
    plan, listed : pyarrow.Table
        Of `make_plan` and `list_candidates`.
    sources : sequence of Source

    Returns
    -------
    tuple of bytes
        What `labels.parquet` and `classes.txt` hold: the names of the classes in the order of their
        numbers, those of the first source first.

    Raises
    ------
    ConfigError
        When no source has labels.
    SourceError
        When annotations are missing or damaged.
    """
    kinds = [source.kind for source in sources if source.kind in LABELLED_KINDS]
    if not kinds:
        raise ConfigError(
            f"--labels: none of the sources has labels; {', '.join(LABELLED_KINDS)} have"
            " (classes=DIR for a folder of class folders)"
        )
    known = {source.name: _known(source, plan, listed) for source in sources}
    classes = list(dict.fromkeys(name for one in known.values() for name in one.classes))
    masks = any(labels.mask for one in known.values() for labels in one.labels.values())
    roles = [CLASS] * any(kind in ("classes", "imagenet") for kind in kinds)
    roles += [BOXES, CLASSES] * any(kind in ("voc", "coco") for kind in kinds) + [MASK] * masks
    about = {"classes": json.dumps(classes), "roles": json.dumps(roles)}
    buffer = io.BytesIO()
    columns = (plan[name].to_pylist() for name in ("split", "shard", "key", "source", "path"))
    rows = zip(*columns, strict=True)
    with pq.ParquetWriter(buffer, _SCHEMA.with_metadata(about)) as writer:
        for _, unit in groupby(rows, lambda row: row[:2]):
            found = [
                (key, known[source].labels.get(path, Labels())) for *_, key, source, path in unit
            ]
            table = [
                [key for key, _ in found],
                [labels.as_json() for _, labels in found],
                [labels.mask for _, labels in found],
            ]
            writer.write_table(pa.table(table, schema=_SCHEMA), row_group_size=max(len(found), 1))
    return buffer.getvalue(), "".join(f"{name}\n" for name in classes).encode()


def _known(source: Source, plan: pa.Table, listed: pa.Table) -> _Known:
    if source.kind not in LABELLED_KINDS:
        return _Known({}, [])
    paths = _paths(plan, source)
    if source.kind == "coco":
        annotations = Annotations(source.path, source.listing)
        read = annotations.read_labels(paths)
        return _Known(dict(zip(paths, read, strict=True)), annotations.classes)
    if source.kind == "voc":
        found = dict(zip(paths, voc.read_labels(source.path, paths), strict=True))
        names = {one.name for labels in found.values() for one in labels.marked}
        return _Known(found, voc.classes_of(names))
    every = _paths(listed, source)
    names_of = (
        dict(zip(every, classes_in(every), strict=True))
        if source.kind == "classes"
        else {path: synset_of(path) for path in every}
    )
    return _Known(
        {path: Labels(name=names_of[path]) for path in paths},
        sorted({name for name in names_of.values() if name}),
    )


def _paths(table: pa.Table, source: Source) -> list[str]:
    rows = zip(table["source"].to_pylist(), table["path"].to_pylist(), strict=True)
    return [path for name, path in rows if name == source.name]


@dataclass(frozen=True)
class UnitLabels:
    """The labels of a unit's photographs, as their sources have them.

    Attributes
    ----------
    classes : dict of name to number
    roles : tuple of str
        Members that the set's samples have of them.
    """

    classes: dict[str, int]
    roles: tuple[str, ...]
    _rows: dict[str, tuple[str, bytes]]

    def of(self, key: str, data: bytes, stored: tuple[int, int]) -> Labels:
        """Return the labels of a photograph as they lie on its stored normal.

        Parameters
        ----------
        key : str
        data : bytes
            The photograph.
        stored : (width, height)
            Of the normal.

        Raises
        ------
        SourceError
            When a mask is none, or of another size.
        """
        labels = from_json(*self._rows[key])
        try:
            return labels.placed(placement_of(data, stored, labels.size))
        except (ValueError, OSError) as error:
            raise SourceError(
                f"{key}: its labels do not fit it: {error}; mend them, or leave --labels out",
                key=key,
            ) from error


def read_unit(root: Path, number: int) -> UnitLabels:
    """Read the labels of unit number `number` of a plan."""
    table = read_row_group(root / LABELS, number)
    classes, roles = _about(table.schema)
    columns = (table[name].to_pylist() for name in ("key", "labels", "mask"))
    return UnitLabels(
        {name: number for number, name in enumerate(classes)},
        roles,
        {key: (labels, mask) for key, labels, mask in zip(*columns, strict=True)},
    )


def read_about(root: Path) -> tuple[list[str], tuple[str, ...]]:
    """Read the names of a set's classes, in the order of their numbers, and its roles of labels."""
    return _about(read_schema(root / LABELS))


def _about(schema: pa.Schema) -> tuple[list[str], tuple[str, ...]]:
    classes, roles = (json.loads(schema.metadata[name]) for name in (b"classes", b"roles"))
    return classes, tuple(roles)
