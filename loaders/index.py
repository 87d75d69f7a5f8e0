"""The pairs to load: those of one split of a set, or of lists of one's own.

Columns say where each image lies.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np
import numpy.typing as npt

from ..errors import GloamError, GloamWarning, ImageRefused, LoaderError, SetError, SourceError
from ..manifests.images.header import read_header
from ..manifests.real.rules import Match, match_files
from ..manifests.selection.plan import SPLITS
from ..manifests.sets.layouts import layout_named
from ..manifests.sets.layouts.extents import Extent, Extents, Keys, TarKeys
from ..manifests.sets.layouts.layout import Layout
from ..manifests.sets.layouts.shard_tar import shard_path
from ..manifests.sets.pair_set import PairSet, open_set
from ..manifests.sets.stage import ShardCache
from ..manifests.sources.folders import check_partners, image_files, list_images
from ..manifests.sources.matching import normalize_name
from ..storage.stores import as_path, in_store
from ..synth.clips import frame_name
from ..synth.kernels.arrays import Pixels
from ..synth.kernels.png.file import decode_pngs, png_size
from ..synth.measures.wrong_pairs import are_swapped, mean_level, swapped_warning
from .stored_pairs import (
    GivenPairs,
    Pairs,
    Ranges,
    SetPairs,
    StoredSample,
    check_one_shape,
    exact_pixels,
    list_keys,
    pixels_by,
    read_extent,
    read_together,
)

_ENLARGED = 3  # times; beyond it is said
_LOOKED_AT = 9  # pairs of two folders
_MOST_BYTES = 1 << 22  # of a file that is looked at


class SaidSwapped(list[Any]):
    """Pairs of which it was said already that lows and normals may be taken for one another."""


@dataclass(frozen=True)
class Contents:
    """The pairs of one split.

    name: of the set or the list, for messages.
    layout: of a set; a list has none.
    count: pairs.
    identity: changes when the pairs or their order change; states are tied to it.
    root: folder of a set.
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
    root: Path = Path()
    normal_root: Path = Path()
    normal_layout: Layout | None = None
    units: tuple[str, ...] = ()
    given: Sequence[Any] = ()
    live: bool = False
    cache: ShardCache | None = None
    frames: int = 1
    of_clips: ClassVar[bool] = False

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name != "pairs"
        }  # read again where it is wanted

    @property
    def remote(self) -> bool:
        """True if any file is in an object store, which gloam reads by ranges."""
        return in_store(self.root) or in_store(self.normal_root)

    def size_of(self, sample: StoredSample) -> tuple[int, int]:
        """Return height and width of a sample's images, by its first normal.

        Raises ImageRefused, LoaderError when it cannot be read.
        """
        header = read_header(read_extent(sample.normals[0]))
        return header.height, header.width

    @property
    def two_sets(self) -> bool:
        """True if lows and normals are in different sets."""
        return self.root != self.normal_root

    def nearest(self, extent: Extent) -> Extent:
        """Return the extent in a local copy of its shard, if there is one.

        Copies are made while a loader runs, so that this is asked whenever one is read.
        """
        if self.cache is None or extent.size < 0:
            return extent
        unit = Path(extent.path).stem
        return replace(extent, path=str(shard_path(self.cache.root_of(unit), unit)))

    def ranges(self, numbers: npt.NDArray[np.int64], *, normal_alone: bool) -> Ranges | None:
        """Return where many pairs are, as columns; None where they are not in tars here."""
        if self.remote or self.cache is not None or not isinstance(self.pairs, SetPairs):
            return None
        return self.pairs.ranges(numbers, normal_alone=normal_alone)

    def pair(self, number: int) -> StoredSample:
        """Return a pair, whose images are where they are nearest."""
        pair = self.pairs[number]
        return pair if self.cache is None else pair.moved(self.nearest)

    @cached_property
    def pairs(self) -> Pairs:
        """Every pair in order, read from indexes and lists on first access.

        Raises SetError when an index or list cannot be read.
        """
        if self.layout is None:
            if self.of_clips:
                return GivenPairs(self.given, [one.key for one in self.given])
            named = self.given if self.live else [low for low, _ in self.given]
            return GivenPairs(self.given, list_keys(named))
        if self.live:
            keys, normals = self._columns(self.root, self.layout, "normal")
            return SetPairs(keys, (), normals)
        if not self.two_sets:
            keys, both = self._columns(self.root, self.layout, "low", "normal")
            return SetPairs(keys, both[: self.frames], both[self.frames :])
        low_keys, lows = self._columns(self.root, self.layout, "low")
        normal_keys, normals = self._columns(self.normal_root, self.normal_layout, "normal")
        for number in range(self.count):
            if low_keys[number] != normal_keys[number]:
                where = (
                    f"{self.normal_root}: {normal_keys[number]} stands where {self.root} has"
                    f" {low_keys[number]}"
                )
                raise SetError(f"{where}; gloam verify both", path=self.normal_root)
        return SetPairs(low_keys, lows, normals)

    def normals_of(self, sample: StoredSample) -> list[Pixels]:
        """Decode the normal of a sample, or those of all its frames, as lows are made of them.

        Raises LoaderError naming the image that cannot be read or decoded.
        """
        return self._decoded(sample, "normal", self._exact)

    def images_of(self, sample: StoredSample, decoder: str) -> tuple[list[Pixels], list[Pixels]]:
        """Decode the lows and the normals of a sample; the normals twice where lows are made.

        decoder: of stored pairs, "opencv" or "pillow"; others are decoded as lows are made of them.

        Raises LoaderError naming the image that cannot be read or decoded, or the pair whose images
        differ in size.
        """
        if self.live:
            return (self.normals_of(sample),) * 2
        by = self._exact if self.of_clips else partial(pixels_by, decoder)
        lows, normals = (self._decoded(sample, role, by) for role in ("low", "normal"))
        check_one_shape(sample, lows[0].shape[:2], normals[0].shape[:2])
        return lows, normals

    def lows_of(self, sample: StoredSample, by_kernels: bool) -> list[Pixels]:
        """Decode the lows of a sample that gloam wrote as PNGs, all at once by its own kernels.

        by_kernels: False has OpenCV decode a pair's.
        """
        if by_kernels or self.of_clips:
            data = [np.frombuffer(one, np.uint8) for one in read_together(sample.lows)]
            size = png_size(data[0])
            made = np.empty((len(data), *(size or (0, 0)), 3), np.uint8)
            if size is not None and decode_pngs(data, made):
                return list(made)
        by = self._exact if self.of_clips else partial(pixels_by, "opencv", by_kernels=False)
        return self._decoded(sample, "low", by)

    def keys_of(self, numbers: Iterable[int]) -> list[str]:
        """Return the keys of samples, by their numbers."""
        keys, own = self.pairs.keys, [int(number) for number in numbers]
        return keys.of(own) if isinstance(keys, TarKeys) else [keys[number] for number in own]

    def _exact(self, extent: Extent) -> Pixels:
        return exact_pixels(extent, self.layout is not None)

    def _decoded(
        self, sample: StoredSample, role: str, decode: Callable[[Extent], Pixels]
    ) -> list[Pixels]:
        """Decode the lows or the normals of a sample's frames."""
        frames = []
        extents = sample.lows if role == "low" else sample.normals
        for extent, name in zip(extents, self._members(role), strict=True):
            try:
                frames.append(decode(extent))
            except ImageRefused as refusal:
                of_set = self.layout is not None
                mend = "gloam verify the set, gloam build mends it" if of_set else "leave it out"
                what = f"{extent.named(sample.key, name)} cannot be decoded: {refusal.detail}"
                raise LoaderError(f"{what}; {mend}", key=sample.key) from None
        if len({frame.shape for frame in frames}) > 1:
            raise LoaderError(f"{sample.key}: its frames differ in size", key=sample.key)
        return frames

    def _members(self, role: str) -> list[str]:
        """Return the names of a sample's lows or normals in a set."""
        return [frame_name(role, i) for i in range(self.frames)] if self.of_clips else [role]

    def _columns(
        self, root: Path, layout: Layout | None, *roles: str
    ) -> tuple[Keys, tuple[Extents, ...]]:
        assert layout is not None
        # Reading a key where it stands costs nothing locally, and a request in a store.
        held = self.two_sets or in_store(root)
        names = tuple(name for role in roles for name in self._members(role))
        keys, members = layout.extents(root, self.split, self.units, names, held=held)
        return keys, tuple(members)


