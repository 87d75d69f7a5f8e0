"""The tables of a set, read for their names: keys, splits and numbers of shards are checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import DamagedError, SetError
from ...storage.tables import read_table
from ...storage.untrusted import KEY_LETTERS, LONGEST_KEY, SPLITS, inside, odd_name, shown
from ..selection.plan import PLAN_SCHEMA
from .info import CANDIDATES, PAIRS, PLAN, REFUSED
from .rows import PAIR_FIELDS

_MOST_SHARDS = 10**9
REFUSED_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("key", "source", "path", "stage", "reason", "detail")]
)
_CANDIDATES = [(name, pa.string()) for name in ("source", "key", "path", "reason", "detail")]
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
    path = inside(root, PLAN)
    table = read_checked(path, columns)
    splits = pc.unique(table["split"]).to_pylist() if "split" in table.column_names else ()
    if not set(splits) <= set(SPLITS):
        raise DamagedError.at(path, "damaged: has unknown splits")
    if "shard" in table.column_names and len(table):
        least, most = (one.as_py() for one in pc.min_max(table["shard"]).values())
        if least is None or not 0 <= least <= most < _MOST_SHARDS:
            raise DamagedError.at(path, f"damaged: has shard {shown(most)}")
    return table


def read_keys(path: Path) -> list[str]:
    """Read the keys of a table, in order; `read_plan` says what is raised."""
    keys: list[str] = read_checked(path, ["key"])["key"].to_pylist()
    return keys


def read_checked(
    path: Path, columns: Sequence[str] | None = None, *, keyless: bool = False
) -> pa.Table:
    """Read a table of a set, whose keys must be keys; with `keyless`, or be empty.

    Raises SetError when it cannot be read, lacks a column, or has a key that gloam does not give.
    """
    try:
        table = read_table(path, columns)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise SetError.at(path, f"cannot be read: {error}") from error
    check_columns(path, table.schema, columns)
    if path.name in (PLAN, PAIRS) and any(
        table[name].null_count for name in _SCHEMAS[path.name].names if name in table.column_names
    ):
        raise DamagedError.at(path, "damaged: has rows without a value")
    if "key" in table.column_names:
        odd = table["key"].filter(pc.invert(_is_key(table["key"])))
        odd = odd.filter(pc.not_equal(odd, "")) if keyless else odd
        if len(odd) or table["key"].null_count:
            key = odd[0].as_py() if len(odd) else None
            raise DamagedError.at(path, f"damaged: {odd_name(key, 'is no key')}")
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
            raise DamagedError.at(path, f"damaged: column {name} is of type {shown(str(kind))}")


def _is_key(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        # The length apart: a pattern that counts takes Arrow a millisecond to compile.
        short = pc.less_equal(pc.binary_length(column), LONGEST_KEY)
        return pc.and_(short, pc.match_substring_regex(column, KEY_LETTERS))
    except pa.ArrowException:  # of another type
        return pa.chunked_array([pa.array([False] * len(column))])
