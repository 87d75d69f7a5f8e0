"""The order of clips of videos, and when parts of videos are decoded for it.

A clip cannot be decoded alone: decoders begin at the key frame before it, some 100 frames earlier
in most files. So clips that share a key frame come near one another: groups of them are shuffled,
then the clips of as many groups as fit into a window of memory. Each group is decoded once an
epoch.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ...errors import ImageRefused
from ...manifests.clips.video import list_key_frames
from ...manifests.sources import Location
from ..order import Order, Whole, epoch_order, epoch_seed
from ..stored_pairs import StoredSample
from .stored_clips import by_video

_WINDOW = 1 << 30  # bytes of decoded frames among which clips are shuffled
_AT_ONCE = 1 << 29  # bytes that are decoded at once
_PARTS = 16  # of videos that they are in, at most
_LOOKING = 8  # threads that look into videos
_EPOCHS = 48  # whose schedules are kept: several pipelines are some runs ahead, in short epochs too


@dataclass(frozen=True)
class Groups:
    """Clips of videos by the key frame that decoding begins at.

    of_clip: int64 array (N); the group of each clip.
    sizes: int64 array (G); bytes of the decoded frames of each group.
    """

    of_clip: Whole
    sizes: Whole

    @property
    def at_once(self) -> int:
        """Number of groups to decode at once."""
        return min(max(_AT_ONCE // max(int(self.sizes.max()), 1), 1), _PARTS)

    def order(self, seed: int, epoch: int, shuffle: bool) -> Whole:
        """Return the numbers of the clips in an epoch's order; equal on all ranks."""
        count = len(self.of_clip)
        if not shuffle:
            return np.arange(count)
        random = np.random.Generator(np.random.Philox(key=epoch_seed(seed, epoch, "groups")))
        shuffled = random.permutation(len(self.sizes))
        sizes = self.sizes[shuffled]
        window = np.empty(len(self.sizes), np.int64)
        window[shuffled] = (np.cumsum(sizes) - sizes) // _WINDOW
        drawn = epoch_order(count, seed, epoch, shuffle)
        return np.lexsort((drawn, window[self.of_clip]))


class VideoOrder(Order):
    """The order of clips of videos: shuffled by groups, and within windows of them."""

    kind = "shuffled by groups of videos"

    def __init__(self, count: int, seed: int, shuffle: bool, groups: Groups) -> None:
        super().__init__(count, seed, shuffle)
        self._of_groups = partial(groups.order, seed, shuffle=shuffle)

    def numbers(self, epoch: int, first: int, last: int) -> Whole:
        """Return the numbers in an epoch's order."""
        return self._of_groups(epoch)


