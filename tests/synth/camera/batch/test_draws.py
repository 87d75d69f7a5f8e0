"""Many draws at once are those of each image, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gloam.synth.camera.batch.draws import draw_packed
from gloam.synth.camera.batch.pack import joined, pack
from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.models import draw
from gloam.synth.parameters.columns import KeyedColumns
from gloam.synth.parameters.randomness import KeyedRandom
from gloam.synth.recipes.load import load_recipe, shipped_recipes

MORE = [
    ["isp.demosaic=choice(malvar, none)", "isp.digital_gain_ev=uniform(0, 3)"],
    ["camera.read_noise=choice(gaussian, tukey)", "camera.levels=choice(0, 255)"],
    [
        "tone.strength=uniform(0, 1)",
        "isp.chroma.sigma=uniform(0.5, 5)",
        "exposure.ev=uniform(-2, 9)",
    ],
    ["illumination.lamps.count=choice(0, 5)", "illumination.lamps.warmth_ev=uniform(-3, 3)"],
    ["illumination.gradient.ev=uniform(-5, 5)", "tone.transfer=choice(gamma, srgb)"],
    ["illumination.probability=0.5", "illumination.smooth.sigma_ev=choice(0, 2)"],
    ["camera.name=choice(imx686-phone, canon-5d4)", "camera.iso=uniform(100, 1000)"],
    ["white_balance.red=uniform(0.3, 3)", "isp.chroma.strength=choice(0, 0.5)"],
    [
        "degradations.motion.probability=0.5",
        "degradations.motion.length=uniform(1, 9)",
        "degradations.defocus.radius=choice(0, 1.5)",
        "degradations.banding.depth=choice(0, 0.4)",
    ],
    [
        "degradations.fixed_pattern.columns=uniform(0, 4)",
        "degradations.fixed_pattern.hot_share=choice(0, 0.001)",
        "degradations.jpeg.probability=0.5",
        "degradations.jpeg.quality=uniform(50, 95)",
        "degradations.jpeg.chroma=choice(4:2:0, 4:4:4)",
    ],
]
RECIPES = [
    *(recipe for name in shipped_recipes() if (recipe := load_recipe(name)).model == "camera"),
    *(load_recipe("uneven", overrides) for overrides in MORE),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
@settings(max_examples=5)
@given(
    st.integers(0, 2**64),
    st.lists(st.from_regex(r"\A[a-z0-9][a-z0-9_-]{0,79}\Z"), min_size=1, max_size=20),
)
def test_they_are_those_of_each_image(recipe: CameraRecipe, seed: int, keys: list[str]) -> None:
    many = draw_packed(recipe, seed, keys)
    one_by_one = pack([draw(recipe, seed, key) for key in keys])
    for name in many.draws.dtype.names:
        assert (many.draws[name] == one_by_one.draws[name]).all(), name
    for name in ("linear", "read", "blur", "smooth", "lights"):
        found, wanted = getattr(many, name), getattr(one_by_one, name)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
        assert (found == wanted).all(), name
    for found, wanted in zip(many.spread, one_by_one.spread, strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert (found == wanted).all()


@given(
    st.integers(0, 2**64),
    st.lists(st.text(max_size=300), min_size=1, max_size=8),
    st.text(max_size=40),
    st.integers(0, 300),
)
def test_random_bits_are_those_of_each_key(seed, keys, purpose, index):
    """Messages of one block and of several, ended in any place of one."""
    bits = KeyedColumns(seed, keys).bits(purpose, index)
    assert bits.tolist() == [KeyedRandom(seed, key).bits(purpose, index) for key in keys]
    numbers = KeyedColumns(seed, keys).uniform(purpose, index)
    assert numbers.tolist() == [KeyedRandom(seed, key).uniform(purpose, index) for key in keys]
    assert np.isfinite(KeyedColumns(seed, keys).gaussian(purpose, index)).all()


def spreads_of(packed):
    """How the light of each image spreads."""
    for first, count in zip(packed.draws["first_spread"], packed.draws["spread"], strict=True):
        own = slice(first, first + count)
        yield packed.spread.places[own].tolist(), packed.spread.weights[own].tolist()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_draws_can_be_joined_and_taken_in_any_order(recipe: CameraRecipe) -> None:
    keys = [f"k{i}" for i in range(23)]
    whole = joined([draw_packed(recipe, 7, part) for part in (keys[:9], keys[9:10], keys[10:])])
    order = [5, 22, 0, 9, 9, 13]
    taken, wanted = whole.take(order), draw_packed(recipe, 7, [keys[i] for i in order])
    for name in wanted.draws.dtype.names:
        if name not in ("linear", "first_spread"):
            assert (taken.draws[name] == wanted.draws[name]).all(), name
    for one, other in zip(spreads_of(taken), spreads_of(wanted), strict=True):
        assert one == other
    assert (taken.linear[taken.draws["linear"]] == wanted.linear[wanted.draws["linear"]]).all()
    for name in ("read", "blur", "smooth", "lights"):
        assert (getattr(taken, name) == getattr(wanted, name)).all(), name
