"""The pairs of a split as columns of files, offsets and sizes; and reading and decoding one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

from ..errors import ImageRefused, LoaderError, SetError
from ..manifests.images.decode import decode, decode_as_rgb, is_deep
from ..manifests.images.header import check_size, read_header
from ..manifests.images.normals import encode
from ..manifests.images.npy import MAGIC, npy_as_png
from ..manifests.images.png import SIGNATURE
from ..manifests.images.tiff import MARKS
from ..manifests.sets.layouts.extents import Extent, Extents, Keys, TarKeys, Tarred, key_in
from ..storage.stores import in_store
from ..synth.kernels.arrays import Pixels
from ..synth.kernels.png.file import decode_png
from .order import Whole

NOTHING = Extent(data=b"")
_NEAR = 4096  # bytes between two members that are read at once
DECODERS = ("opencv", "pillow")


class StoredPair:
    """One pair: where its two images are; the low is nothing where it is made live.

    key: or where it stands: it is read when it is wanted.
    """

    __slots__ = ("_key", "low", "normal")

    def __init__(self, key: str | Extent, low: Extent, normal: Extent) -> None:
        self._key, self.low, self.normal = key, low, normal

    @property
    def key(self) -> str:
        """Key of the pair."""
        if isinstance(self._key, Extent):
            self._key = key_in(self._key)
        return self._key

    def moved(self, nearest: Callable[[Extent], Extent]) -> StoredPair:
        """Return the pair with the location of its images mapped by a function."""
        return StoredPair(self._key, nearest(self.low), nearest(self.normal))

    @property
    def remote(self) -> bool:
        """True if an image is in an object store, and in no copy here."""
        return in_store(self.low.path) or in_store(self.normal.path)

    def fetched(self) -> StoredPair:
        """Return the pair with its images read, as by `read_together`."""
        both = self.low, self.normal
        read = zip(both, read_together(both), strict=True)
        return StoredPair(self._key, *(replace(one, data=data) for one, data in read))


class Ranges(NamedTuple):
    """Places of the images of N samples, K of each, as columns.

    file: int64 array (N, K); which of the paths each is in.
    begin, size: int64 arrays (N, K); its first byte there, and its bytes.
    """

    paths: Sequence[str]
    file: Whole
    begin: Whole
    size: Whole


@dataclass(frozen=True)
class SetPairs:
    """Pairs of a set; without lows if these are made live.

    A set in tars takes 16 bytes a pair, whatever its size.
    """

    keys: Keys
    lows: Extents | None
    normals: Extents

    def __len__(self) -> int:
        return len(self.keys)

    def images(self, number: int, *, normal_alone: bool) -> tuple[Extent, ...]:
        """Return where a pair's images are, without its key: that takes half as long."""
        normal = self.normals[number]
        return (normal,) if normal_alone or self.lows is None else (self.lows[number], normal)

    def ranges(self, numbers: Whole, *, normal_alone: bool) -> Ranges | None:
        """Return where the images of pairs are, as columns; None of a set that is not in tars."""
        alone = normal_alone or self.lows is None
        paths: list[str] = []
        columns = []
        for members in (self.normals,) if alone else (self.lows, self.normals):
            if not isinstance(members, Tarred):
                return None
            tar, begin, size = members.ranges(numbers)
            columns.append((tar + len(paths), begin, size))
            paths += members.paths
        return Ranges(paths, *np.stack(columns, axis=-1))

    def __getitem__(self, number: int) -> StoredPair:
        low = NOTHING if self.lows is None else self.lows[number]
        key = self.keys.extent(number) if isinstance(self.keys, TarKeys) else self.keys[number]
        return StoredPair(key, low, self.normals[number])


@dataclass(frozen=True)
class GivenPairs:
    """Pairs of a list: paths or bytes, and their keys."""

    given: Sequence[Any]
    keys: Sequence[str]

    def __len__(self) -> int:
        return len(self.given)

    def images(self, number: int, *, normal_alone: bool) -> tuple[Extent, ...]:
        """Return where a pair's images are."""
        pair = self[number]
        return (pair.normal,) if normal_alone else (pair.low, pair.normal)

    def __getitem__(self, number: int) -> StoredPair:
        low, normal = map(_extent, self.given[number])
        return StoredPair(self.keys[number], low, normal)


class GivenNormals(GivenPairs):
    """Normals of a list, for live lows: paths or bytes, and their keys."""

    def __getitem__(self, number: int) -> StoredPair:
        return StoredPair(self.keys[number], NOTHING, _extent(self.given[number]))


Pairs = SetPairs | GivenPairs
"""The pairs of a split in order, each created on access; so are keys if that takes less memory."""


def list_keys(items: Sequence[Any]) -> list[str]:
    """Return a key for each photograph of a list.

    It is the name without its suffix or, where two have the same, the path; of bytes the number.
    """
    names = [
        str(i) if isinstance(item, bytes) else Path(os.fspath(item)).stem
        for i, item in enumerate(items)
    ]
    seen = Counter(names)
    return [
        name if seen[name] == 1 or isinstance(item, bytes) else os.fspath(item)
        for name, item in zip(names, items, strict=True)
    ]


def read_extent(extent: Extent) -> bytes:
    """Read the bytes of an image; a `.npy` file's become PNG, which every decoder reads.

    Raises LoaderError when its file cannot be read, or ends before them, or holds an array that is
    no image.
    """
    try:
        data = extent.read()
        return npy_as_png(data) if data.startswith(MAGIC) else data
    except SetError as error:
        raise LoaderError(str(error), path=error.path) from error
    except ImageRefused as refusal:
        raise LoaderError(f"{extent.path}: cannot be read: {refusal.detail}") from None


