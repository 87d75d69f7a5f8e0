"""The USTAR tars of shards: written with their indexes, and read through.

Headers have no time, owner or machine.

A shard is read for its checksum and for what in it no shard of gloam's holds. Its index, the
headers of its tar and its records must name the same files, one after the other, with nothing
between them: then whoever walks the tar finds what the index says.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....errors import SetError
from ....storage.atomic import Pending, sha256_bytes, write_bytes
from ....storage.untrusted import inside, open_regular, read_regular, shown
from ..receipts import Receipt, UnitFile, file_of
from ..sample import Sample, record_facts
from .extents import BLOCK, NAME
from .shard_index import INDEX_VERSION, Members, read_members

FOLDER = "shards"
_SIZE, _CHECKSUM = 124, 148
"""Offsets of size and checksum in a USTAR header (POSIX.1-1988)."""


def shard_name(unit: str) -> str:
    """Return the path of a unit's tar in its set."""
    return f"{FOLDER}/{unit}.tar"


def index_name(unit: str) -> str:
    """Return the path of a unit's index in its set."""
    return f"{FOLDER}/{unit}.idx"


def shard_path(root: Path, unit: str) -> Path:
    """Return where the tar of a unit such as `train-000000` lies in a set."""
    return inside(root, shard_name(unit))


def index_path(root: Path, unit: str) -> Path:
    """Return where the index of that tar lies.

    Not in `X.tar.idx`, which other tools use for a format of theirs.
    """
    return inside(root, index_name(unit))


def padded_size(size: int) -> int:
    """Return the size of a tar of so many bytes, which ends with a whole record."""
    return -(-size // tarfile.RECORDSIZE) * tarfile.RECORDSIZE


class ShardWriter(AbstractContextManager["ShardWriter"]):
    """Writes one shard under a temporary name.

    `close` publishes it and its index, leaving without it deletes it. Use as a context manager.
    """

    def __init__(self, root: Path, unit: str) -> None:
        self._unit, self._path, self._index = unit, shard_path(root, unit), index_path(root, unit)
        self._pending = Pending(self._path)
        self._digest = hashlib.sha256()
        self._offset = 0
        self._lines: list[str] = []

    def __exit__(self, *exception: object) -> None:
        self._pending.abandon()

    def add(self, sample: Sample) -> None:
        """Append a sample's files."""
        files = sample.files()
        names = [f"{sample.key}.{end}" for end, _ in files]
        headers = tar_headers(names, [len(data) for _, data in files])
        groups, pieces, offset = [], [], self._offset
        for name, header, (end, data) in zip(names, headers, files, strict=True):
            offset += BLOCK
            groups.append(f"{end} {offset} {len(data)} {name}")
            padding = -len(data) % BLOCK
            offset += len(data) + padding
            pieces += [header.tobytes(), data, bytes(padding)]
        self._write(b"".join(pieces))
        self._lines.append(" ".join(groups))

    def close(self) -> list[UnitFile]:
        """Publish the tar, then the index, and list both."""
        self._write(bytes(2 * BLOCK))
        self._write(bytes(padded_size(self._offset) - self._offset))
        self._pending.publish()
        head = f"{INDEX_VERSION} {len(self._lines)}"
        index = "".join(f"{line}\n" for line in (head, *self._lines)).encode("ascii")
        write_bytes(self._index, index)
        sha256, size = self._digest.hexdigest(), self._offset
        tar = UnitFile(path=shard_name(self._unit), sha256=sha256, bytes=size)
        return [tar, file_of(index_name(self._unit), index)]

    def _write(self, data: bytes) -> None:
        with self._pending.named():
            self._pending.handle.write(data)
        self._digest.update(data)
        self._offset += len(data)


_EMPTY = tarfile.TarInfo("")
_EMPTY.mode = 0o644
_BLANK = np.frombuffer(_EMPTY.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict"), np.uint8).copy()
"""tarfile's header of an empty file, of the mode that members have."""
_BLANK[_CHECKSUM : _CHECKSUM + 8] = ord(" ")  # by which it counts in its own sum


def tar_headers(
    names: Sequence[str], sizes: Sequence[int] | npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:
    """Return tarfile's USTAR headers of files, (files, 512): all at once take a tenth of its time.

    Raises ValueError when a name or a size does not fit.
    """
    numbers = np.asarray(sizes, np.int64)
    if max(map(len, names)) > NAME or numbers.max() >= 8**11:
        raise ValueError(f"{max(names, key=len)}: its name or size does not fit a USTAR header")
    headers = np.tile(_BLANK, (len(names), 1))
    headers[:, :NAME] = np.array(names, f"S{NAME}").view(np.uint8).reshape(-1, NAME)
    headers[:, _SIZE : _SIZE + 11] = _octal_digits(numbers, 11)
    headers[:, _CHECKSUM : _CHECKSUM + 6] = _octal_digits(headers.sum(axis=1, dtype=np.int64), 6)
    headers[:, _CHECKSUM + 6] = 0
    return headers


def _octal_digits(numbers: npt.NDArray[np.int64], digits: int) -> npt.NDArray[np.int64]:
    shifts = 3 * np.arange(digits - 1, -1, -1)
    return (numbers[:, None] >> shifts & 7) + ord("0")


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
        for part, start, end in _sample_ranges(members) if members else ():
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


def _sample_ranges(members: Members) -> Iterator[tuple[slice, int, int]]:
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
