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

from ..errors import ImageRefused, LoaderError, Reason, SetError
from ..manifests.clips.listing import frame_files, video_and_times
from ..manifests.images.decode import decode_as_rgb, is_deep, is_shown_otherwise
from ..manifests.images.header import check_size, read_header
from ..manifests.images.normals import encode
from ..manifests.images.npy import npy_as_png
from ..manifests.images.png import SIGNATURE
from ..manifests.sets.layouts.extents import Extent, Extents, Keys, TarKeys, Tarred, key_in
from ..manifests.sources import Location
from ..manifests.sources.containers import read
from ..storage.stores import in_store
from ..synth.input_images import decode_image
from ..synth.kernels.arrays import Pixels
from ..synth.kernels.png.file import decode_png
from .order import Whole

_NEAR = 4096  # bytes between two members that are read at once
_OF_DALI_ALONE = (b"\0\0\0\x0cjP  ", b"\xff\x4f\xff\x51", *(b"P%d" % n for n in range(1, 8)))
"""What JPEG 2000 and PNM begin with, which no other decoder here reads."""
_PICTURES = (".jpg", ".jpeg", ".png")
DECODERS = ("opencv", "pillow")


@dataclass(slots=True)
class StoredSample:
    """One pair or clip: where its images are, one of each frame; no lows where they are made live.

    where: its key, or where that stands: it is read when it is wanted.
    place: of a clip of files or of a video: where its frames are instead.
    """

    where: str | Extent
    lows: tuple[Extent, ...]
    normals: tuple[Extent, ...]
    place: Location | None = None

    @property
    def key(self) -> str:
        """Its key."""
        if isinstance(self.where, Extent):
            self.where = key_in(self.where)
        return self.where

    @property
    def of_video(self) -> bool:
        """True if it is a clip of a video."""
        return self.place is not None and frame_files(self.place) is None

    @property
    def of_pictures(self) -> bool:
        """True if the frames of a clip are JPEGs or PNGs."""
        files = () if self.place is None else frame_files(self.place)
        return files is not None and all(one.member.lower().endswith(_PICTURES) for one in files)

    @property
    def video(self) -> tuple[Location, list[int]]:
        """The file of a clip of a video, and the presentation times of its frames."""
        assert self.place is not None
        return video_and_times(self.place)

    def extents(self, normal_alone: bool) -> tuple[Extent, ...]:
        """Return where its lows and normals are, or the latter alone; other files are read."""
        if self.place is not None:
            files = frame_files(self.place) or ()
            return tuple(Extent(f"{one.container}/{one.member}", data=read(one)) for one in files)
        return self.normals if normal_alone else (*self.lows, *self.normals)

    def moved(self, nearest: Callable[[Extent], Extent]) -> StoredSample:
        """Return the sample with the location of its images mapped by a function."""
        lows, normals = (tuple(map(nearest, one)) for one in (self.lows, self.normals))
        return replace(self, lows=lows, normals=normals)

    @property
    def remote(self) -> bool:
        """True if an image of a pair is in an object store, and in no copy here.

        Processes read a clip's frames as they decode them.
        """
        return len(self.normals) == 1 and any(in_store(one.path) for one in self.extents(False))

    def fetched(self) -> StoredSample:
        """Return the pair with its images read, as by `read_together`."""
        every = self.extents(False)
        data = dict(zip(every, read_together(every), strict=True))
        return self.moved(lambda one: replace(one, data=data[one]))


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
    """Pairs or clips of a set; without lows if these are made live.

    A set in tars takes 16 bytes a pair, whatever its size.

    lows, normals: of each frame.
    """

    keys: Keys
    lows: tuple[Extents, ...]
    normals: tuple[Extents, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def ranges(self, numbers: Whole, *, normal_alone: bool) -> Ranges | None:
        """Return where the images of pairs are, as columns; None of a set that is not in tars."""
        paths: list[str] = []
        columns = []
        for members in self.normals if normal_alone else (*self.lows, *self.normals):
            if not isinstance(members, Tarred):
                return None
            tar, begin, size = members.ranges(numbers)
            columns.append((tar + len(paths), begin, size))
            paths += members.paths
        return Ranges(paths, *np.stack(columns, axis=-1))

    def __getitem__(self, number: int) -> StoredSample:
        key = self.keys.extent(number) if isinstance(self.keys, TarKeys) else self.keys[number]
        lows, normals = (tuple(one[number] for one in own) for own in (self.lows, self.normals))
        return StoredSample(key, lows, normals)


@dataclass(frozen=True)
class GivenPairs:
    """Pairs of a list, or normals, for live lows: paths or bytes, and their keys; or clips."""

    given: Sequence[Any]
    keys: Sequence[str]

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, number: int) -> StoredSample:
        item = self.given[number]
        if isinstance(item, StoredSample):
            return item
        *lows, normal = map(_extent_of_item, item if isinstance(item, tuple | list) else [item])
        return StoredSample(self.keys[number], tuple(lows), (normal,))


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
        return npy_as_png(extent.read())
    except SetError as error:
        raise LoaderError(str(error), path=error.path) from error
    except ImageRefused as refusal:
        raise LoaderError(f"{extent.path}: cannot be read: {refusal.detail}") from None


