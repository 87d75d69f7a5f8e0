"""Parquet files by their local names: pyarrow takes `run:1/plan.parquet` for a URI."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from .stores import place
from .untrusted import naming

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData, FileMetaData

_SMALL = 1 << 20  # bytes of an object that are read at once, whatever is wanted of them
_ROWS_A_BYTE = 4
"""At most: rows that are told apart take more, but a file can say a row a million times over."""
_MOST_TEXTS, _GROWN = 1 << 29, 4
"""Bytes that the texts of a table may take, and times its file's bytes that they may take more."""
_SMALL_CODECS = "UNCOMPRESSED", "SNAPPY"
"""Those of which a file's bytes become at most 21 each; others become thousands."""
_BY_PREFIX = 7  # DELTA_BYTE_ARRAY, which gloam never writes: a text can grow in every row
_HEADER = 1 << 14  # bytes, more than a page's header has
_LARGE = 1 << 26  # bytes of a table that is worth threads, which a small one had better not start


class _Later:
    """A module that is imported when one of its functions is asked for: no help waits for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


pc: Any = _Later("pyarrow.compute")
pq: Any = _Later("pyarrow.parquet")


def read_table(
    path: Path, columns: Sequence[str] | None = None, group: int | None = None
) -> pa.Table:
    """Read a table, or some columns that it has, or a row group with the file's own metadata.

    Raises OSError, ValueError when the file is missing, is not Parquet, or says of few bytes that
    they are many: no table may take gigabytes by a trick.
    """
    with _open_for_arrow(path) as file:
        large = group is None and file.size() >= _LARGE
        # Not by pq.read_table: importing Arrow's data sets takes longer than reading a table.
        own = reader = pq.ParquetFile(file, pre_buffer=large)
        metadata, most = own.metadata, _MOST_TEXTS + _GROWN * file.size()
        if metadata.num_rows > _ROWS_A_BYTE * file.size():
            raise ValueError(f"says that it has {metadata.num_rows:,} rows")
        groups = range(metadata.num_row_groups) if group is None else [group]
        numbers = {
            number: column.max_repetition_level > 0
            for number, column in enumerate(metadata.schema)
            if columns is None or column.path.startswith(tuple(columns))
        }
        texts = _repeated_texts(file, metadata, groups, numbers, most)
        if texts:
            how = {"read_dictionary": texts, "pre_buffer": large}
            reader = pq.ParquetFile(file, metadata=metadata, **how)
        wanted: dict[str, Any] = {"columns": columns, "use_threads": large}
        table = reader.read(**wanted) if group is None else reader.read_row_group(group, **wanted)
        return _without_dictionaries(table, own.schema_arrow, most) if texts else table


def _repeated_texts(
    file: pa.NativeFile,
    metadata: FileMetaData,
    groups: Sequence[int],
    columns: Mapping[int, bool],
    most: int,
) -> list[str]:
    """Return the columns of texts that a file has once each, and that may take too much memory.

    The footer, which anybody may write, is not asked, but what the pages say that Arrow goes by.

    columns: numbers of those that are read, and whether they are lists.

    Raises ValueError when columns have more bytes than `most`, or more values than a file can.
    """
    found, rest, size = set[str](), file.size(), 0
    for group in map(metadata.row_group, groups):
        for number, lists in columns.items() if group.num_rows else ():
            column = group.column(number)
            rest -= column.total_compressed_size
            if rest < 0:
                raise ValueError("its columns lie in one another")
            text = column.physical_type.endswith("BYTE_ARRAY")
            if not text and not lists and column.compression in _SMALL_CODECS:
                continue
            pages = list(_page_headers(file, column))
            values = sum(page.values for page in pages if not page.dictionary)
            once = sum(page.bytes for page in pages if page.dictionary)
            size += sum(page.bytes for page in pages)
            if size > most:
                raise ValueError(f"says that it has {size:,} bytes")
            if lists and values > _ROWS_A_BYTE * file.size():
                raise ValueError(f"says that it has {values:,} values in lists")
            if any(page.encoding == _BY_PREFIX for page in pages):
                raise ValueError("has texts that are told by their beginnings")
            if text and values * once > most:
                if lists or column.physical_type != "BYTE_ARRAY":
                    raise ValueError(f"says {values:,} times what it has once")
                found.add(column.path_in_schema)
    return sorted(found)


class _Page(NamedTuple):
    values: int
    bytes: int
    encoding: int
    dictionary: bool


def _page_headers(file: pa.NativeFile, column: ColumnChunkMetaData) -> Iterator[_Page]:
    """Yield what the headers of a column's pages say (Parquet's parquet.thrift, PageHeader)."""
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    end = at + column.total_compressed_size
    while at < end:
        header, size = _read_thrift(file.read_at(_HEADER, at), 0)
        own = next((one for one in map(header.get, (5, 7, 8)) if isinstance(one, dict)), {})
        encoding = own.get(4 if 8 in header else 2, 0)
        numbers = own.get(1), header.get(2), encoding, header.get(3)
        if any(type(one) is not int or one < 0 for one in numbers):
            raise ValueError("has a damaged page")
        yield _Page(own[1], header[2], encoding, 7 in header)
        at += size + header[3]


def _read_thrift(data: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Read a struct in Thrift's compact protocol: its numbers and structs by field, and its end.

    Raises ValueError when it is damaged, or more than a page's header has.
    """
    found: dict[int, Any] = {}
    field = 0
    try:
        while byte := data[at]:
            kind, at, field = byte & 15, at + 1, field + (byte >> 4)
            if not byte >> 4:
                field, at = _varint(data, at)
                field = field >> 1 ^ -(field & 1)
            if kind in (4, 5, 6):
                value, at = _varint(data, at)
                found[field] = value >> 1 ^ -(value & 1)
            elif kind == 8:
                value, at = _varint(data, at)
                at += value
            elif kind == 12 and depth < 4:
                found[field], at = _read_thrift(data, at, depth + 1)
            elif kind not in (1, 2):  # which are truths, without a value
                raise ValueError("has a damaged page")
    except IndexError:
        raise ValueError("has a damaged page") from None
    return found, at + 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def _without_dictionaries(table: pa.Table, schema: pa.Schema, most: int) -> pa.Table:
    """Return a table whose texts are each in its row, not in a dictionary.

    schema: the file's. Raises ValueError when they take more than `most` bytes.
    """
    repeated = [column for column in table.columns if pa.types.is_dictionary(column.type)]
    chunks = [chunk for column in repeated for chunk in column.chunks]
    lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in chunks)
    size = sum(pc.sum(one.cast(pa.int64())).as_py() or 0 for one in lengths)
    if size > most:
        raise ValueError(f"its texts have {size:,} bytes")
    fields = [schema.field(name) for name in table.column_names]
    return table.cast(pa.schema(fields, schema.metadata))


def read_named(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a table of a set, or some of its columns; raises SetError when it cannot be read."""
    with naming(path, OSError, ValueError, pa.ArrowException, what="cannot be read: "):
        return read_table(path, columns)


def read_schema(path: Path) -> pa.Schema:
    """Read a table's columns, with the file's own metadata."""
    with _open_for_arrow(path) as file:
        return pq.read_schema(file)


def _open_for_arrow(path: Path) -> pa.NativeFile:
    at = place(path)
    if at.remote:
        # Of an object its footer and the columns are read; whole, where that is one request.
        data, size = at.read_most(_SMALL)
        return pa.BufferReader(data) if len(data) == size else pa.PythonFile(at.open("rb"), "r")
    at.open_regular().close()  # Arrow would wait for a pipe's other end
    # Not a file of Python's: Arrow's threads would touch it while the interpreter ends.
    return pa.OSFile(os.fsencode(path))  # pyarrow's own encoding is UTF-8, whatever the locale
