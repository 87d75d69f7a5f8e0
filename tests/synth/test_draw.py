from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gloam.synth.camera.draw import CameraDraw
from gloam.synth.models import draw
from gloam.synth.parameters.randomness import Source
from gloam.synth.recipes.load import load_recipe

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
    before = draw(load_recipe("uneven", ["camera.iso=400"]), seed, key).model_dump()
    after = draw(load_recipe("uneven", ["camera.iso=12800"]), seed, key).model_dump()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"iso", "gain", "row_sigma", "read_scale", "read_shape"}


def test_probability_switches_the_field():
    recipe = load_recipe("uneven", ["illumination.probability=0.25"])
    lit = [bool(draw(recipe, 0, str(i)).smooth_cells) for i in range(2000)]
    assert abs(np.mean(lit) - 0.25) < 0.05


def test_random_numbers_are_uniform_and_independent_of_their_neighbours():
    values = np.array([[Source(0, str(i)).uniform(p) for p in ("a", "b")] for i in range(20_000)])
    assert np.abs(np.histogram(values[:, 0], 20, (0, 1))[0] - 1000).max() < 160
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.035
    assert values.min() > 0
    assert values.max() < 1


def test_red_and_blue_err_separately():
    errors = np.array(
        [
            [d.red_error_ev, d.blue_error_ev]
            for d in (draw(load_recipe("even"), 0, str(i)) for i in range(2000))
        ]
    )
    assert abs(np.corrcoef(errors.T)[0, 1]) < 0.1
    assert np.abs(errors.std(axis=0) - 0.3).max() < 0.03
