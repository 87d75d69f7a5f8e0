"""Near-duplicates, against a reference that compares every image with every other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gloam.manifests.selection.duplicates import near_across, near_duplicates

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=200)


def by_comparing_all(hashes: list[int], usable: list[bool], bits: int) -> list[int]:
    """Images in order: each goes to the first kept one within `bits`, else it is kept itself."""
    kept: list[int] = []
    repeats = []
    for i, value in enumerate(hashes):
        near = (
            next((j for j in kept if (value ^ hashes[j]).bit_count() <= bits), -1)
            if usable[i]
            else -1
        )
        repeats.append(near)
        if usable[i] and near < 0:
            kept.append(i)
    return repeats


def found(hashes: list[int], usable: list[bool], bits: int) -> list[int]:
    return near_duplicates(np.array(hashes, np.uint64), np.array(usable, np.bool_), bits).tolist()


@st.composite
def close_hashes(draw: st.DrawFn) -> list[int]:
    """A few hashes far apart, and others that differ from them in up to five bits anywhere."""
    centres = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4))
    values = []
    for _ in range(draw(st.integers(0, 30))):
        value = draw(st.sampled_from(centres))
        for bit in draw(st.lists(st.integers(0, 63), max_size=5)):
            value ^= 1 << bit
        values.append(value)
    return values


@relaxed
@given(close_hashes(), st.integers(0, 3), st.data())
def test_finds_what_comparing_all_finds(hashes: list[int], bits: int, data: st.DataObject) -> None:
    usable = data.draw(st.lists(st.booleans(), min_size=len(hashes), max_size=len(hashes)))
    # `found` takes the first kept image within reach, not the nearest: so does the reference.
    assert found(hashes, usable, bits) == by_comparing_all(hashes, usable, bits)


@relaxed
@given(st.lists(st.integers(0, 15), max_size=40), st.integers(0, 3))
def test_finds_what_comparing_all_finds_where_everything_is_close(
    hashes: list[int], bits: int
) -> None:
    usable = [True] * len(hashes)
    assert found(hashes, usable, bits) == by_comparing_all(hashes, usable, bits)


@pytest.mark.parametrize("bits", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "places", [(0, 16, 32), (15, 16, 63), (0, 1, 2), (61, 62, 63), (5, 20, 50)]
)
def test_bits_are_counted_exactly_wherever_they_lie(
    bits: int, places: tuple[int, int, int]
) -> None:
    base = 0x0123456789ABCDEF
    for count in range(4):
        other = base ^ sum(1 << place for place in places[:count])
        assert found([base, other], [True, True], bits) == [-1, 0 if count <= bits else -1]


def test_a_chain_of_near_images_is_cut_where_it_leaves_the_kept_one() -> None:
    """0 keeps 1; 2 is near 1, which was dropped, and far from 0, so it is kept."""
    assert found([0b0, 0b111, 0b111111], [True] * 3, 3) == [-1, 0, -1]
    assert found([0b0, 0b111, 0b111111, 0b111], [True] * 3 + [True], 3) == [-1, 0, -1, 0]


def test_what_is_not_usable_neither_drops_nor_is_dropped() -> None:
    assert found([7, 7, 7, 7], [False, True, False, True], 3) == [-1, -1, -1, 1]


def test_nothing_has_no_duplicates() -> None:
    assert found([], [], 3) == []
    assert found([1, 1], [False, False], 3) == [-1, -1]


def test_thousands_of_equal_images_all_repeat_the_first() -> None:
    hashes = np.full(200_000, 12345, np.uint64)
    hashes[::2] = 2**63 + 5
    repeats = near_duplicates(hashes, np.ones(len(hashes), np.bool_), 3)
    assert repeats[:2].tolist() == [-1, -1]
    assert np.array_equal(repeats[2:], np.tile([0, 1], len(hashes) // 2 - 1))


def test_a_hundred_thousand_random_images_are_told_from_their_copies() -> None:
    rng = np.random.default_rng(0)
    originals: npt.NDArray[np.uint64] = rng.integers(0, 2**63, 100_000, dtype=np.uint64)
    copies = originals[:1000] ^ (np.uint64(1) << rng.integers(0, 63, 1000, dtype=np.uint64))
    hashes = np.concatenate([originals, copies])
    repeats = near_duplicates(hashes, np.ones(len(hashes), np.bool_), 3)
    assert np.array_equal(repeats[100_000:], np.arange(1000))
    assert (repeats[:100_000] == -1).all()


@pytest.mark.parametrize("bits", [-1, 4, 64])
def test_bits_that_the_method_cannot_promise_are_refused(bits: int) -> None:
    with pytest.raises(ValueError, match="must be 0 to 3"):
        near_duplicates(np.zeros(1, np.uint64), np.ones(1, np.bool_), bits)


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 2)), max_size=40), st.integers(0, 3))
def test_near_across_finds_what_comparing_all_finds(images, bits):
    hashes = np.array([value for value, _ in images], np.uint64)
    groups = np.array([group for _, group in images], np.int64)
    found = near_across(hashes, groups, bits)
    for a, b in found:
        assert groups[a] != groups[b]
        assert int(hashes[a] ^ hashes[b]).bit_count() <= bits
    every = {
        frozenset((int(hashes[a]), int(hashes[b])))
        for a in range(len(images))
        for b in range(a)
        if groups[a] != groups[b] and int(hashes[a] ^ hashes[b]).bit_count() <= bits
    }
    assert {frozenset((int(hashes[a]), int(hashes[b]))) for a, b in found} == every
    assert len(found) == len(every)
