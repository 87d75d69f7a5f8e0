"""Split a finished set again, with other numbers of validation and test pairs."""

from __future__ import annotations

import io
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import SetError
from ...manifests.labels.table import read_labels
from ...manifests.selection.plan import splits_of
from ...manifests.sets.layouts.layout import split_of, unit_name, unit_number
from ...manifests.sets.pair_set import PairSet
from ...manifests.sets.tables import read_plan
from .jobs import units_of
from .planning import parquet_bytes


class SplitPart(NamedTuple):
    """The pairs that a new unit takes of an old one, by the old one's name; None for all."""

    unit: str
    keys: frozenset[str] | None


class SplitAgain(NamedTuple):
    """A set's pairs in other splits.

    labels: the new `labels.parquet`, its row groups being those of the new plan; b"" where there
    are no labels.
    """

    plan: bytes  # the new `plan.parquet`
    labels: bytes
    parts: dict[str, SplitPart]  # dict of new unit to Part


def split_again(origin: PairSet, val: int, test: int) -> SplitAgain:
    """Choose other validation and test pairs of a finished set.

    They are those that a build with these numbers would choose. Each shard is cut into one of every
    split, so that a pair is read and written once, and never moves between shards.

    Raises ConfigError when nothing would be left to train on; SetError when it is a set of clips,
    whose sequences may not be parted.
    """
    if origin.frames:
        raise SetError.at(
            origin.root, "holds clips, which are split when they are built: gloam build --val N"
        )
    old = read_plan(origin.root)
    keys = old["key"].to_pylist()
    splits = splits_of(keys, origin.info.build.request.plan.seed, val, test)
    parts: dict[str, SplitPart] = {}
    rows: dict[str, list[int]] = {}
    counts: dict[str, int] = {}
    for unit, own in units_of(old).items():
        for split in dict.fromkeys(splits[row] for row in own):
            new = unit_name(split, counts.setdefault(split, 0))
            counts[split] += 1
            rows[new] = [row for row in own if splits[row] == split]
            parts[new] = SplitPart(unit, frozenset(keys[row] for row in rows[new]))
    order = sorted(rows, key=lambda unit: (list(counts).index(split_of(unit)), unit_number(unit)))
    return SplitAgain(*_tables(origin, old, {unit: rows[unit] for unit in order}), parts)


def _tables(origin: PairSet, old: pa.Table, rows: dict[str, list[int]]) -> tuple[bytes, bytes]:
    """Return the plan and the labels of new units, each of which has some rows of the old plan."""
    plan = old.take([row for own in rows.values() for row in own])
    for name, values in (
        ("split", [split_of(unit) for unit, own in rows.items() for _ in own]),
        ("shard", [unit_number(unit) for unit, own in rows.items() for _ in own]),
    ):
        place = plan.column_names.index(name)
        plan = plan.set_column(place, plan.field(name), pa.array(values, plan.field(name).type))
    labelled = io.BytesIO()
    if origin.info.build.labelled:
        labels = read_labels(origin.root)  # in the order of the plan
        left_out, about = labels.slice(len(plan)).combine_chunks(), labels.schema.metadata
        if len(left_out):
            about = {**about, b"left_out": str(len(rows)).encode()}
        with pq.ParquetWriter(labelled, labels.schema.with_metadata(about)) as writer:
            for own in rows.values():
                writer.write_table(labels.take(own).combine_chunks(), row_group_size=len(own))
            if len(left_out):
                writer.write_table(left_out, row_group_size=len(left_out))
    return parquet_bytes(plan.combine_chunks()), labelled.getvalue()
