"""Parquet files by their local names: pyarrow takes `run:1/plan.parquet` for a URI."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .stores import place

_SMALL = 1 << 20  # bytes of an object that are read at once, whatever is wanted of them
_ROWS_A_BYTE = 4
"""At most: rows that are told apart take more, but a file can say a row a million times over."""
_LARGE = 1 << 26  # bytes of a table that is worth threads, which a small one had better not start


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a table, or those of some columns that it has.

    Raises OSError, ValueError when the file is missing, or is not Parquet.
    """
    with _opened(path) as file:
        large = file.size() >= _LARGE
        # Not by pq.read_table: importing Arrow's data sets takes longer than reading a table.
        whole = pq.ParquetFile(file, pre_buffer=large)
        if whole.metadata.num_rows > _ROWS_A_BYTE * file.size():
            raise ValueError(f"says that it has {whole.metadata.num_rows:,} rows")
        return whole.read(None if columns is None else list(columns), use_threads=large)


def read_row_group(path: Path, number: int) -> pa.Table:
    """Read one row group of a table, with the file's own metadata."""
    with _opened(path) as file:
        return pq.ParquetFile(file).read_row_group(number, use_threads=False)


def read_schema(path: Path) -> pa.Schema:
    """Read a table's columns, with the file's own metadata."""
    with _opened(path) as file:
        return pq.read_schema(file)


def _opened(path: Path) -> pa.NativeFile:
    at = place(path)
    if at.remote:
        # Of an object its footer and the columns are read; whole, where that is one request.
        data, size = at.read_most(_SMALL)
        return pa.BufferReader(data) if len(data) == size else pa.PythonFile(at.open("rb"), "r")
    at.open_regular().close()  # Arrow would wait for a pipe's other end
    # Not a file of Python's: Arrow's threads would touch it while the interpreter ends.
    return pa.OSFile(os.fsencode(path))  # pyarrow's own encoding is UTF-8, whatever the locale
