"""Tables whose files are small and that would fill the memory."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gloam.storage import parquet
from gloam.storage.parquet import read_table

LENGTH, ROWS = 1 << 16, 500


@pytest.fixture
def repeated(tmp_path: Path) -> Path:
    """A table that holds one long text once, and says it in every row."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0, None] * (ROWS // 2)), ["a" * LENGTH])
    table = pa.table({"text": texts.cast(pa.string()), "number": list(range(ROWS))})
    pq.write_table(table.replace_schema_metadata({"own": "x"}), tmp_path / "x.parquet")
    return tmp_path / "x.parquet"


def test_a_text_that_is_said_over_and_over_is_refused(repeated, monkeypatch):
    assert repeated.stat().st_size < 10_000
    whole = read_table(repeated)
    monkeypatch.setattr(parquet, "_MOST_TEXTS", LENGTH * ROWS // 2)
    with pa.OSFile(str(repeated)) as file:
        of = file, pq.read_metadata(file), [0], {0: False}
        assert parquet._repeated_texts(*of, LENGTH * ROWS // 2) == ["text"]
    assert read_table(repeated) == whole == read_table(repeated, group=0)
    assert read_table(repeated).schema.equals(whole.schema, check_metadata=True)
    assert read_table(repeated, ["number"]) == whole.select(["number"])
    monkeypatch.setattr(parquet, "_MOST_TEXTS", LENGTH)
    for read in (read_table, lambda path: read_table(path, group=0)):
        with pytest.raises(ValueError, match=f"its texts have {LENGTH * ROWS // 2:,} bytes"):
            read(repeated)
    assert read_table(repeated, ["number"]) == whole.select(["number"])


def test_bytes_that_were_packed_away_are_refused(tmp_path, monkeypatch):
    table = pa.table({"text": ["a" * (LENGTH + i) for i in range(20)]})
    packed = {"use_dictionary": False, "compression": "zstd"}
    for rows, most in ((20, LENGTH), (1, 8 * LENGTH)):  # of a group
        monkeypatch.undo()
        pq.write_table(table, tmp_path / "x.parquet", row_group_size=rows, **packed)
        assert read_table(tmp_path / "x.parquet") == table
        monkeypatch.setattr(parquet, "_MOST_TEXTS", most)
        with pytest.raises(ValueError, match=r"says that it has [\d,]+ bytes"):
            read_table(tmp_path / "x.parquet")


def varint(number: int) -> bytes:
    """A number in Thrift's compact protocol."""
    rest, made = number << 1, []
    while rest > 127:
        made.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*made, rest])


def forge(path: Path, number: int, other: int) -> None:
    """Let the footer say another number, wherever it says this one."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    body, footer = data[: -8 - length], data[-8 - length : -8]
    assert varint(number) in footer
    footer = footer.replace(varint(number), varint(other))
    path.write_bytes(body + footer + len(footer).to_bytes(4, "little") + b"PAR1")


@pytest.mark.parametrize("codec", ["snappy", "zstd"])
def test_what_the_footer_says_of_texts_is_not_trusted(tmp_path, monkeypatch, codec):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["a" * LENGTH] * ROWS}), path, compression=codec)
    column = pq.read_metadata(path).row_group(0).column(0)
    forge(path, column.total_uncompressed_size, 9)  # of the group, too
    monkeypatch.setattr(parquet, "_MOST_TEXTS", LENGTH)
    for read in (read_table, lambda path: read_table(path, group=0)):
        with pytest.raises(ValueError, match=r"its texts have|says that it has"):
            read(path)


def test_values_in_lists_are_counted_by_their_pages(tmp_path):
    path, count = tmp_path / "x.parquet", 10_000_000
    pq.write_table(pa.table({"list": [[7] * count]}), path)
    assert path.stat().st_size < 10_000
    for forged in (False, True):
        if forged:
            forge(path, count, 3)
        with pytest.raises(ValueError, match=r"says that it has 10,0.* values in lists"):
            read_table(path)
    pq.write_table(pa.table({"list": [[number] * 9 for number in range(9)]}), path)
    assert len(read_table(path)) == 9


@pytest.mark.parametrize(
    "options",
    [
        {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
        {},
    ],
)
def test_texts_that_grow_with_their_rows_are_refused(tmp_path, monkeypatch, options):
    table = pa.table({"text": ["a" * LENGTH] * ROWS, "lists": [["a" * LENGTH] * 3] * ROWS})
    pq.write_table(table, tmp_path / "x.parquet", **options)
    monkeypatch.setattr(parquet, "_MOST_TEXTS", 2 * LENGTH * ROWS)
    with pytest.raises(ValueError, match=r"by their beginnings|says 1,500 times what"):
        read_table(tmp_path / "x.parquet")


@pytest.mark.parametrize("place", range(4, 30))
def test_headers_of_pages_with_other_fields_are_no_traceback(repeated, place):
    whole = repeated.read_bytes()
    for kind in b"\x00\x05\x0c\x15\x1c\x2c\x3c\x5c\x55":
        repeated.write_bytes(whole[:place] + bytes([kind]) + whole[place + 1 :])
        with suppress(ValueError, OSError):
            read_table(repeated)


@pytest.mark.parametrize("place", range(4, 40, 3))
def test_damaged_headers_of_pages_are_damage(repeated, place):
    data = bytearray(repeated.read_bytes())
    data[place : place + 3] = b"\xff\xff\xff"
    repeated.write_bytes(data)
    with pytest.raises((ValueError, OSError)):
        read_table(repeated)
