"""The rows of `pairs.parquet`: a pair each, a column for all that its record says of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from ...errors import SetError, first_line

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


def schema_of(members: Iterable[str], labelled: bool, draw_fields: Sequence[pa.Field]) -> pa.Schema:
    """Return the columns of a set's pairs.

    members: members of each sample.
    draw_fields: columns of the drawn parameters, named by their paths in the records' `draw`.
    """
    fields: list[Any] = [*PAIR_FIELDS]
    fields += [(f"{member}_{name}", kind) for member in members for name, kind in _MEMBER_FIELDS]
    fields += LABEL_FIELDS if labelled else []
    fields += [field.with_name(_column(field.name)) for field in draw_fields]
    return pa.schema(fields)


def unit_table(
    records: Iterable[dict[str, Any]], split: str, shard: int, schema: pa.Schema
) -> pa.Table:
    """Return the rows of some pairs of a unit. Raises SetError for values that no draw has."""
    kept = list(records)
    try:
        return _table(kept, split, shard, schema)
    except _UNFIT:
        for record in kept:
            try:
                _table([record], split, shard, schema)
            except _UNFIT as error:
                raise SetError(
                    f"{record['key']}: its record holds values that gloam does not write:"
                    f" {first_line(error)}"
                ) from error
        raise


def _table(records: list[dict[str, Any]], split: str, shard: int, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([_row(record, split, shard) for record in records], schema=schema)


def _row(record: dict[str, Any], split: str, shard: int) -> dict[str, Any]:
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


def _column(path: str) -> str:
    """Name the column of a drawn parameter: `draw_camera_sensor_gain` for `camera.sensor.gain`."""
    return f"draw_{path.replace('.', '_')}"


def _add_columns(row: dict[str, Any], above: str, values: dict[str, Any]) -> None:
    """Add the drawn parameters of a record to its row, by the names of `_column`."""
    for name, value in values.items():
        if isinstance(value, dict):
            _add_columns(row, f"{above}_{name}", value)
        else:
            row[f"{above}_{name}"] = value
