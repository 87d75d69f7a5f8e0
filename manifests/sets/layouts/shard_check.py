"""Reading a shard through, for its checksum and for what in it no shard of gloam's holds.

Its index, the headers of its tar and its records must name the same files, one after the other,
with nothing between them: then whoever walks the tar finds what the index says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....errors import SetError
from ....storage.untrusted import INDEX_GROUP, open_regular, read_regular, shown
from ..sample import parse_record, split_ending
from .extents import BLOCK
from .shard_files import index_path, shard_path, tar_header
from .shard_index import INDEX_VERSION, read_index

_AT_ONCE = 1 << 18  # bytes of whole members that are hashed and looked at together


class Examined(NamedTuple):
    """The SHA-256 of a file, and what in it is not as gloam writes it: where, and what."""

    sha256: str
    odd: list[tuple[str, str]]


def examine_shard(root: Path, unit: str) -> Examined:
    """Read the tar of a unit through, by its index.

    Raises
    ------
    OSError
        When it cannot be read.
    """
    path, digest = shard_path(root, unit), hashlib.sha256()
    odd: list[tuple[str, str]] = []
    with open_regular(path) as handle:
        size = handle.seek(0, 2)
        handle.seek(0)
        try:
            members = _members(index_path(root, unit), size)
        except FileNotFoundError:
            members = None  # it is said of that file
        except (OSError, SetError) as error:
            members, odd = None, [("", str(error))]
        # One buffer: fresh memory for each part costs a quarter of hashing it.
        buffer = bytearray(_AT_ONCE)
        for some in members.parts() if members else ():
            if some.end - some.start > len(buffer):
                buffer = bytearray(some.end - some.start)
            data = memoryview(buffer)[: some.end - some.start]
            read = handle.readinto(data)
            digest.update(data[:read])
            if read == len(data):  # else it was cut short: its checksum says so
                odd += _odd(some, data)
        while read := handle.readinto(buffer):
            digest.update(memoryview(buffer)[:read])
    return Examined(digest.hexdigest(), odd)


class _Members(NamedTuple):
    """Members of a tar in their order, of which the first `width` are one sample's, and so on."""

    names: list[str]
    offsets: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    width: int
    start: int = 0
    end: int = 0

    def parts(self) -> Iterator[_Members]:
        """Yield whole samples, some hundred KiB at a time, which lie from `start` to `end`."""
        begins = self.offsets[:: self.width] - BLOCK
        last = int(self.offsets[-1] + self.sizes[-1])
        first = 0
        while first < len(begins):
            start = int(begins[first])
            after = max(first + 1, int(np.searchsorted(begins, start + _AT_ONCE)))
            end = int(begins[after]) if after < len(begins) else last
            own = slice(first * self.width, after * self.width)
            yield _Members(
                self.names[own], self.offsets[own], self.sizes[own], self.width, start, end
            )
            first = after


def _members(path: Path, tar_bytes: int) -> _Members:
    """Read an index.

    Raises
    ------
    SetError
        When it is no index of a whole tar, or names what no shard holds.
    """
    first, _, body = _text(path).partition("\n")
    groups = INDEX_GROUP.findall(body)
    endings, offsets, sizes, keys, behind = zip(*groups, strict=True) if groups else [()] * 5
    # Groups that are passed over leave the text longer than those that are found.
    width = behind.index("\n") + 1 if "\n" in behind else 0
    count = behind.count("\n")
    found = sum(map(len, endings)) * 2 + sum(sum(map(len, one)) for one in (offsets, sizes, keys))
    if (
        not width
        or found + 5 * len(groups) != len(body)
        or first != f"{INDEX_VERSION} {count}"
        or len(groups) != count * width
        or behind[width - 1 :: width].count("\n") != count
        or any(keys[i::width] != keys[::width] for i in range(width))
    ):
        read_index(path, tar_bytes)  # says what is wrong, if it is no more than this
        raise SetError(f"{path}: its samples do not have the same members", path=path)
    names = [f"{key}.{end}" for key, end in zip(keys, endings, strict=True)]
    at, lengths = np.array(offsets, np.int64), np.array(sizes, np.int64)
    follows = np.concatenate([[BLOCK], (at + -(-lengths // BLOCK) * BLOCK + BLOCK)[:-1]])
    if (at != follows).any() or at[-1] + lengths[-1] > tar_bytes:
        read_index(path, tar_bytes)
        raise SetError(f"{path}: its members do not follow one another", path=path)
    return _Members(names, at, lengths, width)


def _text(path: Path) -> str:
    try:
        return read_regular(path).decode("ascii")
    except UnicodeDecodeError as error:
        raise SetError(f"{path}: not a DALI index: {error}", path=path) from error


def _odd(some: _Members, data: memoryview) -> list[tuple[str, str]]:
    """List the members whose headers or records do not say what the index does."""
    ends, sizes = (some.offsets - some.start).tolist(), some.sizes.tolist()
    found = [
        (name, "is not the file whose header stands in the tar")
        for name, end, size in zip(some.names, ends, sizes, strict=True)
        if data[end - BLOCK : end] != tar_header(name, size)
    ]
    for i in range(0, len(some.names), some.width):
        at, name = ends[i], some.names[i]
        try:
            record = parse_record(bytes(data[at : at + sizes[i]]), name)
            own = [
                split_ending(one.partition(".")[2])[0] for one in some.names[i + 1 : i + some.width]
            ]
            if record["key"] != name.partition(".")[0] or not record["members"].keys() >= set(own):
                raise SetError(f"{name}: is the record of {shown(record['key'])}", path=name)
        except SetError as error:
            found.append((name, str(error).removeprefix(f"{name}: ")))
    return found
