"""A table of many draws: of a recipe, of records, and of other tables."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.draws.table import DrawTable, concat, frame_table, table_of_records
from gloam.synth.kernels.curves import LEVEL_LIGHT
from gloam.synth.models import draw, draw_many, draw_table
from gloam.synth.recipes.load import load_recipe, recipe_of, shipped_recipes

from ...clips import frame_draw
from ..overrides import APART, CURVES, NOISE_OF_CHANNELS

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
    ["video.drift_ev=uniform(-1, 1)", "video.flicker_ev=0.3"],
    NOISE_OF_CHANNELS,
    ["emitters.count=choice(0, 3)", "emitters.streaks.lines=choice(0, 2)"],
    [*NOISE_OF_CHANNELS, *CURVES],
]
RECIPES = [
    *(recipe for name in shipped_recipes() if (recipe := load_recipe(name)).model == "camera"),
    *(load_recipe(APART, overrides) for overrides in MORE),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
@settings(max_examples=5)
@given(
    st.integers(0, 2**64),
    st.lists(st.from_regex(r"\A[a-z0-9][a-z0-9_-]{0,79}\Z"), min_size=1, max_size=20),
)
def test_a_table_of_a_recipe_is_that_of_its_records(
    recipe: CameraRecipe, seed: int, keys: list[str]
) -> None:
    records = draw_many(recipe, seed, keys)
    assert records == [draw(recipe, seed, key) for key in keys]
    assert_same(draw_table(recipe, seed, keys), table_of_records(records))


def assert_same(one: DrawTable, other: DrawTable) -> None:
    """Assert that tables are the same, bit for bit."""
    for name in one.draws.dtype.names:
        assert (one.draws[name] == other.draws[name]).all(), name
    for name in (field.name for field in fields(DrawTable) if field.name != "draws"):
        found, wanted = getattr(one, name), getattr(other, name)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
        assert (found == wanted).all(), name


def spreads_of(table):
    """How the light of each image spreads."""
    for first, count in zip(table.draws["first_spread"], table.draws["spread"], strict=True):
        own = slice(first, first + count)
        yield table.spread_places[own].tolist(), table.spread_weights[own].tolist()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_tables_can_be_put_together_and_taken_in_any_order(recipe: CameraRecipe) -> None:
    keys = [f"k{i}" for i in range(23)]
    whole = concat([draw_table(recipe, 7, part) for part in (keys[:9], keys[9:10], keys[10:])])
    order = [5, 22, 0, 9, 9, 13]
    taken, wanted = whole.take(order), draw_table(recipe, 7, [keys[i] for i in order])
    for name in wanted.draws.dtype.names:
        if name not in ("linear", "curve", "first_spread"):
            assert (taken.draws[name] == wanted.draws[name]).all(), name
    for one, other in zip(spreads_of(taken), spreads_of(wanted), strict=True):
        assert one == other
    curves = [one.curves[one.draws["curve"]] for one in (taken, wanted)]
    assert (curves[0] == curves[1]).all()
    assert (taken.linear[taken.draws["linear"]] == wanted.linear[wanted.draws["linear"]]).all()
    for name in ("read", "grains", "blur", "smooth", "lights"):
        assert (getattr(taken, name) == getattr(wanted, name)).all(), name


def test_frames_of_clips_are_those_of_their_records():
    recipe = load_recipe("even:0.5,uneven:0.5", ["mixture.uneven.video.flicker_ev=uniform(0, 1)"])
    keys = [f"clip{i}" for i in range(6)]
    wanted = [frame_draw(one, n) for one in draw_many(recipe, 9, keys) for n in range(4)]
    frames, records = frame_table(draw_table(recipe, 9, keys), 4), table_of_records(wanted)
    for i in range(len(wanted)):
        for name in sorted({*frames.draws.dtype.names} - {"linear"}):
            assert frames.take([i]).draws[name] == records.take([i]).draws[name], name
        assert (frames.read[i] == records.read[i]).all()


def test_a_curve_says_the_light_of_levels_by_channel():
    light = [0.001, 0.006, 0.015, 0.05, 0.2, 0.6, 0.5, 3]  # falls once: it stays where it was
    columns = [f"tone.curve.red.{i}" for i in range(8)]
    table = {"pairs": {"columns": columns, "rows": [light]}}
    shown = recipe_of({"together": table, "tone": {"shoulder": 2}}, (), "test")
    draws = draw_table(shown, 1, ["a", "b"])
    red, green, blue = draws.linear[draws.draws["linear"][0] :][:3]
    np.testing.assert_allclose(red[[0, 16, 32, 64, 128, 192, 236, 255]], [*light[:6], 0.6, 3])
    assert (np.diff(red) >= 0).all()
    for other in (green, blue):  # the others show what a plain camera does
        some = [0, 16, 64, 128, 255]
        np.testing.assert_allclose(other[some], LEVEL_LIGHT[some], atol=1e-6)
    assert draws.draws["per_white"] == pytest.approx([1 / 3] * 2)
    both = concat([draws, draw_table(recipe_of({}, (), "test"), 1, ["c"]), draws.take([1])])
    first = both.draws["linear"][[0, 3]]
    assert (both.linear[first] == red).all()
    assert both.linear[both.draws["linear"][2]].tolist() == LEVEL_LIGHT.astype(np.float32).tolist()
