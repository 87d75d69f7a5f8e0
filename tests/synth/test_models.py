"""One image at a time, by any model."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.errors import ConfigError
from gloam.synth import darken, models
from gloam.synth.models import PreparedDraws, draw, render
from gloam.synth.recipes.load import load_recipe


def test_darken_takes_single_values(photograph):
    changed = darken(photograph, "even", seed=3, key="a", overrides=["exposure.ev=2"])
    assert (
        changed == darken(photograph, load_recipe("even", ["exposure.ev=2"]), seed=3, key="a")
    ).all()
    assert (
        changed
        == darken(photograph, load_recipe("even"), seed=3, key="a", overrides=["exposure.ev=2"])
    ).all()
    assert (changed != darken(photograph, "even", seed=3, key="a")).any()
    with pytest.raises(ConfigError, match="is meant"):
        darken(photograph, "even", overrides=["ev=2"], key="image")


@pytest.mark.parametrize("name", ["uneven", "train", "gamma"])
def test_prepared_draws_make_the_same_lows(name, monkeypatch):
    monkeypatch.setattr(models, "_PREPARED", 4)
    recipe = load_recipe(name)
    picture = np.random.default_rng(1).integers(0, 256, (12, 17, 3), np.uint8)
    draws = [draw(recipe, 2, str(i)) for i in range(11)]
    prepared = PreparedDraws(draws)
    for number in (0, 1, 3, 4, 7, 8, 10, 2):
        assert (prepared.low(number, picture) == render(picture, draws[number])).all()
