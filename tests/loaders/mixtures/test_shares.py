"""Shares of samples: right to within one among any 1,000, wherever one looks from."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.loaders.mixtures.course import Course
from gloam.loaders.mixtures.shares import Shares


@pytest.mark.parametrize(
    "weights",
    [[6, 3, 1], [1], [1, 1, 1], [7, 5, 3, 2], [0.3333, 0.1, 0.0004], [29, 17, 13, 11, 7, 5, 3, 2]],
)
def test_any_thousand_samples_hold_each_share_to_within_one(weights):
    shares, count = Shares(weights), 9000
    found = shares.components(0, count)
    for component, weight in enumerate(weights):
        before = np.concatenate([[0], np.cumsum(found == component)])
        wanted = 1000 * weight / sum(weights)
        assert np.abs(before[1000:] - before[:-1000] - wanted).max() < 1
        for place in (0, 999, 1000, 4321, count):
            assert shares.before(place)[component] == before[place]
        course = Course("abcdefgh"[: len(weights)], [{0: one} for one in weights], 0, True)
        for number in {0, 1, before[-1] // 2, before[-1] - 1}:
            place = np.flatnonzero(found == component)[number] + 1
            assert course.place_after(component, int(number)) == place


def test_samples_are_a_function_of_their_place():
    whole, apart = Shares([5, 4, 2]), Shares([5, 4, 2])
    assert (apart.components(4000, 700) == whole.components(0, 5000)[4000:4700]).all()
    assert apart.before(7777).tolist() == whole.before(7777).tolist()
    assert apart.before(1234).sum() == 1234
