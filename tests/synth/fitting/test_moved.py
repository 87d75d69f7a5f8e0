"""gloam's own recipes, moved."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gloam
from gloam.synth.fitting.moved import Moved
from gloam.synth.parameters.distributions import Constant
from gloam.synth.recipes.load import shipped_recipes
from gloam.synth.recipes.mixture import MixtureRecipe

OWN = "even", "uneven", "night-lights", "extreme", "train"


def components(recipe):
    parts = recipe.mixture.values() if isinstance(recipe, MixtureRecipe) else ()
    return [part.recipe for part in parts] or [recipe]


@pytest.mark.parametrize("name", shipped_recipes())
def test_one_that_is_not_moved_is_the_recipe(name):
    made, own = Moved.of(name).recipe(name), gloam.load_recipe(name)
    sections = {"name", "about"}
    assert made.model_dump(exclude=sections) == own.model_dump(exclude=sections)


@pytest.mark.parametrize("name", OWN)
@given(data=st.data())
def test_all_moves_give_a_recipe(name, data):
    start = Moved.of(name)
    far = {one: data.draw(st.floats(-50, 50), label=one) for one in start.values()}
    moved = start.moved(**far)
    recipe = moved.recipe()  # is within all bounds, or this raises
    low, high = (Moved.of(name).moved(ev=ev).recipe() for ev in (-1, 1))
    for dark, bright in zip(components(high), components(low), strict=True):
        middle = np.array([0.5])
        assert dark.exposure.ev.quantile(middle) > bright.exposure.ev.quantile(middle)
    assert moved.part(1) == moved
    assert moved.part(0) == start
    assert len(components(recipe)) == len(components(gloam.load_recipe(name)))


def test_each_move_changes_its_own_parameter():
    plain = gloam.load_recipe("night-lights")
    moved = Moved.of("night-lights").moved
    assert moved(ev=0.5).recipe().exposure.ev.mean == plain.exposure.ev.mean + 0.5
    wide = moved(ev_spread=1).recipe().exposure.ev
    assert (wide.mean, wide.deviation, wide.low) == (5, 2, 5 - 2 * 2)
    iso = moved(iso=1).recipe().camera.iso
    assert (iso.low, iso.high) == (1600, 6400)  # as far as all of its cameras go
    narrow = moved(iso_spread=-1).recipe().camera.iso
    assert narrow.high / narrow.low == pytest.approx(math.sqrt(8), rel=1e-3)
    field = moved(field=1).recipe().illumination.smooth.sigma_ev
    assert (field.low, field.high) == (0.6, 2)
    gains = moved(red=1).recipe().white_balance
    assert (gains.red.low, gains.red.high) == (3.8, 4.8)
    assert gains.blue == plain.white_balance.blue
    warm = moved(warmth=-1).recipe().illumination
    assert warm.lights.warmth_ev.high == warm.lamps.warmth_ev.high == 1.1
    assert warm.lights.ev == plain.illumination.lights.ev


def test_what_a_recipe_has_not_is_not_moved():
    assert not {"lamps", "lights", "gain", "warmth"} & Moved.of("even").values().keys()
    train = Moved.of("train").moved(lamps=2.0).recipe().mixture
    assert train["night-lights"].recipe.illumination.lamps.ev.low == 6
    assert train["even"].recipe.illumination.lamps.ev == Constant(0.0)
    assert train["even"].weight == 0.44
    assert not Moved.of("gamma").moves