def open_data(
    data: PairSet | str | Path | Sequence[Any], normals: str | Path | None
) -> PairSet | Sequence[Any]:
    """Open the set that a loader was given, or return the list.

    Raises SetError when the set cannot be opened; LoaderError when `normals` goes with a list, or
    it is neither a set nor a list.
    """
    if isinstance(data, PairSet | str | Path):
        return refuse_clips(open_set(data, normals))
    if not hasattr(data, "__getitem__") or isinstance(data, Mapping):  # an array is a list, too
        raise LoaderError(f"data={data!r}: must be the folder of a set, or a list of pairs")
    if normals is not None:
        raise LoaderError("normals= goes with a set of lows only, not with a list of pairs")
    return data


def refuse_clips(pairs: PairSet) -> PairSet:
    """Refuse a set of clips.

    Raises LoaderError when it is one.
    """
    if pairs.frames:
        why = f"holds clips of {pairs.frames} frames: ClipLoader reads them"
        raise LoaderError.at(pairs.root, why)
    return pairs


def contents_of(
    data: PairSet | str | Path | Sequence[Any], split: str, live: bool = False
) -> Contents:
    """Find the pairs of a loader.

    data: PairSet, str, Path or sequence; a set, its folder, or (low, normal) pairs, each a path or
      bytes.
    split: "train", "val" or "test".
    live: make lows when a pair is read; a list may then hold normals alone.

    Raises SetError when the set is half built, or an index or list is missing or not the one that
    was built; LoaderError when a list is empty.
    """
    if split not in SPLITS:
        raise LoaderError(f"split {split!r}: must be one of {', '.join(SPLITS)}")
    data = open_data(data, None)
    if isinstance(data, PairSet):
        return contents_of_set(data, split, live)
    given = _normals(data) if live else _two_each(data)
    if not given:
        raise LoaderError("the list of pairs is empty")
    digest = hashlib.sha256()
    for item in given if live else (item for pair in given for item in pair):
        digest.update(
            hashlib.sha256(item).digest()
            if isinstance(item, bytes)
            else os.fspath(item).encode("utf-8", "surrogatepass") + b"\0"
        )
    return Contents(
        "list of photographs" if live else "list of pairs",
        split,
        None,
        len(given),
        digest.hexdigest()[:16],
        given=given,
        live=live,
    )


