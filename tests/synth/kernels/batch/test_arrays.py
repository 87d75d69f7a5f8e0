"""Which block of threads works on which places of which image."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gloam.synth.kernels.batch.arrays import EACH, THREADS, place_of, work_of


@settings(deadline=None)
@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=40))
def test_every_place_of_every_image_is_worked_on_once(counts):
    images = np.arange(len(counts))[::-1]
    work = work_of(np.array(counts, np.int64), images)
    covered = [0] * len(counts)
    for block in range(work.first[-1]):
        place = place_of.py_func(block, work)
        assert work.first[place] <= block < work.first[place + 1]
        covered[work.images[place]] += THREADS * EACH
    assert all(0 <= got - n < THREADS * EACH for got, n in zip(covered, counts, strict=True))
