"""Tables whose files are small and that would fill the memory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gloam.storage import parquet
from gloam.storage.parquet import read_row_group, read_table

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
    assert parquet._repeated_texts([pq.read_metadata(repeated).row_group(0)], LENGTH * ROWS // 2)
    assert read_table(repeated) == whole == read_row_group(repeated, 0)
    assert read_table(repeated).schema.equals(whole.schema, check_metadata=True)
    assert read_table(repeated, ["number"]) == whole.select(["number"])
    monkeypatch.setattr(parquet, "_MOST_TEXTS", LENGTH)
    for read in (read_table, lambda path: read_row_group(path, 0)):
        with pytest.raises(ValueError, match=f"its texts have {LENGTH * ROWS // 2:,} bytes"):
            read(repeated)
    assert read_table(repeated, ["number"]) == whole.select(["number"])


def test_bytes_that_were_packed_away_are_refused(tmp_path, monkeypatch):
    table = pa.table({"text": ["a" * (LENGTH + i) for i in range(20)]})
    pq.write_table(table, tmp_path / "x.parquet", use_dictionary=False, compression="zstd")
    assert read_table(tmp_path / "x.parquet") == table
    monkeypatch.setattr(parquet, "_MOST_TEXTS", LENGTH)
    with pytest.raises(ValueError, match="says that it has 1,3"):
        read_table(tmp_path / "x.parquet")
