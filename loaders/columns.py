"""The pairs of a split as columns that say where each image lies."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import LoaderError, SetError
from ..manifests.sets.layouts.extents import Extent, Extents, Texts

NOTHING = Extent(data=b"")


@dataclass(frozen=True)
class StoredPair:
    """One pair: its key, and where its two images are; the low is nothing where it is made live."""

    key: str
    low: Extent
    normal: Extent


class Pairs(Protocol):
    """The pairs of a split in order, each made when it is asked for.

    A set of any size takes some 50 bytes a pair.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> StoredPair: ...


@dataclass(frozen=True)
class SetPairs:
    """Those of a set; without lows where they are made live."""

    keys: Texts
    lows: Extents | None
    normals: Extents

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, number: int) -> StoredPair:
        low = NOTHING if self.lows is None else self.lows[number]
        return StoredPair(self.keys[number], low, self.normals[number])


@dataclass(frozen=True)
class GivenPairs:
    """Those of a list: paths or bytes."""

    given: Sequence[Any]

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, number: int) -> StoredPair:
        low, normal = map(_extent, self.given[number])
        return StoredPair(Path(low.path).stem if low.path else str(number), low, normal)


@dataclass(frozen=True)
class GivenNormals:
    """Photographs of a list, whose lows are made live: paths or bytes, and their keys."""

    given: Sequence[Any]
    keys: Sequence[str]

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, number: int) -> StoredPair:
        return StoredPair(self.keys[number], NOTHING, _extent(self.given[number]))


def list_keys(items: Sequence[Any]) -> list[str]:
    """Return a key for each of some photographs.

    It is the name without its suffix or, where two have the same, the path; of bytes the number.
    """
    names = [
        str(i) if isinstance(item, bytes) else Path(os.fspath(item)).stem
        for i, item in enumerate(items)
    ]
    seen = Counter(names)
    return [
        name if seen[name] == 1 or isinstance(item, bytes) else os.fspath(item)
        for name, item in zip(names, items, strict=True)
    ]


def read_extent(extent: Extent) -> bytes:
    """Read the bytes of an image.

    Raises
    ------
    LoaderError
        When its file cannot be read, or ends before them.
    """
    try:
        return extent.read()
    except SetError as error:
        raise LoaderError(str(error), path=error.path) from error


def _extent(item: Any) -> Extent:
    return Extent(data=item) if isinstance(item, bytes) else Extent(os.fspath(item))