def encoded_alike(extent: Extent, data: bytes) -> bytes:
    """Return an image as all decoders show it alike: a PNG of 8 bits of what DALI shows otherwise.

    Raises LoaderError when that cannot be decoded, or an image has too many pixels.
    """
    try:
        if not is_shown_otherwise(data):
            check_size(data)
            return data
        return encode(decode_as_rgb(data, colours=False), "png")
    except ImageRefused as refusal:
        if refusal.reason is Reason.NOT_AN_IMAGE:
            # At what DALI fails, and that leads to its pair.
            return b"none" if data.startswith(_OF_DALI_ALONE) else data
        where = extent.path or "an image of the list, given as bytes"
        raise LoaderError(f"{where}: cannot be decoded: {refusal.detail}") from None


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


def _extent_of_item(item: Any) -> Extent:
    return Extent(data=item) if isinstance(item, bytes) else Extent(os.fspath(item))


def exact_pixels(extent: Extent, of_set: bool) -> Pixels:
    """Decode an image as lows are made from it: with libjpeg-turbo, exactly.

    of_set: whether it is a set's image, or a photograph as it comes.

    Raises ImageRefused when it cannot be decoded; LoaderError when it cannot be read.
    """
    data = read_extent(extent)
    if of_set:
        return decode_image(data, "png" if data.startswith(SIGNATURE) else "jpg")
    read_header(data)  # refuses what is too large
    return decode_as_rgb(data, colours=False)  # as DALI does


def check_one_shape(pair: StoredSample, low: tuple[int, ...], normal: tuple[int, ...]) -> None:
    """Check that both images of a pair have one height and width: they are cut alike.

    Raises LoaderError naming the pair.
    """
    if low != normal:
        sizes = " and ".join(f"{height} x {width}" for height, width in (low, normal))
        raise LoaderError(
            f"{pair.lows[0].named(pair.key, 'low')}: low and normal differ in size: {sizes} (height"
            " x width, upright); crop one of them, or leave the pair out",
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


def pixels_by(decoder: str, extent: Extent, by_kernels: bool = True) -> Pixels:
    """Decode an image by "opencv" or "pillow", or by gloam's own kernels where they can.

    by_kernels: whether these may decode a PNG.

    Raises ImageRefused when it cannot be decoded; LoaderError when it cannot be read.
    """
    data = read_extent(extent)
    pixels = decode_png(np.frombuffer(data, np.uint8)) if by_kernels else None
    if pixels is not None:
        return pixels
    by_opencv = decoder == "opencv" and not is_deep(data) and not is_shown_otherwise(data)
    if by_opencv and check_size(data):
        with suppress(cv2.error):
            image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
            if image is not None:
                return image  # type: ignore[return-value]
    # Pillow, and what OpenCV cannot read; it says what is wrong with a damaged image.
    return decode_as_rgb(data, colours=False)
