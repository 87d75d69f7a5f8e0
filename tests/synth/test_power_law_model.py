"""The power_law model: its curve, and the moments of its noise."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.kernels.curves import linear_to_srgb, srgb_to_linear
from gloam.synth.models import draw, render
from gloam.synth.power_law_model import PowerLawDraw, PowerLawRecipe, curve_table
from gloam.synth.recipes.load import load_recipe


def drawn(changes):
    return draw(PowerLawRecipe(), 0, "k").changed(changes)


def test_left_alone_it_changes_nothing(photograph):
    assert (render(photograph, drawn({})) == photograph).all()


def test_the_curve_is_beta_alpha_x_to_the_gamma(photograph):
    low = render(photograph, drawn({"curve.alpha": 0.9, "curve.beta": 0.8, "curve.gamma": 2.5}))
    assert (low == np.rint(255 * 0.8 * (0.9 * photograph / 255) ** 2.5)).all()


def test_stretch_takes_the_images_own_range():
    image = np.linspace(50, 200, 3 * 64).astype(np.uint8).reshape(8, 8, 3)
    stretched = drawn({"curve.stretch": "range"})
    table = curve_table(image, stretched.changed({"curve.beta": 0.5, "curve.gamma": 2}))
    assert table[50] == 0
    assert table[200] == pytest.approx(0.5)
    assert curve_table(np.full((2, 2, 3), 9, np.uint8), stretched).max() <= 1


@pytest.mark.parametrize(
    ("changes", "variance"),
    [
        ({"noise.peak": 200.0}, 0.4 / 200),
        ({"noise.peak": 10.0}, 0.4 / 10),
        ({"noise.variance": 0.001}, 0.001),
        ({"noise.deviation": 0.03}, 0.0009),
        ({"noise.deviation_per_light": 0.1}, 0.04**2),
        ({"noise.peak": 120.0, "noise.variance": 3.24e-4}, 0.4 / 120 + 3.24e-4),
    ],
)
def test_noise_has_the_moments_it_says(changes, variance):
    grey = np.full((300, 300, 3), 102, np.uint8)  # .4
    low = render(grey, drawn(changes)) / 255.0
    assert low.mean() == pytest.approx(0.4, abs=0.002)
    assert low.var() == pytest.approx(variance + 1 / 12 / 255**2, rel=0.03)


def test_noise_through_a_mosaic_is_that_of_linear_light_interpolated():
    """Green is its own at half of the sites and the mean of four at the others."""
    grey = np.full((300, 300, 3), 188, np.uint8)
    low = render(grey, drawn({"noise.space": "raw", "noise.deviation": 0.02})) / 255.0
    light = srgb_to_linear(low)
    assert light.mean() == pytest.approx(srgb_to_linear(np.array(188 / 255)), abs=0.002)
    assert light[:, :, 1].var() == pytest.approx(0.02**2 * (1 + 1 / 4) / 2, rel=0.05)
    assert light[:, :, 0].var() == pytest.approx(
        0.02**2 * (1 + 1 / 2 + 1 / 2 + 1 / 4) / 4, rel=0.05
    )
    assert np.abs(linear_to_srgb(light) - low).max() < 1e-9


def test_draws_stay_in_the_recipes_ranges_and_survive_json():
    for i in range(200):
        one = draw(load_recipe("agllnet"), 3, str(i))
        assert isinstance(one, PowerLawDraw)
        assert 0.9 <= one.curve.alpha <= 1
        assert 0.5 <= one.curve.beta <= 1
        assert 1.5 <= one.curve.gamma <= 5
        assert PowerLawDraw.model_validate_json(one.model_dump_json()) == one


@pytest.mark.parametrize(
    "bad", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)]
)
def test_other_arrays_are_refused(bad):
    with pytest.raises(ValueError, match="normal"):
        render(bad, drawn({}))
