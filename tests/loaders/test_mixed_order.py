"""Shares of samples: right to within one among any 1,000, wherever one looks from."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gloam.loaders.mixed_order import MixedSampler, Shares, SteppedRank
from gloam.loaders.options import Options


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
        course = MixedSampler("abcdefgh"[: len(weights)], [{0: one} for one in weights], 0, True)
        for number in {0, 1, before[-1] // 2, before[-1] - 1}:
            place = np.flatnonzero(found == component)[number] + 1
            assert course.place_after(component, int(number)) == place


def test_samples_are_a_function_of_their_place():
    whole, apart = Shares([5, 4, 2]), Shares([5, 4, 2])
    assert (apart.components(4000, 700) == whole.components(0, 5000)[4000:4700]).all()
    assert apart.before(7777).tolist() == whole.before(7777).tolist()
    assert apart.before(1234).sum() == 1234


@pytest.mark.parametrize("last_batch", ["drop", "partial", "even", "padded"])
def test_what_is_left_of_an_epoch_is_divided_as_it_was(last_batch):
    for world, size, count in itertools.product((1, 2, 3, 4), (1, 2, 3, 5), (4, 5, 9, 24, 25, 37)):
        own = SteppedRank(world - 1, world)
        options = Options(batch_size=size, last_batch=last_batch)
        for step in range(own.batches(count, options)):
            done = own.done(count, options, step)
            left = count - done
            assert own.batches(left, options) == own.batches(count, options) - step
            places = own.places(count, options, step)
            assert (own.places(left, options, 0) + done).tolist() == places.tolist()
            assert 0 < len(places) <= size


def test_where_fewer_samples_are_left_than_ranks_some_are_repeated():
    options = Options(batch_size=4, last_batch="even")
    places = [SteppedRank(rank, 3).places(2, options, 0).tolist() for rank in range(3)]
    assert sorted(place for one in places for place in one) == [0, 1, 2]  # 2 is the first one again


def test_shares_are_known_at_once_wherever_one_looks():
    shares = Shares([0.1, 0.333, 2])
    place = 2 * 10**18 + 7
    before = shares.before(place)
    assert before.sum() == place
    assert before / place == pytest.approx(np.array([0.1, 0.333, 2]) / 2.433)
    assert (Shares([0.1, 0.333, 2]).before(place + 1) - before).sum() == 1
