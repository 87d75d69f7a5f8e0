"""Lows of batches, by the name of a device."""

from __future__ import annotations

import pytest

from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe
from gloam.synth.renderers import render_batch


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_a_batch_has_any_draws(photograph, device):
    draws = [draw(load_recipe(name), 0, "k") for name in ("even", "gamma")]
    lows = render_batch([photograph] * 2, draws, device)
    assert (lows[0] == render(photograph, draws[0])).all()
    assert (lows[1] == render(photograph, draws[1])).all()


def test_a_device_that_is_none_is_named():
    with pytest.raises(ValueError, match="must be one of cpu, cuda, auto"):
        render_batch([], [], "tpu")
