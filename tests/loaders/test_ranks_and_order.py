"""Which rank of how many this process is."""

from __future__ import annotations

import pytest

from gloam.errors import LoaderError
from gloam.loaders.ranks_and_order import Rank, find_rank


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
