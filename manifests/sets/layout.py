"""The two ways in which a set holds its pairs, behind one face: write a unit, read its records,
read its pairs.

A unit is the pairs of one shard, `train-000000` say, in either layout: what is built, receipted and
verified at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import folders as pairfiles
from . import shards
from .sample import Pair

SHARDS, FILES = "shards", "files"


def unit_name(split: str, number: int) -> str:
    """`train-000000`."""
    return f"{split}-{number:06d}"


def split_of(unit: str) -> str:
    """The split of a unit: `train` of `train-000000`."""
    return unit.rpartition("-")[0]


def writer(layout: str, root: Path, unit: str) -> shards.ShardWriter | pairfiles.FilesWriter:
    """A writer of one unit: a context manager with `add(pair)` and `close()`, which returns the
    files of its receipt."""
    return shards.ShardWriter(root, unit) if layout == SHARDS else pairfiles.FilesWriter(root, unit)


def read_records(
    layout: str, root: Path, unit: str, files: dict[str, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The records of a unit, in order; `files` is what its receipt says."""
    return (
        shards.read_records(root, unit) if layout == SHARDS else pairfiles.read_records(root, files)
    )


def read_pairs(
    layout: str, root: Path, unit: str, files: dict[str, dict[str, Any]]
) -> Iterator[Pair]:
    """The pairs of a unit, in order; `files` is what its receipt says."""
    return shards.read_pairs(root, unit) if layout == SHARDS else pairfiles.read_pairs(root, files)
