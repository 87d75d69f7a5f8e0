"""What there is to load: the pairs of one split of a set, or of lists of one's own, each as two pieces of bytes somewhere."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..manifests.errors import LoaderError, SetError
from ..manifests.images import SUFFIXES
from ..manifests.layouts import SHARDS
from ..manifests.receipts import read_receipt
from ..manifests.setfile import check_normals, read_set
from ..manifests.shards import index_path, read_index, shard_path

SPLITS = ("train", "val")


@dataclass(frozen=True)
class Piece:
    """Where the bytes of one image are: in memory, or `size` bytes at `offset` of a file (all of it for size -1)."""

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
            # Opened for each image: that costs microseconds, and threads need not share descriptors.
            with open(self.path, "rb", buffering=0) as handle:
                data = os.pread(handle.fileno(), self.size, self.offset)
        except OSError as error:
            raise LoaderError(f"{self.path}: {error.strerror or error}") from error
        if len(data) != self.size:
            raise LoaderError(f"{self.path}: ends inside an image; gloam verify the set, gloam build mends it")
        return data


@dataclass(frozen=True)
class Contents:
    """The pairs of one split.

    Attributes
    ----------
    name : str
        Of the set or the list, for messages.
    split : str
    layout : str
        "shards", "files" or "lists".
    count : int
        Pairs.
    identity : str
        Changes when the pairs or their order change; states are tied to it.
    root : Path
        Of a set.
    normal_root : Path
        Of the set that holds its normals: the same one, but for a set of lows only.
    normal_layout : str
    units : tuple of str
        Of a set in shards: those of the split that hold pairs.
    given : tuple of (low, normal)
        Of lists.
    """

    name: str
    split: str
    layout: str
    count: int
    identity: str
    root: Path = Path()
    normal_root: Path = Path()
    normal_layout: str = ""
    units: tuple[str, ...] = ()
    given: tuple[tuple[Piece, Piece], ...] = ()

    @property
    def two_sets(self) -> bool:
        """Whether lows and normals lie in two sets."""
        return self.root != self.normal_root

    def shards(self, kind: str = "low") -> tuple[list[str], list[str]]:
        """Paths of tars and of their indexes, those that hold the lows or the normals."""
        root = self.root if kind == "low" else self.normal_root
        return [str(shard_path(root, u)) for u in self.units], [str(index_path(root, u)) for u in self.units]

    def pairs(self) -> list[tuple[str, Piece, Piece]]:
        """Key, low and normal of every pair in order.

        Raises
        ------
        SetError
            When an index or list cannot be read.
        """
        if self.layout == "lists":
            return [(_key_of(low, i), low, normal) for i, (low, normal) in enumerate(self.given)]
        found = []
        lows, normals = self._pieces("low", self.root, self.layout), self._pieces("normal", self.normal_root, self.normal_layout)
        for (key, low), (other, normal) in zip(lows, normals, strict=True):
            if key != other:
                raise SetError(f"{self.normal_root}: {other} stands where {self.root} has {key}; gloam verify both")
            found.append((key, low, normal))
        return found

    def _pieces(self, kind: str, root: Path, layout: str) -> list[tuple[str, Piece]]:
        """Keys and images of one kind, in order."""
        if layout != SHARDS:
            return [(Path(name).stem, Piece(str(root / name))) for name in self.listed(kind)]
        found = []
        for unit in self.units:
            tar = str(shard_path(root, unit))
            for members in read_index(index_path(root, unit)):
                member = next(member for member in members if member.ending.partition(".")[0] == kind)
                found.append((member.name.partition(".")[0], Piece(tar, member.offset, member.size)))
        return found

    def list_path(self, kind: str) -> Path:
        """Of a set in files: the list of its lows or normals, as `fn.readers.file` takes it."""
        return (self.root if kind == "low" else self.normal_root) / "lists" / f"{self.split}-{kind}.txt"

    def listed(self, kind: str) -> list[str]:
        """Paths in that list."""
        try:
            lines = self.list_path(kind).read_text("utf-8").splitlines()
        except OSError as error:
            raise SetError(f"{error.filename}: {error.strerror}") from error
        return [line.rpartition(" ")[0] for line in lines]


def contents_of(data: str | Path | Sequence[Any], split: str, normals: str | Path | None = None) -> Contents:
    """What a loader was given.

    Parameters
    ----------
    data : str, Path or sequence
        A set's folder, or (low, normal) pairs, each a path or bytes.
    split : str
        "train" or "val", of a set.
    normals : str or Path, optional
        Of a set of lows only: the set that it was made from.

    Raises
    ------
    SetError
        When the set is half built, or an index or list is missing or not the one that was built; or when it holds lows only and
        `normals` is not its origin.
    LoaderError
        When a list is empty, or mixes local and s3 paths.
    """
    if isinstance(data, str | Path):
        if str(data).startswith("s3://"):
            raise LoaderError(
                f"{data}: a set on s3 is read with gloam.loaders.pipelines.webdataset_pairs, given its shards and indexes"
            )
        return _of_set(Path(data), split, None if normals is None else Path(normals))
    if normals is not None:
        raise LoaderError("normals= goes with a set of lows only, not with a list of pairs")
    pieces = tuple((_piece(low), _piece(normal)) for low, normal in _two_each(data))
    if not pieces:
        raise LoaderError("the list of pairs is empty")
    digest = hashlib.sha256()
    for pair in pieces:
        for piece in pair:
            digest.update(piece.path.encode() + b"\0" if piece.data is None else hashlib.sha256(piece.data).digest())
    return Contents("list of pairs", split, "lists", len(pieces), digest.hexdigest()[:16], given=pieces)


def _of_set(root: Path, split: str, normals: Path | None) -> Contents:
    info = read_set(root)
    normal_layout = check_normals(root, info, normals).layout
    if split not in SPLITS:
        raise LoaderError(f"split {split!r}: must be one of {', '.join(SPLITS)}")
    units = tuple(unit for unit, pairs in info.units.items() if pairs and unit.rpartition("-")[0] == split)
    count = sum(info.units[unit] for unit in units)
    if not count:
        raise LoaderError(f"{root}: has no pairs in {split}; it has " + ", ".join(f"{s} {n}" for s, n in info.counts.items()))
    normal_root = normals or root
    for folder, layout in {root: info.layout, normal_root: normal_layout}.items():
        if layout == SHARDS:
            for unit in units:
                _check_unit(folder, unit)
            _check_list(folder, split, "shards", [shard_path(Path(), unit).as_posix() for unit in units])
    contents = Contents(
        str(root), split, info.layout, count, f"{info.sha256[:16]}-{split}", root, normal_root, normal_layout, units
    )
    for kind, layout in (("low", info.layout), ("normal", normal_layout)):
        if layout != SHARDS and len(contents.listed(kind)) != count:
            raise SetError(
                f"{contents.list_path(kind)}: has {len(contents.listed(kind))} lines, the set {count} pairs; "
                "gloam verify says what was changed"
            )
    return contents


def _check_unit(root: Path, unit: str) -> None:
    """That tar and index are those of the receipt: sizes, and for the small index its bytes too."""
    for name, facts in read_receipt(root, unit).file_dicts().items():
        path = root / name
        try:
            size = path.stat().st_size
            fresh = size == facts["bytes"] and (
                path.suffix != ".idx" or hashlib.sha256(path.read_bytes()).hexdigest() == facts["sha256"]
            )
        except OSError as error:
            raise SetError(f"{path}: {error.strerror or error}; gloam build with the set's options makes it again") from error
        if not fresh:
            raise SetError(f"{path}: is not the one that was built; gloam build with the set's options makes it again")


def _check_list(root: Path, split: str, kind: str, expected: list[str]) -> None:
    path = root / "lists" / f"{split}-{kind}.txt"
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise SetError(f"{path}: {error.strerror or error}") from error
    if lines != expected:
        strange = sorted(set(lines) - set(expected)) or ["its order"]
        raise SetError(f"{path}: {strange[0]} does not belong to the set; gloam verify says what was changed")


def _two_each(data: Sequence[Any]) -> Sequence[tuple[Any, Any]]:
    for i, pair in enumerate(data):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise LoaderError(f"entry {i} of the list is not a (low, normal) pair")
    remote = {str(item).startswith("s3://") for pair in data for item in pair if not isinstance(item, bytes)}
    if remote == {True, False}:
        raise LoaderError("the list mixes local and s3 paths; stage the s3 part first")
    if remote == {True}:
        raise LoaderError("s3 paths cannot be read from a list; stage them first")
    return data


def _piece(item: Any) -> Piece:
    return Piece(data=item) if isinstance(item, bytes) else Piece(os.fspath(item))


def _key_of(low: Piece, i: int) -> str:
    return Path(low.path).stem if low.path else str(i)


def pairs_in(lows: str | Path, normals: str | Path) -> list[tuple[str, str]]:
    """The (low, normal) paths of two folders, matched by relative path without suffix: LOL's `low` and `high`, say, or
    `train/img` and `train/gt`.

    Raises
    ------
    LoaderError
        When a folder is missing or empty, or an image has no partner.
    """
    found = []
    for folder in (Path(lows), Path(normals)):
        if not folder.is_dir():
            raise LoaderError(f"{folder}: not a folder")
        files = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in SUFFIXES and path.is_file()]
        found.append({path.relative_to(folder).with_suffix("").as_posix(): str(path) for path in files})
    alone = sorted(found[0].keys() ^ found[1].keys())
    if alone or not found[0]:
        raise LoaderError(f"{lows}, {normals}: " + (f"{alone[0]} is in one of them only" if alone else "hold no images"))
    return [(found[0][name], found[1][name]) for name in found[0]]
