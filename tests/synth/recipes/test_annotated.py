"""Recipes as they are shown: values, and what each is and may be."""

from __future__ import annotations

import pytest

from gloam.synth.recipes.annotated import annotated_yaml
from gloam.synth.recipes.load import load_recipe, shipped_recipes
from gloam.synth.recipes.mixture_recipe import single_recipes


@pytest.mark.parametrize("name", list(shipped_recipes()))
def test_a_recipe_shown_with_its_comments_is_the_recipe(name, tmp_path):
    text = annotated_yaml(load_recipe(name))
    (tmp_path / "shown.yaml").write_text(text)
    assert load_recipe(str(tmp_path / "shown.yaml")) == load_recipe(name)
    if load_recipe(name).model == "camera":
        assert "# -4 to 16 EV; stops under the exposure of the normal" in text
    plain = ("about", "name", "- ", "weights:", "columns:", "rows:", "mean:", "covariance:")
    groups = {f"{group}:" for one in single_recipes(load_recipe(name)) for group in _groups(one)}
    for line in text.splitlines()[3:]:
        assert "#" in line or line.strip().startswith(plain) or line.strip() in groups, line


def _groups(recipe):
    return getattr(recipe, "together", {})


def test_values_that_groups_draw_say_so():
    lines = annotated_yaml(load_recipe("even")).splitlines()
    said = [line.split(":")[0].strip() for line in lines if "drawn in together.pairs" in line]
    assert said[:3] == ["red", "green", "blue"]  # of tone.curve
    assert said[-1] == "kurtosis"
    assert len(said) == 22
