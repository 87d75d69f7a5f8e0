"""Parts of videos come run by run, decoded here or in processes, for a CPU or a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.errors import ImageRefused
from gloam.loaders.clips.stored_clips import clips_in
from gloam.loaders.clips.video_frames import PyavParts, runs_ahead
from gloam.loaders.clips.video_order import Groups, Runs, Schedule, group_clips
from gloam.manifests.clips.listing import Windows
from gloam.manifests.clips.video import decode_frames

from ...clips import panned, write_video

GPU = pytest.param(0, marks=pytest.mark.gpu)


@pytest.fixture
def clips(tmp_path):
    for seed, (name, group) in enumerate((("a.mp4", "8"), ("b.mkv", "250"), ("c.mp4", "5"))):
        write_video(tmp_path / name, panned(seed, 40), g=group, sc_threshold="0", bf="2")
    return clips_in(tmp_path, Windows(3, 2, 4)).clips


def runs_of(clips, groups, at_once=3):
    def schedule_of(epoch, batch):
        order = groups.order(3, epoch, True).tolist()
        batches = [order[i : i + 4] for i in range(0, len(order), 4)]
        return Schedule(batches, groups.of_clip, clips, at_once)

    return Runs(0, 0, schedule_of)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("device_id", [None, GPU])
def test_runs_come_one_after_the_other(clips, workers, device_id):
    groups = group_clips(clips)
    runs = runs_of(clips, groups)
    parts = PyavParts(runs, groups, workers, device_id)
    for run in range(12):  # through epochs
        schedule, own = runs.of_run(run)
        made = parts()
        assert len(made) == len(schedule.parts(own))
        for part, frames in zip(schedule.parts(own), made, strict=True):
            found = frames if device_id is None else frames.cpu().numpy()
            np.testing.assert_array_equal(found, decode_frames(part.video, part.times))
    parts.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_damage_is_raised_with_its_run(clips, workers):
    groups = group_clips(clips)
    path = next(iter({clip.video[0] for clip in clips if clip.video[0].member == "b.mkv"}))
    whole = f"{path.container}/{path.member}"
    with open(whole, "r+b") as file:
        size = file.seek(0, 2)
        file.seek(size // 3)
        file.write(bytes(size - size // 3))
    runs = runs_of(clips, groups)
    parts = PyavParts(runs, groups, workers)
    with pytest.raises(ImageRefused):
        list(iter(parts, None))  # on and on
    parts.close()


@pytest.mark.parametrize(
    ("mebibytes", "workers", "expected"),
    [
        (37, 16, 2),  # 13 parts a run
        (37, 64, 5),
        (256, 2, 2),  # 2 a run
        (256, 16, 6),
        (500, 4, 4),  # one a run
        (500, 16, 6),  # as many as 3 GiB
        (2000, 16, 2),
        (1, 0, 2),
    ],
)
def test_each_process_has_a_part_if_memory_allows(mebibytes, workers, expected):
    groups = Groups(np.zeros(1, np.int64), np.array([1, mebibytes << 20]))
    assert runs_ahead(groups, workers) == expected
