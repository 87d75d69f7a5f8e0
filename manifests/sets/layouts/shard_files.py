"""The files of a shard: where they lie, and how they are written.

A USTAR tar of samples whose headers carry no time, owner or name of a machine, and its index.
"""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path
from typing import Any

from ....storage.atomic import Pending, sha256_bytes, write_bytes
from ....storage.untrusted import inside
from ..sample import Sample
from .extents import NAME
from .shard_index import INDEX_VERSION

FOLDER = "shards"
_SIZE, _CHECKSUM = 124, 148
"""Where size and checksum stand in a USTAR header (POSIX.1-1988)."""


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


class ShardWriter:
    """Writes one shard under a temporary name.

    `close` publishes it and its index, leaving without it deletes it. Use as a context manager.
    """

    def __init__(self, root: Path, unit: str) -> None:
        self._unit, self._path, self._index = unit, shard_path(root, unit), index_path(root, unit)
        self._pending = Pending(self._path)
        self._digest = hashlib.sha256()
        self._place = 0
        self._lines: list[str] = []

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pending.abandon()

    def add(self, sample: Sample) -> None:
        """Append a sample's files."""
        groups, pieces, place = [], [], self._place
        for end, data in sample.files():
            name = f"{sample.key}.{end}"
            place += tarfile.BLOCKSIZE
            groups.append(f"{end} {place} {len(data)} {name}")
            padding = -len(data) % tarfile.BLOCKSIZE
            place += len(data) + padding
            pieces += [tar_header(name, len(data)), data, bytes(padding)]
        self._write(b"".join(pieces))
        self._lines.append(" ".join(groups))

    def close(self) -> dict[str, dict[str, Any]]:
        """Publish the tar, then the index.

        Returns path, sha256 and size of both, as receipts hold them.
        """
        self._write(bytes(2 * tarfile.BLOCKSIZE))
        self._write(bytes(-self._place % tarfile.RECORDSIZE))
        self._pending.publish()
        index = f"{INDEX_VERSION} {len(self._lines)}\n" + "".join(
            f"{line}\n" for line in self._lines
        )
        write_bytes(self._index, index.encode("ascii"))
        return {
            shard_name(self._unit): {
                "sha256": self._digest.hexdigest(),
                "bytes": self._place,
            },
            index_name(self._unit): {
                "sha256": sha256_bytes(index.encode("ascii")),
                "bytes": len(index),
            },
        }

    def _write(self, data: bytes) -> None:
        with self._pending.named():
            self._pending.handle.write(data)
        self._digest.update(data)
        self._place += len(data)


def _blank_header() -> bytes:
    """Return tarfile's header of an empty file, of the mode that members have."""
    header = tarfile.TarInfo("")
    header.mode = 0o644
    return header.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")


_BLANK = _blank_header()
_BEFORE, _AFTER, _REST = _BLANK[NAME:_SIZE], _BLANK[_SIZE + 12 : _CHECKSUM], _BLANK[_CHECKSUM + 8 :]
_KNOWN = sum(_BEFORE) + sum(_AFTER) + sum(_REST) + 8 * ord(" ")


def tar_header(name: str, size: int) -> bytes:
    """Return the bytes of tarfile's USTAR header, in a tenth of its time.

    Only name, size and checksum differ between members.

    Raises
    ------
    ValueError
        When the name or the size does not fit.
    """
    encoded = name.encode("ascii")
    if len(encoded) > NAME or size >= 8**11:
        raise ValueError(f"{name}: the name or size ({size}) does not fit into a USTAR header")
    digits = b"%011o" % size
    total = sum(encoded) + sum(digits) + _KNOWN
    padded = encoded.ljust(NAME, b"\0")
    return b"%b%b%b\0%b%06o\0 %b" % (padded, _BEFORE, digits, _AFTER, total, _REST)
