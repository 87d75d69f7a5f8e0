"""Files of a source that are no photographs: lists and annotations."""

from __future__ import annotations

from pathlib import Path

from ...errors import ImageRefused, SourceError
from ...storage.untrusted import read_regular
from .containers import Entry, read

_MOST = 1 << 32
"""Bytes; COCO's instances_train2017.json has 448 MB."""


def read_entry(path: str, entry: Entry) -> bytes:
    """Read a file of a source. Raises SourceError when it cannot be read."""
    try:
        return read(entry.location, _MOST)
    except ImageRefused as error:
        raise SourceError.at(path, f"{entry.name} cannot be read: {error}") from error


def read_text(path: str, entry: Entry) -> str:
    """Read a file of a source as text. Raises SourceError when it cannot be read, or is none."""
    try:
        return read_entry(path, entry).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError.at(path, f"{entry.name} cannot be read: {error}") from error


def read_beside(path: Path) -> str:
    """Read a text file that lies beside a source.

    Raises SourceError when it cannot be read, or is none.
    """
    try:
        return read_regular(path, _MOST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError.at(path, f"cannot be read: {error}") from error
