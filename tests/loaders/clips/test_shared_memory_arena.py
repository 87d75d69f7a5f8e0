"""Shared memory comes back into use, and takes room where it was filled."""

from __future__ import annotations

import gc
import mmap
import multiprocessing
import os
import sys

import numpy as np
import pytest

from gloam.loaders.clips import video_processes
from gloam.loaders.clips.video_processes import SharedMemoryArena


def fill(filled, number, size):
    filled.memory(number)[:size] = np.arange(size) % 251


def test_a_process_fills_rooms_that_this_one_reads():
    rooms = SharedMemoryArena(10_000)
    taken = [rooms.take() for _ in range(3)]
    assert len(set(taken)) == 3
    assert rooms.size >= 10_000
    assert rooms.size % mmap.ALLOCATIONGRANULARITY == 0
    context = multiprocessing.get_context("spawn")
    for number, size in zip(taken, (10_000, 1, 700), strict=True):
        process = context.Process(target=fill, args=(rooms, number, size))
        process.start()
        process.join()
        assert process.exitcode == 0
    for number, size in zip(taken, (10_000, 1, 700), strict=True):
        np.testing.assert_array_equal(rooms.view(number, size), np.arange(size) % 251)


def test_rooms_are_free_when_no_array_shows_them():
    rooms = SharedMemoryArena(5000)
    number = rooms.take()
    shown = rooms.view(number, 4800).reshape(2, 20, 40, 3)
    part = shown[1, :, 3]
    del shown
    gc.collect()
    other = rooms.take()
    assert other != number
    rooms.memory(other)[:] = 7
    del part
    gc.collect()
    assert rooms.take() == number
    rooms.give(other)
    assert rooms.take() == other


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages as Linux does")
def test_free_rooms_are_emptied_when_all_take_too_much(monkeypatch):
    size = 64 * mmap.PAGESIZE
    monkeypatch.setattr(video_processes, "_MOST", 2 * size)
    rooms = SharedMemoryArena(size)

    def held():
        return os.stat(f"/proc/self/fd/{rooms._handle}").st_blocks * 512

    taken = [rooms.take() for _ in range(5)]
    assert held() == 0
    for number in taken:
        rooms.memory(number)[:] = 1
    lent = [rooms.view(number, size) for number in taken]
    stays = rooms.pin(taken[0])
    assert held() == 5 * size
    kept = lent.pop()
    lent.clear()
    gc.collect()
    number = rooms.take()
    assert held() == 2 * size
    assert (kept == 1).all()
    assert (stays == 1).all()
    rooms.memory(number)[:] = 3  # an emptied one is filled again
    assert held() in (2 * size, 3 * size)


def test_a_process_maps_a_room_once():
    rooms = SharedMemoryArena(4096)
    number = rooms.take()
    filled = SharedMemoryArena(rooms.size, os.dup(rooms._handle))
    filled.memory(number)[:3] = 1, 2, 3
    filled.memory(number)[3] = 4
    assert rooms.memory(number)[:5].tolist() == [1, 2, 3, 4, 0]
    assert len(filled._maps) == 1
