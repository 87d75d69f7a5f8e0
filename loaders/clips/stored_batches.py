"""Sources of stored clips for DALI: threads read, and partly decode, batches ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from ...synth.kernels.arrays import Pixels
from ..augment import crop_numbers
from ..options import Options
from ..read_pool import BatchesAhead, Bytes
from .clip_bytes import Clip, read_frames
from .clip_samples import ClipPlace
from .low_pixels import clip_lows


class StoredBatches:
    """The external sources of a pipeline of stored clips: functions of DALI's BatchInfo.

    DALI calls all of them for a batch, and copies the results, before it asks for the next one. A
    batch of DALI is a group of the loader's, see `batch_groups`.

    One call a clip keeps threads from waiting for the interpreter's lock, and DALI takes an array
    of all frames a tenth faster than a list of them.

    pool: threads that read and decode.
    places_of: function of a batch's number; returns the places of its clips.
    frames: number of frames in each clip.
    decodes_lows: decode lows here, not in DALI.
    ahead: number of batches that are read and decoded ahead.
    """

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        places_of: Callable[[int], list[ClipPlace]],
        options: Options,
        frames: int,
        *,
        decodes_lows: bool,
        ahead: int,
    ) -> None:
        self._pool, self._places_of, self._options = pool, places_of, options
        self._frames, self._decodes_lows = frames, decodes_lows
        self._clips = BatchesAhead(self._begin, ahead)
        self._buffers: dict[int, BatchBuffer] = {}
        self._spare = BufferPool()

    def pairs(self, info: Any) -> tuple[list[Bytes], list[Bytes], Any]:
        """Return encoded lows and normals, and numbers, of a batch."""
        clips = self._read(info)
        return [low for clip in clips for low in clip.lows], *self._normals(clips)

    def normals(self, info: Any) -> tuple[list[Bytes], Any]:
        """Return encoded normals, and numbers, of a batch."""
        return self._normals(self._read(info))

    def lows(self, info: Any) -> Any:
        """Return decoded lows of a batch, uint8 (H, W, 3): one array if all have one size."""
        clips = self._read(info)
        for past in [one for one in self._buffers if one < info.iteration]:
            self._buffers.pop(past).give_back()
        lows: Any = self._buffers[info.iteration].all_of([clip.lows for clip in clips])
        return [low for clip in clips for low in clip.lows] if lows is None else lows

    def _read(self, info: Any) -> list[Clip]:
        return [task.result() for task in self._clips.of(info.iteration)]

    @staticmethod
    def _normals(clips: Sequence[Clip]) -> tuple[list[Bytes], Any]:
        normals = [one for clip in clips for one in clip.normals]
        return normals, numbers_of(len(normals))

    def crops(self, info: Any) -> Any:
        """Return the random numbers of all frames' crops (N, 7); a clip's frames share theirs."""
        places = self._places_of(info.iteration)
        keys = [place.clip.key for place in places]
        numbers = crop_numbers(self._options, places[0].epoch, keys)
        return np.repeat(numbers, self._frames, axis=0)

    def _begin(self, number: int) -> list[Future[Clip]]:
        places, buffer = self._places_of(number), None
        if self._decodes_lows:
            buffer = self._buffers[number] = BatchBuffer(len(places), self._frames, self._spare)
        return [self._pool.submit(self._one, buffer, i, place) for i, place in enumerate(places)]

    def _one(self, buffer: BatchBuffer | None, number: int, place: ClipPlace) -> Clip:
        read = read_frames(place.clip)
        lows, normals = read[: self._frames], read[self._frames :]
        if buffer is None:
            return Clip(lows, normals)
        return Clip(clip_lows(lows, lambda size: buffer.of(number, size)), normals)


class BufferPool:
    """Memory of finished batches, for reuse: fresh memory costs a tenth of decoding."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[Pixels] = []

    def take(self, shape: tuple[int, ...]) -> Pixels:
        """Return memory of a shape, and free memory of other shapes."""
        with self._lock:
            self._held = [one for one in self._held if one.shape == shape]
            return self._held.pop() if self._held else np.empty(shape, np.uint8)

    def give(self, memory: Pixels) -> None:
        """Keep memory for reuse."""
        with self._lock:
            self._held.append(memory)


class BatchBuffer:
    """Memory for the lows of a batch: one array if all clips have the first one's size.

    spare: pool that the memory is from.
    """

    def __init__(self, clips: int, frames: int, spare: BufferPool) -> None:
        self._clips, self._frames, self._spare = clips, frames, spare
        self._lock = threading.Lock()
        self._made: Pixels | None = None

    def of(self, number: int, size: tuple[int, int]) -> Pixels:
        """Return the memory for a clip's lows (T, H, W, 3)."""
        shape = (self._clips * self._frames, *size, 3)
        with self._lock:
            if self._made is None:
                self._made = self._spare.take(shape)
        if self._made.shape != shape:
            return np.empty((self._frames, *size, 3), np.uint8)
        return self._made[number * self._frames :][: self._frames]

    def all_of(self, lows: list[Pixels]) -> Pixels | None:
        """Return all clips' lows as one array, or None if a clip has another size."""
        here = all(isinstance(one, np.ndarray) and one.base is self._made for one in lows)
        return self._made if here else None

    def give_back(self) -> None:
        """Return the memory to the pool."""
        if self._made is not None:
            self._spare.give(self._made)


def numbers_of(count: int) -> npt.NDArray[np.int64]:
    """Return numbers for images whose numbers are not used."""
    return np.zeros((count, 1), np.int64)
