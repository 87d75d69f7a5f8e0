from __future__ import annotations

import json
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gloam.synth.draws.record import CameraDraw
from gloam.synth.models import draw, draw_columns, draw_many, parse_draw
from gloam.synth.parameters.drawing import columns_of, records_of
from gloam.synth.recipes.load import load_recipe

from ..overrides import BLOBS, ON_SENSOR

MANY = [str(i) for i in range(2000)]
keys = st.text("abcdefgh-_0123456789", min_size=1, max_size=20)


@settings(deadline=None)
@given(st.integers(0, 2**63 - 1), keys)
def test_a_draw_survives_json_exactly(seed, key):
    drawn = draw(load_recipe("uneven"), seed, key)
    assert CameraDraw.model_validate(json.loads(json.dumps(drawn.model_dump()))) == drawn


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**63 - 1), keys)
def test_changing_one_value_leaves_all_others(seed, key):
    """The same pairs with other noise: only what the ISO decides differs."""
    before = draw(load_recipe("uneven", ["camera.iso=400"]), seed, key)
    after = draw(load_recipe("uneven", ["camera.iso=12800"]), seed, key)
    changes = {
        f"camera.{path}": attrgetter(path)(after.camera)
        for path in (
            "iso",
            "sensor.gain",
            "sensor.row_sigma",
            "sensor.read_scale",
            "sensor.read_shape",
        )
    }
    assert all(attrgetter(path)(before) != value for path, value in changes.items())
    assert before.changed(changes) == after


def test_probability_switches_the_field():
    for name, is_lit in (
        (BLOBS, lambda field: bool(field.smooth.cells)),
        ("uneven", lambda field: any(field.scene_light.undone)),
    ):
        recipe = load_recipe(name, ["illumination.probability=0.25"])
        lit = [is_lit(one.illumination) for one in draw_many(recipe, 0, MANY)]
        assert abs(np.mean(lit) - 0.25) < 0.05


def test_red_and_blue_err_separately():
    recipe = load_recipe(ON_SENSOR)
    errors = np.array([one.white_balance.error_ev for one in draw_many(recipe, 0, MANY)])
    assert abs(np.corrcoef(errors.T)[0, 1]) < 0.1
    assert np.abs(errors.std(axis=0) - 0.3).max() < 0.03


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("emitters.count", 10**9, "no recipe draws it"),
        ("emitters.place", (0.5,) * 40, "has 40 numbers"),
        ("degradations.motion.length", 1e9, "no recipe draws it"),
        ("degradations.jpeg.quality", -1, "no recipe draws it"),
        ("illumination.smooth.cells", 9999, "no recipe draws it"),
        ("illumination.lights.ev", (), "has 0 numbers"),
        ("camera.matrix", (1.0,), "has 1 numbers, not 9"),
        ("camera.sensor.gain", 0.0, "no recipe draws it"),
        ("camera.sensor.white", 1, "above black"),
        ("exposure.ev", 1e300, "no recipe draws it"),
        ("tone.toe", 5e-324, "no recipe draws it"),
        ("illumination.lights.count", 10**400, "no recipe draws it"),
        ("pixel_seed", 2**64, "no recipe draws it"),
    ],
)
def test_a_record_holds_what_recipes_draw(path, value, problem):
    changes = ["emitters.count=2", "illumination.lights.count=3"]
    drawn = draw(load_recipe("uneven", changes), 0, "a")
    assert parse_draw(drawn.model_dump()) == drawn
    with pytest.raises(ValueError, match=rf"{path}.*{problem}"):
        parse_draw(drawn.changed({path: value}).model_dump())


def test_a_record_whose_noise_is_a_sensor_s_names_it():
    drawn = draw(load_recipe("night-lights"), 0, "a").model_dump(mode="json")
    assert parse_draw(drawn).camera.name
    for name in ("name", "iso"):
        odd = drawn | {"camera": drawn["camera"] | {name: None}}
        with pytest.raises(ValueError, match="camera: has a name and an ISO where noise is"):
            parse_draw(odd)


def test_columns_say_nan_where_a_camera_is_not_used():
    (part,) = draw_columns(load_recipe("even"), 0, ["a", "b"])
    records = records_of(part.kind, part.columns)
    assert [(one.camera.name, one.camera.iso) for one in records] == [(None, None)] * 2
    for columns in (part.columns, columns_of(part.kind, records)):
        assert columns["camera.iso"].dtype == np.float64
        assert np.isnan(columns["camera.iso"]).all()
