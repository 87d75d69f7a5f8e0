"""Which files of a folder or archive are photographs, and what others are counted as."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath

from ...storage.stores import as_path
from ..images.header import SUFFIXES, UNREAD
from .containers import Entry, list_container

_LOWS = "lows of gloam's pairs"
_TEXTS = ("readme", "license", "copying", "makefile", "changelog")
_BEHIND = re.compile(f"({'|'.join(map(re.escape, sorted(SUFFIXES, reverse=True)))})(?![a-z])")
"""A suffix with more behind it, as downloads and backups have: `.jpg_large`, `.jpeg?x=1`."""
_BESIDE = (".json", ".txt", ".xml", ".xmp", ".yaml", ".yml", ".csv", ".npy", ".html", ".md5")
"""Suffixes of files about a photograph that bear its name."""
_ARCHIVES = (".tar", ".zip", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")
"""Suffixes of archives inside a source, which are not read but for plain tars inside a tar."""


def is_photograph(entry: Entry) -> bool:
    """Return whether a file has the suffix of an image; hidden files may be nothing but it."""
    name = entry.name.rpartition("/")[2]
    if name.startswith("."):
        return PurePosixPath(name).suffix.lower() in SUFFIXES
    return os.path.splitext(name)[1].lower() in SUFFIXES


def list_photographs(
    path: str, passed: Counter[str], pattern: re.Pattern[str] | None = None
) -> Iterator[Entry]:
    """Yield the photographs in a folder or archive whose paths a pattern finds; count others."""
    for entry in choose_images(list_container(as_path(path), passed), passed):
        if pattern is None or pattern.search(entry.name):
            yield entry
        else:
            passed["outside of the kind's folders"] += 1


def choose_images(entries: Iterable[Entry], passed: Counter[str]) -> Iterator[Entry]:
    """Yield the photographs among some files; others that may be some are counted."""
    for entry in entries:
        if is_photograph(entry):
            yield entry
            continue
        if kind := unread_kind(entry.name):
            passed[kind] += 1


def unread_kind(path: str) -> str:
    """Return as what a file is counted that may be a photograph and is not read; "" of others."""
    name = path.rpartition("/")[2].lower()
    suffix = PurePosixPath(name).suffix
    if name.startswith(".") or name in _TEXTS:
        return ""
    if suffix in UNREAD or suffix in _ARCHIVES:
        return suffix
    if suffix not in _BESIDE and (behind := _BEHIND.search(name)):
        return f"{behind[1]}*"
    return "" if suffix else "without suffix"


def without_lows(
    entries: Iterable[Entry], passed: Counter[str], root: Path | None = None
) -> Iterator[Entry]:
    """Leave out the lows of pairs: members KEY.low.* before KEY.normal.*, or files SPLIT/low/*.

    The latter of gloam's sets in or below a folder, `root`.
    """

    @cache
    def in_set(folder: str) -> bool:
        return root is not None and (root / folder).parent.parent.joinpath("set.json").is_file()

    for entry, after in pairwise(chain(entries, [None])):
        assert entry is not None
        key, _, part = entry.name.partition(".")
        normal = after is not None and after.name.startswith(f"{key}.normal.")
        folder = entry.name.rpartition("/")[0]
        in_low = folder.rpartition("/")[2] == "low" and in_set(folder)
        if (part.startswith("low.") and normal) or in_low:
            passed[_LOWS] += 1
        else:
            yield entry
