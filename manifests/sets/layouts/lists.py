"""The lists of a set.

Plain text files that name its shards and indexes, or its lows and normals, line by line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ....storage.atomic import atomic_write
from ....storage.untrusted import inside

FOLDER = "lists"


def list_path(root: Path, name: str) -> Path:
    """Return where a list such as `train-low` lies in a set."""
    return inside(root, f"{FOLDER}/{name}.txt")


def write_list(root: Path, name: str, lines: Iterable[str]) -> Path:
    """Publish a list; returns its path."""
    path = list_path(root, name)
    with atomic_write(path) as handle:
        for line in lines:
            handle.write(f"{line}\n".encode("ascii"))
    return path
