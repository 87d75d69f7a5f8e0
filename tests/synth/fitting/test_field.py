"""Fields of single pairs, and light of unevenly lit ones."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import gloam
from gloam.synth.fitting.field import light_of_pairs, solve_field
from gloam.synth.fitting.fitted_recipe import COLUMNS, column_indices
from gloam.synth.fitting.pairs import Pair
from gloam.synth.kernels.curves import CURVE_LEVELS, LEVEL_LIGHT
from gloam.synth.kernels.exposure import GUIDES

QUIET = {
    "degradations.jpeg.probability": 0,
    "degradations.shift.length": 0,
    "camera.iso": 100,
    "white_balance.error_ev": 0,
    "camera.matrix": "none",
    "illumination.scene_light.pools.count": 0,
}


@pytest.fixture
def normal(photograph):
    return np.ascontiguousarray(cv2.resize(photograph, (256, 192), interpolation=cv2.INTER_AREA))


def left(normal, low, ev):
    """The share of the variance of log2(low / normal) that a field leaves, of 4 x 4 pixels."""

    def means(image, factor=1.0):
        light = (image / 255.0) ** 2.2 @ np.array([0.2126, 0.7152, 0.0722]) * factor
        return cv2.resize(light, (64, 48), interpolation=cv2.INTER_AREA)

    kept = (means(low) > means(np.full_like(low, 3))) & (means(normal) > 1e-3)
    dark, made = means(low)[kept], means(normal, 2.0 ** ev.astype(np.float64))[kept]
    apart, rest = np.log2(dark / means(normal)[kept]), np.log2(dark / made)
    return rest.var() / apart.var()


def test_the_field_of_a_low_is_found_again(normal):
    low = gloam.darken(normal, "uneven", key="b", seed=4, overrides=QUIET | {"exposure.ev": 3})
    found = solve_field(normal, low)
    assert found.values.shape == (8, 8, 8)
    assert left(normal, low, found.ev(normal)) < 0.1
    assert found.ev(normal).dtype == np.float32
    assert gloam.solve_field is solve_field


def test_even_light_is_found_even(normal):
    low = gloam.darken(
        normal, "uneven", key="a", overrides={"exposure.ev": 3, "illumination.probability": 0}
    )
    found = solve_field(normal, low)
    assert abs(np.median(found.ev(normal)) + found.exposure_ev) < 0.3


def test_pairs_that_have_no_field_are_refused(normal):
    for low in (np.zeros_like(normal), normal[:50], normal.astype(np.float32)):
        with pytest.raises(ValueError, match="low"):
            solve_field(normal, low)


def test_uneven_pairs_are_known_and_have_light_by_lightness(photograph):
    def pairs(overrides):
        made = []
        for i in range(4):
            own = np.ascontiguousarray(photograph[i * 8 :, i * 8 :])
            low = gloam.darken(own, "uneven-broad", key=str(i), overrides=QUIET | overrides)
            made.append(Pair(str(i), low, own))
        return made

    values = np.zeros((4, len(COLUMNS)))
    values[:, column_indices("tone.curve")] = np.tile(LEVEL_LIGHT[list(CURVE_LEVELS)], 3)
    assert light_of_pairs(pairs({"illumination.probability": 0}), values) is None
    light = light_of_pairs(pairs({"exposure.ev": 3}), values)
    assert light is not None
    undone = light[:, column_indices("illumination.scene_light.undone")]
    assert undone.shape == (4, GUIDES)
    assert (undone[:, 6] > 0.8).all()
