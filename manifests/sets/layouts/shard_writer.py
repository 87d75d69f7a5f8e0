"""Write the USTAR tars of shards and their indexes, with no time, owner or machine in headers."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ....storage.atomic import Pending, write_bytes
from ....storage.untrusted import inside
from ..receipts import UnitFile, file_of
from ..sample import Sample
from .extents import BLOCK, NAME
from .shard_index import INDEX_VERSION

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


def _blank_header() -> npt.NDArray[np.uint8]:
    """Return tarfile's header of an empty file, of the mode that members have."""
    header = tarfile.TarInfo("")
    header.mode = 0o644
    blank = np.frombuffer(header.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict"), np.uint8).copy()
    blank[_CHECKSUM : _CHECKSUM + 8] = ord(" ")  # by which it counts in its own sum
    return blank


_BLANK = _blank_header()


def tar_headers(
    names: Sequence[str], sizes: Sequence[int] | npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:
    """Return tarfile's USTAR headers of files, (files, 512): all at once take a tenth of its time.

    Raises ValueError when a name or a size does not fit.
    """
    numbers = np.asarray(sizes, np.int64)
    if max(map(len, names)) > NAME or numbers.max() >= 8**11:
        raise ValueError(
            f"{max(names, key=len)}: the name or size does not fit into a USTAR header"
        )
    headers = np.tile(_BLANK, (len(names), 1))
    headers[:, :NAME] = np.array(names, f"S{NAME}").view(np.uint8).reshape(-1, NAME)
    headers[:, _SIZE : _SIZE + 11] = _octal(numbers, 11)
    headers[:, _CHECKSUM : _CHECKSUM + 6] = _octal(headers.sum(axis=1, dtype=np.int64), 6)
    headers[:, _CHECKSUM + 6] = 0
    return headers


def _octal(numbers: npt.NDArray[np.int64], digits: int) -> npt.NDArray[np.int64]:
    shifts = 3 * np.arange(digits - 1, -1, -1)
    return (numbers[:, None] >> shifts & 7) + ord("0")
