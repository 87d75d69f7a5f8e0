"""The pairs of a split as columns that say where each image lies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import LoaderError, SetError
from ..manifests.sets.layouts.extents import Extent, Extents, Texts


@dataclass(frozen=True)
class StoredPair:
    """One pair: its key, and where its two images are."""

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
    """Those of a set."""

    keys: Texts
    lows: Extents
    normals: Extents

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, number: int) -> StoredPair:
        return StoredPair(self.keys[number], self.lows[number], self.normals[number])


@dataclass(frozen=True)
class GivenPairs:
    """Those of a list: paths or bytes."""

    given: Sequence[Any]

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, number: int) -> StoredPair:
        low, normal = map(_extent, self.given[number])
        return StoredPair(Path(low.path).stem if low.path else str(number), low, normal)


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
