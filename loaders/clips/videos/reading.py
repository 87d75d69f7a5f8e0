"""Sources of the frames of videos: parts decoded by DALI, or with PyAV by processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ....manifests.clips.segments import Segments
from ...dali.forks import built
from ...options import Options
from ..clip_bytes import bytes_of
from ..frame_sources import PIPELINES, Videos, check_against_pyav
from ..stored_clips import ClipContents
from .decoding import PyavParts
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
    parts = PyavParts(runs, wanted.groups, workers, device_id)
    on_gpu, name = device_id is not None, wanted.contents.name
    return Videos([parts], on_gpu, runs, name=name, end=parts.close)


def decode_by_dali(
    wanted: Wanted, options: Options, segments: Segments, pool: Executor, device_id: int | None
) -> Videos:
    """Let DALI decode the segments that worker processes cut; with 0 workers this one cuts.

    segments: what was cut.
    pool: threads that wait for the processes.

    Raises LoaderError with what DALI says; also when processes cannot be started.
    """
    from ...dali.pipelines import SIDE_BY_SIDE
    from .pipelines import pipelines_of

    on_gpu, name, workers = device_id is not None, wanted.contents.name, options.workers
    count = PIPELINES if on_gpu else 1
    at_once = -(-wanted.groups.at_once // count)
    runs = wanted.runs(at_once)
    processes = VideoProcesses(workers, 0) if workers else None
    cut = None if processes is None else partial(processes.cut, margins=on_gpu)
    given = partial(bytes_of, segments=segments, cut=cut)
    common: dict[str, Any] = {
        "options": options,
        "batch_size": at_once,
        "num_threads": max(workers, 1),
        "device_id": device_id,
    }
    made = pipelines_of(runs, count, pool, given, **common | (SIDE_BY_SIDE if on_gpu else {}))
    decoders = [partial(_run, built(one, name)) for one in made]

    def end() -> None:
        pool.shutdown(wait=False, cancel_futures=True)
        if processes is not None:
            processes.close()

    return Videos(decoders, on_gpu, runs, check_against_pyav, name=name, end=end)


def _run(pipeline: Any, stream: Any) -> Sequence[Any]:
    """Return the sequences of a pipeline's next run: arrays, or DALI's list on a GPU."""
    if stream is not None:
        sequences: Sequence[Any] = pipeline.run(stream)[0]
        return sequences
    (decoded,) = pipeline.run()
    return [np.asarray(decoded[i]) for i in range(len(decoded))]
