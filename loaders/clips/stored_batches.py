"""The stored clips of batches as DALI takes them, read and partly decoded by threads, ahead."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...manifests.images.header import read_header
from ..forms import change_of
from ..options import Options
from .clip_bytes import Bytes, frames_of
from .clip_samples import ClipPlace
from .low_pixels import low_pixels

_MOST_PIXELS = 1 << 30  # what a set may hold


class _Clip(NamedTuple):
    lows: list[Any]
    normals: list[Bytes]
    change: npt.NDArray[np.int32] | None


class StoredBatches:
    """Both of the sources that a pipeline of stored clips asks, by DALI's BatchInfo.

    Parameters
    ----------
    pool : ThreadPoolExecutor
        That reads and decodes.
    places_of : function of a batch's number
        Returns the places of its clips.
    options : Options
    frames : int
        Of each clip.
    decodes_lows : bool
        Whether lows are given decoded.
    ahead : int
        Batches that are read and decoded before they are asked for.
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
        self._frames, self._decodes_lows, self._ahead = frames, decodes_lows, ahead
        self._begun: dict[int, list[Future[_Clip]]] = {}

    def pairs(self, info: Any) -> tuple[list[Any], list[Bytes], list[Any]]:
        """Return lows, encoded or uint8 (H, W, 3), encoded normals and numbers of a batch."""
        clips = self._clips(info.iteration)
        lows = [low for clip in clips for low in clip.lows]
        return lows, [one for clip in clips for one in clip.normals], [_NUMBER] * len(lows)

    def forms(self, info: Any) -> list[Any]:
        """Return the changes of all frames of a batch, those of a clip alike."""
        clips = self._clips(info.iteration)
        return [clip.change for clip in clips for _ in clip.normals]

    def _clips(self, number: int) -> list[_Clip]:
        # Both of DALI's sources ask for a batch, one after the other.
        for past in [one for one in self._begun if one < number]:
            del self._begun[past]
        for one in range(number, number + 1 + self._ahead):
            if one not in self._begun:
                places = self._places_of(one)
                self._begun[one] = [self._pool.submit(self._one, place) for place in places]
        return [clip.result() for clip in self._begun[number]]

    def _one(self, place: ClipPlace) -> _Clip:
        read, change = frames_of(place.clip), None
        lows, normals = read[: self._frames], read[self._frames :]
        if self._options.changes:
            header = read_header(normals[0].tobytes(), _MOST_PIXELS)
            drawn = change_of(header.height, header.width, self._options, place.seed)
            change = np.array(drawn, np.int32)
        return _Clip([*map(low_pixels, lows)] if self._decodes_lows else lows, normals, change)


_NUMBER = np.zeros(1, np.int64)
