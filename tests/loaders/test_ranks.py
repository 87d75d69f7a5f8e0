"""Which rank of how many this process is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gloam.errors import LoaderError
from gloam.loaders.options import Options
from gloam.loaders.ranks import Rank, find_rank


def test_ranks_are_found_in_the_environment(monkeypatch):
    assert find_rank() == Rank(0, 1)
    monkeypatch.setenv("SLURM_PROCID", "2")
    monkeypatch.setenv("SLURM_NTASKS", "5")
    assert find_rank() == Rank(2, 5)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert find_rank() == Rank(1, 3)
    assert find_rank(0, 2) == Rank(0, 2)
    monkeypatch.setenv("WORLD_SIZE", "many")
    with pytest.raises(LoaderError, match="many"):
        find_rank()


counts = st.integers(1, 60)
worlds = st.integers(1, 9)
sizes = st.integers(1, 20)


def epoch(count: int, world: int, size: int, last_batch: str) -> list[list[list[int]]]:
    """The places of every batch of every rank."""
    ranks = [Rank(number, world) for number in range(world)]
    options = Options(batch_size=size, last_batch=last_batch)
    return [
        [
            rank.places(count, options, batch).tolist()
            for batch in range(rank.batches(count, options))
        ]
        for rank in ranks
    ]


@given(counts, worlds, sizes, st.sampled_from(["partial", "even"]))
def test_every_sample_comes_once(count, world, size, last_batch):
    ranks = epoch(count, world, size, last_batch)
    batches = [batch for rank in ranks for batch in rank]
    assert [place for batch in batches for place in batch] == list(range(count))
    assert all(1 <= len(batch) <= size for batch in batches)
    if last_batch == "partial":
        assert all(len(batch) == size for rank in ranks for batch in rank[:-1])
    elif size > 1 and count >= world:
        assert len(set(map(len, ranks))) == 1


@given(counts, worlds, sizes)
def test_padded_batches_are_whole_and_repetitions_stand_at_the_end(count, world, size):
    ranks = epoch(count, world, size, "padded")
    gathered = [place for step in zip(*ranks, strict=True) for batch in step for place in batch]
    assert gathered == list(range(len(gathered)))
    assert len(gathered) == -(-count // (world * size)) * world * size


@given(counts, worlds, sizes)
def test_dropped_batches_are_whole_and_hold_no_sample_twice(count, world, size):
    ranks = epoch(count, world, size, "drop")
    places = [place for rank in ranks for batch in rank for place in batch]
    assert len(places) == len(set(places)) == count // world // size * size * world
    assert all(0 <= place < count for place in places)