def encoded_alike(extent: Extent, data: bytes) -> bytes:
    """Return an image as all decoders show it alike: a TIFF becomes a PNG of 8 bits.

    Raises LoaderError when it is a TIFF that cannot be decoded, or has too many pixels.
    """
    try:
        if not data.startswith(MARKS):
            check_size(data)
            return data
        return encode(decode_as_rgb(data, colours=False), "png")
    except ImageRefused as refusal:
        raise LoaderError(f"{extent.path}: cannot be decoded: {refusal.detail}") from None


def undecodable(pair: StoredPair, member: str, why: str, of_set: bool) -> LoaderError:
    """Return the error for an image that cannot be decoded, naming it and a remedy."""
    piece = pair.low if member == "low" else pair.normal
    mend = "gloam verify the set, gloam build mends it" if of_set else "leave it out"
    where = piece.named(pair.key, member)
    return LoaderError(f"{where} cannot be decoded: {why}; {mend}", key=pair.key)


def read_together(extents: Sequence[Extent]) -> tuple[bytes, ...]:
    """Read images; those that lie side by side in a tar as one range.

    Raises LoaderError as `read_extent`.
    """
    path, sizes = extents[0].path, [one.size for one in extents]
    if len(extents) > 1 and min(sizes) > 0 and all(one.path == path for one in extents):
        begin = min(one.offset for one in extents)
        end = max(one.offset + one.size for one in extents)
        if end - begin < sum(sizes) + _NEAR * (len(extents) - 1):
            data = read_extent(Extent(path, begin, end - begin))
            return tuple(data[one.offset - begin :][: one.size] for one in extents)
    return tuple(map(read_extent, extents))


def _extent(item: Any) -> Extent:
    return Extent(data=item) if isinstance(item, bytes) else Extent(os.fspath(item))


class ReadyBatch(NamedTuple):
    """A finished batch, passed through a DataLoader in place of a sample's number."""

    batch: tuple[Any, ...]


def first_batch(samples: list[ReadyBatch]) -> tuple[Any, ...]:
    """Collate the one batch that a DataLoader was given as its samples."""
    return samples[0].batch


def decoded_pair(pair: StoredPair, decoder: str, of_set: bool) -> tuple[Pixels, Pixels]:
    """Decode both images of a pair.

    decoder: "opencv" or "pillow".
    of_set: whether it is a set's pair, or two files as they come.

    Raises LoaderError naming the image that cannot be read or decoded, or the pair whose images
    differ in size.
    """
    low, normal = (decoded_member(pair, name, decoder, of_set) for name in ("low", "normal"))
    check_one_shape(pair, low.shape[:2], normal.shape[:2])
    return low, normal


def normal_of(pair: StoredPair, of_set: bool) -> Pixels:
    """Decode a pair's normal as lows are made from it: with libjpeg-turbo, exactly.

    of_set: whether it is a set's normal, or a photograph as it comes.

    Raises LoaderError naming the image that cannot be read or decoded.
    """
    data = read_extent(pair.normal)
    try:
        if of_set:
            return decode(data, "png" if data.startswith(SIGNATURE) else "jpg")
        read_header(data)  # refuses what is too large
        return decode_as_rgb(data, colours=False)  # as DALI does
    except ImageRefused as refusal:
        raise undecodable(pair, "normal", refusal.detail, of_set) from None


def decoded_member(
    pair: StoredPair, member: str, decoder: str, of_set: bool, by_kernels: bool = True
) -> Pixels:
    """Decode the low or the normal of a pair; see `decoded_pair`.

    by_kernels: whether gloam's own kernels may decode a PNG.
    """
    try:
        return _decoded(read_extent(getattr(pair, member)), decoder, by_kernels)
    except ImageRefused as refusal:
        raise undecodable(pair, member, refusal.detail, of_set) from None


def check_one_shape(pair: StoredPair, low: tuple[int, ...], normal: tuple[int, ...]) -> None:
    """Check that both images of a pair have one height and width: they are cut alike.

    Raises LoaderError naming the pair.
    """
    if low != normal:
        sizes = " and ".join(f"{height} x {width}" for height, width in (low, normal))
        raise LoaderError(
            f"{pair.low.named(pair.key, 'low')}: low and normal differ in size: {sizes} (height x"
            " width, upright); crop one of them, or leave the pair out",
            key=pair.key,
        )


def check_one_size(shapes: Sequence[Sequence[int]]) -> None:
    """Check that images that are to be one tensor have one shape.

    Raises LoaderError when they do not.
    """
    found = sorted({tuple(shape) for shape in shapes})
    if len(found) > 1:
        raise LoaderError(
            f"images of one batch have different sizes ({', '.join(map(str, found[:3]))}): give"
            " size=, pad=True or batch_size=1"
        )


def _decoded(data: bytes, decoder: str, by_kernels: bool) -> Pixels:
    pixels = decode_png(np.frombuffer(data, np.uint8)) if by_kernels else None
    if pixels is not None:
        return pixels
    # OpenCV does not turn AVIF, and knows no HEIC; their files begin with a box that is called so.
    by_opencv = decoder == "opencv" and data[4:8] != b"ftyp" and not is_deep(data)
    if by_opencv and check_size(data):
        with suppress(cv2.error):
            image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
            if image is not None:
                return image  # type: ignore[return-value]
    # Pillow, and what OpenCV cannot read; it says what is wrong with a damaged image.
    return decode_as_rgb(data, colours=False)
