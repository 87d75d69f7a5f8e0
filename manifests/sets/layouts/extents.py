"""Extents: byte ranges of members, as columns.

A set in tars takes 16 bytes a pair, one in files as many as its names have.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import SetError
from ....storage.stores import as_path, read_local_range
from ....storage.untrusted import KEY, naming, open_regular, read_regular, reason_of, shown
from ...images.opening import byte_limit


@dataclass(frozen=True)
class Extent:
    """Byte range of one member: in memory, or `size` bytes (-1 is all) at `offset` of a file."""

    path: str = ""
    offset: int = 0
    size: int = -1
    data: bytes | None = None

    def named(self, key: str, member: str) -> str:
        """Return what it is called in messages: the file, and the sample's key and member."""
        return f"{self.path}: {key}.{member}" if self.path else f"pair {key}, {member}"

    def read(self) -> bytes:
        """Read the bytes. Raises SetError when the file cannot be read, or ends before them."""
        if self.data is not None:
            return self.data
        try:
            address = self.path[2:5] == "://"
            if self.size < 0:
                return read_regular(as_path(self.path) if address else self.path, byte_limit())
            # Opened for each member: that costs microseconds, and threads need not share
            # descriptors.
            if address:
                data = as_path(self.path).read_range(self.offset, self.size)
            else:
                data = read_local_range(self.path, self.offset, self.size)
        except OSError as error:
            raise SetError.at(self.path, reason_of(error)) from error
        if len(data) != self.size:
            raise SetError.at(
                self.path, "ends inside an image; gloam verify the set, gloam build mends it"
            )
        return data


TEXT = np.dtypes.StringDType()
"""The type of a column of texts: as many strings take several times its memory."""
Texts = npt.NDArray[Any]
NAME = 100
"""Bytes of the name that begins a tar's header (POSIX.1-1988)."""
BLOCK = 512
"""Bytes of a tar's blocks (POSIX.1-1988): members begin at one, after a block that names them."""


@dataclass(frozen=True)
class Tarred:
    """Members of one name in tars: eight bytes for each.

    starts: the number of the first member in each tar.
    block, size: uint32 arrays; the first byte of each in blocks, and how many bytes it has.
    """

    paths: tuple[str, ...]
    starts: list[int]
    block: npt.NDArray[np.uint32]
    size: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.block)

    def __getitem__(self, number: int) -> Extent:
        tar = bisect_right(self.starts, number) - 1
        return Extent(self.paths[tar], int(self.block[number]) * BLOCK, int(self.size[number]))

    def ranges(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return an array (3, N): in which tar members are, where they begin, and their bytes."""
        tar = np.searchsorted(self.starts, numbers, side="right") - 1
        begin = self.block[numbers].astype(np.int64) * BLOCK
        return np.stack([tar, begin, self.size[numbers]])


@dataclass(frozen=True)
class TarKeys:
    """The keys of samples in tars, read where they stand, in the headers of members.

    Local tars are mapped: DALI's readers map them too.
    """

    members: Tarred
    _maps: dict[str, mmap.mmap] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.members)

    def extent(self, number: int) -> Extent:
        """Return where the name of a member stands."""
        member = self.members[number]
        return Extent(member.path, member.offset - BLOCK, NAME)

    def __getitem__(self, number: int) -> str:
        return self.of([number])[0]

    def of(self, numbers: npt.ArrayLike) -> list[str]:
        """Return the keys of some samples."""
        tars, begins, _ = self.members.ranges(np.asarray(numbers, np.int64)).tolist()
        paths = self.members.paths
        return [
            _checked_key(self._name_at(paths[tar], begin - BLOCK), paths[tar])
            for tar, begin in zip(tars, begins, strict=True)
        ]

    def _name_at(self, path: str, offset: int) -> bytes:
        """Return the name in a header; nothing where a tar ends before it."""
        held = self._maps.get(path)
        if held is None:
            if path[2:5] == "://":
                return Extent(path, offset, NAME).read()
            try:
                with naming(path), open_regular(path, buffering=0) as handle:
                    held = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:  # it is empty
                return b""
            self._maps[path] = held
        return held[offset : offset + NAME]

    def __reduce__(self) -> tuple[Any, ...]:
        return TarKeys, (self.members,)


def key_in(name: Extent) -> str:
    """Return the key in a member's name, by where that stands. Raises SetError when none does."""
    return _checked_key(name.read(), name.path)


def _checked_key(name: bytes, path: str) -> str:
    key = name.partition(b".")[0].decode("latin-1")
    if not KEY.match(key):
        raise SetError.at(path, f"{shown(key)} is no key of a sample; gloam verify the set")
    return key


@dataclass(frozen=True)
class Filed:
    """Members of one name in files, by their paths below a folder."""

    folder: str
    names: Texts

    def __getitem__(self, number: int) -> Extent:
        return Extent(os.path.join(self.folder, self.names[number]))


Extents = Tarred | Filed
Keys = Texts | TarKeys
