"""Clips of videos come in an order that decodes each part once."""

from __future__ import annotations

import ctypes
from itertools import repeat

import numpy as np
import pytest
import torch

from gloam.loaders.clips import video_order
from gloam.loaders.clips.stored_clips import clips_in
from gloam.loaders.clips.video_frames import PIPELINES, RECENT, VideoDecoder, bytes_of, frame_places
from gloam.loaders.clips.video_order import Groups, Runs, Schedule, group_clips
from gloam.loaders.order import Positions, Step
from gloam.manifests.clips.listing import Windows, video_and_times
from gloam.manifests.clips.segments import Segments
from gloam.manifests.clips.video import decode_frames, frame_times

from ...clips import panned, write_video


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    root = tmp_path_factory.mktemp("grouped")
    for seed, (name, group) in enumerate((("a.mp4", 8), ("b.mkv", 250), ("c.mp4", 5))):
        write_video(root / name, panned(seed, 40), g=str(group), sc_threshold="0", bf="2")
    return clips_in(root, Windows(3, 2, 4)).clips


def test_clips_are_grouped_by_the_key_frame_before_them(clips):
    groups = group_clips(clips)
    found = {}
    for clip, group in zip(clips, groups.of_clip.tolist(), strict=True):
        video, times = video_and_times(clip.place)
        first = frame_times(video).index(times[0])
        length = {"a.mp4": 8, "b.mkv": 250, "c.mp4": 5}[video.member]
        found.setdefault(group, set()).add((video.member, first // length))
    assert all(len(keys) == 1 for keys in found.values())
    assert len(found) == len(groups.sizes) == 5 + 1 + 7
    of_b = groups.of_clip[[video_and_times(c.place)[0].member == "b.mkv" for c in clips]]
    frames = {t for c in clips[9:18] for t in video_and_times(c.place)[1]}
    assert set(of_b.tolist()) == set(groups.of_clip[9:18].tolist())
    assert groups.sizes[of_b[0]] == 3 * 72 * 96 * len(frames)


def test_what_is_too_much_at_once_is_several_groups(clips, monkeypatch):
    frame = 3 * 72 * 96
    monkeypatch.setattr(video_order, "_AT_ONCE", 8 * frame)
    groups = group_clips(clips)
    assert groups.sizes.max() <= 8 * frame
    assert groups.at_once == 1
    for group, size in enumerate(groups.sizes.tolist()):
        own = [clips[i] for i in np.flatnonzero(groups.of_clip == group)]
        times = {time for clip in own for time in video_and_times(clip.place)[1]}
        assert size == frame * len(times)
        assert len({video_and_times(clip.place)[0] for clip in own}) == 1
    assert len(groups.sizes) > 13
    monkeypatch.setattr(video_order, "_AT_ONCE", 1)  # no frame fits: a clip each
    assert len(group_clips(clips).sizes) == len(clips)


def test_orders_hold_every_clip_and_keep_groups_together(monkeypatch):
    rng = np.random.default_rng(0)
    groups = Groups(np.sort(rng.integers(0, 50, 600)), rng.integers(500, 1500, 50))
    monkeypatch.setattr(video_order, "_WINDOW", 5000)
    assert groups.order(1, 0, False).tolist() == list(range(600))
    orders = [groups.order(1, epoch, True) for epoch in (0, 1)] + [groups.order(2, 0, True)]
    assert groups.order(1, 0, True).tolist() == orders[0].tolist()
    assert len({tuple(order.tolist()) for order in orders}) == 3
    for order in orders:
        assert sorted(order.tolist()) == list(range(600))
        places = [np.flatnonzero(groups.of_clip[order] == group) for group in range(50)]
        assert max(place.max() - place.min() for place in places) < 600 * 5000 * 1.6 / 50_000
        together = [(np.diff(place) == 1).mean() for place in places]
        assert np.mean(together) < 0.5  # they are shuffled among those of others
    monkeypatch.setattr(video_order, "_WINDOW", 10**9)
    wide = groups.order(1, 0, True)
    assert abs(np.corrcoef(wide, np.arange(600))[0, 1]) < 0.15


def batches_of(order, size):
    return [order[i : i + size].tolist() for i in range(0, len(order), size)]


@pytest.mark.parametrize("at_once", [1, 3, 100])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_schedule_decodes_each_part_once_and_in_time(clips, at_once, shuffle):
    groups = group_clips(clips)
    order = groups.order(3, 0, shuffle)
    schedule = Schedule(batches_of(order, 4), groups.of_clip, clips, at_once)
    parts = [schedule.parts(run) for run in range(schedule.runs)]
    assert all(0 < len(some) <= at_once for some in parts)
    assert sum(map(len, parts)) == len(groups.sizes)
    for number, batch in enumerate(schedule.batches):
        for clip in batch:
            run, within, frames = schedule.place(clip)
            assert run < schedule.needed(number)
            assert number <= schedule.last(run)
            part, (video, times) = parts[run][within], video_and_times(clips[clip].place)
            assert part.video == video
            assert [part.times[frame] for frame in frames] == times
    assert [schedule.needed(n) for n in range(len(schedule.batches))] == sorted(
        schedule.needed(n) for n in range(len(schedule.batches))
    )


def test_runs_go_on_from_epoch_to_epoch(clips):
    groups, asked = group_clips(clips), []

    def schedule_of(epoch, batch):
        asked.append((epoch, batch))
        batches = batches_of(groups.order(3, epoch, True), 4)[batch:]
        return Schedule(batches, groups.of_clip, clips, 3)

    runs = Runs(2, 5, schedule_of)
    first, number, before = runs.of_batch(0)
    assert (number, before, asked) == (0, 0, [(2, 5)])
    ahead, run = runs.of_run(first.runs + 2)
    assert run == 2
    assert asked == [(2, 5), (3, 0)]
    left = len(first.batches)
    assert runs.of_batch(left - 1)[:2] == (first, left - 1)
    assert runs.of_batch(left) == (ahead, 0, first.runs)
    assert asked == [(2, 5), (3, 0)]


def test_short_epochs_are_kept_while_pipelines_are_ahead(clips):
    one = clips[:2]
    groups = group_clips(one)
    runs = Runs(0, 0, lambda epoch, batch: Schedule([[0], [1]][batch:], groups.of_clip, one, 4))
    most = RECENT * PIPELINES
    schedule, run = runs.of_run(2 * most)  # of as many epochs
    assert (schedule.runs, run) == (1, 0)
    assert runs.of_run(0)[1] == 0
    assert runs.of_batch(1)[1:] == (1, 0)
    assert len(runs.recent(most)) == most + 1


class Decoder:
    """In place of DALI, which decodes no H.264 without a GPU."""

    def __init__(self, runs, turn=0, turns=1):
        self._runs, self._next, self._turns, self._kept = runs, turn, turns, Segments()
        self.done = 0

    def __call__(self, stream=None):
        schedule, run = self._runs.of_run(self._next)
        self._next += self._turns
        self.done += 1
        made = []
        for part in schedule.parts(run):
            bytes_of(part, self._kept)
            made.append(np.stack(decode_frames(part.video, part.times)))
        return made


@pytest.mark.parametrize("turns", [1, 3])
def test_batches_get_the_frames_of_their_clips(clips, turns):
    groups, checked = group_clips(clips), []

    def schedule_of(epoch, batch):
        batches = batches_of(groups.order(3, epoch, True), 4)[batch:]
        return Schedule(batches, groups.of_clip, clips, 2)

    runs = Runs(0, 2, schedule_of)
    ahead = Runs(0, 2, schedule_of)
    decoders = [Decoder(ahead, turn, turns) for turn in range(turns)]
    check = lambda part, frames: checked.append((part, frames))  # noqa: E731
    source = VideoDecoder(decoders, False, runs, repeat(Step(0, Positions.of([]))), check)
    for epoch, batch in ((0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (1, 0), (1, 1)):
        frames = source.next().images
        own = batches_of(groups.order(3, epoch, True), 4)
        wanted = [
            frame
            for clip in own[batch]
            for frame in decode_frames(*video_and_times(clips[clip].place))
        ]
        assert len(frames) == len(wanted) == 3 * len(own[batch])
        for one, other in zip(frames, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    assert len(checked) == 1
    np.testing.assert_array_equal(
        checked[0][1][0], decode_frames(checked[0][0].video, checked[0][0].times[:1])[0]
    )
    assert len(source._held) < sum(decoder.done for decoder in decoders)


def test_places_of_frames_in_memory():
    shapes = [(2, 4, 6, 3), (5, 3, 5, 3), (3, 2, 2, 3)]
    sizes, at = frame_places(shapes, [1000, 5000, 9000], [[0, 1], [3], [0, 2]])
    assert sizes.tolist() == [[4, 6]] * 2 + [[3, 5]] + [[2, 2]] * 2
    assert at.tolist() == [1000, 1072, 5135, 9000, 9024]


def test_a_gpu_gets_the_addresses_of_frames(clips):
    groups, checked = group_clips(clips), []

    def schedule_of(epoch, batch):
        batches = batches_of(groups.order(5, epoch, True), 4)
        return Schedule(batches, groups.of_clip, clips, 3)

    class Pipeline(Decoder):
        def __call__(self, stream=None):
            assert stream == "stream"
            return [torch.from_numpy(one) for one in super().__call__()]

    source = VideoDecoder(
        [Pipeline(Runs(0, 0, schedule_of))],
        True,
        Runs(0, 0, schedule_of),
        repeat(Step(0, Positions.of([]))),
        lambda part, frames: checked.append(len(frames)),
    )
    for batch in batches_of(groups.order(5, 0, True), 4):
        made = source.next("stream")
        wanted = [
            frame for clip in batch for frame in decode_frames(*video_and_times(clips[clip].place))
        ]
        assert made.sizes.tolist() == [[72, 96]] * len(wanted)
        for address, frame in zip(made.at.tolist(), wanted, strict=True):
            read = ctypes.string_at(address, frame.size)
            np.testing.assert_array_equal(np.frombuffer(read, np.uint8), frame.reshape(-1))
        assert len(made.held) == len(batch)
    assert checked[0] > 0
    assert not source._held
