"""The shards layout: a USTAR tar of samples with DALI's index beside it, equal bytes on every run.

Members of a sample are adjacent: KEY.json, KEY.low.png|jpg, KEY.normal.jpg|png; a set of lows only
has no normals. Headers carry no time, owner or name of a machine.
"""

from __future__ import annotations

import stat
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ....engines.process import available_cores
from ....errors import SetError
from ....storage import untrusted
from ....storage.atomic import sha256_bytes, sha256_file
from ....storage.stores import in_store, map_concurrent
from ..receipts import Receipt, read_receipt
from ..sample import RECORD, Encoded, Sample, parse_record, split_ending
from . import shard_tar
from .extents import TEXT, Extents, Keys, TarKeys, Tarred
from .layout import list_path, read_list, write_list
from .shard_index import INDEX_VERSION, Columns, Member, read_columns, read_index

_MANY = 256  # units that are worth threads
Whole = npt.NDArray[np.uint32]
_AT_ONCE = 1 << 24  # bytes of indexes that are read at once


@dataclass(frozen=True)
class Shards:
    """A set as tars with their indexes."""

    name = "shards"
    writer = shard_tar.ShardWriter
    glance = staticmethod(shard_tar.glance_shard)

    def records(self, root: Path, receipt: Receipt) -> Iterator[dict[str, Any]]:
        """Yield the records of a shard in order, found by its index, without reading its images."""
        path = shard_tar.shard_path(root, receipt.unit)
        with untrusted.naming(path), untrusted.open_regular(path) as handle:
            samples = read_index(shard_tar.index_path(root, receipt.unit), _regular_size(path))
            for sample in samples:
                handle.seek(sample[0].offset)
                name, data = sample[0].name, handle.read(sample[0].size)
                yield parse_record(data, f"{path}: {name}", name.partition(".")[0])

    def samples(self, root: Path, receipt: Receipt) -> Iterator[Sample]:
        """Yield the samples of a shard in order, whole; see `read_samples`."""
        return read_samples(shard_tar.shard_path(root, receipt.unit))

    def examine(self, root: Path, unit: str, path: str) -> shard_tar.Examined:
        """Read a shard through, by its index; the index itself for its checksum."""
        if path.endswith(".tar"):
            return shard_tar.examine_shard(root, unit)
        return shard_tar.Examined(sha256_file(untrusted.inside(root, path)), [])

    def damage(self, root: Path, unit: str, path: str) -> list[tuple[str, str]]:
        """List the damaged members of a shard, by the checksums in its records."""
        if not path.endswith(".tar"):
            return []
        try:
            tar = untrusted.read_regular(untrusted.inside(root, path), untrusted.MOST_BYTES)
            index = read_index(shard_tar.index_path(root, unit), len(tar))
        except (SetError, OSError):
            return []
        return [found for sample in index for found in _damaged_members(tar, sample, path)]

    def write_lists(self, root: Path, split: str, receipts: Sequence[Receipt]) -> list[Path]:
        """Write `lists/{split}-shards.txt` and `-indexes.txt`.

        A path relative to the set a line, line i of one belonging to line i of the other; what
        `fn.readers.webdataset` takes as `paths` and `index_paths`.
        """
        units = [receipt.unit for receipt in receipts]
        return [
            write_list(root, f"{split}-shards", map(shard_tar.shard_name, units)),
            write_list(root, f"{split}-indexes", map(shard_tar.index_name, units)),
        ]

    def check(
        self, root: Path, split: str, units: Sequence[str], count: int, names: Sequence[str]
    ) -> None:
        """Refuse tars and indexes that are not the receipts', and a list that names others."""
        for _ in _read_indexes(root, units, (), False):
            pass
        name = f"{split}-shards"
        lines, expected = read_list(root, name), [shard_tar.shard_name(unit) for unit in units]
        if lines != expected:
            strange = sorted(set(lines) - set(expected)) or ["its order"]
            raise SetError.at(
                list_path(root, name),
                f"{strange[0]} does not belong to the set; gloam verify says what was changed",
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
        for part in _read_indexes(root, units, names, held):
            counts += part.counts
            keys += (name.partition(".")[0] for name in part.names or ())
            for k, (blocks, sizes) in enumerate(parts):
                blocks.append(np.ascontiguousarray(part.blocks[:, k]))
                sizes.append(np.ascontiguousarray(part.sizes[:, k]))
        pa.default_memory_pool().release_unused()
        starts = np.cumsum([0, *counts[:-1]], dtype=np.int64).tolist()
        paths = tuple(str(shard_tar.shard_path(root, unit)) for unit in units)
        members = [
            Tarred(paths, starts, _joined(blocks), _joined(sizes)) for blocks, sizes in parts
        ]
        return np.array(keys, TEXT) if held else TarKeys(members[0]), [*members]


def _joined(parts: list[Whole]) -> Whole:
    """Join arrays, and let go of them."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _read_indexes(
    root: Path, units: Sequence[str], names: Sequence[str], named: bool
) -> Iterator[Columns]:
    """Read the indexes of units, some at a time; `_read_unit` says what is refused."""
    texts: list[bytes] = []
    sizes: list[int] = []
    first = 0
    # Hashing lets go of the interpreter's lock.
    threads = available_cores() if len(units) >= _MANY else 1
    for number, (text, size) in enumerate(
        map_concurrent(partial(_read_unit, root), units, root, threads), 1
    ):
        texts.append(text)
        sizes.append(size)
        if sum(map(len, texts)) < _AT_ONCE and number < len(units):
            continue
        try:
            yield read_columns(texts, sizes, names, named)
        except (ValueError, IndexError) as error:
            for unit, text, size in zip(units[first:number], texts, sizes, strict=True):
                try:
                    read_columns([text], [size], names, named)
                except (ValueError, IndexError) as own:
                    path = shard_tar.index_path(root, unit)
                    raise SetError.at(
                        path, f"not a DALI index of {INDEX_VERSION} of this set: {own}"
                    ) from error
            raise SetError.at(root, f"its indexes do not go together: {error}") from error
        texts, sizes, first = [], [], number


def _read_unit(root: Path, unit: str) -> tuple[bytes, int]:
    """Read a unit's index and its tar's size. Raises SetError for others than the receipt's."""
    facts = {file.path: file for file in read_receipt(root, unit).files}
    own, listed = facts.get(shard_tar.shard_name(unit)), facts.get(shard_tar.index_name(unit))
    tar, index = shard_tar.shard_path(root, unit), shard_tar.index_path(root, unit)
    try:
        # A store answers a range beyond what lies there with an error: its tars are not asked for.
        size = own.bytes if own and in_store(root) else _regular_size(tar)
        text = untrusted.read_regular(index)
    except OSError as error:
        path = index if error.filename == str(index) else tar
        raise SetError.at(
            path, f"{error.strerror or error}; gloam build with the set's options makes it again"
        ) from error
    right = own is not None and own.bytes == size
    if not right or listed is None or listed.sha256 != sha256_bytes(text):
        what = "is not the one that was built; gloam build with the set's options makes it again"
        raise SetError.at(index if right else tar, what)
    return text, size


def _regular_size(path: Path) -> int:
    """Return the size of a file; of what is no file, none."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(None, "is not a regular file", str(path))
    return status.st_size


def read_samples(path: Path) -> Iterator[Sample]:
    """Yield the samples of a tar in order, whole, by walking the tar itself (not the index).

    Raises SetError when the tar is missing, damaged, or its members are not whole samples.
    """
    try:
        size = _regular_size(path)
        with untrusted.open_regular(path) as tar, tarfile.open(fileobj=tar, mode="r:") as archive:
            members: list[tuple[str, bytes]] = []
            names: list[str] = []  # of a sample's members, as of the first one
            for header in archive:
                archive.members = []  # type: ignore[attr-defined]  # else tarfile keeps every header
                _check_header(header, size, path)
                handle = archive.extractfile(header)
                if members and header.name.partition(".")[2] == RECORD:
                    yield _sample_of_files(members, names, str(path))
                    members = []
                members.append((header.name, handle.read() if handle else b""))
            if members:
                yield _sample_of_files(members, names, str(path))
            # tarfile takes a header that it cannot read for the end, and says nothing.
            tar.seek(archive.offset)
            end = tar.read(tarfile.BLOCKSIZE)
            if end != bytes(tarfile.BLOCKSIZE):
                raise SetError.at(path, f"damaged header, or cut short, at byte {archive.offset}")
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise SetError.at(path, f"{error}") from error


def _check_header(header: tarfile.TarInfo, tar_bytes: int, path: Path) -> None:
    """Refuse a member that no shard holds, before anything is read of it."""
    key, _, end = header.name.partition(".")
    if not untrusted.KEY.match(key) or not untrusted.ENDING.match(end):
        raise SetError.at(path, untrusted.odd_name(header.name, "is no file of a sample"))
    if not header.isreg() or header.issparse() or header.offset_data + header.size > tar_bytes:
        raise SetError.at(path, f"{header.name} is not a complete regular file")


def _sample_of_files(files: list[tuple[str, bytes]], names: list[str], where: str) -> Sample:
    """Make a sample of some files; all samples of a tar have members of the same `names`."""
    parts = [(*name.partition("."), data) for name, data in files]
    key, _, first, _ = parts[0]
    members = {
        name: Encoded(data, suffix)
        for _, _, end, data in parts[1:]
        for name, suffix in [split_ending(end)]
    }
    names += [] if names else list(members)
    alike = all(one == key for one, *_ in parts)
    if not alike or first != RECORD or not members or list(members) != names:
        raise SetError(f"{where}: {', '.join(name for name, _ in files)} are not one sample")
    record = parse_record(files[0][1], f"{where}: {files[0][0]}", key)
    strange = members.keys() - record["members"].keys()
    if strange:
        raise SetError.at(where, f"{files[0][0]} knows nothing of {min(strange)}")
    return Sample(key, record, members)


def _damaged_members(tar: bytes, sample: list[Member], where: str) -> list[tuple[str, str]]:
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
    headers = shard_tar.tar_headers([one.name for one in sample], [one.size for one in sample])
    for member, right in zip(sample, headers, strict=True):
        if tar[member.offset - tarfile.BLOCKSIZE : member.offset] != right.tobytes():
            found.append((member.name, "has a damaged tar header"))
    return found
