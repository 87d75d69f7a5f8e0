"""Encoded images: threads read those of a step ahead of whoever decodes them.

Local files are read many at a time, those of stores one by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from ..errors import ImageRefused
from ..manifests.images.decode import is_shown_otherwise
from ..manifests.images.header import check_size
from ..manifests.images.jpeg_file import BEGINNING
from ..manifests.images.npy import MAGIC
from ..manifests.images.png import SIGNATURE
from ..manifests.sets.layouts.extents import Extent
from ..storage.stores import AT_ONCE, LARGE
from .buffers import ReusedMemory
from .components import OpenComponent
from .order import Position, Step, Whole
from .prefetch import BegunAhead
from .stored_pairs import Ranges, encoded_alike, read_together

Bytes = npt.NDArray[np.uint8]
Encoded = list[Bytes] | Bytes
"""Encoded images: arrays, or the rows of one, of which each image takes as much as it needs."""
_Item = TypeVar("_Item")
_CHUNK = 32  # images that a thread reads, one after the other
_ROWS = 128  # the same of rows, which wait for the interpreter's lock once for all
_KEPT = 8  # arrays of rows that are kept: of steps that are read, decoded and rendered
_MOST = LARGE  # bytes of a file that is read beside others
_LOOSE = 16  # times the bytes of images, what rows for them may take of the address space
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
        self._memory = ReusedMemory(_KEPT)

    def map(
        self, extents: Callable[[_Item], Sequence[Extent]], items: Sequence[_Item]
    ) -> Iterator[list[Bytes]]:
        """Begin to read the images of all items.

        extents: function of an item; returns where its images are.

        Returns the bytes of each item's images, in order. Raises LoaderError as `read_together`.
        """

        def read(chunk: Sequence[_Item]) -> list[list[Bytes]]:
            return read_extents([extents(item) for item in chunk])

        chunks = [items[i : i + self._chunk] for i in range(0, len(items), self._chunk)]
        return chain.from_iterable(self._pool.map(read, chunks))

    def rows(self, ranges: Ranges, counts: Whole) -> Rows | None:
        """Begin to read images into `Rows`; None where they differ too much in size for that."""
        sizes = ranges.size
        fit = len(sizes) * int(sizes.max(initial=0)) < _LOOSE * int(sizes.sum())
        return Rows(ranges, counts, self._pool, self._memory) if fit else None

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)


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


def _open_descriptors(paths: Iterable[str]) -> tuple[Whole, Whole]:
    """Open files; return their descriptors and sizes, as `open_files`."""
    from ..synth.kernels.files import open_files

    names = [path.encode("utf-8", "surrogateescape") + b"\0" for path in paths]
    each = np.array([0, *map(len, names)], np.int64)
    descriptors, whole = open_files(np.frombuffer(b"".join(names), np.uint8), np.cumsum(each)[:-1])
    return descriptors, whole


def _read_local(extents: Sequence[Extent]) -> list[Bytes | None]:
    """Return the bytes of local images; None where that takes more than reading, or fails."""
    from ..synth.kernels.files import read_ranges

    numbers: dict[str, int] = {}
    files = np.array([numbers.setdefault(one.path, len(numbers)) for one in extents], np.int64)
    descriptors, whole = _open_descriptors(numbers)
    offsets, sizes = np.array([(one.offset, one.size) for one in extents], np.int64).T
    sizes = np.where(sizes < 0, whole[files], sizes)
    sizes[(sizes < 0) | (offsets + sizes > whole[files]) | (sizes > _MOST)] = 0
    ends = np.cumsum(sizes)
    out = np.empty(ends[-1], np.uint8)
    places = np.ascontiguousarray(offsets), ends - sizes, ends
    done = read_ranges(descriptors, files, *places, out) & (sizes > 0)
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
        return check_size(image.data) and not is_shown_otherwise(image.data)
    return False


class Rows:
    """Images of known sizes that threads read into the rows of one array.

    So that neither reading nor DALI takes a Python object an image.

    ranges: where they are; its columns have the shape (M).
    counts: int64 array (N); how many of them each sample has.
    """

    def __init__(self, ranges: Ranges, counts: Whole, pool: Executor, memory: ReusedMemory) -> None:
        self.ranges, self.counts, sizes = ranges, counts, ranges.size
        shape = len(sizes), max(int(sizes.max()), len(MAGIC))
        self.images = memory.empty(shape, torch.uint8).numpy()
        parts = [slice(i, i + _ROWS) for i in range(0, len(sizes), _ROWS)]
        self._tasks = [pool.submit(self._read, part) for part in parts]

    def read(self) -> bool:
        """Wait for the threads; return whether all is read and none is to be changed."""
        done = [task.result() for task in self._tasks]
        return all(done)

    def _read(self, part: slice) -> bool:
        from ..synth.kernels.files import read_ranges

        out, sizes, paths = self.images[part], self.ranges.size[part], self.ranges.paths
        files, which = np.unique(self.ranges.file[part], return_inverse=True)
        descriptors, _ = _open_descriptors([paths[i] for i in files.tolist()])
        begins = np.arange(len(out)) * out.shape[1]
        places = self.ranges.begin[part], begins, begins + sizes
        done = read_ranges(descriptors, which, *places, out.reshape(-1))
        arrays = (out[:, : len(MAGIC)] == np.frombuffer(MAGIC, np.uint8)).all(axis=1)
        return bool((done & ~arrays).all())


def lengths(groups: Sequence[Any]) -> Whole:
    """Return how much each of some sequences holds."""
    return np.fromiter(map(len, groups), np.int64, len(groups))


class EncodedStep(NamedTuple):
    """A step whose images are read, but for those that are decoded beside.

    encoded: the images that are to be decoded.
    low, normal: int64 arrays (N); where each sample's, or those of each of its frames, are among
      the images, encoded ones first. They are one where the low is made of the normal, or a sample
      is one image.
    beside: tasks that decode images where they are read, those that no decoder is given.
    """

    step: Step
    encoded: Encoded
    low: Whole
    normal: Whole
    beside: list[Future[list[Any]]]


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

    def __call__(self) -> tuple[Encoded, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the images of the next step, the bytes of each, and 0 or 1: lows are apart."""
        step, rows, read, lows = self._ahead.of(self._done)
        self._done += 1
        nothing = np.zeros(0, np.int64)
        self.begun.append(EncodedStep(step, [], nothing, nothing, []))  # if one is damaged
        encoded: Encoded
        if rows is not None and rows.read():
            encoded, sizes, counts = rows.images, rows.ranges.size, rows.counts
        else:
            images = list(read or self._read(step))
            encoded = [image for own in images for image in own]
            sizes, counts = lengths(encoded), lengths(images)
        ends, frames = np.cumsum(counts)[:, None], np.arange(self._frames)
        low, normal = ends - counts[:, None] + frames, ends - self._frames + frames
        decoded = np.arange(len(lows))[:, None] * self._frames + frames
        low[list(lows)] = len(encoded) + decoded
        half, stored = np.arange(len(sizes)) & 1, low < normal
        half[low[stored]], half[normal[stored]] = 0, 1
        beside = list(lows.values())
        self.begun[-1] = EncodedStep(step, encoded, low.ravel(), normal.ravel(), beside)
        return encoded, sizes.astype(np.int32), half.astype(np.int32)

    def close(self) -> None:
        """End the threads."""
        self._pool.close()
        if self._decoding is not None:
            self._decoding.shutdown(wait=False, cancel_futures=True)

    def _begin(
        self, number: int
    ) -> tuple[Step, Rows | None, Iterator[list[Bytes]] | None, dict[int, Future[Any]]]:
        """Begin to read the next step."""
        step = next(self._steps)
        lows: dict[int, Future[Any]] = {}
        if self._decoding is not None:
            low = partial(self._decode_low, by_kernels=number >= _FIRST)
            lows = {
                row: self._decoding.submit(low, one)
                for row, one in enumerate(step.positions)
                if self._beside[one.component]
            }
        rows = self._begin_rows(step)
        return step, rows, self._read(step) if rows is None else None, lows

    def _begin_rows(self, step: Step) -> Rows | None:
        """Begin to read a step of pairs all of which are in tars of this machine."""
        own, paths = step.positions, list[str]()
        counts, parts = np.zeros(len(own), np.int64), list[tuple[Whole, Ranges]]()
        if own.bright is not None or self._frames > 1:
            return None
        for i in np.unique(own.component).tolist():
            samples = np.flatnonzero(own.component == i)
            ranges = self._components[i].contents.ranges(
                own.number[samples], normal_alone=self._normal_alone(i)
            )
            if ranges is None:
                return None
            parts.append((samples, ranges._replace(file=ranges.file + len(paths))))
            paths += ranges.paths
            counts[samples] = ranges.file.shape[1]
        begins = np.cumsum(counts) - counts
        columns = np.empty((3, int(counts.sum())), np.int64)
        for samples, ranges in parts:
            places = begins[samples][:, None] + np.arange(ranges.file.shape[1])
            columns[:, places] = ranges[1:]
        return self._pool.rows(Ranges(paths, *columns), counts)

    def _read(self, step: Step) -> Iterator[list[Bytes]]:
        return self._pool.map(self._extents, list(step.positions))

    def _normal_alone(self, component: int) -> bool:
        return self._components[component].contents.live or self._beside[component]

    def _decode_low(self, one: Position, by_kernels: bool) -> list[Any]:
        contents = self._components[one.component].contents
        return contents.lows_of(contents.pair(one.number), by_kernels)

    def _extents(self, one: Position) -> tuple[Extent, ...]:
        component, alone = self._components[one.component], self._normal_alone(one.component)
        images = component.contents.pair(one.number).extents(alone)
        if component.bright is None or one.bright is None:
            return images
        return *images, *component.bright.pair(one.bright[0]).extents(True)


class Source(Protocol):
    """A source of encoded images: called for those of one step after the other.

    begun: steps that were given, and not taken back yet.
    """

    begun: deque[EncodedStep]

    def __call__(self) -> tuple[Encoded, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the images of the next step that are to be decoded.

        Besides the bytes of each, and which half of them it is in, 0 or 1: lows are in one alone.
        """

    def close(self) -> None:
        """End its threads."""
