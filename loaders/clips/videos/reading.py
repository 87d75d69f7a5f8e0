"""Sources of the frames of videos: parts decoded by DALI, or with PyAV by processes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from ....manifests.clips.segments import Segments
from ...dali.forks import built
from ..clip_bytes import bytes_of
from ..frame_sources import PIPELINES, Videos, check_against_pyav
from ..stored_clips import ClipContents
from .decoding import DecodedParts
from .order import Groups, Runs, Schedule
from .processes import VideoProcesses


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


def decode_by_pyav(wanted: Wanted, workers: int, device_id: int | None) -> Videos:
    """Let worker processes decode; copy to a GPU if its number is given.

    Raises LoaderError when they cannot be started.
    """
    runs = wanted.runs(wanted.groups.at_once)
    parts = DecodedParts(runs, wanted.groups, workers, device_id)
    on_gpu, name = device_id is not None, wanted.contents.name
    return Videos([parts], on_gpu, runs, name=name, end=parts.close)


def decode_by_dali(
    wanted: Wanted, workers: int, segments: Segments, pool: Executor, common: dict[str, Any]
) -> Videos:
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
    pipelines = [built(one, name) for one in made]
    end = None if processes is None else processes.close
    return Videos(pipelines, on_gpu, runs, check_against_pyav, name=name, end=end)
