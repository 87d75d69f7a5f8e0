"""Items are read in order, by several threads where reading takes long."""

from __future__ import annotations

import threading
import time

import pytest

from gloam.loaders.read_pool import ReadPool


@pytest.mark.parametrize("far", [False, True])
def test_items_come_in_order(far):
    pool = ReadPool(3, far)
    for count in (100, 7, 0):
        assert list(pool.map(lambda item: item * item, range(count))) == [
            item * item for item in range(count)
        ]
    pool.close()


def test_what_takes_long_is_read_side_by_side():
    pool, both = ReadPool(2), threading.Barrier(2)

    def read(item):
        time.sleep(0.001)  # longer than what counts as near
        if item in (40, 60):  # of two chunks: each waits for the other one
            both.wait(timeout=60)
        return item

    assert list(pool.map(read, range(80))) == list(range(80))
    pool.close()


def test_what_goes_wrong_is_raised():
    pool = ReadPool(2)
    with pytest.raises(ZeroDivisionError):
        list(pool.map(lambda item: 1 // (90 - item), range(100)))
    pool.close()
