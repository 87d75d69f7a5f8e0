"""Degradations of lows; recipes without them are what they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gloam.synth.clips import render_clip
from gloam.synth.degradations.draw import JpegSetting, jpeg
from gloam.synth.degradations.point_spread import spread
from gloam.synth.kernels.arrays import Window
from gloam.synth.measures.photon_transfer import transfer_points
from gloam.synth.models import draw, draw_many, draw_table, parse_draw, render
from gloam.synth.recipes.load import load_recipe, shipped_recipes
from gloam.synth.render.batch_plan import plan_batch

from ...conftest import picture
from ..overrides import ON_SENSOR

PLAIN = [
    "exposure.ev=0",
    "illumination.probability=0",
    "camera.matrix=none",
    "isp.chroma.strength=0",
    "isp.contrast=1",
    "white_balance.red=1",
    "white_balance.blue=1",
    "white_balance.error_ev=0",
]
ALL = [
    "degradations.motion.length=uniform(2, 9)",
    "degradations.defocus.radius=1.5",
    "degradations.banding.depth=0.3",
    "degradations.fixed_pattern.columns=4",
    "degradations.fixed_pattern.hot_share=0.002",
    "degradations.jpeg.quality=uniform(50, 95)",
]
METHODS = pytest.mark.parametrize("method", ["binned", "malvar", "bilinear", "none"])


def light(pixels: np.ndarray) -> np.ndarray:
    x = pixels / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def test_recipes_without_them_have_none():
    for name in shipped_recipes():
        recipe = load_recipe(name)
        drawn = draw(recipe, 0, "k").model_dump(mode="json")
        if name != "even" and not name.startswith(("uneven", "train")):
            assert "degradations" not in drawn
            assert "degradations" not in recipe.model_dump(mode="json")


@pytest.mark.parametrize("name", ["even", "gamma"])
def test_draws_are_read_again(name):
    own = ALL if name == "even" else ALL[-1:]
    drawn = draw(load_recipe(name, own), 0, "k")
    assert parse_draw(drawn.model_dump(mode="json")) == drawn
    assert 50 <= drawn.degradations.jpeg.quality <= 95


def test_they_befall_as_many_as_asked():
    recipe = load_recipe(
        ON_SENSOR,
        [
            "degradations.jpeg.probability=0.25",
            "degradations.jpeg.quality=80",
            "degradations.motion.probability=0.5",
            "degradations.motion.length=4",
        ],
    )
    drawn = [one.degradations for one in draw_many(recipe, 0, [str(i) for i in range(2000)])]
    assert np.mean([one.jpeg.quality > 0 for one in drawn]) == pytest.approx(0.25, abs=0.04)
    moved = np.array([one.motion.length > 0 for one in drawn])
    assert moved.mean() == pytest.approx(0.5, abs=0.05)
    both = np.mean([one.jpeg.quality > 0 for one, m in zip(drawn, moved, strict=True) if m])
    assert both == pytest.approx(0.25, abs=0.06)
    angles = [one.motion.angle for one in drawn]
    assert 0 <= min(angles) < 0.1
    assert max(angles) < np.pi
    assert drawn[0].fixed_pattern.seed != drawn[1].fixed_pattern.seed


@METHODS
def test_blur_is_of_linear_light(method):
    normal = picture(0, 90, 70)
    sharp = load_recipe(ON_SENSOR, [*PLAIN, "camera.iso=50", f"isp.demosaic={method}"])
    blurred = load_recipe(
        ON_SENSOR,
        [
            *PLAIN,
            "camera.iso=50",
            f"isp.demosaic={method}",
            "degradations.motion.length=9",
            "degradations.defocus.radius=2",
        ],
    )
    before, after = (light(render(normal, draw(one, 1, "k"))) for one in (sharp, blurred))
    table = draw_table(blurred, 1, ["k"])
    places, weights = table.spread_places, table.spread_weights
    padded = np.pad(light(normal), ((12, 12), (12, 12), (0, 0)), mode="edge")
    wanted = sum(
        w * padded[12 + dy : 82 + dy, 12 + dx : 102 + dx]
        for (dy, dx), w in zip(places.tolist(), weights.tolist(), strict=True)
    )
    assert np.abs(after - wanted).mean() < 0.015
    assert np.abs(after - wanted).mean() < 0.3 * np.abs(before - wanted).mean()
    assert after.mean() == pytest.approx(before.mean(), rel=0.01)


def test_lamps_draw_streaks():
    """Light that was cut off is brightened before it spreads."""
    normal = np.full((41, 61, 3), 20, np.uint8)
    normal[20, 30] = 255
    recipe = [*PLAIN, "camera.iso=50", "highlights.ev=4", "degradations.motion.length=15"]
    low = render(normal, draw(load_recipe(ON_SENSOR, recipe), 1, "k"))
    assert (low.max(2) > 200).sum() >= 9  # not one dim line: 1/15 of 16 times white


def test_bands_are_as_many_and_as_deep_as_they_say():
    normal = np.full((240, 200, 3), 150, np.uint8)
    recipe = [*PLAIN, "camera.iso=100", "degradations.banding.depth=0.5"]
    low = render(
        normal, draw(load_recipe(ON_SENSOR, [*recipe, "degradations.banding.bands=4"]), 1, "k")
    )
    rows = light(low).mean((1, 2))
    assert rows.mean() == pytest.approx(light(normal).mean(), rel=0.02)
    assert rows.max() / rows.min() == pytest.approx(2, rel=0.05)
    waves = np.abs(np.fft.rfft(rows - rows.mean()))
    assert waves.argmax() == 4


def pattern_of(method: str, extra: list[str], frames: int = 2, side: int = 128):
    """The pattern's part of the lows of a clip of a grey wall, in linear light."""
    normal = np.full((side, side, 3), 100, np.uint8)
    base = [*PLAIN, "exposure.ev=3", "camera.iso=800", f"isp.demosaic={method}"]
    base += ["camera.read_noise=gaussian", "isp.digital_gain_ev=3"]
    with_it, without = (draw(load_recipe(ON_SENSOR, [*base, *own]), 4, "k") for own in (extra, []))
    lows = [render_clip([normal] * frames, one) for one in (with_it, without)]
    return [light(a) - light(b) for a, b in zip(*lows, strict=True)]


