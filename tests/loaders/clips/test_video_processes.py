"""Processes decode and cut parts of videos as this one does."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import av
import numpy as np
import pytest

from gloam.errors import ImageRefused, LoaderError
from gloam.loaders.clips.video_order import VideoPart
from gloam.loaders.clips.video_processes import VideoProcesses
from gloam.manifests.clips.segments import Segments
from gloam.manifests.clips.video import decode_frames, frame_times
from gloam.manifests.sources import Location

from ...clips import panned, write_video

FRAME = 3 * 72 * 96


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    root = tmp_path_factory.mktemp("decoded")
    return located(write_video(root / "a.mp4", panned(0, 30), g="10", sc_threshold="0", bf="2"))


def located(path):
    facts = path.stat()
    return Location(str(path.parent), path.name, -1, facts.st_size, facts.st_mtime_ns)


@pytest.fixture(scope="module")
def processes():
    made = VideoProcesses(2, 12 * FRAME)
    yield made
    made.close()


def test_parts_are_those_of_pyav(video, processes):
    times = frame_times(video)
    parts = [VideoPart(video, times[n : n + 9 : 2]) for n in range(0, 20, 3)]
    made = [processes.decode(part) for part in parts]  # all are held, none is filled again
    for part, frames in zip(parts, made, strict=True):
        np.testing.assert_array_equal(frames, decode_frames(video, part.times))


def test_threads_ask_side_by_side(video, processes):
    times, wrong = frame_times(video), []

    def ask(first):
        for n in range(first, 20, 4):
            part = VideoPart(video, times[n : n + 5])
            frames = processes.decode(part)
            if not np.array_equal(frames, decode_frames(video, part.times)):
                wrong.append(n)

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_rooms_are_locked_before_they_are_filled(video, processes):
    locked = {}
    times = frame_times(video)
    for n in range(4):
        frames = processes.decode(VideoPart(video, times[n : n + 4]), locked.__setitem__)
        assert any(np.shares_memory(frames, memory) for memory in locked.values())
        del frames
    assert len(locked) == 1  # the same one again


def test_what_is_larger_than_it_should_be_comes_all_the_same(video, processes):
    times = frame_times(video)
    frames = processes.decode(VideoPart(video, times))  # 30 frames in a room for 12
    np.testing.assert_array_equal(frames, decode_frames(video, times))


def test_damage_is_raised_and_the_room_is_free(video, processes):
    with pytest.raises(ImageRefused, match="1 of 1 frames cannot be decoded"):
        processes.decode(VideoPart(video, [10**9]))
    with pytest.raises(ImageRefused):
        processes.cut(video, [10**9], margins=False)
    number = processes._buffers.take()
    processes._buffers.give(number)
    with pytest.raises(ImageRefused):
        processes.decode(VideoPart(video, [10**9]))
    assert processes._buffers.take() == number
    processes._buffers.give(number)


@pytest.mark.parametrize("margins", [False, True])
def test_cuts_are_those_of_this_process(video, processes, margins):
    times = frame_times(video)[12:16]
    made = processes.cut(video, times, margins=margins)
    here = Segments(margins).cut(video, times)
    assert (made.times, made.size, made.coded) == (here.times, here.size, here.coded)
    assert made.times[0] == frame_times(video)[10]
    for one, other in zip(frames_in(made), frames_in(here), strict=True):
        np.testing.assert_array_equal(one, other)


def frames_in(segment):
    with av.open(io.BytesIO(segment.data)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_a_process_that_is_killed_gets_a_line(video):
    processes = VideoProcesses(2, 12 * FRAME)
    times = frame_times(video)
    processes.decode(VideoPart(video, times[:3]))
    for pid in list(processes._pool._processes):
        os.kill(pid, signal.SIGKILL)
    # The pool may learn of it after a part more.
    with pytest.raises(LoaderError, match=r"a process that decodes videos ended.*fewer workers"):
        decode_on_and_on(processes, VideoPart(video, times[:3]))
    with pytest.raises(LoaderError, match="a process that decodes videos ended"):
        processes.decode(VideoPart(video, times[:3]))  # of a pool that is known to be broken
    processes.close()


def decode_on_and_on(processes, part):
    while True:
        processes.decode(part)


SCRIPT = """
import sys, gloam
loader = gloam.ClipLoader(
    sys.argv[1], frames=3, batch_size=1, size=24, device="cpu", decoder="pyav", workers=2,
    recipe="even",
)
while True:
    for batch in loader:
        print("batch", flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_ends_all_and_says_no_more_than_python_does(video, tmp_path):
    script = tmp_path / "script.py"  # without `if __name__ == "__main__"`
    script.write_text(SCRIPT)
    running = subprocess.Popen(
        [sys.executable, str(script), video.container],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stdout.readline() == "batch\n"
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to all processes
    _, said = running.communicate()
    assert running.returncode != 0
    assert said.count("Traceback") == 1, said
    assert said.rstrip().endswith("KeyboardInterrupt"), said
    wait_for_the_last(running.pid)


def wait_for_the_last(group):
    with suppress(ProcessLookupError):
        while True:
            os.killpg(group, 0)
            time.sleep(0.01)


@pytest.mark.slow
def test_processes_end_with_the_one_that_started_them(video):
    running = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, video.container],
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert running.stdout.readline() == "batch\n"
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()  # ends when nobody holds the pipe
    wait_for_the_last(running.pid)
