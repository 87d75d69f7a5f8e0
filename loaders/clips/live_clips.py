"""Make the lows of decoded clips, with a GPU's kernels or the CPU's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import LoaderError
from ...synth.clips import frame_maker
from ...synth.draws.clips import frame_table
from ...synth.draws.table import DrawTable
from ...synth.kernels.arrays import Window
from ..augment import draw_crops
from ..dali.transforms.prefetch import CudaPrefetcher
from ..live.cuda_tensors import OnGpu, new_camera, transformed_pairs
from ..live.draws import EpochDraws
from ..live.host_batch import pairs_batch
from ..live.lows import LiveLows
from ..live.stream_keepalive import StreamKeepAlive
from ..options import Options
from .clip_samples import ClipPlace
from .frame_sources import Pictures, Videos

Whole = npt.NDArray[np.int64]
_AHEAD = 2  # batches that are made while one is used


class LiveClips:
    """A stand-in for a DALI pipeline of stored clips: the same outputs.

    A batch of it is a round of the loader's, see `batch_groups`.

    source: source of the decoded frames.
    live: on a GPU of a recipe of the camera model.
    options: on a GPU with a size.
    frames: number in each clip.
    places_of: function of a batch's number; returns the places of its clips; counted from the
      pipeline's beginning.
    keys: those of all clips that may come.
    device_id: number of the GPU.
    """

    def __init__(
        self,
        source: Pictures | Videos,
        live: LiveLows,
        options: Options,
        frames: int,
        places_of: Callable[[int], list[ClipPlace]],
        keys: Sequence[str],
        *,
        device_id: int | None,
    ) -> None:
        self._source, self._live, self._options = source, live, options
        self._frames, self._places_of = frames, places_of
        self._pool = ThreadPoolExecutor(max(options.workers, 1))
        self._draws = None if device_id is None else EpochDraws(live, keys, options.workers)
        self._camera: Any = None
        self._ahead = (
            CudaPrefetcher(self._on_stream, _AHEAD, device_id) if device_id is not None else None
        )
        self._held = StreamKeepAlive(_AHEAD)
        self._done = 0

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, and no more.

        Raises LoaderError when the frames of a clip differ in size.
        """
        return self._on_cpu() if self._ahead is None else self._ahead.next().outputs

    def close(self) -> None:
        """End the threads that make batches and draw."""
        if self._ahead is not None:
            self._ahead.close()
        if self._draws is not None:
            self._draws.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _on_cpu(self) -> tuple[Any, ...]:
        frames, places = self._source.next(), self._next_places()
        normals, crops = frames.images, self._crops(places, frames.sizes)
        draws = [self._live.draw(place.clip.key, place.epoch) for place in places]
        maker = frame_maker(draws, self._frames)

        def low_of(i: int, window: Window) -> Any:
            return maker.low(i, normals[i], window, normals[i - i % self._frames])

        batch = pairs_batch(self._options, self._pool, crops, normals, low_of)
        return (*batch.images(), None)

    def _on_stream(self, stream: Any) -> tuple[Any, Any, Any]:
        """Make the next batch as torch's own tensors."""
        frames, places = self._source.next(stream), self._next_places()
        crops = self._crops(places, frames.sizes)
        if self._camera is None:
            self._camera = new_camera()
        self._camera.load(self._drawn(places))
        normals = OnGpu(np.arange(len(frames.sizes)), frames.sizes, frames.at)
        firsts = np.repeat(frames.at[:: self._frames], self._frames)
        images = transformed_pairs(self._camera, normals, crops, self._options, firsts)
        self._held.keep(frames.held, stream)
        return images, None, None

    def _drawn(self, places: Sequence[ClipPlace]) -> DrawTable:
        """Return the draws of all frames of a batch."""
        assert self._draws is not None
        keys, epoch = [place.clip.key for place in places], places[0].epoch
        clips = self._draws.table(epoch).take(self._draws.numbers(keys))
        return frame_table(clips, self._frames)

    def _next_places(self) -> list[ClipPlace]:
        places = self._places_of(self._done)
        self._done += 1
        return places

    def _crops(self, places: Sequence[ClipPlace], sizes: Whole) -> Any:
        """Return the crops of all frames, those of a clip alike (N, 7), as processes draw them.

        Raises LoaderError when the frames of a clip differ in size.
        """
        firsts = sizes[:: self._frames]
        for n in np.flatnonzero((sizes != np.repeat(firsts, self._frames, axis=0)).any(axis=1)):
            key = places[int(n) // self._frames].clip.key
            raise LoaderError(f"{key}: its frames differ in size", key=key)
        keys, epoch = [place.clip.key for place in places], places[0].epoch
        return np.repeat(draw_crops(self._options, epoch, keys, firsts), self._frames, axis=0)
