"""The pairs to load: those of one split of a set, or of lists of one's own.

Columns say where each image lies.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np
import numpy.typing as npt

from ..errors import GloamError, GloamWarning, ImageRefused, LoaderError, SetError
from ..manifests.images.header import read_header
from ..manifests.open_data import list_pairs
from ..manifests.real.rules import Match
from ..manifests.sets.layouts.extents import Extent, Extents, Keys, TarKeys
from ..manifests.sets.layouts.layout import Layout
from ..manifests.sets.layouts.shard_tar import shard_path
from ..manifests.sets.split_files import SplitFiles
from ..storage.stores import in_store
from ..synth.clips import frame_name
from ..synth.kernels.arrays import Pixels
from ..synth.kernels.png.file import decode_pngs, png_size
from ..synth.measures.wrong_pairs import are_swapped, mean_level, swapped_warning, warn_of_few_bits
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
class Contents(SplitFiles):
    """The pairs of one split, and how one is decoded."""

    of_clips: ClassVar[bool] = False

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name != "pairs"
        }  # read again where it is wanted

    def size_of(self, sample: StoredSample) -> tuple[int, int]:
        """Return height and width of a sample's images, by its first normal.

        Raises ImageRefused, LoaderError when it cannot be read.
        """
        header = read_header(read_extent(sample.normals[0]))
        return header.height, header.width

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
            keys, normals = self._extent_columns(self.root, self.layout, "normal")
            return SetPairs(keys, (), normals)
        if not self.two_sets:
            keys, both = self._extent_columns(self.root, self.layout, "low", "normal")
            return SetPairs(keys, both[: self.frames], both[self.frames :])
        low_keys, lows = self._extent_columns(self.root, self.layout, "low")
        normal_keys, normals = self._extent_columns(self.normal_root, self.normal_layout, "normal")
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
        return self._decode_frames(sample, "normal", self._exact)

    def images_of(self, sample: StoredSample, decoder: str) -> tuple[list[Pixels], list[Pixels]]:
        """Decode the lows and the normals of a sample; the normals twice where lows are made.

        decoder: of stored pairs, "opencv" or "pillow"; others are decoded as lows are made of them.

        Raises LoaderError naming the image that cannot be read or decoded, or the pair whose images
        differ in size.
        """
        if self.live:
            return (self.normals_of(sample),) * 2
        by = self._exact if self.of_clips else partial(pixels_by, decoder)
        lows, normals = (self._decode_frames(sample, role, by) for role in ("low", "normal"))
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
        return self._decode_frames(sample, "low", by)

    def keys_of(self, numbers: Iterable[int]) -> list[str]:
        """Return the keys of samples, by their numbers."""
        keys, own = self.pairs.keys, [int(number) for number in numbers]
        return keys.of(own) if isinstance(keys, TarKeys) else [keys[number] for number in own]

    def _exact(self, extent: Extent) -> Pixels:
        return exact_pixels(extent, self.layout is not None)

    def _decode_frames(
        self, sample: StoredSample, role: str, decode: Callable[[Extent], Pixels]
    ) -> list[Pixels]:
        """Decode the lows or the normals of a sample's frames."""
        frames = []
        extents = sample.lows if role == "low" else sample.normals
        for extent, name in zip(extents, self._member_names(role), strict=True):
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

    def _member_names(self, role: str) -> list[str]:
        """Return the names of a sample's lows or normals in a set."""
        return [frame_name(role, i) for i in range(self.frames)] if self.of_clips else [role]

    def _extent_columns(
        self, root: Path, layout: Layout | None, *roles: str
    ) -> tuple[Keys, tuple[Extents, ...]]:
        assert layout is not None
        # Reading a key where it stands costs nothing locally, and a request in a store.
        held = self.two_sets or in_store(root)
        names = tuple(name for role in roles for name in self._member_names(role))
        keys, members = layout.extents(root, self.split, self.units, names, held=held)
        return keys, tuple(members)


def warn_of_pictures(contents: Contents, size: tuple[int, int] | None = None) -> None:
    """Warn of a list whose files seem to hold few bits, and of pictures that `size` enlarges."""
    if contents.layout is None and not contents.of_clips:
        lists = (contents.given,) if contents.live else zip(*contents.given, strict=True)
        warn_of_few_bits(contents.name, *lists)
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
    if normals is None or not (said := _swapped_by_a_look(str(lows), found)):
        return found
    warnings.warn(said, GloamWarning, stacklevel=2)
    return SaidSwapped(found)


def _swapped_by_a_look(where: str, pairs: Sequence[Any]) -> str:
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
