"""Sources of the frames of videos: parts decoded by DALI, or with PyAV by processes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from ....errors import ImageRefused, LoaderError
from ....manifests.clips.segments import Segments
from ....manifests.clips.video import decode_frames
from ...dali.building import built
from ..clip_bytes import bytes_of
from ..frame_sources import Frames, Videos, check_against_pyav
from ..stored_clips import ClipContents
from .decoding import DecodedParts
from .order import Groups, Runs, Schedule
from .processes import VideoProcesses

RECENT = 4  # runs of a pipeline that may be under way
PIPELINES = 4
"""DALI pipelines that decode videos on a GPU in parallel: one alone waits after each frame until
all of its decoders have finished, and gives 3,700 frames of 480 x 270 a second on an H200, with 8
decoders as with 24."""


@dataclass(frozen=True)
class Wanted:
    """Which clips of videos are wanted, in which order.

    groups: those of its clips.
    place: (int, int); epoch and batch that it begins at.
    numbers_of: function of (epoch, batch); returns the numbers of the clips of each batch from that
      one to the epoch's end.
    """

    contents: ClipContents
    groups: Groups
    place: tuple[int, int]
    numbers_of: Callable[[int, int], list[list[int]]]

    def runs(self, at_once: int) -> Runs:
        """Return them as runs of so many parts each."""

        def schedule_of(epoch: int, batch: int) -> Schedule:
            numbers = self.numbers_of(epoch, batch)
            return Schedule(numbers, self.groups.of_clip, self.contents.clips, at_once)

        return Runs(*self.place, schedule_of)


class VideoFrames:
    """The frames of batches of clips of videos.

    name: what they are read from.
    end: ends the processes that decode or cut.
    """

    def __init__(self, name: str, videos: Videos, runs: Runs, end: Callable[[], None]) -> None:
        self._name, self._videos, self._runs, self._end = name, videos, runs, end

    def next(self, stream: Any = None) -> Frames:
        """Return the frames of the next batch."""
        return self._videos.next(stream)

    def close(self) -> None:
        """End the processes."""
        self._end()

    def damage(self) -> LoaderError | None:
        """Return what is wrong with a part of a video of the runs that may have been begun."""
        for part in self._runs.recent(RECENT * PIPELINES):
            try:
                decode_frames(part.video, part.times)
            except ImageRefused as refusal:
                name = part.video.member
                words = f"{self._name}: {name}: {refusal}; gloam build passes such clips"
                return LoaderError(f"{words} over, and ClipLoader reads the set", key=name)
        return None


def decode_by_pyav(wanted: Wanted, workers: int, device_id: int | None) -> VideoFrames:
    """Let worker processes decode; copy to a GPU if its number is given.

    Raises LoaderError when they cannot be started.
    """
    runs = wanted.runs(wanted.groups.at_once)
    parts = DecodedParts(runs, wanted.groups, workers, device_id)
    videos = Videos([parts], device_id is not None, runs)
    return VideoFrames(wanted.contents.name, videos, runs, parts.close)


def decode_by_dali(
    wanted: Wanted, workers: int, segments: Segments, pool: Executor, common: dict[str, Any]
) -> VideoFrames:
    """Let DALI decode the segments that worker processes cut.

    workers: processes; with 0 this one cuts.
    segments: what was cut, also for pipelines before.
    pool: threads that wait for the processes.
    common: options of all pipelines; see `pipelines.pipelines_of`.

    Raises LoaderError with what DALI says; also when processes cannot be started.
    """
    from .pipelines import pipelines_of

    on_gpu, name = common["device_id"] is not None, wanted.contents.name
    count = PIPELINES if on_gpu else 1
    at_once = -(-wanted.groups.at_once // count)
    runs = wanted.runs(at_once)
    processes = VideoProcesses(workers, 0) if workers else None
    cut = None if processes is None else partial(processes.cut, margins=on_gpu)
    given = partial(bytes_of, segments=segments, cut=cut)
    made = pipelines_of(runs, count, pool, given, **common | {"batch_size": at_once})
    videos = Videos([built(one, name) for one in made], on_gpu, runs, check_against_pyav)
    return VideoFrames(name, videos, runs, lambda: None if processes is None else processes.close())
