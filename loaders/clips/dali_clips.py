"""Clips decoded in this process by DALI or PyAV, on a GPU or a CPU.

A frame is a sample of a pipeline that knows nothing of clips; those of one clip have one change.
Batches are functions of epoch and number: there is no state besides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import torch

from ...errors import ImageRefused, LoaderError
from ...manifests.clips.segments import Segments
from ...manifests.images.png import SIGNATURE
from ...storage.stores import AT_ONCE
from ..columns import read_extent
from ..dali.failures import last_words
from ..dali.forks import built
from ..live.lows import LiveLows
from ..options import Options
from ..read_pool import BatchesAhead, Bytes
from .batch_groups import BatchGroups, batches_per_group, largest_of, split
from .clip_bytes import read_frames
from .clip_samples import ClipPlace, ClipSamples
from .frame_sources import Pictures, Videos
from .live_clips import LiveClips
from .stored_batches import StoredBatches, numbers_of
from .stored_clips import ClipContents
from .videos.order import Groups
from .videos.reading import Wanted, decode_by_dali, decode_by_pyav

_AHEAD = 2  # rounds that are read, and whose stored lows are decoded, before DALI takes them


class DaliFailed(LoaderError):
    """DALI fails at clips that processes decode."""


class DaliClips:
    """Batches of clips.

    contents: see `clip_bytes.beyond_dali`.
    live: how lows are made; by default they are stored.
    samples: what decodes the clips of a batch that DALI failed at, to name the frame.
    places_of: function of (epoch, batch); returns the places of a batch.
    batches: returns how many batches an epoch has.
    groups: those of the clips of videos.
    by_dali: otherwise processes decode with PyAV, videos alone.
    """

    def __init__(
        self,
        contents: ClipContents,
        options: Options,
        live: LiveLows | None,
        samples: ClipSamples,
        places_of: Callable[[int, int], list[ClipPlace]],
        batches: Callable[[], int],
        *,
        groups: Groups | None = None,
        by_dali: bool = True,
    ) -> None:
        self._contents, self._options, self._samples = contents, options, samples
        self._live, self._groups, self.by_dali = live, groups, by_dali
        self._places_of, self._batches = places_of, batches
        self._pipeline: Any = None
        self._pool: ThreadPoolExecutor | None = None
        self._lows: LiveClips | None = None
        self._segments = Segments(margins=options.device == "gpu")
        self._videos: Videos | None = None
        # epoch and batch that come next, and their GPU; none while they are made
        self._next: tuple[int, int, int | None] | None = None
        self._largest: int | None = None  # pixels of a frame
        self._together = 1  # batches that are made at once
        self._ready: list[tuple[Any, Any]] = []  # those of them that were not taken yet

    def batches(
        self, epoch: int, batch: int, device_id: int | None
    ) -> Iterator[tuple[Any, Any, list[str]]]:
        """Yield the rest of an epoch from a batch on: low, normal (N, T, ...) and keys.

        device_id: number of the GPU.

        Raises LoaderError naming the clip and frame that cannot be read or decoded. DALI takes some
        damaged JPEGs that processes refuse; `gloam verify` finds them; DaliFailed when it fails at
        what processes decode.
        """
        frames = self._contents.frames
        for number in range(batch, self._batches()):
            if self._pipeline is None or self._next != (epoch, number, device_id):
                self.close()
                try:
                    self._pipeline = self._built(epoch, number, device_id)
                except LoaderError as error:
                    self.close()
                    raise DaliFailed(str(error), path=self._contents.name) from error
            self._next = None  # whoever interrupts what follows gets a new pipeline
            if not self._ready:
                self._ready = self._run(epoch, number, device_id)
            low, normal = self._ready.pop(0)
            over = number + 1 == self._batches()
            self._next = (epoch + 1, 0, device_id) if over else (epoch, number + 1, device_id)
            places = self._places_of(epoch, number)
            images = (made.reshape(len(places), frames, *made.shape[1:]) for made in (low, normal))
            yield (*images, [place.clip.key for place in places])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {
            "_pipeline": None,
            "_pool": None,
            "_lows": None,
            "_videos": None,
            "_ready": [],
        }

    def close(self) -> None:
        """End the threads and processes, and let go of the pipeline."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        for one in (self._lows, self._videos):
            if one is not None:
                one.close()
        self._pipeline = self._pool = self._lows = self._videos = None
        self._ready = []

    def _built(self, epoch: int, batch: int, device_id: int | None) -> Any:
        """Build the pipeline from a batch of an epoch on.

        Raises LoaderError with what DALI says.
        """
        far = AT_ONCE if self._contents.far else 1
        self._pool = pool = ThreadPoolExecutor(max(self._options.workers, far))
        own = self._options.batch_size * self._contents.frames
        self._together = self._at_once(own, device_id)
        places_at = partial(self._places_at, self._rounds(epoch, batch))
        common: dict[str, Any] = {
            "options": self._options,
            "batch_size": self._together * own,
            "num_threads": max(self._options.workers, 1),
            "device_id": device_id,
            "prefetch_queue_depth": min(self._options.prefetch, 3),  # of many images each
        }
        if self.by_dali and device_id is not None:
            from ..dali.pipelines import DECODERS_ALONE, SIDE_BY_SIDE

            alone = self._live is not None and self._groups is None
            common |= DECODERS_ALONE if alone else SIDE_BY_SIDE
        if self._live is not None:
            self._lows = LiveClips(
                self._source(pool, (epoch, batch), places_at, common),
                self._live,
                self._options,
                self._contents.frames,
                places_at,
                [clip.key for clip in self._contents.clips],
                device_id=device_id,
            )
            return self._lows

        return built(self._stored(pool, places_at, common), self._contents.name)

    def _stored(
        self, pool: ThreadPoolExecutor, places_at: Callable[[int], list[ClipPlace]], common: Any
    ) -> Any:
        """Return the pipeline of stored lows."""
        from ..dali.pipelines import external_pairs, pairs_of_decoded_lows

        decoded = read_extent(self._contents.clips[0].lows[0]).startswith(SIGNATURE)
        batches = StoredBatches(
            pool,
            places_at,
            self._options,
            self._contents.frames,
            decodes_lows=decoded,
            ahead=_AHEAD,
        )
        common = common | {"crops": batches.crops}
        if not decoded:
            return external_pairs(batches.pairs, **common)
        return pairs_of_decoded_lows(batches.lows, batches.normals, **common)

    def _at_once(self, frames: int, device_id: int | None) -> int:
        """Return how many batches of so many frames are made at once."""
        alone = self._groups is not None or self._options.pad  # as large as the largest of a batch
        if not self.by_dali or device_id is None or alone:
            return 1
        if self._largest is None:  # looked for once, not for every pipeline
            try:
                self._largest = largest_of(self._contents.clips)
            except (LoaderError, ImageRefused):  # told when it comes
                return 1
        return batches_per_group(frames, max(self._largest, math.prod(self._options.size or [0])))

    def _rounds(self, epoch: int, batch: int) -> BatchGroups:
        return BatchGroups(self._together, self._batches(), epoch, batch)

    def _places_at(self, rounds: BatchGroups, number: int) -> list[ClipPlace]:
        """Return the places of the batches of a round."""
        epoch, batches = rounds.of(number)
        return [place for batch in batches for place in self._places_of(epoch, batch)]

    def _source(
        self,
        pool: ThreadPoolExecutor,
        place: tuple[int, int],
        places_at: Callable[[int], list[ClipPlace]],
        common: dict[str, Any],
    ) -> Pictures | Videos:
        """Return the decoded normals alone, from a batch of an epoch on."""
        on_gpu, name = common["device_id"] is not None, self._contents.name
        if self._groups is not None:
            wanted = Wanted(self._contents, self._groups, place, self._numbers_from)
            workers = self._options.workers
            if self.by_dali:
                self._videos = decode_by_dali(wanted, workers, self._segments, pool, common)
            else:
                self._videos = decode_by_pyav(wanted, workers, common["device_id"])
            return self._videos
        from ..dali import pipelines

        def begin(number: int) -> list[Future[list[Bytes]]]:
            return [pool.submit(read_frames, place.clip) for place in places_at(number)]

        read = BatchesAhead(begin, _AHEAD)

        def source(info: Any) -> tuple[list[Bytes], Any]:
            frames = [data for clip in read.of(info.iteration) for data in clip.result()]
            return frames, numbers_of(len(frames))

        return Pictures(built(pipelines.external_normals(source, **common), name), on_gpu)

    def _numbers_from(self, epoch: int, batch: int) -> list[list[int]]:
        """Return the numbers of the clips of an epoch's batches from one on."""
        rest = (self._places_of(epoch, n) for n in range(batch, self._batches()))
        return [[place.number for place in places] for places in rest]

    def _run(self, epoch: int, batch: int, device_id: int | None) -> list[tuple[Any, Any]]:
        """Return lows and normals of the batches of the round that begins with one."""
        try:
            stream = () if device_id is None else (torch.cuda.current_stream(device_id),)
            low, normal, _ = self._pipeline.run(*stream)
        except Exception as error:  # RuntimeError of DALI, or whatever a source raised
            found = self._damage(epoch, batch)
            self.close()
            words = f"{self._contents.name}: {'DALI' if self.by_dali else 'PyAV'}: "
            words += last_words(error)
            raise found or DaliFailed(words, path=self._contents.name) from error
        _, batches = self._rounds(epoch, batch).of(0)
        frames = self._contents.frames
        counts = [frames * len(self._places_of(epoch, number)) for number in batches]
        return list(zip(split(low, counts), split(normal, counts), strict=True))

    def _damage(self, epoch: int, batch: int) -> LoaderError | None:
        """Return what is wrong with a clip of the batches that it was at."""
        if self._videos is not None:
            return self._videos.damage()
        rounds = self._rounds(epoch, batch)
        for number in range(self._options.prefetch + 1):
            for place in self._places_at(rounds, number):
                try:
                    self._samples[place]
                except LoaderError as error:
                    return error
        return None