@METHODS
def test_a_clips_frames_share_the_pattern_and_nothing_else(method):
    extra = [
        "degradations.fixed_pattern.columns=60",
        "degradations.fixed_pattern.hot_share=0.003",
        "degradations.fixed_pattern.hot=900",
    ]
    first, second = pattern_of(method, extra)
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.99
    columns = [one.mean((0, 2)) for one in (first, second)]
    assert np.corrcoef(*columns)[0, 1] > 0.99


def test_columns_have_the_offsets_that_are_asked_for():
    deviation = []
    for electrons in (20, 40):
        extra = [f"degradations.fixed_pattern.columns={electrons}"]
        first, _ = pattern_of("none", extra, side=400)
        columns = first.mean(0)
        assert np.abs(first - columns).max() < 0.02  # columns, and nothing else
        deviation.append(columns.std())
        drawn = draw(load_recipe(ON_SENSOR, ["camera.iso=800"]), 4, "k").camera.sensor
        wanted = electrons * drawn.gain / (drawn.white - drawn.black) * 2**3
        assert columns.std() == pytest.approx(wanted, rel=0.12)
    assert deviation[1] == pytest.approx(2 * deviation[0], rel=0.05)


def test_as_many_sites_are_hot_as_asked():
    extra = [
        "degradations.fixed_pattern.hot_share=0.004",
        "degradations.fixed_pattern.hot=2000",
    ]
    first, second = pattern_of("none", extra, side=300)
    assert (first > 0.005).mean() == pytest.approx(0.004, rel=0.15)
    assert ((first > 0.005) == (second > 0.005)).mean() > 0.999
    assert first.min() >= 0


