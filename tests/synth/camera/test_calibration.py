"""Cameras of one's own."""

from __future__ import annotations

import pytest
import yaml

from gloam.errors import ConfigError
from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe, recipe_yaml

OWN = """
cameras:
  mine:
    source: measured at home
    bits: 12
    black: 64
    white: 4095
    by_iso:
      - [100, 0.2, 1.5, 0.9, 0.05, 0.1]
      - [3200, 6.4, 9.5, 5.1, -0.02, 0.8]
"""


def test_cameras_of_ones_own_become_part_of_the_recipe(tmp_path):
    (tmp_path / "cameras.yaml").write_text(OWN)
    recipe = load_recipe(
        "even", [f"camera.file={tmp_path / 'cameras.yaml'}", "camera.name=mine", "camera.iso=3200"]
    )
    again = CameraRecipe.model_validate(yaml.safe_load(recipe_yaml(recipe)))
    (tmp_path / "cameras.yaml").unlink()
    drawn = draw(again, 1, "a")
    assert (draw(recipe, 1, "a"), again) == (drawn, recipe)
    sensor = drawn.camera.sensor
    assert drawn.camera.name == "mine"
    assert (sensor.gain, sensor.read_scale, sensor.black, sensor.white) == (6.4, 5.1, 64, 4095)
    assert "own" not in yaml.safe_load(recipe_yaml(load_recipe("even")))["camera"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("    white: 4095", "    white: 10"), "must be above black"),
        (("    by_iso:", "    by_isos:"), "must have one of by_iso"),
        (("[3200, ", "[50, "), "rise from row to row"),
        (("[100, 0.2, 1.5,", "[100, 0.2,"), "by_iso"),
        (("cameras:", "sensors:"), "has no cameras"),
        (("1.5, 0.9,", "-1.5, 0.9,"), "greater than or equal to 0"),
        (("1.5, 0.9,", ".nan, 0.9,"), "by_iso"),
        (("1.5, 0.9,", "true, 0.9,"), "must be a number"),
        (("1.5, 0.9,", '"1.5", 0.9,'), "must be a number"),
        (("1.5, 0.9,", "1.5, .inf,"), "less than or equal to"),
        (("[100, 0.2,", "[100, 1.0e-308,"), "by_iso.0.1 = 1e-308"),
        (("[100, 0.2,", "[0, 0.2,"), "greater than or equal to 1"),
        (("0.05, 0.1]", "-5, 0.1]"), "by_iso.0.4 = -5"),
        (("white: 4095", "white: 100000000"), "less than 16777216"),
        (("    by_iso:", "    by_iso:\n" + "      - [1, 1, 1, 1, 0, 1]\n" * 1000), "at most 1000"),
    ],
)
def test_wrong_camera_files_are_named(tmp_path, change, word):
    (tmp_path / "cameras.yaml").write_text(OWN.replace(*change))
    with pytest.raises(ConfigError, match=word) as refused:
        load_recipe("even", [f"camera.file={tmp_path / 'cameras.yaml'}", "camera.name=mine"])
    assert "cameras.yaml" in str(refused.value)