def contents_of_set(pairs: PairSet, split: str, live: bool) -> Contents:
    """Find the pairs, or clips, of a set's split; see `contents_of`."""
    pairs.check_normals()
    root, info = pairs.root, pairs.info
    units = tuple(unit.name for unit in pairs.units(split) if unit.count)
    count = sum(info.units[unit] for unit in units)
    if not count:
        held = ", ".join(f"{s} {n}" for s, n in info.counts.items() if s != "refused")
        what = "clips" if pairs.frames else "pairs"
        raise LoaderError.at(root, f"has no {what} in {split}; it has {held}")
    normal_root = pairs.normals or root
    layout, normal_layout = layout_named(pairs.layout), layout_named(pairs.normal_layout)
    name = str(root)
    if live:
        root, layout = normal_root, normal_layout
    for folder, own in {root: layout, normal_root: normal_layout}.items():
        names = [
            name
            for name, place in (("low", root), ("normal", normal_root))
            if place == folder and not (live and name == "low")
        ]
        own.check(folder, split, units, count, names)
    return Contents(
        name,
        split,
        layout,
        count,
        f"{info.sha256[:16]}-{split}",
        root,
        normal_root,
        normal_layout,
        units,
        live=live,
    )


def warn_enlarged(contents: Contents, size: tuple[int, int] | None) -> None:
    """Warn where the first picture has to be enlarged by more than `_ENLARGED` to have a size."""
    if size is None or contents.remote:
        return
    try:
        height, width = contents.size_of(contents.pair(0))
    except (GloamError, OSError, LookupError, ValueError):  # it is said when read
        return
    factor = max(size[0] / height, size[1] / width)
    if factor > _ENLARGED:
        warnings.warn(
            f"{contents.name}: size {size[0]} x {size[1]} enlarges pictures {factor:.1f} times, as"
            f" the first has {height} x {width} (height x width); a smaller size= holds as much",
            GloamWarning,
            stacklevel=4,
        )


def _normals(data: Sequence[Any]) -> list[Any]:
    """Return the normals of a list of photographs, or of pairs."""
    given = [item[1] if isinstance(item, tuple) and len(item) == 2 else item for item in data]
    for i, item in enumerate(given):
        if not isinstance(item, str | bytes | os.PathLike):
            raise LoaderError(f"entry {i} of the list is neither a path nor bytes, nor a pair")
    return given


def _two_each(data: Sequence[Any]) -> Sequence[Any]:
    for i, pair in enumerate(data):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise LoaderError(f"entry {i} of the list is not a (low, normal) pair")
        if not all(isinstance(item, str | bytes | os.PathLike) for item in pair):
            raise LoaderError(f"entry {i} of the list is no pair of paths or bytes")
    return data


@overload
def pairs_in(
    lows: str | Path, normals: str | Path, *, match: Match | None = None
) -> list[tuple[str, str]]: ...


