"""Encoded images: threads read those of a step ahead of whoever decodes them.

Local files are read many at a time, those of stores one by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import ImageRefused
from ..manifests.images.header import check_size
from ..manifests.images.jpeg_file import BEGINNING
from ..manifests.images.npy import MAGIC
from ..manifests.images.png import SIGNATURE
from ..manifests.sets.layouts.extents import Extent
from ..storage.stores import AT_ONCE
from .components import OpenComponent
from .order import Position, Step, Whole
from .stored_pairs import encoded_alike, read_together

Bytes = npt.NDArray[np.uint8]
_Item = TypeVar("_Item")
_Begun = TypeVar("_Begun")
_CHUNK = 32
_MOST = 1 << 28  # bytes of a file that is read beside others
_AHEAD = 2  # steps that are read before they are decoded
_FIRST = 8  # steps whose lows OpenCV decodes: kernels take half a second to load


class ReadPool:
    """A pool of threads that read.

    threads: number of them.
    remote: whether files are in a store, where each is waited for: `AT_ONCE` at least.
    chunk: items that a thread reads, one after the other.
    """

    def __init__(self, threads: int, remote: bool = False, chunk: int = _CHUNK) -> None:
        self._pool = ThreadPoolExecutor(max(threads, AT_ONCE) if remote else max(threads, 1))
        self._chunk = 1 if remote else chunk

    def map(
        self,
        extents: Callable[[_Item], Sequence[Extent]],
        items: Sequence[_Item],
    ) -> Iterator[list[Bytes]]:
        """Begin to read the images of all items.

        extents: function of an item; returns where its images are.

        Returns the bytes of each item's images, in order. Raises LoaderError as `read_together`.
        """

        def read(chunk: Sequence[_Item]) -> list[list[Bytes]]:
            return read_extents([extents(item) for item in chunk])

        chunks = [items[i : i + self._chunk] for i in range(0, len(items), self._chunk)]
        return chain.from_iterable(self._pool.map(read, chunks))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class BegunAhead(Generic[_Begun]):
    """Work that is numbered from 0 on, and begun before it is asked for.

    begin: function of a number; begins the work, and returns what it is taken from.
    ahead: how much further work is begun than is asked for.
    """

    def __init__(self, begin: Callable[[int], _Begun], ahead: int) -> None:
        self._begin, self._ahead = begin, ahead
        self._begun: dict[int, _Begun] = {}

    def of(self, number: int) -> _Begun:
        """Return what the work of a number is taken from; forget all that is not ahead of it."""
        wanted = range(number, number + 1 + self._ahead)
        for other in [one for one in self._begun if one not in wanted]:
            del self._begun[other]
        for one in wanted:
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
    sizes[(sizes < 0) | (offsets + sizes > whole[files]) | (sizes > _MOST)] = 0
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


def _results(tasks: Sequence[Future[list[Any]]]) -> list[Any]:
    return [image for task in tasks for image in task.result()]


class EncodedStep(NamedTuple):
    """A step whose images are read, but for those that are decoded beside.

    encoded: the images that are to be decoded.
    low, normal: int64 arrays (N); where each sample's, or those of each of its frames, are among
      the images, encoded ones first. They are one where the low is made of the normal, or a sample
      is one image.
    pixels: returns images that are decoded where they are read.
    """

    step: Step
    encoded: list[Bytes]
    low: Whole
    normal: Whole
    pixels: Callable[[], list[Any]]


class EncodedSteps:
    """The encoded images of one step after the other: the function of DALI's external source.

    steps: endless.
    threads: number of those that read, and of those that decode.
    decode_lows: decode lows here that gloam wrote as PNGs: its kernels take half as long as DALI.
    """

    def __init__(
        self,
        components: Sequence[OpenComponent],
        steps: Iterator[Step],
        threads: int,
        decode_lows: bool,
    ) -> None:
        self.begun: deque[EncodedStep] = deque()  # those that were given, and not taken back yet
        self._components, self._steps = components, steps
        self._beside = [decode_lows and one.png_lows for one in components]
        contents = [own for one in components for own in (one.contents, one.bright) if own]
        self._frames = contents[0].frames
        remote = any(own.remote for own in contents)
        self._pool = ReadPool(threads, remote, _CHUNK if self._frames == 1 else 1)
        self._decoding = ThreadPoolExecutor(max(threads, 1)) if any(self._beside) else None
        self._ahead, self._done = BegunAhead(self._begin, _AHEAD), 0

    def __call__(self) -> list[Bytes]:
        """Return the images of the next step: uint8 arrays of encoded bytes."""
        step, read, lows = self._ahead.of(self._done)
        self._done += 1
        nothing = np.zeros(0, np.int64)
        self.begun.append(EncodedStep(step, [], nothing, nothing, list))  # if one is damaged
        images, frames = list(read), np.arange(self._frames)
        ends = np.cumsum([len(own) for own in images])
        low = np.concatenate([[0], ends[:-1]])[:, None] + frames
        normal = ends[:, None] - self._frames + frames
        encoded = [image for own in images for image in own]
        decoded = np.arange(len(lows))[:, None] * self._frames + frames
        low[list(lows)] = len(encoded) + decoded
        beside = partial(_results, list(lows.values()))
        self.begun[-1] = EncodedStep(step, encoded, low.ravel(), normal.ravel(), beside)
        return encoded

    def close(self) -> None:
        """End the threads."""
        self._pool.close()
        if self._decoding is not None:
            self._decoding.shutdown(wait=False, cancel_futures=True)

    def _begin(self, number: int) -> tuple[Step, Iterator[list[Bytes]], dict[int, Future[Any]]]:
        """Begin to read the next step."""
        step = next(self._steps)
        lows: dict[int, Future[Any]] = {}
        if self._decoding is not None:
            low = partial(self._low, by_kernels=number >= _FIRST)
            lows = {
                row: self._decoding.submit(low, one)
                for row, one in enumerate(step.positions)
                if self._beside[one.component]
            }
        return step, self._pool.map(self._extents, step.positions), lows

    def _low(self, one: Position, by_kernels: bool) -> list[Any]:
        contents = self._components[one.component].contents
        return contents.lows_of(contents.pair(one.number), by_kernels)

    def _extents(self, one: Position) -> tuple[Extent, ...]:
        component = self._components[one.component]
        alone = component.contents.live or self._beside[one.component]
        images = component.contents.images(one.number, normal_alone=alone)
        if component.bright is None or one.bright is None:
            return images
        return *images, *component.bright.images(one.bright[0], normal_alone=True)


class Source(Protocol):
    """A source of encoded images: called for those of one step after the other.

    begun: steps that were given, and not taken back yet.
    """

    begun: deque[EncodedStep]

    def __call__(self) -> list[Bytes]:
        """Return the images of the next step that are to be decoded."""

    def close(self) -> None:
        """End its threads."""
