"""Noise of lows against the camera file, measured from the lows alone."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.draws.record import CameraDraw
from gloam.synth.measures.photon_transfer import pool_points, transfer_points
from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe

from ..overrides import ON_SENSOR


@pytest.mark.parametrize(
    "overrides", [[], ["isp.chroma.strength=0"], ["camera.name=canon-5d4", "isp.demosaic=none"]]
)
def test_the_noise_of_a_low_is_what_the_camera_file_says(overrides):
    """Through white balance, matrix, encoding and chroma smoothing, to a few per cent."""
    normal = np.repeat(np.linspace(40, 230, 256).astype(np.uint8)[None, :, None], 256, 0).repeat(
        3, 2
    )
    recipe = load_recipe(
        ON_SENSOR,
        ["exposure.ev=uniform(1,3)", "camera.iso=1600", "illumination.probability=0", *overrides],
    )
    points = []
    for i in range(12):
        drawn = draw(recipe, 0, str(i))
        assert isinstance(drawn, CameraDraw)
        points += transfer_points(render(normal, drawn), normal, drawn)
    joined = pool_points(points)
    ratio = np.average(
        [p.measured / p.expected for p in joined], weights=[p.pixels for p in joined]
    )
    assert ratio == pytest.approx(1, abs=0.03)


def test_twice_the_gain_is_noticed():
    normal = np.full((200, 200, 3), 160, np.uint8)
    drawn = draw(
        load_recipe(ON_SENSOR, ["exposure.ev=2", "camera.iso=3200", "illumination.probability=0"]),
        0,
        "k",
    )
    twice = {"camera.sensor.gain": 2 * drawn.camera.sensor.gain}
    noisier = render(normal, drawn.changed(twice))
    (point,) = pool_points(transfer_points(noisier, normal, drawn))
    assert point.measured > 1.5 * point.expected


def test_noise_that_is_known_by_pictures_is_not_set_beside_a_sensors():
    normal = np.full((200, 200, 3), 160, np.uint8)
    drawn = draw(load_recipe("even"), 0, "k")
    assert transfer_points(render(normal, drawn), normal, drawn) == []
