"""An image of a packed batch is taken on the CPU as its own draw is."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.camera.batch.on_host import shot_of_packed
from gloam.synth.camera.batch.pack import pack
from gloam.synth.camera.render import shot_of, take
from gloam.synth.kernels.arrays import Window
from gloam.synth.models import draw, draw_many, low_maker, render
from gloam.synth.recipes.load import load_recipe

from .test_draws import RECIPES

KEYS = [f"pair-{i}" for i in range(12)]
PICTURE = np.random.default_rng(0).integers(0, 256, (40, 52, 3), np.uint8)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_the_same_lows(recipe):
    packed = draw_many(recipe, 3, KEYS)
    for number, key in enumerate(KEYS):
        drawn, shot = draw(recipe, 3, key), shot_of_packed(packed, number)
        assert shot.exposure == shot_of(drawn).exposure
        # Kernels take some at once: without the zeros at their end they would read beyond.
        assert (shot.development.blur == shot_of(drawn).development.blur).all()
        assert (take(PICTURE, shot) == render(PICTURE, drawn)).all()
        some = Window(11, 8, 20, 31)
        assert (take(PICTURE, shot, some) == render(PICTURE, drawn, some)).all()


def test_lit_as_another():
    recipe, other = load_recipe("uneven"), np.ascontiguousarray(PICTURE[::-1])
    drawn = draw(recipe, 0, "a")
    low = take(PICTURE, shot_of_packed(pack([drawn]), 0), lit_as=other)
    assert (low == render(PICTURE, drawn, lit_as=other)).all()
    assert (low != render(PICTURE, drawn)).any()


@pytest.mark.parametrize("name", ["uneven", "train", "gamma"])
@pytest.mark.parametrize("count", [1, 7, 8, 12])
def test_low_maker(name, count):
    recipe = load_recipe(name)
    make = low_maker(recipe, 5, KEYS[:count])
    for number, key in list(enumerate(KEYS[:count]))[::-1]:
        drawn = draw(recipe, 5, key)
        assert (make(number, PICTURE, None) == render(PICTURE, drawn)).all()
        some = Window(0, 3, 9, 30)
        assert (make(number, PICTURE, some) == render(PICTURE, drawn, some)).all()
