"""Renderers by the name of a device."""

from __future__ import annotations

import pytest

from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe
from gloam.synth.renderers import CpuRenderer, renderer_on


def test_renderers_take_any_draws(photograph):
    draws = [draw(load_recipe(name), 0, "k") for name in ("even", "gamma")]
    lows = CpuRenderer().render([photograph] * 2, draws)
    assert (lows[1] == render(photograph, draws[1])).all()
    assert isinstance(renderer_on("cpu"), CpuRenderer)


def test_a_device_that_is_none_is_named():
    with pytest.raises(ValueError, match="must be one of cpu, cuda, auto"):
        renderer_on("tpu")
