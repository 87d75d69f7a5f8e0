"""The tables of a set: rows of `pairs.parquet` made; all read, their keys and shards checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...errors import DamagedError
from ...storage import untrusted
from ...storage.parquet import pc, read_named
from ..selection.plan import PLAN_SCHEMA
from .info import CANDIDATES, PAIRS, PLAN, REFUSED

_MOST_SHARDS = 10**9
REFUSED_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("key", "source", "path", "stage", "reason", "detail")]
)
_CANDIDATES = [(name, pa.string()) for name in ("source", "key", "path", "reason", "detail")]
_UNFIT = (pa.ArrowException, OverflowError, TypeError, KeyError, AttributeError)
_TEXT, _NUMBER = pa.string(), pa.int32()
SIZE_FIELDS = [("width", _NUMBER), ("height", _NUMBER)]
PAIR_FIELDS = [
    *[("key", _TEXT), ("split", _TEXT), ("shard", _NUMBER), ("source", _TEXT), ("path", _TEXT)],
    *SIZE_FIELDS,
    ("converted", _TEXT),
]
LABEL_FIELDS = [
    ("label_class", _NUMBER),
    ("label_boxes", pa.list_(pa.float32())),
    ("label_classes", pa.list_(_NUMBER)),
    ("label_difficult", pa.list_(pa.bool_())),
    ("label_crowd", pa.list_(pa.bool_())),
]
_MEMBER_FIELDS = [("sha256", _TEXT), ("bytes", pa.int64()), ("suffix", _TEXT)]

_SCHEMAS = {
    PLAN: PLAN_SCHEMA,
    PAIRS: pa.schema(PAIR_FIELDS),
    REFUSED: REFUSED_SCHEMA,
    CANDIDATES: pa.schema([*_CANDIDATES, ("perceptual_hash", pa.uint64())]),
}
"""Columns that each table has at least."""


def read_plan(root: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a set's plan, or some of its columns.

    Raises SetError when it cannot be read, or has a key, a split or a shard that no plan has.
    """
    path = untrusted.inside(root, PLAN)
    table = read_checked(path, columns)
    splits = pc.unique(table["split"]).to_pylist() if "split" in table.column_names else ()
    if not set(splits) <= set(untrusted.SPLITS):
        raise DamagedError.at(path, "damaged: has unknown splits")
    if "shard" in table.column_names and len(table):
        least, most = (one.as_py() for one in pc.min_max(table["shard"]).values())
        if least is None or not 0 <= least <= most < _MOST_SHARDS:
            raise DamagedError.at(path, f"damaged: has shard {untrusted.shown(most)}")
    return table


def read_checked(
    path: Path, columns: Sequence[str] | None = None, *, keyless: bool = False
) -> pa.Table:
    """Read a table of a set, whose keys must be keys; with `keyless`, or be empty.

    Raises SetError when it cannot be read, lacks a column, or has a key that gloam does not give.
    """
    return check_table(path, read_named(path, columns), columns, keyless=keyless)


def check_table(
    path: Path, table: pa.Table, columns: Sequence[str] | None = None, *, keyless: bool = False
) -> pa.Table:
    """Check a table of a set that was read; see `read_checked`."""
    check_columns(path, table.schema, columns)
    if path.name in (PLAN, PAIRS) and any(
        table[name].null_count for name in _SCHEMAS[path.name].names if name in table.column_names
    ):
        raise DamagedError.at(path, "damaged: has rows without a value")
    if "key" in table.column_names:
        odd = table["key"].filter(pc.invert(_are_keys(table["key"])))
        odd = odd.filter(pc.not_equal(odd, "")) if keyless else odd
        if len(odd) or table["key"].null_count:
            key = odd[0].as_py() if len(odd) else None
            raise DamagedError.at(path, f"damaged: {untrusted.odd_name(key, 'is no key')}")
    return table


def check_columns(path: Path, found: pa.Schema, columns: Sequence[str] | None = None) -> None:
    """Check that a table of a set has its columns, or some of them, and each once.

    Raises DamagedError when it has not, or one of another type.
    """
    known = _SCHEMAS.get(path.name, pa.schema([]))
    for name in known.names if columns is None else columns:
        if found.names.count(name) != 1:
            raise DamagedError.at(path, f"damaged: has no column {name}, or several")
        kind = found.field(name).type
        if name in known.names and kind != known.field(name).type:
            raise DamagedError.at(
                path, f"damaged: column {name} is of type {untrusted.shown(str(kind))}"
            )


def _are_keys(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        # The length apart: a pattern that counts takes Arrow a millisecond to compile.
        short = pc.less_equal(pc.binary_length(column), untrusted.LONGEST_KEY)
        return pc.and_(short, pc.match_substring_regex(column, untrusted.KEY_LETTERS))
    except pa.ArrowException:  # of another type
        return pa.chunked_array([pa.array([False] * len(column))])


def schema_of(members: Iterable[str], labelled: bool, draw_fields: Sequence[pa.Field]) -> pa.Schema:
    """Return the columns of a set's pairs.

    members: members of each sample.
    draw_fields: columns of the drawn parameters, named by their paths in the records' `draw`.
    """
    fields: list[Any] = [*PAIR_FIELDS]
    fields += [(f"{member}_{name}", kind) for member in members for name, kind in _MEMBER_FIELDS]
    fields += LABEL_FIELDS if labelled else []
    fields += [field.with_name(f"draw_{field.name.replace('.', '_')}") for field in draw_fields]
    return pa.schema(fields)


def unit_table(
    records: Iterable[dict[str, Any]], split: str, shard: int, schema: pa.Schema
) -> pa.Table:
    """Return the rows of some pairs of a unit. Raises SetError for values that no draw has."""
    kept = list(records)
    try:
        rows = [_pair_row(record, split, shard) for record in kept]
        return pa.Table.from_pylist(rows, schema=schema)
    except _UNFIT:
        for record in kept:
            what = "its record holds values that gloam does not write: "
            with untrusted.naming(record["key"], *_UNFIT, what=what):
                pa.Table.from_pylist([_pair_row(record, split, shard)], schema=schema)
        raise


def _pair_row(record: dict[str, Any], split: str, shard: int) -> dict[str, Any]:
    row = {name: record[name] for name in ("key", "source", "path", "width", "height", "converted")}
    row |= {"split": split, "shard": shard}
    row |= {
        f"{member}_{name}": facts[name]
        for member, facts in record["members"].items()
        for name, _ in _MEMBER_FIELDS
    }
    if "labels" in record:
        labels = record["labels"]
        row |= {
            "label_class": labels["class_number"],
            "label_boxes": [side for box in labels["boxes"] for side in box],
            "label_classes": labels["classes"],
            "label_difficult": labels["difficult"],
            "label_crowd": labels["crowd"],
        }
    _add_columns(row, "draw", record["draw"])
    return row


def _add_columns(row: dict[str, Any], above: str, values: dict[str, Any]) -> None:
    """Add the drawn parameters of a record to its row: `draw_camera_iso` for `camera.iso`."""
    for name, value in values.items():
        if isinstance(value, dict):
            _add_columns(row, f"{above}_{name}", value)
        else:
            row[f"{above}_{name}"] = value
