"""Parquet files by their local names: pyarrow takes a name such as `run:1/plan.parquet` for a
URI."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_table(
    path: Path, columns: Sequence[str] | None = None, schema: pa.Schema | None = None
) -> pa.Table:
    """A table, or some of its columns.

    Raises
    ------
    OSError, ValueError
        When the file is missing, or is not Parquet.
    """
    with open(path, "rb") as file:
        return pq.read_table(
            file, columns=None if columns is None else list(columns), schema=schema
        )


def count_rows(path: Path) -> int:
    """How many rows a table has, without reading them."""
    with open(path, "rb") as file:
        return int(pq.read_metadata(file).num_rows)
