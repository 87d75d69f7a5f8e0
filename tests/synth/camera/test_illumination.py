from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.camera.illumination import (
    CELLS,
    Field,
    cell_luminance,
    exposure_of,
    field_ev,
    illumination_rows,
)
from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.draws.record import LightsDraw
from gloam.synth.draws.table import table_of_records
from gloam.synth.kernels.curves import srgb_to_linear
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe
from gloam.synth.render.kernel_args import kernel_args


def field_of(drawn) -> Field:
    return kernel_args(table_of_records([drawn]), 0).field


def bare(changes) -> Field:
    """A field of nothing but what is given, by its paths."""
    return field_of(draw(CameraRecipe(), 0, "k").changed(changes))


def one_light(place, radius):
    """A field that is one pool of light."""
    light = LightsDraw(
        count=1, place=(place,), ev=(3.0,), radius=(radius,), falloff=(2.0,), warmth_ev=(0.0,)
    )
    return bare({"illumination.lights": light})


def test_no_field_is_flat(photograph):
    assert not field_ev(photograph, bare({})).any()
    assert (illumination_rows(photograph, bare({"exposure.ev": 3.0}))[0] == 0.125).all()


@pytest.mark.parametrize(
    ("ev", "by_brightness", "level", "stops"),
    [
        (6, 0.5, 118, 6.0),
        (6, 0.5, 255, 7.24),
        (6, -1.2, 255, 3.03),
        (3, -1.2, 255, 2),
        (1, -1.2, 255, 1),
    ],
)
def test_exposure_by_brightness_leaves_a_low(ev, by_brightness, level, stops):
    flat = np.full((64, 64, 3), level, np.uint8)
    changes = {"exposure.ev": float(ev), "exposure.by_brightness": by_brightness}
    assert exposure_of(flat, bare(changes).draw) == pytest.approx(stops, abs=0.02)


@pytest.mark.parametrize("key", ["a", "b", "c", "d"])
def test_the_mean_of_every_field_is_zero(photograph, key):
    assert abs(field_ev(photograph, field_of(draw(load_recipe("uneven"), 0, key))).mean()) < 1e-9


def test_a_smooth_field_of_constant_values_is_flat_and_bicubic_keeps_its_nodes(photograph):
    flat = {"illumination.smooth.cells": 4, "illumination.smooth.values": (2.0,) * 16}
    assert np.abs(field_ev(photograph, bare(flat))).max() < 1e-9
    halves = {
        "illumination.smooth.cells": 2,
        "illumination.smooth.values": (1.0, -1.0, 1.0, -1.0),
    }
    step = field_ev(photograph, bare(halves))
    assert (step[:, :16] > 0).all()
    assert np.abs(step + step[:, ::-1]).max() < 1e-9
    assert np.abs(step).max() < 1.2
    assert np.abs(np.diff(step, axis=0)).max() < 1e-9


def test_a_light_brightens_its_middle_most(photograph):
    field = field_ev(photograph, one_light(0.5, 0.2))
    peak = np.unravel_index(field.argmax(), field.shape)
    assert field[peak] - field.min() == pytest.approx(3.0, abs=0.05)


def test_lights_are_drawn_to_bright_places(photograph):
    dark_left = photograph.copy()
    dark_left[:, :64] = 5
    dark_left[:, 64:] = 220
    right = 0
    for i in range(200):
        one = one_light((i + 0.5) / 200, 0.05)
        right += (
            np.unravel_index(field_ev(dark_left, one).argmax(), (CELLS, CELLS))[1] >= CELLS // 2
        )
    assert 150 < right < 200


def test_scene_darkens_what_was_dark(photograph):
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[:, 32:] = 200
    field = field_ev(picture, bare({"illumination.scene.strength": 0.5}))
    assert field[:, :8].max() < 0 < field[:, -8:].min()
    ratio = np.log2(srgb_to_linear(np.array(200 / 255)) / 2.0**-10)
    assert field[16, -1] - field[16, 0] == pytest.approx(0.5 * ratio, abs=1e-9)


def test_vignetting_is_cos4_and_meets_its_corner_value():
    square = np.full((320, 320, 3), 128, np.uint8)
    field = field_ev(square, bare({"illumination.vignette.ev": 2.0}))
    middle, corner = field[15:17, 15:17].mean(), field[0, 0]
    assert middle - corner == pytest.approx(
        2.0, abs=0.12
    )  # the corner cell's middle lies a little inside
    angle = np.arctan(
        np.sqrt(2.0 ** (2.0 / 2) - 1) * np.hypot(1 / 32, 1 / 32) / np.sqrt(2 * (31 / 32) ** 2)
    )
    assert field[15, 15] - (field[15, 15] + 4 * np.log2(np.cos(angle))) >= 0


def test_a_gradient_spans_its_ev():
    slope = {"illumination.gradient.ev": 3.0, "illumination.gradient.angle": 0.0}
    field = field_ev(np.full((90, 120, 3), 128, np.uint8), bare(slope))
    assert field[:, -1].mean() - field[:, 0].mean() == pytest.approx(3.0, abs=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (3, 3), (31, 33), (700, 400)])
def test_any_size_has_an_illumination(shape):
    picture = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    rows, _ = illumination_rows(picture, field_of(draw(load_recipe("uneven"), 0, "k")))
    assert rows.shape == (CELLS, shape[1])
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    assert np.isfinite(rows).all()
    assert (rows > 0).all()


def test_cell_luminance_of_a_flat_image_is_its_linear_value():
    assert (
        np.abs(
            cell_luminance(np.full((50, 70, 3), 128, np.uint8))
            - srgb_to_linear(np.array(128 / 255))
        ).max()
        < 1e-12
    )
