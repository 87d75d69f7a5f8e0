"""Batches of mixtures behind DALI: one pipeline decodes the images of all components.

    source (reads the images of all components) -> decoder
        -> live ones: draws, kernels -> windows of lows and normals
        -> the others: cropped, resized, flipped
        -> together again, in order

Nothing of it has a state: what a batch holds depends on its place alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...manifests.sets.layouts.extents import Extent
from ...synth.kernels.arrays import Pixels
from ...synth.parameters.columns import Keys
from ..augment import CropFlip, crops_of, draw_crops, group_numbers
from ..dataset import check_one_shape
from ..live.host_batch import HostBatch
from ..options import Options
from ..read_pool import BatchesAhead, Bytes, ReadPool
from ..samples import sized
from .epochs import Batch, Sample
from .mixture import at
from .parts import Part
from .shares import Whole

_AHEAD = 2  # batches that are read before DALI asks for them


class PartKeys(NamedTuple):
    """The keys of a component's pairs, and the same for random numbers."""

    names: Sequence[str]
    columns: Keys


class Group(NamedTuple):
    """Samples of a batch that are of one component and pass.

    part: number of the component.
    rows: where they are in the batch.
    numbers: those of their pairs.
    """

    part: int
    turn: int
    rows: Whole
    numbers: Whole


class MixedBatch(NamedTuple):
    """A batch whose images are read.

    low, normal: int arrays (N); where each sample's are among the images. They are one where the
      low is made of the normal.
    groups: the samples by component and pass.
    encoded: the images, which DALI decodes where they lie.
    """

    step: int
    samples: Sequence[Sample]
    low: Whole
    normal: Whole
    groups: Sequence[Group]
    encoded: Sequence[Bytes]


def _grouped(samples: Sequence[Sample]) -> list[Group]:
    found: dict[tuple[int, int], list[int]] = {}
    for row, one in enumerate(samples):
        found.setdefault((one.part, one.turn), []).append(row)
    return [
        Group(*own, np.array(rows), np.array([samples[row].number for row in rows]))
        for own, rows in found.items()
    ]


class MixedSource:
    """The function of an external source: the encoded images of one batch after the other.

    batches: endless.
    threads, far: of `ReadPool`.
    """

    def __init__(
        self, parts: Sequence[Part], batches: Iterator[Batch], threads: int, far: bool
    ) -> None:
        self.begun: deque[MixedBatch] = deque()  # those that DALI was given and has not given back
        self._parts, self._batches = parts, batches
        self._pool = ReadPool(threads, far)
        self._ahead, self._done = BatchesAhead(self._begin, _AHEAD), 0

    def __call__(self) -> list[Pixels]:
        """Return the images of DALI's next batch: uint8 arrays of encoded bytes."""
        batch, read = self._ahead.of(self._done)
        self._done += 1
        images = list(read)
        ends = np.cumsum([len(own) for own in images])
        firsts = np.concatenate([[0], ends[:-1]])
        encoded = [image for own in images for image in own]
        self.begun.append(MixedBatch(*batch, firsts, ends - 1, _grouped(batch[1]), encoded))
        return encoded

    def close(self) -> None:
        """End the threads that read."""
        self._pool.close()

    def _begin(self, number: int) -> tuple[Batch, Iterator[list[Bytes]]]:
        """Begin to read the next batch."""
        batch = next(self._batches)
        return batch, self._pool.map(self._extents, batch[1])

    def _extents(self, sample: Sample) -> tuple[Extent, ...]:
        part = self._parts[sample.part]
        pair = part.contents.pair(sample.number)
        if part.bright is not None and sample.bright is not None:
            return pair.normal, part.bright.pair(sample.bright[0]).normal
        return (pair.normal,) if part.live else (pair.low, pair.normal)


class MixedPipeline:
    """A stand-in for a DALI pipeline of pairs: lows, normals, and a `MixedBatch`.

    decoder: pipeline, built, of what `source` reads.
    keys: of each component.
    sizes: dict of step to Options.
    """

    def __init__(
        self,
        decoder: Any,
        source: MixedSource,
        parts: Sequence[Part],
        keys: Sequence[PartKeys],
        sizes: Mapping[int, Options],
    ) -> None:
        self._decoder, self._source = decoder, source
        self._parts, self._keys, self._sizes = parts, keys, sizes
        self._pool = ThreadPoolExecutor(max(sizes[0].workers, 1))

    def checkpoint(self) -> bytes:
        """Return nothing: a place is its number."""
        return b""

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch."""
        decoded, batch, sizes = self._decoded()
        options = at(self._sizes, batch.step)
        images = [np.asarray(decoded.at(i)) for i in range(len(decoded))]
        low_crops, crops = self._crops(batch, sizes, options)
        makers = self._makers(batch)

        def made(i: int, crop: CropFlip) -> Sequence[Pixels]:
            normal = images[batch.normal[i]]
            if i in makers:
                low = sized(makers[i](normal, crop.window), crop.within(), options)
            else:
                low = sized(images[batch.low[i]], CropFlip(*low_crops[i].tolist()), options)
            return low, sized(normal, crop, options)

        return (*HostBatch(options, self._pool, crops, made).images(), batch)

    def close(self) -> None:
        """End the threads that read and make batches."""
        self._source.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _decoded(self, *stream: Any) -> tuple[Any, MixedBatch, Whole]:
        """Return images of DALI, what they are of, and their heights and widths (N, 2).

        Raises LoaderError when the images of a pair differ in size.
        """
        (decoded,) = self._decoder.run(*stream)
        batch = self._source.begun.popleft()
        sizes = np.array(decoded.shape(), np.int64)[:, :2]
        for row in np.flatnonzero((sizes[batch.low] != sizes[batch.normal]).any(axis=1)).tolist():
            one = batch.samples[row]
            if one.bright is None:
                shapes = (tuple(sizes[own[row]].tolist()) for own in (batch.low, batch.normal))
                check_one_shape(self._parts[one.part].contents.pair(one.number), *shapes)
        return decoded, batch, sizes

    def _crops(
        self, batch: MixedBatch, sizes: Whole, options: Options
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the crops (N, 7) of lows and of normals: of unpaired pictures other windows."""
        random = np.empty((len(batch.samples), 7))
        random[np.concatenate([group.rows for group in batch.groups])] = group_numbers(
            options,
            [
                (turn, self._keys[part].columns.take(numbers))
                for part, turn, _, numbers in batch.groups
            ],
        )
        lows = crops_of(random, options, sizes[batch.low])
        normals = lows.copy()
        for row, one in enumerate(batch.samples):
            bright = self._parts[one.part].bright
            if one.bright is not None and bright is not None:
                number, turn = one.bright
                size = sizes[batch.normal[row]]
                own = draw_crops(options, turn, [bright.pairs[number].key], size)
                normals[row, :4] = own[0, :4]
        return lows, normals

    def _makers(self, batch: MixedBatch) -> dict[int, Callable[..., Pixels]]:
        """Return what makes the lows of live samples, by their rows."""
        makers: dict[int, Callable[..., Pixels]] = {}
        for part, turn, rows, numbers in batch.groups:
            live = self._parts[part].lows(batch.step)
            if live is not None:
                maker = live.maker([self._keys[part].names[i] for i in numbers.tolist()], turn)
                makers |= {row: partial(maker.low, i) for i, row in enumerate(rows.tolist())}
        return makers