def group_clips(clips: Sequence[StoredSample]) -> Groups:
    """Group clips of videos, whose packets are looked at; a damaged video is one group.

    The frames behind a key frame are several groups, if they are more than are decoded at once.
    """
    videos = by_video(clips)

    def look(video: Location) -> tuple[list[int], tuple[int, int]]:
        try:
            return list_key_frames(video)
        except ImageRefused:
            return [], (1, 1)

    of_clip = np.zeros(len(clips), np.int64)
    sizes: list[int] = []
    with ThreadPoolExecutor(_LOOKING) as pool:
        for some, (keys, (height, width)) in zip(
            videos.values(), pool.map(look, videos), strict=True
        ):
            most = max(_AT_ONCE // (3 * height * width), 1)
            last: tuple[int, set[int]] | None = None  # key frame and frames of the group
            for number, times in sorted(some, key=lambda one: one[1][0]):
                key = bisect_right(keys, times[0])
                if last is None or last[0] != key or len(last[1] | set(times)) > most:
                    last = key, set()
                    sizes.append(0)
                last[1].update(times)
                of_clip[number] = len(sizes) - 1
                sizes[-1] = 3 * height * width * len(last[1])
    return Groups(of_clip, np.array(sizes, np.int64))


class VideoPart(NamedTuple):
    """A part of a video that is decoded at once.

    times: those of its frames that are wanted, in order.
    """

    video: Location
    times: list[int]


class Schedule:
    """Which parts of videos are decoded when, for the batches of an epoch that are left.

    batches: sequence of sequences of int; the clips of each batch.
    of_clip: int64 array; as of `Groups`.
    clips: all of them.
    at_once: parts of a run.
    """

    def __init__(
        self,
        batches: Sequence[Sequence[int]],
        of_clip: Whole,
        clips: Sequence[StoredSample],
        at_once: int,
    ) -> None:
        self.batches, self._at_once = batches, at_once
        job: dict[int, int] = {}  # of each group, by when it is wanted first
        self._members: list[list[int]] = []
        self._last: list[int] = []  # batch that each job is wanted in
        self._needed = []
        for number, batch in enumerate(batches):
            for clip in batch:
                own = job.setdefault(int(of_clip[clip]), len(job))
                if own == len(self._members):
                    self._members.append([])
                    self._last.append(number)
                self._members[own].append(clip)
                self._last[own] = number
            self._needed.append(-(-len(job) // at_once))
        self._job = {clip: own for own, some in enumerate(self._members) for clip in some}
        self._clips = clips
        self._parts: dict[int, VideoPart] = {}
        self.runs = -(-len(job) // at_once)

    def parts(self, run: int) -> list[VideoPart]:
        """Return what a run decodes."""
        first = run * self._at_once
        return [self._part(i) for i in range(first, min(first + self._at_once, len(self._members)))]

    def needed(self, batch: int) -> int:
        """Return how many runs are to be done before a batch."""
        return self._needed[batch]

    def last(self, run: int) -> int:
        """Return the last batch that a run's frames are wanted in."""
        return max(self._last[run * self._at_once :][: self._at_once])

    def place(self, clip: int) -> tuple[int, int, list[int]]:
        """Return where a clip's frames are: its run, the part's number in it, frames of that."""
        run, within = divmod(self._job[clip], self._at_once)
        times = self._part(self._job[clip]).times
        return run, within, [bisect_left(times, time) for time in self._clips[clip].video[1]]

    def _part(self, own: int) -> VideoPart:
        if own not in self._parts:
            (video, *_), shown = zip(
                *(self._clips[n].video for n in self._members[own]), strict=True
            )
            self._parts[own] = VideoPart(video, sorted({time for times in shown for time in times}))
        return self._parts[own]


class _Begun(NamedTuple):
    """The schedule of an epoch, and runs and batches before it."""

    runs: int
    batches: int
    schedule: Schedule


class Runs:
    """Runs and batches of one epoch after the other, from a batch on.

    epoch, batch: where to begin.
    schedule_of: function of (epoch, batch); returns the schedule of an epoch from a batch on.
    """

    def __init__(self, epoch: int, batch: int, schedule_of: Callable[[int, int], Schedule]) -> None:
        self._lock = threading.Lock()  # DALI asks from threads of its own
        self._make, self._epoch = schedule_of, epoch
        self._begun = [_Begun(0, 0, schedule_of(epoch, batch))]
        self._last = 0  # run that was asked for

    def recent(self, most: int) -> list[VideoPart]:
        """Return what the last runs decode that were asked for, and so many before."""
        first = max(self._last - most, 0)
        found = [self.of_run(run) for run in range(first, self._last + 1)]
        return [part for schedule, run in found for part in schedule.parts(run)]

    def of_run(self, run: int) -> tuple[Schedule, int]:
        """Return the schedule that a run belongs to, and its number there."""
        self._last = max(self._last, run)
        found = self._find_schedule(run, lambda one: one.runs)
        return found.schedule, run - found.runs

    def of_batch(self, batch: int) -> tuple[Schedule, int, int]:
        """Return the schedule that a batch belongs to, its number there, and the runs before."""
        found = self._find_schedule(batch, lambda one: one.batches)
        return found.schedule, batch - found.batches, found.runs

    def _find_schedule(self, number: int, before: Callable[[_Begun], int]) -> _Begun:
        with self._lock:
            while True:
                runs, batches, schedule = self._begun[-1]
                end = runs + schedule.runs, batches + len(schedule.batches)
                if number < before(_Begun(*end, schedule)):
                    break
                self._epoch += 1
                following = _Begun(*end, self._make(self._epoch, 0))
                self._begun = [*self._begun[-_EPOCHS:], following]
            return next(one for one in reversed(self._begun) if before(one) <= number)
