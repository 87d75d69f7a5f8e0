"""The files layout: `{split}/low/KEY.ext`, `{split}/normal/KEY.ext` (not in a set of lows only) and
the record `{split}/draw/KEY.json`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import SetError
from ...storage.atomic import flush, sha256_bytes, temporary_beside
from .sample import Pair, parse_record

DRAW, LOW, NORMAL = "draw", "low", "normal"
_FOLDERS = {"json": DRAW, "low": LOW, "normal": NORMAL}


class FilesWriter:
    """Writes the files of one unit; `close` makes them durable. What is left without it is
    overwritten by the next run."""

    def __init__(self, root: Path, unit: str) -> None:
        self._root = root
        self._split = unit.rpartition("-")[0]
        self._files: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> FilesWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def add(self, pair: Pair) -> None:
        """Write a pair's files."""
        for ending, data in pair.members():
            kind, _, suffix = ending.partition(".")
            name = f"{self._split}/{_FOLDERS[kind]}/{pair.key}.{suffix or kind}"
            path = self._root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = temporary_beside(path)
            temporary.write_bytes(data)
            os.replace(temporary, path)
            self._files[name] = {"sha256": sha256_bytes(data), "bytes": len(data)}

    def close(self) -> dict[str, dict[str, Any]]:
        """Flush the files and their folders to disk; returns path, sha256 and size of every file,
        as receipts hold them."""
        for path in sorted({(self._root / name).parent for name in self._files}) + [
            self._root / name for name in self._files
        ]:
            flush(path)
        return self._files


def read_records(root: Path, files: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records among the files of a receipt, in order."""
    for name in files:
        if name.split("/")[1] == DRAW:
            yield parse_record(_read(root / name), str(root / name))


def read_pairs(root: Path, files: dict[str, dict[str, Any]]) -> Iterator[Pair]:
    """The pairs among the files of a receipt, in order.

    Raises
    ------
    SetError
        When a file is missing or cannot be read.
    """
    for record in read_records(root, files):
        split = next(iter(files)).split("/")[0]
        key, low, normal = record["key"], record["low"]["suffix"], record["normal"]["suffix"]
        normal_name = f"{split}/{NORMAL}/{key}.{normal}"
        normal_data = _read(root / normal_name) if normal_name in files else b""
        yield Pair(
            key, record, _read(root / split / LOW / f"{key}.{low}"), normal_data, low, normal
        )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SetError(f"{path}: {error.strerror or error}") from error