@st.composite
def parts(draw):
    height, width = draw(st.integers(1, 60)), draw(st.integers(1, 60))
    top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    down, across = draw(st.integers(1, height - top)), draw(st.integers(1, width - left))
    return (height, width), Window(top, left, down, across)


@METHODS
@given(parts(), st.booleans())
def test_a_window_is_that_of_the_whole(method, where, smoothed):
    (height, width), window = where
    normal = picture(2, 60, 60)[:height, :width]
    chroma = [] if smoothed else ["isp.chroma.strength=0"]
    recipe = load_recipe("night-lights", [*ALL, *chroma, f"isp.demosaic={method}"])
    drawn = draw(recipe, 0, "k")
    whole, part = render(normal, drawn), render(normal, drawn, window)
    rows = slice(window.top, window.top + window.height)
    assert (whole[rows, window.left : window.left + window.width] == part).all()


def test_published_recipes_may_end_with_jpeg():
    normal = picture(4, 80, 64)
    plain, coded = (
        render(normal, draw(load_recipe("gamma", own), 0, "k"))
        for own in ([], ["degradations.jpeg.quality=30"])
    )
    assert (coded == jpeg(plain, JpegSetting(30, True))).all()
    drawn = draw(load_recipe("gamma", ["degradations.jpeg.quality=30"]), 0, "k")
    assert (render(normal, drawn, Window(5, 7, 20, 30)) == coded[5:25, 7:37]).all()


def test_hot_sites_add_no_more_than_fills_them():
    """One of the two greens of a quad is hot, as bright as white, and the other dark."""
    recipe = [*PLAIN, "camera.iso=100", "degradations.fixed_pattern.hot_share=0.002"]
    recipe += ["degradations.fixed_pattern.hot=1000000"]
    low = light(
        render(np.zeros((200, 200, 3), np.uint8), draw(load_recipe(ON_SENSOR, recipe), 1, "k"))
    )
    assert low[..., 0].max() == 1
    greens = low[..., 1][low[..., 1] > 0.3]
    assert np.median(greens) == pytest.approx(0.5, abs=0.02)


def test_photon_transfer_is_of_lows_whose_noise_is_the_sensors():
    normal = picture(0, 160, 120)
    for extra, there in ((["degradations.motion.length=4"], True), (ALL[-1:], False)):
        drawn = draw(load_recipe(ON_SENSOR, ["exposure.ev=2", *extra]), 0, "k")
        assert bool(transfer_points(render(normal, drawn), normal, drawn)) == there


def test_images_that_are_blurred_alike_share_one_spread():
    recipe = load_recipe(ON_SENSOR, ["degradations.defocus.radius=choice(0, 3, 5)"])
    keys = [str(i) for i in range(50)]
    table = draw_table(recipe, 0, keys)
    assert len(set(table.draws["first_spread"][table.draws["spread"] > 0].tolist())) == 2
    assert len(table.spread_weights) == sum(len(spread(0, 0, r).weights) for r in (3, 5))


def test_batches_have_the_same_steps_whatever_was_drawn():
    changes = ["degradations.fixed_pattern.probability=0.5", "degradations.fixed_pattern.columns=2"]
    table = draw_table(load_recipe("train-uneven", changes), 0, [str(i) for i in range(400)])
    sizes, nowhere = np.full((4, 2), 96), np.zeros(4, np.uint64)
    kinds = {
        tuple(
            step
            for step in plan_batch(
                table, sizes, (nowhere, nowhere), numbers=np.arange(first, first + 4)
            ).places.items()
            if step[0] in ("spreads", "patterns", "samples", "decodes")
        )
        for first in range(0, 400, 4)
        if not (table.draws["method"][first : first + 4] >= 2).any()
    }
    assert len(kinds) == 1
    assert len(next(iter(kinds))) == 4
