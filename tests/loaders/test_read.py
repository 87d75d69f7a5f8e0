"""Images are read in order, many at a time, as `read_extent` reads each."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from gloam.errors import LoaderError
from gloam.loaders.read import ReadPool, read_extents
from gloam.manifests.sets.layouts.extents import Extent


@pytest.fixture
def written(tmp_path):
    data = np.random.default_rng(0).integers(1, 255, 100_000, np.uint8).tobytes()
    (tmp_path / "röw.bin").write_bytes(data)
    (tmp_path / "other").write_bytes(data[::-1])
    return tmp_path, data


@pytest.mark.parametrize("remote", [False, True])
def test_images_come_in_order(written, remote):
    folder, data = written
    pool = ReadPool(3, remote)

    def extents(n):
        return (
            Extent(str(folder / "röw.bin"), n, 50),
            Extent(str(folder / "other")),
            Extent(data=b"q"),
        )

    for count in (100, 7, 0):
        for n, (part, whole, given) in enumerate(pool.map(extents, range(count))):
            assert part.tobytes() == data[n : n + 50]
            assert whole.tobytes() == data[::-1]
            assert given.tobytes() == b"q"
    pool.close()


def test_images_are_read_side_by_side(written):
    folder, data = written
    pool, both = ReadPool(2), threading.Barrier(2)

    def extents(n):
        if n in (10, 40):  # of two chunks: each waits for the other one
            both.wait(timeout=60)
        return [Extent(str(folder / "other"), n, 1)]

    read = [image.tobytes() for (image,) in pool.map(extents, range(80))]
    assert b"".join(read) == data[::-1][:80]
    pool.close()


def test_npy_files_become_png(tmp_path):
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, np.zeros((4, 4, 3), np.uint8))
    read = read_extents([[Extent(str(tmp_path / "a.npy"))], [Extent(str(tmp_path / "b.npy"))]])
    assert [image[1:4].tobytes() for (image,) in read] == [b"PNG", b"PNG"]


@pytest.mark.parametrize(
    ("name", "offset", "size", "message"),
    [
        ("röw.bin", 99_990, 20, "ends inside an image"),
        ("röw.bin", 200_000, 20, "ends inside an image"),
        ("missing", 0, -1, "missing"),
        ("folder", 0, -1, "is not a regular file"),
        ("pipe", 0, -1, "is not a regular file"),
        ("other\0", 0, 5, "no file can have such a name"),
    ],
)
def test_what_cannot_be_read_is_told(written, name, offset, size, message):
    folder, _ = written
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises((LoaderError, ValueError), match=message):
        read_extents([[Extent(str(folder / "other"))], [Extent(str(folder / name), offset, size)]])
    assert len(os.listdir("/proc/self/fd")) == before
