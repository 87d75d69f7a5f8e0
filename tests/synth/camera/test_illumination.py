from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.camera import illumination
from gloam.synth.camera.illumination import (
    CELLS,
    cell_luminance,
    exposure_of,
    illumination_rows,
)
from gloam.synth.camera.recipe import CameraRecipe, LightsSection
from gloam.synth.draws.record import GridDraw, PoolsDraw, SceneLightDraw
from gloam.synth.draws.table import DrawTable, table_of_records
from gloam.synth.kernels.curves import srgb_to_linear
from gloam.synth.kernels.exposure import GUIDES
from gloam.synth.models import draw, render
from gloam.synth.parameters.drawing import record_of
from gloam.synth.recipes.load import load_recipe

from ..overrides import BLOBS


def _field(pixels: np.ndarray, table: DrawTable) -> np.ndarray:
    return illumination.field_ev(pixels, cell_luminance(pixels), table, 0)[0]


def field_of(drawn) -> DrawTable:
    return table_of_records([drawn])


def bare(changes) -> DrawTable:
    """A field of nothing but what is given, by its paths."""
    return field_of(draw(CameraRecipe(), 0, "k").changed(changes))


def one_light(place, radius):
    """A field that is one pool of light."""
    light = record_of(LightsSection)(
        count=1, place=(place,), ev=(3.0,), radius=(radius,), falloff=(2.0,), warmth_ev=(0.0,)
    )
    return bare({"illumination.lights": light})


def test_no_field_is_flat(photograph):
    assert not _field(photograph, bare({})).any()
    assert (illumination_rows(photograph, bare({"exposure.ev": 3.0}), 0)[0] == 0.125).all()


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
    assert exposure_of(cell_luminance(flat), bare(changes).draws[0]) == pytest.approx(
        stops, abs=0.02
    )


@pytest.mark.parametrize("key", ["a", "b", "c", "d"])
def test_the_mean_of_every_field_is_zero(photograph, key):
    assert abs(_field(photograph, field_of(draw(load_recipe("uneven"), 0, key))).mean()) < 1e-9


def test_a_smooth_field_of_constant_values_is_flat_and_bicubic_keeps_its_nodes(photograph):
    flat = {"illumination.smooth.cells": 4, "illumination.smooth.values": (2.0,) * 16}
    assert np.abs(_field(photograph, bare(flat))).max() < 1e-9
    halves = {
        "illumination.smooth.cells": 2,
        "illumination.smooth.values": (1.0, -1.0, 1.0, -1.0),
    }
    step = _field(photograph, bare(halves))
    assert (step[:, :16] > 0).all()
    assert np.abs(step + step[:, ::-1]).max() < 1e-9
    assert np.abs(step).max() < 1.2
    assert np.abs(np.diff(step, axis=0)).max() < 1e-9


def test_a_light_brightens_its_middle_most(photograph):
    field = _field(photograph, one_light(0.5, 0.2))
    peak = np.unravel_index(field.argmax(), field.shape)
    assert field[peak] - field.min() == pytest.approx(3.0, abs=0.05)


def test_lights_are_drawn_to_bright_places(photograph):
    dark_left = photograph.copy()
    dark_left[:, :64] = 5
    dark_left[:, 64:] = 220
    right = 0
    for i in range(200):
        one = one_light((i + 0.5) / 200, 0.05)
        right += np.unravel_index(_field(dark_left, one).argmax(), (CELLS, CELLS))[1] >= CELLS // 2
    assert 150 < right < 200


def test_scene_darkens_what_was_dark(photograph):
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[:, 32:] = 200
    field = _field(picture, bare({"illumination.scene.strength": 0.5}))
    assert field[:, :8].max() < 0 < field[:, -8:].min()
    ratio = np.log2(srgb_to_linear(np.array(200 / 255)) / 2.0**-10)
    assert field[16, -1] - field[16, 0] == pytest.approx(0.5 * ratio, abs=1e-9)


def test_vignetting_is_cos4_and_meets_its_corner_value():
    square = np.full((320, 320, 3), 128, np.uint8)
    field = _field(square, bare({"illumination.vignette.ev": 2.0}))
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
    field = _field(np.full((90, 120, 3), 128, np.uint8), bare(slope))
    assert field[:, -1].mean() - field[:, 0].mean() == pytest.approx(3.0, abs=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (3, 3), (31, 33), (700, 400)])
def test_any_size_has_an_illumination(shape):
    picture = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    for name, levels in ((BLOBS, 1), ("uneven", GUIDES)):
        rows, _ = illumination_rows(picture, field_of(draw(load_recipe(name), 0, "k")), 0)
        assert rows.shape == (levels, CELLS, shape[1])
        assert rows.dtype == np.float32
        assert rows.flags.c_contiguous
        assert np.isfinite(rows).all()
        assert (rows > 0).all()


