"""The shards layout: a USTAR tar of pairs with DALI's index beside it, equal bytes on every run.

Members of a pair are adjacent: KEY.json, KEY.low.png|jpg, KEY.normal.jpg|png; a set of lows only
has no normals. Headers carry no time, owner or name of a machine.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ...errors import SetError
from ...storage.atomic import publish, sha256_bytes, temporary_beside, write_bytes
from .sample import Pair, parse_record

FOLDER = "shards"
_INDEX_VERSION = "v1.2"
_NAME, _SIZE, _CHECKSUM = 100, 124, 148
"""Of a USTAR header: the length of the name, which comes first, and the places of size and checksum
(POSIX.1-1988)."""


def shard_path(root: Path, unit: str) -> Path:
    """Where the tar of a unit such as `train-000000` lies in a set."""
    return root / FOLDER / f"{unit}.tar"


def index_path(root: Path, unit: str) -> Path:
    """Where its index lies; not `X.tar.idx`, which other tools use for a format of theirs."""
    return root / FOLDER / f"{unit}.idx"


class ShardWriter:
    """Writes one shard under a temporary name; `close` publishes it and its index, leaving without
    it deletes it.

    Use as a context manager.
    """

    def __init__(self, root: Path, unit: str) -> None:
        self._root, self._path, self._index = root, shard_path(root, unit), index_path(root, unit)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._temporary = temporary_beside(self._path)
        self._handle: IO[bytes] = open(self._temporary, "wb")  # noqa: SIM115
        self._hash = hashlib.sha256()
        self._place = 0
        self._lines: list[str] = []

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._handle.close()
        self._temporary.unlink(missing_ok=True)

    def add(self, pair: Pair) -> None:
        """Append a pair's members."""
        groups, pieces, place = [], [], self._place
        for ending, data in pair.members():
            name = f"{pair.key}.{ending}"
            place += tarfile.BLOCKSIZE
            groups.append(f"{ending} {place} {len(data)} {name}")
            padding = -len(data) % tarfile.BLOCKSIZE
            place += len(data) + padding
            pieces += [_header(name, len(data)), data, bytes(padding)]
        self._write(b"".join(pieces))
        self._lines.append(" ".join(groups))

    def close(self) -> dict[str, dict[str, Any]]:
        """Publish the tar, then the index; returns path, sha256 and size of both, as receipts hold
        them."""
        self._write(bytes(2 * tarfile.BLOCKSIZE))
        self._write(bytes(-self._place % tarfile.RECORDSIZE))
        self._handle.flush()
        os.fsync(self._handle.fileno())
        self._handle.close()
        publish(self._temporary, self._path)
        index = f"{_INDEX_VERSION} {len(self._lines)}\n" + "".join(
            f"{line}\n" for line in self._lines
        )
        write_bytes(self._index, index.encode("ascii"))
        return {
            self._path.relative_to(self._root).as_posix(): {
                "sha256": self._hash.hexdigest(),
                "bytes": self._place,
            },
            self._index.relative_to(self._root).as_posix(): {
                "sha256": sha256_bytes(index.encode("ascii")),
                "bytes": len(index),
            },
        }

    def _write(self, data: bytes) -> None:
        self._handle.write(data)
        self._hash.update(data)
        self._place += len(data)


@lru_cache(maxsize=1)
def _blank_header() -> bytes:
    """tarfile's header of an empty file of the mode that members have, without its name and with
    its checksum blank."""
    header = tarfile.TarInfo("")
    header.mode = 0o644
    buffer = header.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
    return buffer[:_CHECKSUM] + b" " * 8 + buffer[_CHECKSUM + 8 :]


def _header(name: str, size: int) -> bytes:
    """The bytes of tarfile's USTAR header, in a tenth of its time: only name, size and checksum
    differ between members.

    Raises
    ------
    ValueError
        When the name or the size does not fit.
    """
    encoded = name.encode("ascii")
    if len(encoded) > _NAME or size >= 8**11:
        raise ValueError(f"{name}: the name or size ({size}) does not fit into a USTAR header")
    blank = _blank_header()
    head = (
        encoded.ljust(_NAME, b"\0")
        + blank[_NAME:_SIZE]
        + b"%011o\0" % size
        + blank[_SIZE + 12 : _CHECKSUM]
    )
    rest = blank[_CHECKSUM + 8 :]
    return b"%b%06o\0 %b" % (head, sum(head) + 8 * ord(" ") + sum(rest), rest)


@dataclass(frozen=True)
class Member:
    """A line group of an index: where one file of a sample lies in the tar."""

    ending: str
    offset: int
    size: int
    name: str


