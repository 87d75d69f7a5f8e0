"""Draws of epochs, made ahead by processes."""

from __future__ import annotations

import multiprocessing

import pytest

from gloam.loaders.lows import LiveLows
from gloam.loaders.render.cuda_lows import _MANY, EpochDraws
from gloam.synth.recipes.load import load_recipe

KEYS = [str(number) for number in range(_MANY + 1)]


def draw_some_epochs():
    live = LiveLows(load_recipe("even"), "fresh", 3)
    draws = EpochDraws(live, KEYS, 2)
    for epoch in range(3):
        table = draws.table(epoch)
    assert len(table.draws) == len(KEYS)
    draws.close()


@pytest.mark.slow
def test_a_child_of_multiprocessing_ends_when_its_draws_are_closed():
    child = multiprocessing.get_context("spawn").Process(target=draw_some_epochs)
    child.start()
    child.join(120)
    alive = child.is_alive()
    child.kill()
    child.join()
    assert not alive
    assert child.exitcode == 0
