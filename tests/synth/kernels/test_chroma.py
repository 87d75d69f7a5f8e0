"""Chroma noise reduction against a plain statement of it in float64."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import convolve1d

from gloam.synth.kernels.chroma import UNIT, blur_weights, reduce_chroma, split
from gloam.synth.kernels.curves import encoding
from gloam.synth.kernels.develop import ENCODE_CELLS
from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe

from ..overrides import ON_SENSOR


def planes_of(height, width, seed=0):
    cells = (
        np.random.default_rng(seed).integers(0, ENCODE_CELLS, (3, height, width)).astype(np.uint16)
    )
    table = np.rint(UNIT * encoding()).astype(np.int16)
    planes = np.empty((3, height, width), np.int16)
    for y in range(height):
        split(
            (cells[0, y], cells[1, y], cells[2, y]),
            table,
            (planes[0, y], planes[1, y], planes[2, y]),
        )
    return table[cells].astype(np.float64) / UNIT, planes


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (17, 1), (20, 33)])
@pytest.mark.parametrize(("strength", "sigma"), [(0.0, 1.0), (0.6, 1.0), (1.0, 2.5)])
def test_it_is_a_blend_with_the_blur(shape, strength, sigma):
    rgb, planes = planes_of(*shape)
    low = np.empty((*shape, 3), np.uint8)
    reduce_chroma(planes, blur_weights(sigma), np.float32(strength), low)
    y = np.tensordot([0.299, 0.587, 0.114], rgb, axes=1)
    half = blur_weights(sigma).astype(np.float64)
    line = np.concatenate([half[:0:-1], half])
    red, blue = (
        (1 - strength) * c
        + strength * convolve1d(convolve1d(c, line, 0, mode="nearest"), line, 1, mode="nearest")
        for c in (rgb[0] - y, rgb[2] - y)
    )
    expected = 255 * np.stack([y + red, y - (0.299 * red + 0.114 * blue) / 0.587, y + blue], axis=2)
    assert np.abs(low - np.clip(expected, 0, 255)).max() < 0.6


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
def test_weights_sum_to_one_on_both_sides(sigma):
    weights = blur_weights(sigma).astype(np.float64)
    assert weights[0] + 2 * weights[1:].sum() == pytest.approx(1, abs=1e-6)
    assert np.count_nonzero(weights) == int(np.ceil(3 * sigma)) + 1
    assert len(weights) % 3 == 1


def test_it_turns_the_correlation_of_red_and_green_round():
    """The colour matrix alone sets their noise against each other."""
    grey = np.full((256, 256, 3), 140, np.uint8)
    correlations = []
    for strength in (0.0, 0.6):
        drawn = draw(
            load_recipe(ON_SENSOR, ["exposure.ev=4", "illumination.probability=0"]), 0, "k"
        )
        changes = {"isp.chroma.strength": strength, "camera.sensor.row_sigma": 0.0}
        low = render(grey, drawn.changed(changes)).astype(float)
        correlations.append(np.corrcoef(low[:, :, 0].ravel(), low[:, :, 1].ravel())[0, 1])
    assert correlations[0] < -0.1
    assert correlations[1] > correlations[0] + 0.3