def read_index(path: Path) -> list[list[Member]]:
    """The samples of a DALI index, each a list of members.

    Raises
    ------
    SetError
        When it is missing or not an index of version 1.2.
    """
    try:
        lines = path.read_text("ascii").splitlines()
        version, count = lines[0].split(" ")
        samples: list[list[Member]] = []
        for line in lines[1:]:
            words = line.split(" ")
            if len(words) % 4:
                raise ValueError(f"line {len(samples) + 2} is not groups of four")
            groups = zip(*[iter(words)] * 4, strict=True)
            samples.append(
                [
                    Member(ending, int(offset), int(size), name)
                    for ending, offset, size, name in groups
                ]
            )
        if version != _INDEX_VERSION or int(count) != len(samples):
            raise ValueError(f"first line says {lines[0]!r}, {len(samples)} samples follow")
    except OSError as error:
        raise SetError(f"{path}: {error.strerror or error}") from error
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise SetError(f"{path}: not a DALI index of {_INDEX_VERSION}: {error}") from error
    return samples


def read_places(path: Path, kinds: tuple[str, ...]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Where the images of an index lie: four times as fast as `read_index`, for sets of many
    shards.

    Parameters
    ----------
    path : Path
        An index as `ShardWriter` writes it, whose checksum is known to be right.
    kinds : tuple of str
        Such as ("low", "normal"); every sample has them at the same places.

    Returns
    -------
    keys : list of str
    places : int64 array (samples, kinds, 2)
        Offset and size.

    Raises
    ------
    SetError
        When it is missing, or not such an index.
    """
    try:
        words = path.read_text("ascii").split()
        count = int(words[1])
        each = (len(words) - 2) // (4 * count)
        endings, names = words[2::4], words[5::4]
        at = [[ending.partition(".")[0] for ending in endings[:each]].index(kind) for kind in kinds]
        regular = all(
            ending.startswith(f"{kind}.")
            for place, kind in zip(at, kinds, strict=True)
            for ending in endings[place::each]
        )
        if words[0] != _INDEX_VERSION or len(words) - 2 != 4 * count * each or not regular:
            raise ValueError("its samples do not have the same members")
        places = np.array([words[3::4], words[4::4]], np.int64).T.reshape(count, each, 2)
    except OSError as error:
        raise SetError(f"{path}: {error.strerror or error}") from error
    except (ValueError, IndexError, ZeroDivisionError) as error:
        raise SetError(f"{path}: not a DALI index of {_INDEX_VERSION} of pairs: {error}") from error
    return [name.partition(".")[0] for name in names[::each]], places[:, at]


def read_records(root: Path, unit: str) -> Iterator[dict[str, Any]]:
    """The records of a shard in order, found through its index, without reading its images."""
    path = shard_path(root, unit)
    samples = read_index(index_path(root, unit))
    try:
        with open(path, "rb") as handle:
            for sample in samples:
                handle.seek(sample[0].offset)
                yield parse_record(handle.read(sample[0].size), f"{path}: {sample[0].name}")
    except OSError as error:
        raise SetError(f"{path}: {error.strerror or error}") from error


def read_pairs(root: Path, unit: str) -> Iterator[Pair]:
    """The pairs of a shard in order, whole, by walking the tar itself (not the index).

    Raises
    ------
    SetError
        When the tar is missing, damaged, or its members are not whole pairs.
    """
    path = shard_path(root, unit)
    try:
        with open(path, "rb") as tar, tarfile.open(fileobj=tar, mode="r:") as archive:
            members: list[tuple[str, bytes]] = []
            each = 0  # members of a pair, as many as the first one has
            for header in archive:
                archive.members = []  # type: ignore[attr-defined]  # else tarfile keeps every header
                handle = archive.extractfile(header)
                if members and header.name.endswith(".json"):
                    each = each or len(members)
                    yield _pair(members, each, str(path))
                    members = []
                members.append((header.name, handle.read() if handle else b""))
            if members:
                yield _pair(members, each or len(members), str(path))
            # tarfile takes a header that it cannot read for the end, and says nothing.
            tar.seek(archive.offset)
            end = tar.read(tarfile.BLOCKSIZE)
            if end != bytes(tarfile.BLOCKSIZE):
                raise SetError(f"{path}: damaged header, or cut short, at byte {archive.offset}")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise SetError(f"{path}: {error}") from error


def _pair(members: list[tuple[str, bytes]], each: int, where: str) -> Pair:
    parts = [name.partition(".") for name, _ in members]
    keys = {key for key, _, _ in parts}
    kinds = [ending.split(".") for _, _, ending in parts]
    wanted = ["low", "normal"][: each - 1]
    if (
        len(keys) != 1
        or kinds[0] != ["json"]
        or not wanted
        or [kind[0] for kind in kinds[1:]] != wanted
    ):
        raise SetError(f"{where}: {', '.join(name for name, _ in members)} are not one pair")
    record = parse_record(members[0][1], f"{where}: {members[0][0]}")
    normal, suffix = (
        (members[2][1], kinds[2][-1])
        if len(members) > 2
        else (b"", str(record["normal"]["suffix"]))
    )
    return Pair(keys.pop(), record, members[1][1], normal, kinds[1][-1], suffix)
