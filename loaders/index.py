"""What there is to load: the pairs of one split of a set, or of lists of one's own, as columns that
say where each image lies."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import LoaderError, SetError, SourceError
from ..manifests.images.folders import image_files
from ..manifests.sets.layout import SHARDS
from ..manifests.sets.pair_set import SPLITS, PairSet, open_set
from ..manifests.sets.receipts import read_receipt
from ..manifests.sets.shards import index_path, read_places, shard_path
from .columns import Files, GivenPairs, Pairs, SetPairs, Tarred, Texts


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
    given : sequence of (low, normal)
        Of lists: paths or bytes.
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
    given: Sequence[Any] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name != "pairs"
        }  # read again where it is wanted

    @property
    def two_sets(self) -> bool:
        """Whether lows and normals lie in two sets."""
        return self.root != self.normal_root

    def shards(self, kind: str = "low") -> tuple[list[str], list[str]]:
        """Paths of tars and of their indexes, those that hold the lows or the normals."""
        root = self.root if kind == "low" else self.normal_root
        return [str(shard_path(root, u)) for u in self.units], [
            str(index_path(root, u)) for u in self.units
        ]

    @cached_property
    def pairs(self) -> Pairs:
        """Every pair in order, read from indexes and lists when first asked for.

        Raises
        ------
        SetError
            When an index or list cannot be read.
        """
        if self.layout == "lists":
            return GivenPairs(self.given)
        if self.layout == SHARDS and not self.two_sets:
            keys, tarred = self._tarred(self.root, ("low", "normal"))
            return SetPairs(keys, *tarred)
        low_keys, lows = self._column("low", self.root, self.layout)
        normal_keys, normals = self._column("normal", self.normal_root, self.normal_layout)
        for number in range(self.count):
            if low_keys[number] != normal_keys[number]:
                where = (
                    f"{self.normal_root}: {normal_keys[number]} stands where {self.root} has"
                    f" {low_keys[number]}"
                )
                raise SetError(f"{where}; gloam verify both")
        return SetPairs(low_keys, lows, normals)

    def _column(self, kind: str, root: Path, layout: str) -> tuple[Texts, Tarred | Files]:
        """Keys and images of one kind, in order."""
        if layout != SHARDS:
            names = self.listed(kind)
            return Texts(Path(name).stem for name in names), Files(str(root), Texts(names))
        keys, (images,) = self._tarred(root, (kind,))
        return keys, images

    def _tarred(self, root: Path, kinds: tuple[str, ...]) -> tuple[Texts, list[Tarred]]:
        """Keys, and images of each kind, in order, by the indexes of the shards."""
        keys: list[str] = []
        parts: list[npt.NDArray[np.int64]] = []
        for unit in self.units:
            unit_keys, places = read_places(index_path(root, unit), kinds)
            keys += unit_keys
            parts.append(places)
        paths = tuple(str(shard_path(root, unit)) for unit in self.units)
        tars = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
        places = np.concatenate(parts)
        return Texts(keys), [Tarred(paths, tars, *places[:, k].T.copy()) for k in range(len(kinds))]

    def list_path(self, kind: str) -> Path:
        """Of a set in files: the list of its lows or normals, as `fn.readers.file` takes it."""
        return (
            (self.root if kind == "low" else self.normal_root)
            / "lists"
            / f"{self.split}-{kind}.txt"
        )

    def listed(self, kind: str) -> list[str]:
        """Paths in that list."""
        try:
            lines = self.list_path(kind).read_text("utf-8").splitlines()
        except OSError as error:
            raise SetError(f"{error.filename}: {error.strerror}") from error
        return [line.rpartition(" ")[0] for line in lines]


def contents_of(
    data: PairSet | str | Path | Sequence[Any], split: str, normals: str | Path | None = None
) -> Contents:
    """What a loader was given.

    Parameters
    ----------
    data : PairSet, str, Path or sequence
        A set, its folder, or (low, normal) pairs, each a path or bytes.
    split : str
        "train" or "val".
    normals : str or Path, optional
        Of a set of lows only: the set that it was made from.

    Raises
    ------
    SetError
        When the set is half built, or an index or list is missing or not the one that was built; or
        when it holds lows only and `normals` is not its origin.
    LoaderError
        When a list is empty, or mixes local and s3 paths.
    """
    if split not in SPLITS:
        raise LoaderError(f"split {split!r}: must be one of {', '.join(SPLITS)}")
    if isinstance(data, str | Path) and str(data).startswith("s3://"):
        raise LoaderError(
            f"{data}: a set on s3 is read with gloam.loaders.dali.pipelines.webdataset_pairs,"
            " given its shards and indexes"
        )
    if isinstance(data, PairSet | str | Path):
        return _of_set(open_set(data, normals), split)
    if normals is not None:
        raise LoaderError("normals= goes with a set of lows only, not with a list of pairs")
    given = _two_each(data)
    if not given:
        raise LoaderError("the list of pairs is empty")
    digest = hashlib.sha256()
    for pair in given:
        for item in pair:
            digest.update(
                hashlib.sha256(item).digest()
                if isinstance(item, bytes)
                else os.fspath(item).encode() + b"\0"
            )
    return Contents(
        "list of pairs", split, "lists", len(given), digest.hexdigest()[:16], given=given
    )


def _of_set(pairs: PairSet, split: str) -> Contents:
    pairs.check_normals()
    root, info = pairs.root, pairs.info
    units = tuple(unit.name for unit in pairs.units(split) if unit.count)
    count = sum(info.units[unit] for unit in units)
    if not count:
        raise LoaderError(
            f"{root}: has no pairs in {split}; it has "
            + ", ".join(f"{s} {n}" for s, n in info.counts.items())
        )
    normal_root, normal_layout = pairs.normals or root, pairs.normal_layout
    for folder, layout in {root: info.layout, normal_root: normal_layout}.items():
        if layout == SHARDS:
            for unit in units:
                _check_unit(folder, unit)
            _check_list(
                folder, split, "shards", [shard_path(Path(), unit).as_posix() for unit in units]
            )
    contents = Contents(
        str(root),
        split,
        info.layout,
        count,
        f"{info.sha256[:16]}-{split}",
        root,
        normal_root,
        normal_layout,
        units,
    )
    for kind, layout in (("low", info.layout), ("normal", normal_layout)):
        if layout != SHARDS and len(contents.listed(kind)) != count:
            raise SetError(
                f"{contents.list_path(kind)}: has {len(contents.listed(kind))} lines, the set"
                f" {count} pairs; gloam verify says what was changed"
            )
    return contents


def _check_unit(root: Path, unit: str) -> None:
    """That tar and index are those of the receipt: sizes, and for the small index its bytes too."""
    for name, facts in read_receipt(root, unit).file_dicts().items():
        path = root / name
        try:
            size = path.stat().st_size
            fresh = size == facts["bytes"] and (
                path.suffix != ".idx"
                or hashlib.sha256(path.read_bytes()).hexdigest() == facts["sha256"]
            )
        except OSError as error:
            raise SetError(
                f"{path}: {error.strerror or error}; gloam build with the set's options makes it"
                " again"
            ) from error
        if not fresh:
            raise SetError(
                f"{path}: is not the one that was built; gloam build with the set's options makes"
                " it again"
            )


def _check_list(root: Path, split: str, kind: str, expected: list[str]) -> None:
    path = root / "lists" / f"{split}-{kind}.txt"
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise SetError(f"{path}: {error.strerror or error}") from error
    if lines != expected:
        strange = sorted(set(lines) - set(expected)) or ["its order"]
        raise SetError(
            f"{path}: {strange[0]} does not belong to the set; gloam verify says what was changed"
        )


def _two_each(data: Sequence[Any]) -> Sequence[tuple[Any, Any]]:
    for i, pair in enumerate(data):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise LoaderError(f"entry {i} of the list is not a (low, normal) pair")
    remote = {
        str(item).startswith("s3://")
        for pair in data
        for item in pair
        if not isinstance(item, bytes)
    }
    if remote == {True, False}:
        raise LoaderError("the list mixes local and s3 paths; stage the s3 part first")
    if remote == {True}:
        raise LoaderError("s3 paths cannot be read from a list; stage them first")
    return data


def pairs_in(lows: str | Path, normals: str | Path) -> list[tuple[str, str]]:
    """The (low, normal) paths of two folders, matched by relative path without suffix: LOL's `low`
    and `high`, say, or `train/img` and `train/gt`.

    Raises
    ------
    LoaderError
        When a folder is missing or empty, an image has no partner, or two of one folder have the
        same name but for the suffix.
    """
    try:
        found = [image_files(Path(folder)) for folder in (lows, normals)]
    except SourceError as error:
        raise LoaderError(str(error)) from None
    alone = sorted(found[0].keys() ^ found[1].keys())
    if alone:
        raise LoaderError(f"{lows}, {normals}: {alone[0]} is in one of them only")
    return [(str(found[0][name]), str(found[1][name])) for name in found[0]]
