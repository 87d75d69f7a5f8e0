"""The lists of a set: plain text files that name its shards and indexes, or its lows and normals,
line by line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...storage.atomic import atomic_write
from .folders import LOW, NORMAL
from .shards import index_path, shard_path

FOLDER = "lists"


def write_shard_lists(root: Path, split: str, units: Iterable[str]) -> list[Path]:
    """`lists/{split}-shards.txt` and `-indexes.txt`: a path relative to the set a line, line i of
    one belonging to line i of the other; what `fn.readers.webdataset` takes as `paths` and
    `index_paths`."""
    units = list(units)
    return [
        _write(
            root, f"{split}-shards.txt", (shard_path(Path(), unit).as_posix() for unit in units)
        ),
        _write(
            root, f"{split}-indexes.txt", (index_path(Path(), unit).as_posix() for unit in units)
        ),
    ]


def write_pair_lists(
    root: Path, split: str, pairs: Iterable[tuple[str, str, str]], lows_only: bool = False
) -> list[Path]:
    """`lists/{split}-low.txt` and `-normal.txt` in DALI's file-list form, `path label`.

    Line i has the label i in both, so that a reader can prove that its two streams are in step.

    Parameters
    ----------
    root : Path
    split : str
    pairs : iterable of (key, low suffix, normal suffix)
    lows_only : bool
        Write no list of normals.
    """
    pairs = list(pairs)
    lists = {LOW: (f"{split}/{LOW}/{key}.{low} {i}" for i, (key, low, _) in enumerate(pairs))}
    if not lows_only:
        lists[NORMAL] = (
            f"{split}/{NORMAL}/{key}.{normal} {i}" for i, (key, _, normal) in enumerate(pairs)
        )
    return [_write(root, f"{split}-{kind}.txt", lines) for kind, lines in lists.items()]


def _write(root: Path, name: str, lines: Iterable[str]) -> Path:
    path = root / FOLDER / name
    with atomic_write(path) as handle:
        for line in lines:
            handle.write(f"{line}\n".encode("ascii"))
    return path
