"""Threads that read images: local files many at a time, those of stores one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import ImageRefused
from ..manifests.images.header import check_size
from ..manifests.images.jpeg import BEGINNING
from ..manifests.images.npy import MAGIC
from ..manifests.images.png import SIGNATURE
from ..manifests.sets.layouts.extents import Extent
from ..storage.stores import AT_ONCE
from .columns import encoded_alike, read_together

Bytes = npt.NDArray[np.uint8]
_Item = TypeVar("_Item")
_Begun = TypeVar("_Begun")
_CHUNK = 32  # items that a thread reads, one after the other
_MOST = 1 << 28  # bytes of a file that is read beside others


class ReadPool:
    """A pool of threads that read.

    threads: number of them.
    far: whether files are in a store, where each is waited for: there are `AT_ONCE` then, at least.
    """

    def __init__(self, threads: int, far: bool = False) -> None:
        self._pool = ThreadPoolExecutor(max(threads, AT_ONCE) if far else threads)
        self._chunk = 1 if far else _CHUNK

    def map(
        self,
        extents: Callable[[_Item], Sequence[Extent]],
        items: Sequence[_Item],
        check: Callable[[_Item, list[Bytes]], None] | None = None,
    ) -> Iterator[list[Bytes]]:
        """Begin to read the images of all items.

        extents: function of an item; returns where its images are.
        check: function of an item and its images; raises what is wrong with them.

        Returns the bytes of each item's images, in order. Raises LoaderError as `read_together`.
        """

        def read(chunk: Sequence[_Item]) -> list[list[Bytes]]:
            groups = read_extents([extents(item) for item in chunk])
            for item, images in zip(chunk, groups, strict=True):
                if check is not None:
                    check(item, images)
            return groups

        chunks = [items[i : i + self._chunk] for i in range(0, len(items), self._chunk)]
        return chain.from_iterable(self._pool.map(read, chunks))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class BatchesAhead(Generic[_Begun]):
    """Work on successive batches, which is begun a few batches ahead.

    begin: function of a batch's number; begins the work, and returns what it is taken from.
    ahead: number of batches.
    """

    def __init__(self, begin: Callable[[int], _Begun], ahead: int) -> None:
        self._begin, self._ahead = begin, ahead
        self._begun: dict[int, _Begun] = {}

    def of(self, number: int) -> _Begun:
        """Return what a batch is taken from, and drop that of earlier batches."""
        for past in [one for one in self._begun if one < number]:
            del self._begun[past]
        for one in range(number, number + 1 + self._ahead):
            if one not in self._begun:
                self._begun[one] = self._begin(one)
        return self._begun[number]


def read_extents(groups: Sequence[Sequence[Extent]]) -> list[list[Bytes]]:
    """Return the bytes of images in groups, as `read_together` reads each."""
    local = [one for group in groups for one in group if _is_local(one)]
    read = iter(_read_local(local) if local else [])
    found = []
    for group in groups:
        images = [next(read) if _is_local(one) else None for one in group]
        if any(image is None for image in images):
            both = zip(group, read_together(group), strict=True)
            images = [np.frombuffer(encoded_alike(*one), np.uint8) for one in both]
        found.append([image for image in images if image is not None])
    return found


def _is_local(extent: Extent) -> bool:
    """Return whether an image is in a file of this machine; Python refuses a name with a zero."""
    return extent.data is None and extent.path[2:5] != "://" and "\0" not in extent.path


def _read_local(extents: Sequence[Extent]) -> list[Bytes | None]:
    """Return the bytes of local images; None where that takes more than reading, or fails."""
    from ..synth.kernels.files import open_files, read_ranges

    numbers: dict[str, int] = {}
    files = np.array([numbers.setdefault(one.path, len(numbers)) for one in extents], np.int64)
    names = [path.encode("utf-8", "surrogateescape") + b"\0" for path in numbers]
    lengths = np.array([0, *map(len, names)], np.int64)
    descriptors, whole = open_files(
        np.frombuffer(b"".join(names), np.uint8), np.cumsum(lengths)[:-1]
    )
    offsets, sizes = np.array([(one.offset, one.size) for one in extents], np.int64).T
    sizes = np.where(sizes < 0, whole[files], sizes)
    sizes[(offsets + sizes > whole[files]) | (sizes > _MOST)] = 0
    ends = np.cumsum(sizes)
    out = np.empty(ends[-1], np.uint8)
    done = read_ranges(descriptors, files, np.ascontiguousarray(offsets), ends, out) & (sizes > 0)
    parts = np.split(out, ends[:-1])
    return [
        part if read and _alike_everywhere(part, one.size < 0) else None
        for part, read, one in zip(parts, done.tolist(), extents, strict=True)
    ]


def _alike_everywhere(image: Bytes, whole: bool) -> bool:
    """Return whether an image is none that `encoded_alike` changes or refuses.

    whole: whether it is a file as it comes; a set's are JPEGs and PNGs.
    """
    head = image[:8].tobytes()
    if not whole or not head.startswith((BEGINNING, SIGNATURE)):
        return not whole and not head.startswith(MAGIC)
    with suppress(ImageRefused):
        return check_size(image.data)
    return False