def scene_light(**changes):
    """A field of scene light alone: undone, or the parts that are given."""
    pools = PoolsDraw(count=0, place=(), ev=(), radius=(), falloff=(), edges=())
    grid = GridDraw(sigma_ev=0.0, cells=0, levels=0, values=())
    parts = {"undone": (0.0,) * GUIDES, "grid": grid, "ambient": 0.0, "pools": pools}
    return {"illumination.scene_light": SceneLightDraw(**{**parts, **changes})}


def light_at(picture, field, row, column):
    """The stops of light at each lightness, in a row and a column of the field."""
    rows, _ = illumination_rows(picture, field, 0)
    return np.log2(rows[:, row, column])


def test_light_is_undone_by_lightness(photograph):
    undone = tuple(np.linspace(-1, 2, GUIDES).tolist())
    changes = {"exposure.ev": 9.0} | scene_light(undone=undone)
    found = light_at(photograph, bare(changes), 5, 7)
    np.testing.assert_allclose(found - found[0], np.array(undone) - undone[0], atol=1e-3)


def test_a_grid_has_its_numbers_in_the_middles_of_its_parts(photograph):
    values = np.random.default_rng(0).normal(0, 1, (2, 4, 4))
    grid = GridDraw(sigma_ev=1.0, cells=4, levels=2, values=tuple(values.ravel().tolist()))
    field = bare({"exposure.ev": 9.0} | scene_light(grid=grid))
    rows, _ = illumination_rows(photograph, field, 0)
    width, across = photograph.shape[1], (np.arange(4) + 0.5) / 4
    found = np.log2(rows[:, 4::8, :][[0, -1]][:, :, (across * width).astype(int)])
    assert np.abs((found - found.mean()) - (values - values.mean())).max() < 0.25


def test_the_mean_of_scene_light_at_the_photographs_own_lightness_is_none(photograph):
    flat = np.full_like(photograph, 90)
    undone = tuple(np.linspace(3, -1, GUIDES).tolist())
    low = render(flat, noiseless({"exposure.ev": 3.0} | scene_light(undone=undone)))
    even = render(flat, noiseless({"exposure.ev": 3.0}))
    assert abs(low.astype(int) - even).max() <= 1


@pytest.mark.parametrize("shoulder", [0.0, 3.0])
def test_scene_light_makes_nothing_brighter_than_the_photograph(photograph, shoulder):
    undone = tuple(np.linspace(-1, 8, GUIDES).tolist())
    pools = PoolsDraw(
        count=2, place=(0.2, 0.7), ev=(9.0, 6.0), radius=(0.3, 0.1), falloff=(1, 2), edges=(2, 0)
    )
    light = scene_light(undone=undone, pools=pools, ambient=0.3)
    changes = {"exposure.ev": 1.0, "tone.shoulder": shoulder} | light
    low = render(photograph, noiseless(changes))
    assert (low.astype(int) - photograph).max() <= 1


def test_pools_begin_where_the_photograph_shines_and_stop_at_what_is_dark():
    picture = np.full((96, 96, 3), 60, np.uint8)
    picture[70:80, 10:20] = 255
    pool = PoolsDraw(count=1, place=(0.5,), ev=(4.0,), radius=(0.2,), falloff=(2.0,), edges=(2.0,))
    changes = {"exposure.ev": 8.0} | scene_light(pools=pool)
    rows, _ = illumination_rows(picture, bare(changes), 0)
    even = bare({"exposure.ev": 8.0} | scene_light(ambient=1.0))
    bare_rows, _ = illumination_rows(picture, even, 0)
    more = np.log2(rows / bare_rows)
    down, across = np.unravel_index(more[-1].argmax(), more[-1].shape)
    assert 70 <= (down + 0.5) * 3 <= 80
    assert 10 <= across <= 20
    assert more[-1].max() == pytest.approx(4, abs=0.1)
    assert (np.diff(more[:, down, across]) > 0).all()
    assert more[-1, 2, 80] < 0.1


def noiseless(changes):
    """A draw of a field alone, of a camera without noise."""
    sensor = {"camera.sensor.gain": 1e-6, "camera.sensor.read_scale": 0.0}
    changes = {"camera.sensor.white": 1 << 24, "camera.sensor.black": 0} | sensor | changes
    recipe = CameraRecipe.model_validate({"camera": {"read_noise": "gaussian"}})
    return draw(recipe, 0, "k").changed(changes | {"camera.sensor.row_sigma": 0.0})


def test_cell_luminance_of_a_flat_image_is_its_linear_value():
    assert (
        np.abs(
            cell_luminance(np.full((50, 70, 3), 128, np.uint8))
            - srgb_to_linear(np.array(128 / 255))
        ).max()
        < 1e-12
    )
