"""Parquet files by their local names: pyarrow takes `run:1/plan.parquet` for a URI."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .stores import place

_SMALL = 1 << 20  # bytes of an object that are read at once, whatever is wanted of them
_ROWS_A_BYTE = 4
"""At most: rows that are told apart take more, but a file can say a row a million times over."""
_MOST_TEXTS, _GROWN = 1 << 30, 64
"""Bytes that the texts of a table may take, and times its file's bytes that they may take more."""
_LARGE = 1 << 26  # bytes of a table that is worth threads, which a small one had better not start


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a table, or those of some columns that it has.

    Raises OSError, ValueError when the file is missing, or is not Parquet.
    """
    with _opened(path) as file:
        large = file.size() >= _LARGE
        wanted = None if columns is None else list(columns)
        return _read(file, lambda whole: whole.read(wanted, use_threads=large), pre_buffer=large)


def read_row_group(path: Path, number: int) -> pa.Table:
    """Read one row group of a table, with the file's own metadata.

    Raises OSError, ValueError as `read_table`.
    """
    with _opened(path) as file:
        read = partial(pq.ParquetFile.read_row_group, i=number, use_threads=False)
        return _read(file, read, [number])


def _read(
    file: pa.NativeFile,
    read: Callable[[pq.ParquetFile], pa.Table],
    groups: Sequence[int] | None = None,
    **options: Any,
) -> pa.Table:
    """Read a table, or some row groups of it, once it is known to take no gigabytes by a trick.

    Raises ValueError when it says of few bytes that they are many.
    """
    # Not by pq.read_table: importing Arrow's data sets takes longer than reading a table.
    whole = pq.ParquetFile(file, **options)
    metadata, most = whole.metadata, _MOST_TEXTS + _GROWN * file.size()
    if metadata.num_rows > _ROWS_A_BYTE * file.size():
        raise ValueError(f"says that it has {metadata.num_rows:,} rows")
    groups = range(metadata.num_row_groups) if groups is None else groups
    if not (texts := _repeated_texts([metadata.row_group(one) for one in groups], most)):
        return read(whole)
    again = pq.ParquetFile(file, metadata=metadata, read_dictionary=texts, **options)
    return _decoded(read(again), whole.schema_arrow, most)


def _repeated_texts(groups: Sequence[pq.RowGroupMetaData], most: int) -> list[str]:
    """Return the columns of texts that a file has once each, and that may take too much memory.

    Raises ValueError when a row group says that it has more bytes than `most`.
    """
    found = set[str]()
    for group in groups:
        if group.total_byte_size > most:
            raise ValueError(f"says that it has {group.total_byte_size:,} bytes")
        if group.num_rows * group.total_byte_size > most:
            columns = [group.column(number) for number in range(group.num_columns)]
            found |= {
                one.path_in_schema
                for one in columns
                if one.physical_type == "BYTE_ARRAY" and one.has_dictionary_page
                if one.num_values * one.total_uncompressed_size > most
            }
    return sorted(found)


def _decoded(table: pa.Table, schema: pa.Schema, most: int) -> pa.Table:
    """Return a table whose texts are each in its row, not in a dictionary.

    schema: the file's. Raises ValueError when they take more than `most` bytes.
    """
    chunks = [
        chunk
        for column in table.columns
        if pa.types.is_dictionary(column.type)
        for chunk in column.chunks
    ]
    lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in chunks)
    size = sum(pc.sum(one.cast(pa.int64())).as_py() or 0 for one in lengths)
    if size > most:
        raise ValueError(f"its texts have {size:,} bytes")
    fields = [schema.field(name) for name in table.column_names]
    return table.cast(pa.schema(fields, schema.metadata))


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