@overload
def pairs_in(lows: str | Path, normals: None = None) -> list[str]: ...


def pairs_in(
    lows: str | Path, normals: str | Path | None = None, *, match: Match | None = None
) -> list[tuple[str, str]] | list[str]:
    """Return the (low, normal) paths of two folders, matched by relative path without suffix.

    The folders are LOL's `low` and `high`, say, or `train/img` and `train/gt`. Of one folder alone
    it returns the paths of its photographs, for lows that are made live. Images in `.npy` files
    are taken as OpenCV's, blue first.

    Parameters
    ----------
    lows, normals : str or Path
    match : str or (str, str), optional
        A regular expression with capture groups that is found in the relative paths, suffix and
        all, or one for lows and one for normals: images in which all groups are equal are a pair.
        Named groups count by name, and those that both have. Several lows may have one normal.
        Sets of the field need none: see `gloam.real`.

    Raises
    ------
    LoaderError
        When a folder is missing or empty, an image has no partner, two of one folder have the
        same name but for the suffix, or two normals match one low.

    Warns
    -----
    GloamWarning
        When lows are brighter than their normals, by a look at some.

    Examples
    --------
    >>> import gloam
    >>> pairs = gloam.pairs_in("files/train/low", "files/train/normal")
    >>> len(pairs)
    4
    >>> pairs = gloam.pairs_in("files/train/low", "files/train/normal", match="(.*)[.]")
    >>> len(pairs)
    4
    """
    found = list_pairs(lows, normals, match)
    if normals is None or not (said := _look_at(str(lows), found)):
        return found
    warnings.warn(said, GloamWarning, stacklevel=2)
    return SaidSwapped(found)


def _look_at(where: str, pairs: Sequence[Any]) -> str:
    """Return a warning where lows and normals of files may be taken for one another.

    It looks at pairs that are evenly spread, until it is clear that they are not; loaders look at
    others, and at large files.
    """
    means: list[tuple[float, float]] = []
    for number in np.unique(np.linspace(0, len(pairs) - 1, min(_LOOKED_AT, len(pairs)))):
        try:
            if max(map(os.path.getsize, pairs[int(number)])) > _MOST_BYTES:
                return ""
            low, normal = map(mean_level, pairs[int(number)])
        except (ImageRefused, OSError):
            return ""
        means.append((low, normal))
        if not are_swapped(means):
            return ""
    return swapped_warning(where, means)


def list_pairs(
    lows: str | Path, normals: str | Path | None, match: Match | None = None
) -> list[Any]:
    """Return the pairs, or the photographs, of `pairs_in`, without a look at any."""
    if match is not None and normals is None:
        raise LoaderError("match= goes with two folders")
    folders = [Path(folder) for folder in (lows, normals) if folder is not None]
    try:
        if match is not None and normals is not None:
            first, second = (
                {
                    normalize_name(path.relative_to(folder).as_posix()): str(path)
                    for path in list_images(folder, npy=True)
                }
                for folder in folders
            )
            return match_files(first, second, match)
        found = [image_files(folder) for folder in folders]
        if len(found) == 2:
            check_partners(folders[0], found[0], folders[1], found[1])
    except SourceError as error:
        raise LoaderError(str(error)) from None
    if normals is None:
        return [str(path) for path in found[0].values()]
    return [(str(found[0][name]), str(found[1][name])) for name in found[0]]


def cached_in(contents: Contents, given: Mapping[str, Any]) -> Contents:
    """Have the shards of a set in a store copied to a folder while they are loaded.

    given: options of a loader, of which `cache` and `cache_gb` are taken.

    Raises LoaderError when they do not lie in a store as shards, or the folder is none.
    """
    folder, gigabytes = given.get("cache"), given.get("cache_gb")
    if folder is None:
        if gigabytes is not None:
            raise LoaderError("cache_gb goes with cache=FOLDER")
        return contents
    target = as_path(folder)
    if in_store(target):
        raise LoaderError(f"cache={folder}: must be a folder of this machine")
    if not in_store(contents.root):
        return contents  # it lies as near as it can
    if contents.layout is None or contents.layout.name != "shards" or contents.two_sets:
        raise LoaderError(
            f"{contents.name}: cache= is for one set in shards; gloam stage copies any set"
        )
    limit = None if gigabytes is None else int(gigabytes * 1e9)
    identity = contents.identity.rpartition("-")[0]
    copies = ShardCache(target, limit, identity, contents.root, contents.units)
    return replace(contents, cache=copies)
