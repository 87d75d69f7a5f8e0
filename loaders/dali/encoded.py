"""Encoded pairs for DALI's external source.

They are read at their offsets, by several threads, in the order of each epoch.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from ...errors import ImageRefused
from ...manifests.images.header import read_header
from ...manifests.sets.layouts.extents import Extent
from ..columns import StoredPair
from ..dataset import check_one_shape, decoded_member
from ..read_pool import BatchesAhead, Bytes, ReadPool

_RECENT = 64  # batches: more than DALI asks for ahead
_AHEAD = 2  # batches that are read before DALI asks for them
_FIRST = 8  # batches whose lows OpenCV decodes: kernels take half a second to load


class OrderedNumbers:
    """The numbers of the pairs of batches, by orders of gloam's own.

    A batch that is not full is filled with its last pair.

    orders: function of an epoch's number; returns the numbers of its pairs, in order.
    places: function of a batch's number in its epoch; returns the places of its pairs in that
      order.
    base: number of the first epoch.
    batches: number of an epoch.
    """

    def __init__(
        self,
        orders: Callable[[int], Any],
        places: Callable[[int], Any],
        base: int,
        batches: int,
        batch_size: int,
    ) -> None:
        self.order, self._places = lru_cache(maxsize=2)(orders), places
        self._base, self._batches, self._batch_size = base, batches, batch_size

    def __call__(self, done: int) -> list[int]:
        """Return the numbers of a batch, counted from the first epoch on."""
        order, batch = self.order(self.epoch(done)), done % self._batches
        numbers: list[int] = order[self._places(batch)].tolist()
        return numbers + numbers[-1:] * (self._batch_size - len(numbers))

    def epoch(self, done: int) -> int:
        """Return the epoch of a batch, counted so."""
        return self._base + done // self._batches


class ReaderNumbers:
    """The same by the order of one of DALI's readers, which reads numbers in place of images.

    So a set in a store comes in the order of the local one, while its images are read by ranges;
    and the crops of a set's pairs are drawn by their keys before DALI decodes them.

    make: function of a folder and a state of DALI; writes there what the reader reads, and returns
      its pipeline, which goes on from the state.
    batches: number of an epoch.
    start: (batch, state); a `start` of another one, which it goes on from.
    """

    def __init__(
        self,
        make: Callable[[Path, bytes | None], Any],
        batches: int,
        start: tuple[int, bytes] | None = None,
    ) -> None:
        self._make, self._batches, self._done = make, batches, 0
        self._starts: list[tuple[int, bytes]] = [] if start is None else [start]
        self._read: dict[int, list[int]] = {}  # the last batches: images, crops and labels ask
        self._pipeline: Any = None
        self._folder: Path | None = None

    def __call__(self, done: int) -> list[int]:
        """Return the numbers of a batch, counted from the reader's beginning."""
        if done not in self._read and (self._pipeline is None or done < self._done):
            if self._folder is None:
                self._folder = Path(mkdtemp(prefix="gloam-"))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self._done, state = self.start(done) or (0, None)
            self._pipeline = self._make(self._folder, state)
        while done not in self._read:
            if self._done and self._done % self._batches == 0:
                first = self._done, self._pipeline.checkpoint()
                self._starts = [*[one for one in self._starts if one[0] != first[0]][-7:], first]
            (labels,) = self._pipeline.run()
            if self._done >= done:
                self._read[done] = [_number(labels[i]) for i in range(len(labels))]
                self._read = dict(list(self._read.items())[-_RECENT:])
            self._done += 1
        return self._read[done]

    def start(self, done: int) -> tuple[int, bytes] | None:
        """Return the last batch that began an epoch before a batch, and the reader's state there.

        From the beginning, a long training would take minutes to find its place again.
        """
        return max((one for one in self._starts if one[0] <= done), default=None)


def _number(label: Any) -> int:
    """Return the number of a pair: a file reader's label, or the name in a shard's index."""
    view = memoryview(label)  # NumPy takes four times as long
    if view.itemsize == 1:
        from .pipelines import source_number

        return source_number(bytes(view))
    return int(np.asarray(view).item())


class EncodedPairs:
    """The function of an external source: encoded batches by number, epoch after epoch.

    pair: function of a number; returns the pair, whose images are where they are nearest.
    numbers: function of a batch's number; returns those of its pairs.
    threads: number of those that decode, and that read where files are far.
    far: whether they are known to be.
    given: whether they are files as they come: then each pair's sizes are compared. A set's are
      known.
    members: "low" and "normal", or one of them.
    """

    def __init__(
        self,
        pair: Callable[[int], StoredPair],
        numbers: Callable[[int], list[int]],
        threads: int,
        far: bool,
        given: bool,
        members: Sequence[str],
    ) -> None:
        self._pair, self._numbers, self._given = pair, numbers, given
        self._pool, self._decoding = ReadPool(threads, far), ThreadPoolExecutor(threads)
        self._members, self._ahead = members, BatchesAhead(self._begin, _AHEAD)
        self._asked = 0  # batches of lows

    def __call__(self, info: Any) -> tuple[list[Any], ...]:
        """Return DALI's next batch: uint8 arrays of encoded bytes of each member, and numbers."""
        numbers, read = self._ahead.of(info.iteration)
        members = zip(*read, strict=True)
        return (*map(list, members), [np.array([n], np.int64) for n in numbers])

    def lows(self, info: Any) -> list[Any]:
        """Return lows alone of DALI's next batch, decoded: uint8 arrays (H, W, 3)."""
        self._asked += 1
        low = partial(self._low, by_kernels=self._asked > _FIRST)
        return list(self._decoding.map(low, self._numbers(info.iteration)))

    def _begin(self, batch: int) -> tuple[list[int], Iterator[list[Bytes]]]:
        """Begin to read a batch."""
        numbers = self._numbers(batch)
        check = self._check if self._given and len(self._members) == 2 else None
        return numbers, self._pool.map(self._extents, numbers, check)

    def _extents(self, number: int) -> list[Extent]:
        pair = self._pair(number)
        return [getattr(pair, member) for member in self._members]

    def _check(self, number: int, images: list[Bytes]) -> None:
        sizes = [_upright_size(image) for image in images]
        if all(sizes):
            check_one_shape(self._pair(number), *sizes)

    def _low(self, number: int, by_kernels: bool) -> Any:
        """Decode the low of a pair."""
        return decoded_member(self._pair(number), "low", "opencv", not self._given, by_kernels)


def _upright_size(data: Bytes) -> tuple[int, ...]:
    """Return height and width of an encoded image as it is shown; nothing of a damaged one."""
    try:
        header = read_header(data.tobytes())
    except ImageRefused:  # its decoder says why
        return ()
    size = header.height, header.width
    return size[::-1] if header.orientation >= 5 else size
