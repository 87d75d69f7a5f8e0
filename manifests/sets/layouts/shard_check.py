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
from ....storage.atomic import sha256_bytes
from ....storage.untrusted import open_regular, read_regular, shown
from ..receipts import Receipt
from ..sample import record_facts
from .extents import BLOCK
from .shard_index import Members, read_members
from .shard_writer import (
    index_name,
    index_path,
    padded_size,
    shard_name,
    shard_path,
    tar_headers,
)

_AT_ONCE = 1 << 18  # bytes of whole samples that are hashed and looked at together
_HEADERS = 4096  # that are compared at once


class Examined(NamedTuple):
    """The SHA-256 of a file, and what in it is not as gloam writes it: where, and what."""

    sha256: str
    odd: list[tuple[str, str]]


def examine_shard(root: Path, unit: str) -> Examined:
    """Read the tar of a unit through, by its index. Raises OSError when it cannot be read."""
    digest = hashlib.sha256()
    odd: list[tuple[str, str]] = []
    with open_regular(shard_path(root, unit)) as handle:
        size = handle.seek(0, 2)
        handle.seek(0)
        index = index_path(root, unit)
        members = None
        try:
            members = read_members(index, size)
            _check_contiguous(members, index, size)
        except SetError as error:
            if index.exists():  # else it is said of that file
                members, odd = None, [("", str(error))]
        buffer = bytearray(_AT_ONCE)  # reused: fresh memory costs a quarter of hashing
        headers: list[npt.NDArray[np.uint8]] = []
        first = last = 0
        for part, start, end in _parts(members) if members else ():
            if end - start > len(buffer):
                buffer = bytearray(end - start)
            data = memoryview(buffer)[: end - start]
            read = handle.readinto(data)
            digest.update(data[:read])
            if members is None or read < len(data):  # cut short: its checksum says so
                break
            offsets = members.offsets[part] - start
            blocks = np.frombuffer(data[: len(data) // BLOCK * BLOCK], np.uint8).reshape(-1, BLOCK)
            headers.append(blocks[offsets // BLOCK - 1])
            odd += _odd_records(members, part, offsets.tolist(), data)
            last = part.stop
            if last - first >= _HEADERS or last == len(members.names):
                odd += _odd_headers(members, slice(first, last), np.concatenate(headers))
                headers, first = [], last
        while read := handle.readinto(buffer):
            digest.update(memoryview(buffer)[:read])
    return Examined(digest.hexdigest(), odd)


def glance_shard(root: Path, receipt: Receipt) -> list[tuple[str, str]]:
    """Say whether a unit's index is the receipt's, and some members are where it says.

    Nothing else of the tar is read. Raises OSError when a file cannot be read.
    """
    unit = receipt.unit
    text = read_regular(index_path(root, unit))
    known = next((file.sha256 for file in receipt.files if file.path == index_name(unit)), "")
    if sha256_bytes(text) != known:
        return [(index_name(unit), "is not as it was written (its SHA-256 differs)")]
    lines = text.decode("ascii", "replace").splitlines()[1:]
    with open_regular(shard_path(root, unit)) as handle:
        for at in dict.fromkeys((0, len(lines) // 2, len(lines) - 1) if lines else ()):
            _, offset, size, name, *_ = lines[at].split(" ")
            handle.seek(int(offset) - BLOCK)
            if handle.read(BLOCK) != tar_headers([name], [int(size)]).tobytes():
                return [(f"{shard_name(unit)}: {name}", "does not stand where its index says")]
    return []


def _check_contiguous(members: Members, path: Path, tar_bytes: int) -> None:
    """Refuse members with anything between or behind them, or none."""
    ends = members.offsets + -(-members.sizes // BLOCK) * BLOCK
    if not members.names or (members.offsets != [BLOCK, *(ends[:-1] + BLOCK)]).any():
        raise SetError.at(path, "its members do not follow one another")
    if tar_bytes > padded_size(int(ends[-1]) + 2 * BLOCK):
        raise SetError.at(path, "its tar goes on behind the last of them")


def _parts(members: Members) -> Iterator[tuple[slice, int, int]]:
    """Yield whole samples of some hundred KiB: which members, and their first and last byte."""
    width = len(members.kinds)
    # Members and their padding follow one another.
    begins = [*(members.offsets[::width] - BLOCK), members.offsets[-1] + members.sizes[-1]]
    first = 0
    while first < len(begins) - 1:
        after = max(first + 1, int(np.searchsorted(begins, begins[first] + _AT_ONCE)))
        after = min(after, len(begins) - 1)
        yield slice(first * width, after * width), int(begins[first]), int(begins[after])
        first = after


def _odd_headers(
    members: Members, part: slice, found: npt.NDArray[np.uint8]
) -> list[tuple[str, str]]:
    expected = tar_headers(members.names[part], members.sizes[part])
    return [
        (members.names[part.start + i], "is not the file whose header stands in the tar")
        for i in np.flatnonzero((found != expected).any(axis=1)).tolist()
    ]


def _odd_records(
    members: Members, part: slice, offsets: list[int], data: memoryview
) -> list[tuple[str, str]]:
    """List the records that are none, or of other samples than the index says."""
    odd = []
    own = set(members.kinds[1:])
    width = len(members.kinds)
    for i, size in enumerate(members.sizes[part][::width].tolist()):
        name, at = members.names[part.start + i * width], offsets[i * width]
        record = bytes(data[at : at + size])
        try:
            key, known = record_facts(record, name)
            if key != name.partition(".")[0] or not known >= own:
                raise SetError.at(name, f"is the record of {shown(key)}")
        except SetError as error:
            odd.append((name, error.what.removeprefix(f"{name}: ")))
    return odd
