"""Lamps that shine into the lens: how bright they are, where they are, what is known of them."""

from __future__ import annotations

import numpy as np
import pytest

import gloam
from gloam.synth.camera.illumination import black_body_tints
from gloam.synth.draws.record import CameraDraw
from gloam.synth.draws.table import table_of_records
from gloam.synth.kernels.arrays import Window
from gloam.synth.models import draw, parse_draw, render
from gloam.synth.recipes.load import load_recipe
from gloam.synth.render.maps import camera_maps

from ..overrides import APART

DARK = np.zeros((300, 400, 3), np.uint8)
DARK[150:153, 200:203] = 9
PARTS = {
    "disc": [],
    "small": ["emitters.radius=0.0005"],
    "glow": ["emitters.glow.share=0.4", "emitters.glow.radius=0.015"],
    "streaks": ["emitters.streaks.lines=3", "emitters.streaks.share=0.3"],
}


def lamps(*more: str, key: str = "a") -> CameraDraw:
    plain = ["exposure.ev=5.5", "camera.iso=800", "emitters.count=1", "emitters.ev=7"]
    return draw(load_recipe(APART, [*plain, *more]), 0, key)


def emitter_light(normal, drawn, window=None):
    names = ["emitter-light"]
    return camera_maps(normal, table_of_records([drawn]), 0, names, window)["emitter-light"]


def emitter_mask(normal, drawn, window=None):
    return camera_maps(normal, table_of_records([drawn]), 0, ["mask"], window)["mask"][..., 0] > 0


@pytest.mark.parametrize("part", PARTS)
def test_energy_is_that_of_the_disc_and_the_lamp_clips(part):
    drawn = lamps(*PARTS[part])
    light = emitter_light(DARK, drawn)
    radius = max(drawn.emitters.radius[0] * 400, 1.5)
    assert light.sum(dtype=float) == pytest.approx(3 * 2**1.5 * np.pi * radius**2, rel=0.01)
    low = render(DARK, drawn)
    row, column = (round(float(place.mean())) for place in np.nonzero(emitter_mask(DARK, drawn)))
    assert 150 <= row < 153
    assert 200 <= column < 203
    assert low[row, column].min() > 240
    assert low[:40, :40].max() < 30


def test_a_window_has_the_light_the_mask_and_the_low_of_the_whole():
    drawn = lamps(*PARTS["glow"], *PARTS["streaks"], "degradations.motion.length=4")
    window = Window(131, 180, 60, 70)
    inside = slice(131, 191), slice(180, 250)
    for made in (emitter_light, emitter_mask, render):
        np.testing.assert_array_equal(made(DARK, drawn, window), made(DARK, drawn)[inside])


def test_the_mask_is_the_disc():
    y, x = np.ogrid[:300, :400]
    mask = emitter_mask(DARK, lamps("emitters.radius=0.02"))
    row, column = (round(float(place.mean())) for place in np.nonzero(mask))
    np.testing.assert_array_equal(mask, (y - row) ** 2 + (x - column) ** 2 <= 64)


def test_they_are_where_the_photograph_is_brightest_and_anywhere_on_black():
    normal = np.full((240, 320, 3), 60, np.uint8)
    normal[30:60, 40:90] = 250
    places = [np.argwhere(emitter_mask(normal, lamps(key=str(i)))).mean(0) for i in range(20)]
    assert all(30 <= y < 60 and 40 <= x < 90 for y, x in places)
    black = np.zeros_like(normal)
    found = [np.argwhere(emitter_mask(black, lamps(key=str(i)))).mean(0) for i in range(20)]
    assert np.std(found, axis=0).min() > 40


def test_the_illumination_leaves_them_as_they_are():
    uneven = "illumination.gradient.ev=6", "illumination.lights.count=2", "illumination.lights.ev=4"
    lows = [render(DARK, lamps(*more, *PARTS["glow"])) for more in ((), uneven)]
    assert (lows[0] != lows[1]).mean() < 0.02


def test_warm_lamps_are_red():
    daylight, (red, _, blue) = black_body_tints(np.array([6500.0, 2700.0]))
    assert daylight == pytest.approx(1)
    assert np.log2(red / blue) == pytest.approx(2.3, abs=0.05)
    light = emitter_light(DARK, lamps("emitters.temperature=2000"))[151, 201]
    assert light[0] > light[1] > light[2] > 0


def test_records_keep_them_and_those_without_have_none():
    drawn = lamps(*PARTS["glow"], *PARTS["streaks"])
    assert parse_draw(drawn.model_dump(mode="json")) == drawn
    assert "emitters" not in draw(load_recipe("even"), 0, "a").model_dump(mode="json")
    assert not emitter_mask(DARK, draw(load_recipe("even"), 0, "a")).any()


def test_a_set_is_made_of_them_again(tmp_path, photographs):
    options = {"pairs": 2, "val": 1, "select": False, "recipe": "night-lights"}
    gloam.build(tmp_path / "set", f"folder={photographs}", **options)
    made = gloam.open_set(tmp_path / "set")
    for pair in made.pairs("train"):
        low, normal = pair.pixels()
        np.testing.assert_array_equal(low, render(normal, parse_draw(pair.record["draw"])))
