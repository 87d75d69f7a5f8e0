"""Where images lie, as columns: a set of any size takes some 50 bytes a pair, shared by all who ask
for one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import LoaderError


@dataclass(frozen=True)
class Piece:
    """Where the bytes of one image are: in memory, or `size` bytes at `offset` of a file (all of it
    for size -1)."""

    path: str = ""
    offset: int = 0
    size: int = -1
    data: bytes | None = None

    def named(self, key: str, member: str) -> str:
        """What it is called in messages: the file, and the pair's key and member."""
        return f"{self.path}: {key}.{member}" if self.path else f"pair {key}, {member}"

    def read(self) -> bytes:
        """The bytes.

        Raises
        ------
        LoaderError
            When the file cannot be read, or ends before them.
        """
        if self.data is not None:
            return self.data
        try:
            if self.size < 0:
                return Path(self.path).read_bytes()
            # Opened for each image: that costs microseconds, and threads need not share
            # descriptors.
            with open(self.path, "rb", buffering=0) as handle:
                handle.seek(self.offset)
                data = handle.read(self.size)
        except OSError as error:
            raise LoaderError(f"{self.path}: {error.strerror or error}") from error
        if len(data) != self.size:
            raise LoaderError(
                f"{self.path}: ends inside an image; gloam verify the set, gloam build mends it"
            )
        return data


@dataclass(frozen=True)
class StoredPair:
    """One pair: its key, and where its two images are."""

    key: str
    low: Piece
    normal: Piece


class Pairs(Protocol):
    """The pairs of a split in order, each made when it is asked for: a set of any size takes some
    50 bytes a pair."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> StoredPair: ...


class Texts:
    """A column of texts as one piece of memory; a list of as many Python strings takes several
    times as much."""

    def __init__(self, texts: Iterable[str]) -> None:
        encoded = [text.encode() for text in texts]
        self._bytes = b"".join(encoded)
        self._ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> str:
        return self._bytes[self._ends[number - 1] if number else 0 : self._ends[number]].decode()


@dataclass(frozen=True)
class Tarred:
    """Images of one kind in tars: the number of the tar in `paths`, offset and size of each."""

    paths: tuple[str, ...]
    tar: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]

    def __getitem__(self, number: int) -> Piece:
        return Piece(self.paths[self.tar[number]], int(self.offset[number]), int(self.size[number]))


@dataclass(frozen=True)
class Files:
    """Images of one kind in files, by their paths below a folder."""

    folder: str
    names: Texts

    def __getitem__(self, number: int) -> Piece:
        return Piece(os.path.join(self.folder, self.names[number]))


@dataclass(frozen=True)
class SetPairs:
    keys: Texts
    lows: Tarred | Files
    normals: Tarred | Files

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, number: int) -> StoredPair:
        return StoredPair(self.keys[number], self.lows[number], self.normals[number])


@dataclass(frozen=True)
class GivenPairs:
    given: Sequence[Any]

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, number: int) -> StoredPair:
        low, normal = map(_piece, self.given[number])
        return StoredPair(Path(low.path).stem if low.path else str(number), low, normal)


def _piece(item: Any) -> Piece:
    return Piece(data=item) if isinstance(item, bytes) else Piece(os.fspath(item))
