"""The fields of recipes."""

from __future__ import annotations

import re

import pytest
from pydantic import BaseModel

from gloam.errors import ConfigError
from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.models import draw
from gloam.synth.power_law_model import PowerLawRecipe
from gloam.synth.recipes.load import recipe_of


def test_every_parameter_says_what_it_is():
    def sections(kind):
        for field_name, field in kind.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                yield from sections(field.annotation)
            elif field_name not in ("name", "about", "model") or kind not in (
                CameraRecipe,
                PowerLawRecipe,
            ):
                yield kind, field_name, field

    for model in (CameraRecipe, PowerLawRecipe):
        for kind, field_name, field in sections(model):
            assert field.description, (kind, field_name)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[1, 2, 3]", "must be a list of 2 numbers"),
        ([1], "must be a list of 2 numbers"),
        ([1, "uniform(0, 1)"], "must be a list of 2 numbers"),
        ([0.1, 7], "7 is outside -3 to 3"),
    ],
)
def test_a_list_has_a_number_for_each_time(value, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        recipe_of({"white_balance": {"error_ev": value}}, (), "test")


def test_a_list_is_drawn_as_it_stands_and_a_shorter_curve_goes_on():
    values = {"white_balance": {"error_ev": [0.1, -0.2]}, "noise": {"read": {"red": 1}}}
    recipe = recipe_of(values, ["noise.curve.red=[0.2, 0.3]"], "test")
    drawn = draw(recipe, 1, "k")
    assert drawn.white_balance.error_ev == (0.1, -0.2)
    assert drawn.noise.curve.red == (0.2, *[0.3] * 11)
    assert recipe_of(recipe.model_dump(mode="json"), (), "test") == recipe
