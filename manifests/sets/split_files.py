"""The files of a set's split, checked, and its labels, as columns, for what reads all: loaders."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...errors import LoaderError, SetError
from ...storage.parquet import read_named
from ...storage.stores import Place, as_path
from ...storage.untrusted import inside
from ..labels.label_table import read_about
from ..labels.photo_labels import MASK
from ..selection.plan import SPLITS
from .info import PAIRS
from .layouts import layout_named
from .layouts.extents import Extent, Extents
from .layouts.layout import Layout
from .pair_set import PairSet
from .stage import ShardCache
from .stored_labels import LABEL_COLUMNS, LabelRows, Whole, label_rows

_HERE = Place()


@dataclass(frozen=True)
class SplitFiles:
    """The samples of one split, of a set or a list.

    name: of the set or the list, for messages.
    layout: of a set; a list has none.
    identity: changes when the pairs or their order change; states are tied to it.
    normal_root: folder of the set that holds its normals: the same one, but for a set of lows only.
    units: of a set: those of the split that hold pairs.
    given: sequence of (low, normal), or of normals; of lists: paths or bytes; or of clips.
    live: whether lows are made when a pair is read: there are normals only then, and `root` and
      `layout` are those of the set that holds them.
    cache: of a set in a store: copies of its shards.
    frames: of each sample.
    """

    name: str
    split: str
    layout: Layout | None
    count: int
    identity: str
    root: Place = _HERE
    normal_root: Place = _HERE
    normal_layout: Layout | None = None
    units: tuple[str, ...] = ()
    given: Sequence[Any] = ()
    live: bool = False
    cache: ShardCache | None = None
    frames: int = 1

    @property
    def remote(self) -> bool:
        """True if any file is in an object store, which gloam reads by ranges."""
        return self.root.remote or self.normal_root.remote

    @property
    def two_sets(self) -> bool:
        """True if lows and normals are in different sets."""
        return self.root != self.normal_root


def open_files(
    data: PairSet | Sequence[Any],
    split: str,
    *,
    live: bool = False,
    cache: Any | None = None,
    cache_gb: float | None = None,
) -> SplitFiles:
    """Find the samples that a loader is to read.

    data: a set, or (low, normal) pairs, each a path or bytes.
    live: make lows when a pair is read; a list may then hold normals alone.
    cache, cache_gb: the folder that shards of a set in a store are copied to while they are loaded,
      and what the copies may take. What lies as near as it can is not copied.

    Raises SetError when an index or list of a set is missing or not the one that was built;
    LoaderError when a list is empty, the shards of a set do not lie in a store alone, or the folder
    is none.
    """
    if split not in SPLITS:
        raise LoaderError(f"split {split!r}: must be one of {', '.join(SPLITS)}")
    if isinstance(data, PairSet):
        files = open_split(data, split, live)
    else:
        files = _files_of_list(data, split, live)
    return replace(files, cache=_shard_cache(files, cache, cache_gb))


def _files_of_list(data: Sequence[Any], split: str, live: bool) -> SplitFiles:
    """Return the samples of a list of pairs or, of one whose lows are made live, of its normals."""
    given, digest = data, hashlib.sha256()
    odd = "neither a path nor bytes, nor a pair" if live else "no pair of paths or bytes"
    if live:
        given = [one[1] if isinstance(one, tuple) and len(one) == 2 else one for one in data]
    for i, item in enumerate(given):
        if not live and (not isinstance(item, tuple | list) or len(item) != 2):
            raise LoaderError(f"entry {i} of the list is not a (low, normal) pair")
        for one in [item] if live else item:
            if isinstance(one, bytes):
                digest.update(hashlib.sha256(one).digest())
            elif isinstance(one, str | os.PathLike):
                digest.update(os.fspath(one).encode("utf-8", "surrogatepass") + b"\0")
            else:
                raise LoaderError(f"entry {i} of the list is {odd}")
    if not given:
        raise LoaderError("the list of pairs is empty")
    name, identity = f"list of {'photographs' if live else 'pairs'}", digest.hexdigest()[:16]
    return SplitFiles(name, split, None, len(given), identity, given=given, live=live)


def open_split(pairs: PairSet, split: str, live: bool) -> SplitFiles:
    """Find the samples of a set's split, and check what is read of them.

    live: the normals alone are read, as lows are made of them.

    Raises SetError when a list or an index is missing or not the one that was built; LoaderError
    when the split is empty.
    """
    pairs.check_normals()
    root, info = pairs.root, pairs.info
    units = tuple(unit.name for unit in pairs.units(split) if unit.count)
    count = sum(info.units[unit] for unit in units)
    if not count:
        held = ", ".join(f"{s} {n}" for s, n in info.counts.items() if s != "refused")
        what = "clips" if pairs.frames else "pairs"
        raise LoaderError.at(root, f"has no {what} in {split}; it has {held}")
    name, normal_root = str(root), pairs.normals or root
    layout, normal_layout = layout_named(pairs.layout), layout_named(pairs.normal_layout)
    if live:
        root, layout = normal_root, normal_layout
    for folder, own in {root: layout, normal_root: normal_layout}.items():
        roles = ["low"] * (folder == root and not live) + ["normal"] * (folder == normal_root)
        own.check(folder, split, units, count, roles)
    identity = f"{info.sha256[:16]}-{split}"
    of_normals = normal_root, normal_layout
    return SplitFiles(name, split, layout, count, identity, root, *of_normals, units, live=live)


def _shard_cache(files: SplitFiles, cache: Any | None, cache_gb: float | None) -> ShardCache | None:
    if cache is None:
        if cache_gb is not None:
            raise LoaderError("cache_gb goes with cache=FOLDER")
        return None
    target = as_path(cache)
    if target.remote:
        raise LoaderError(f"cache={cache}: must be a folder of this machine")
    if not files.root.remote:
        return None
    if files.layout is None or files.layout.name != "shards" or files.two_sets:
        raise LoaderError(
            f"{files.name}: cache= is for one set in shards; gloam stage copies any set"
        )
    limit = None if cache_gb is None else int(cache_gb * 1e9)
    identity = files.identity.rpartition("-")[0]
    return ShardCache(target, limit, identity, files.root, files.units)


class StepLabels(NamedTuple):
    """The labels of some pairs, to be moved where their images are decoded.

    masks: where they lie; none of a set without.
    """

    rows: LabelRows
    roles: tuple[str, ...]
    masks: list[Extent]


@dataclass(frozen=True)
class LabelColumns:
    """The labels of a split.

    roles: which of "cls", "boxes", "classes", "mask" the set has.
    names: of its classes, by their numbers.
    rows: those of all its pairs.
    masks: where each mask lies.
    """

    roles: tuple[str, ...]
    names: list[str]
    rows: LabelRows
    masks: Extents | None

    @cached_property
    def _ends(self) -> Whole:
        return np.concatenate([[0], np.cumsum(self.rows.counts)]).astype(np.int64)

    def of_step(self, numbers: Whole, nearest: Callable[[Extent], Extent]) -> StepLabels:
        """Return the labels of a step's pairs.

        nearest: says where a mask is read.
        """
        starts, counts = self._ends[numbers], self.rows.counts[numbers]
        first = np.repeat(starts - np.cumsum(counts) + counts, counts)
        places = first + np.arange(int(counts.sum()))
        of_objects = (column[places] for column in self.rows[2:])
        rows = LabelRows._make((self.rows.numbers[numbers], counts, *of_objects))
        masks = [] if self.masks is None else map(self.masks.__getitem__, numbers.tolist())
        return StepLabels(rows, self.roles, [nearest(one) for one in masks])


def read_label_columns(pairs: PairSet | Sequence[Any], files: SplitFiles) -> LabelColumns:
    """Read the labels of a split.

    Raises LoaderError when there are none, as of a list; SetError when they cannot be read.
    """
    if not isinstance(pairs, PairSet) or not pairs.info.build.labelled:
        raise LoaderError(
            f"{files.name}: has no labels; gloam build --labels carries those of its sources"
        )
    names, roles = read_about(pairs.root)
    path = inside(pairs.root, PAIRS)
    table = read_named(path, LABEL_COLUMNS)
    rows = label_rows(path, table, len(names), files.split)
    if len(rows.counts) != files.count:
        raise SetError(f"{pairs.root}: {PAIRS} has {len(rows.counts)} rows; gloam verify the set")
    masks = None
    if MASK in roles:
        assert files.layout is not None
        place = files.root, files.split, files.units, (MASK,)
        masks = files.layout.extents(*place, held=False)[1][0]
    return LabelColumns(roles, names, rows, masks)
