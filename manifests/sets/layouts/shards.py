"""The shards layout: a USTAR tar of samples with DALI's index beside it, equal bytes on every run.

Members of a sample are adjacent: KEY.json, KEY.low.png|jpg, KEY.normal.jpg|png; a set of lows only
has no normals. Headers carry no time, owner or name of a machine.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ....engines.process import available_cores
from ....errors import SetError
from ....storage.atomic import sha256_bytes
from ....storage.stores import each
from ..receipts import Receipt, read_files
from ..sample import RECORD, Encoded, Sample, parse_record, split_ending
from .extents import Extents, Keys, TarKeys, Tarred, Texts
from .layout import read_list
from .lists import list_path, write_list
from .shard_files import FOLDER, ShardWriter, index_path, shard_path
from .shard_index import (
    Columns,
    Member,
    read_columns,
    read_index,
    read_places,
)

_MANY = 256  # units that are worth threads
_VERY_MANY = 2000
"""Units beyond which a loader compares checksums of indexes only where it reads them itself."""
Whole = npt.NDArray[np.uint32]
_AT_ONCE = 1 << 24  # bytes of indexes that are read at once


@dataclass(frozen=True)
class Shards:
    """A set as tars with their indexes."""

    name = "shards"
    reader = "webdataset"
    folders = (FOLDER,)

    def writer(self, root: Path, unit: str) -> ShardWriter:
        """Begin to write a unit."""
        return ShardWriter(root, unit)

    def records(self, root: Path, receipt: Receipt) -> Iterator[dict[str, Any]]:
        """Yield the records of a shard in order, without reading its images.

        They are found through its index.
        """
        path = shard_path(root, receipt.unit)
        samples = read_index(index_path(root, receipt.unit))
        try:
            with path.open("rb") as handle:
                for sample in samples:
                    handle.seek(sample[0].offset)
                    yield parse_record(handle.read(sample[0].size), f"{path}: {sample[0].name}")
        except OSError as error:
            raise SetError(f"{path}: {error.strerror or error}", path=path) from error

    def samples(self, root: Path, receipt: Receipt) -> Iterator[Sample]:
        """Yield the samples of a shard in order, whole.

        Raises
        ------
        SetError
            When the tar is missing, damaged, or its members are not whole samples.
        """
        return read_samples(shard_path(root, receipt.unit))

    def damage(self, root: Path, unit: str, path: str) -> list[tuple[str, str]]:
        """List the damaged members of a shard, by the checksums in its records."""
        return damaged_members(root, unit) if path.endswith(".tar") else []

    def write_lists(self, root: Path, split: str, receipts: Sequence[Receipt]) -> list[Path]:
        """Write `lists/{split}-shards.txt` and `-indexes.txt`.

        A path relative to the set a line, line i of one belonging to line i of the other; what
        `fn.readers.webdataset` takes as `paths` and `index_paths`.
        """
        units = [receipt.unit for receipt in receipts]
        return [
            write_list(root, f"{split}-shards", (_relative(shard_path, unit) for unit in units)),
            write_list(root, f"{split}-indexes", (_relative(index_path, unit) for unit in units)),
        ]

    def check(
        self, root: Path, split: str, units: Sequence[str], count: int, names: Sequence[str]
    ) -> None:
        """Refuse what is not as it was built.

        Tars and indexes of other sizes than the receipts', other indexes, and a list that names
        others.

        Raises
        ------
        SetError
            When there is one.
        """
        # Hashing lets go of the interpreter's lock.
        threads = available_cores() if len(units) >= _MANY else 1
        check = partial(_check_unit, root, len(units) <= _VERY_MANY)
        for _ in each(check, units, root, threads):
            pass
        path = list_path(root, f"{split}-shards")
        lines, expected = read_list(path), [_relative(shard_path, unit) for unit in units]
        if lines != expected:
            strange = sorted(set(lines) - set(expected)) or ["its order"]
            raise SetError(
                f"{path}: {strange[0]} does not belong to the set; gloam verify says what was"
                " changed",
                path=path,
            )

    def member_path(self, split: str, key: str, member: str) -> str:
        """Return a member's name in its tar."""
        return f"{key}.{member}"

    def extents(
        self, root: Path, split: str, units: Sequence[str], names: Sequence[str], *, held: bool
    ) -> tuple[Keys, list[Extents]]:
        """Find the keys of a split, and where its members lie, by the indexes of its shards."""
        counts: list[int] = []
        keys: list[str] = []
        # A list of parts for each column, which become one array each, one after the other.
        parts: list[tuple[list[Whole], list[Whole]]] = [([], []) for _ in names]
        for part in _columns(root, units, names, held):
            counts += part.counts
            keys += (name.partition(".")[0] for name in part.names or ())
            for k, (blocks, sizes) in enumerate(parts):
                blocks.append(np.ascontiguousarray(part.blocks[:, k]))
                sizes.append(np.ascontiguousarray(part.sizes[:, k]))
        pa.default_memory_pool().release_unused()
        starts = np.cumsum([0, *counts[:-1]], dtype=np.int64).tolist()
        paths = tuple(str(shard_path(root, unit)) for unit in units)
        members: list[Extents] = [
            Tarred(paths, starts, _joined(blocks), _joined(sizes)) for blocks, sizes in parts
        ]
        first = members[0]
        if not held and isinstance(first, Tarred):
            return TarKeys(first), members
        return Texts(keys), members


