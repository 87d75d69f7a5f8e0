"""Matching names to photographs: by the longest equal ends of their paths."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import NamedTuple

from ..images.header import SUFFIXES

Parts = tuple[str, ...]


class Matches(NamedTuple):
    """Photographs that names mean.

    found: dict of name to path.
    unclear: dict of name to a sentence; names that fit two photographs, or of which two fit one
      photograph.
    """

    found: dict[str, str]
    unclear: dict[str, str]


def normalize_name(name: str) -> str:
    """Return a path with "/" between its parts, without "." among them, its letters composed.

    Some systems write letters and their accents apart (Unicode's NFD).
    """
    parts = unicodedata.normalize("NFC", name).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", "."))


def strip_suffix(name: str) -> str:
    """Return a path without the suffix of a photograph; other dots are the name's own."""
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in SUFFIXES else name


def lower_suffix(name: str) -> str:
    """Return a path with its suffix in small letters: `.XML` is what `.xml` is."""
    stem, suffix = os.path.splitext(name)
    return stem + suffix.lower()


def match(names: Collection[str], paths: Collection[str], root: str = "") -> Matches:
    """Find the photographs that names mean.

    A name means the photograph whose path has the longest equal tail, folder by folder; the suffix
    decides only where nothing else does, as data sets come with other ones than their lists say.
    A photograph that several names mean belongs to the one with the longest tail.

    names, paths: collections of str; results of `normalize_name`.
    root: path of the source: its folders' names count, too.

    Examples
    --------
    >>> match(["a/1.jpg", "b/1.jpg"], ["images/b/1.jpg"]).found
    {'b/1.jpg': 'images/b/1.jpg'}
    """
    above = tuple(normalize_name(root).split("/")) if root else ()
    several = Counter(strip_suffix(path.rpartition("/")[2]) for path in paths)
    tails: dict[Parts, list[str]] = {}
    for path in paths:
        parts = tuple(path.split("/"))
        for tail in _path_tails(above + parts, whole=several[strip_suffix(parts[-1])] > 1):
            kept = tails.setdefault(tail, [])
            if len(kept) < 2:
                kept.append(path)
    unclear: dict[str, str] = {}
    chosen: dict[str, list[tuple[tuple[int, bool], str]]] = {}
    for name in names:
        fits, exact = _longest_tail(tuple(name.split("/")), tails)
        if len(fits) > 1:
            unclear[name] = f"{name} fits {fits[0]} and {fits[1]}"
        elif fits:
            length = _count_equal_folders(above + tuple(fits[0].split("/")), tuple(name.split("/")))
            chosen.setdefault(fits[0], []).append(((length, exact), name))
    found: dict[str, str] = {}
    for path, ranked in chosen.items():
        best = max(rank for rank, _ in ranked)
        first, *others = [name for rank, name in ranked if rank == best]
        if others:
            unclear |= dict.fromkeys((first, *others), f"{path} fits {first} and {others[0]}")
        else:
            found[first] = path
    return Matches(found, unclear)


def _path_tails(parts: Parts, whole: bool) -> Iterator[Parts]:
    """Yield the tails of a path, with and without its suffix; of one file alone the last part."""
    for first in range(0 if whole else len(parts) - 1, len(parts)):
        tail = parts[first:]
        yield (*tail[:-1], strip_suffix(tail[-1]), "")  # "" tells it from a whole name
        yield tail


def _longest_tail(name: Parts, tails: dict[Parts, list[str]]) -> tuple[list[str], bool]:
    """Return the paths with the longest tail of a name, and whether suffixes are equal, too."""
    for first in range(len(name)):
        tail = name[first:]
        fits = tails.get((*tail[:-1], strip_suffix(tail[-1]), ""), [])
        if fits:
            exact = tails.get(tail, [])
            return (exact, True) if exact else (fits, False)
    return [], False


def _count_equal_folders(path: Parts, name: Parts) -> int:
    """Count the equal folders at the ends of two paths of one file."""
    both = zip(reversed(path[:-1]), reversed(name[:-1]), strict=False)
    return sum(1 for _ in takewhile(lambda folders: folders[0] == folders[1], both))
