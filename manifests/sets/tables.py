"""The tables of a set, read for their names: keys, splits and numbers of shards are checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import DamagedError, SetError
from ...storage.tables import read_table
from ...storage.untrusted import KEY_LETTERS, LONGEST_KEY, SPLITS, inside, outside, shown
from .info import PLAN

_MOST_SHARDS = 10**9


def read_plan(root: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a set's plan, or some of its columns.

    Raises SetError when it cannot be read, or has a key, a split or a shard that no plan has.
    """
    path = inside(root, PLAN)
    table = read_checked(path, columns)
    if "split" in table.column_names and not set(pc.unique(table["split"]).to_pylist()) <= {
        *SPLITS
    }:
        raise DamagedError.at(path, "damaged: has splits that are none")
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
    missing = set(columns or ()) - set(table.column_names)
    if missing:
        raise DamagedError.at(path, f"damaged: has no column {min(missing)}")
    if "key" in table.column_names:
        odd = table["key"].filter(pc.invert(_is_key(table["key"])))
        odd = odd.filter(pc.not_equal(odd, "")) if keyless else odd
        if len(odd) or table["key"].null_count:
            key = odd[0].as_py() if len(odd) else None
            beyond = "names a file outside the set" if outside(str(key)) else "is no key"
            raise DamagedError.at(path, f"damaged: {shown(key)} {beyond}")
    return table


def _is_key(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        # The length apart: a pattern that counts takes Arrow a millisecond to compile.
        short = pc.less_equal(pc.binary_length(column), LONGEST_KEY)
        return pc.and_(short, pc.match_substring_regex(column, KEY_LETTERS))
    except pa.ArrowException:  # of another type
        return pa.chunked_array([pa.array([False] * len(column))])
