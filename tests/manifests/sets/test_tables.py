"""Tables of sets that somebody else wrote: columns, types and values are those of gloam's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gloam.errors import SetError
from gloam.manifests.sets.stored_labels import LABEL_COLUMNS, label_rows
from gloam.manifests.sets.tables import LABEL_FIELDS, PAIR_FIELDS, read_checked, read_plan
from gloam.storage.parquet import read_named

PLAN: dict[str, Any] = {
    "key": ["a", "b"],
    "split": ["train", "val"],
    "shard": pa.array([0, 0], pa.int32()),
    "source": ["s", "s"],
    "path": ["a.jpg", "b.jpg"],
    "bytes": [1, 2],
}
PAIRS: dict[str, Any] = {
    **{name: ["", ""] for name in ("source", "path", "converted")},
    **{name: PLAN[name] for name in ("key", "split", "shard")},
    **{name: [4, 4] for name in ("width", "height")},
    "label_class": [-1, 1],
    "label_boxes": [[0, 0, 1, 1], []],
    "label_classes": [[0], []],
    "label_difficult": [[True], []],
    "label_crowd": [[False], []],
}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("split", ["x", "x"]),
        ("split", [None, "val"]),
        ("shard", pa.array([0, -1], pa.int32())),
        ("shard", [["x"], []]),
        ("key", ["../a", "b"]),
        ("key", pa.array([2**62, 2**62], pa.timestamp("us"))),
        ("path", [{"a": 1}, {"a": 1}]),
        ("bytes", None),
    ],
)
def test_a_plan_of_others_is_refused(tmp_path: Path, column: str, values: Any) -> None:
    pq.write_table(pa.table(PLAN), tmp_path / "plan.parquet")
    assert len(read_plan(tmp_path)) == 2
    forged = PLAN | {column: values}
    pq.write_table(
        pa.table({name: one for name, one in forged.items() if one is not None}),
        tmp_path / "plan.parquet",
    )
    with pytest.raises(SetError, match="damaged"):
        read_plan(tmp_path)


def test_a_column_that_stands_twice_is_refused(tmp_path: Path) -> None:
    table = pa.table(PLAN)
    names = [*table.column_names, "key"]
    pq.write_table(
        pa.Table.from_arrays([*table.columns, table["key"]], names), tmp_path / "plan.parquet"
    )
    with pytest.raises(SetError, match=r"plan\.parquet: damaged: has no column key, or several"):
        read_checked(tmp_path / "plan.parquet")


def test_a_row_that_stands_a_million_times_is_refused(tmp_path: Path) -> None:
    many = pa.table(PLAN).take(pa.array([0]).take(pa.array([0] * 10**6)))
    pq.write_table(many, tmp_path / "plan.parquet", compression="zstd")
    with pytest.raises(SetError, match=r"plan\.parquet: cannot be read: .* 1,000,000 rows"):
        read_plan(tmp_path)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("label_class", [-1, 2]),
        ("label_class", [-2, 0]),
        ("label_classes", [[5], []]),
        ("label_boxes", [[0, 0, 1], []]),
        ("label_boxes", [[0, 0, 1, float("nan")], []]),
        ("label_boxes", [[0, 0, 1, None], []]),
        ("label_crowd", [[], []]),
        ("label_crowd", [None, []]),
        ("height", [4, 0]),
    ],
)
def test_labels_of_others_are_refused(tmp_path: Path, column: str, values: Any) -> None:
    schema = pa.schema([*PAIR_FIELDS, *LABEL_FIELDS])
    for given in (PAIRS, PAIRS | {column: values}):
        path = tmp_path / "pairs.parquet"
        pq.write_table(pa.table(given, schema=schema), path)
        table = read_named(path, LABEL_COLUMNS)
        if given == PAIRS:
            assert label_rows(path, table, 2).counts.tolist() == [1, 0]
            continue
        with pytest.raises(SetError, match=r"pairs\.parquet: "):
            label_rows(path, table, 2)