def _joined(parts: list[Whole]) -> Whole:
    """Join arrays, and let go of them."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _columns(
    root: Path, units: Sequence[str], names: Sequence[str], named: bool
) -> Iterator[Columns]:
    """Read the indexes of units, some at a time."""
    texts: list[bytes] = []
    size = first = 0
    read = partial(_index, root, len(units) > _VERY_MANY)
    for number, text in enumerate(each(read, units, root), 1):
        texts.append(text)
        size += len(text)
        if size < _AT_ONCE and number < len(units):
            continue
        try:
            yield read_columns(texts, names, named)
        except (ValueError, IndexError) as error:
            for unit in units[first:number]:
                read_places(index_path(root, unit), names)  # says which it is
            raise SetError(f"{root}: its indexes do not go together: {error}", path=root) from error
        texts, size, first = [], 0, number


def _index(root: Path, checked: bool, unit: str) -> bytes:
    """Read an index; where `check` has not, compare its checksum."""
    path = index_path(root, unit)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SetError(f"{path}: {error.strerror or error}", path=path) from error
    if checked and sha256_bytes(data) != read_files(root, unit)[-1].sha256:
        raise _another(path)
    return data


def _relative(place: Callable[[Path, str], Path], unit: str) -> str:
    return place(Path(), unit).as_posix()


def read_samples(path: Path) -> Iterator[Sample]:
    """Yield the samples of a tar in order, whole, by walking the tar itself (not the index).

    Raises
    ------
    SetError
        When the tar is missing, damaged, or its members are not whole samples.
    """
    try:
        with path.open("rb") as tar, tarfile.open(fileobj=tar, mode="r:") as archive:
            members: list[tuple[str, bytes]] = []
            names: list[str] = []  # of a sample's members, as of the first one
            for header in archive:
                archive.members = []  # type: ignore[attr-defined]  # else tarfile keeps every header
                handle = archive.extractfile(header)
                if members and header.name.partition(".")[2] == RECORD:
                    yield _sample(members, names, str(path))
                    members = []
                members.append((header.name, handle.read() if handle else b""))
            if members:
                yield _sample(members, names, str(path))
            # tarfile takes a header that it cannot read for the end, and says nothing.
            tar.seek(archive.offset)
            end = tar.read(tarfile.BLOCKSIZE)
            if end != bytes(tarfile.BLOCKSIZE):
                raise SetError(
                    f"{path}: damaged header, or cut short, at byte {archive.offset}", path=path
                )
    except (tarfile.TarError, OSError, EOFError) as error:
        raise SetError(f"{path}: {error}", path=path) from error


def _sample(files: list[tuple[str, bytes]], names: list[str], where: str) -> Sample:
    """Make a sample of some files; all samples of a tar have members of the same `names`."""
    parts = [(*name.partition("."), data) for name, data in files]
    keys = {key for key, _, _, _ in parts}
    members = {
        name: Encoded(data, suffix)
        for _, _, end, data in parts[1:]
        for name, suffix in [split_ending(end)]
    }
    names += [] if names else list(members)
    if len(keys) != 1 or parts[0][2] != RECORD or not members or list(members) != names:
        raise SetError(f"{where}: {', '.join(name for name, _ in files)} are not one sample")
    record = parse_record(files[0][1], f"{where}: {files[0][0]}")
    strange = members.keys() - record["members"].keys()
    if strange:
        raise SetError(f"{where}: {files[0][0]} knows nothing of {min(strange)}", path=where)
    return Sample(keys.pop(), record, members)


def damaged_members(root: Path, unit: str) -> list[tuple[str, str]]:
    """List the members of a shard that are not as its records say, each with what is wrong."""
    path = shard_path(root, unit)
    try:
        index = read_index(index_path(root, unit))
        tar = path.read_bytes()
    except (SetError, OSError):
        return []
    return [found for sample in index for found in _damage(tar, sample, str(path))]


def _damage(tar: bytes, sample: list[Member], where: str) -> list[tuple[str, str]]:
    first = sample[0]
    try:
        record = parse_record(tar[first.offset : first.offset + first.size], where)
        sums = {name: facts["sha256"] for name, facts in record["members"].items()}
    except (SetError, KeyError, TypeError, AttributeError):
        return [(first.name, "is damaged")]
    found = []
    for member in sample[1:]:
        data = tar[member.offset : member.offset + member.size]
        if sha256_bytes(data) != sums.get(split_ending(member.ending)[0]):
            found.append((member.name, "is damaged (its SHA-256 differs from its record's)"))
    for member in sample:
        header = tar[member.offset - tarfile.BLOCKSIZE : member.offset]
        try:
            tarfile.TarInfo.frombuf(header, "ascii", "strict")
        except tarfile.HeaderError:
            found.append((member.name, "has a damaged tar header"))
    return found


def _check_unit(root: Path, hashed: bool, unit: str) -> None:
    """Refuse a tar or an index that is not that of the receipt.

    By sizes, and for the small index by its bytes too.
    """
    for file in read_files(root, unit):
        path = root / file.path
        try:
            fresh = path.stat().st_size == file.bytes and (
                not hashed
                or path.suffix != ".idx"
                or sha256_bytes(path.read_bytes()) == file.sha256
            )
        except OSError as error:
            raise SetError(
                f"{path}: {error.strerror or error}; gloam build with the set's options makes it"
                " again",
                path=path,
            ) from error
        if not fresh:
            raise _another(path)


def _another(path: Path) -> SetError:
    return SetError(
        f"{path}: is not the one that was built; gloam build with the set's options makes it again",
        path=path,
    )
