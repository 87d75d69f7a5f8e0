from __future__ import annotations

import pytest
import yaml

from gloam.errors import ConfigError, GloamWarning
from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.parameters.distributions import Constant, Uniform
from gloam.synth.recipes.load import (
    load_recipe,
    recipe_of,
    recipe_yaml,
    recorded_recipe,
    shipped_recipes,
)


@pytest.mark.parametrize("name", sorted(shipped_recipes()))
def test_shipped_recipes_load_and_survive_being_written(name, tmp_path):
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.about
    (tmp_path / "r.yaml").write_bytes(recipe_yaml(recipe))
    assert load_recipe(str(tmp_path / "r.yaml")) == recipe


def test_a_short_recipe_is_a_simple_one(tmp_path):
    (tmp_path / "r.yaml").write_text("exposure: {ev: 3}\n")
    assert load_recipe(str(tmp_path / "r.yaml")) == CameraRecipe().model_copy(
        update={"exposure": CameraRecipe().exposure.model_copy(update={"ev": Constant(3.0)})}
    )


@pytest.mark.parametrize("text", ["", "camera: {iso: 3200}\n", "exposure: {}\n"])
def test_a_file_says_how_dark_its_lows_are(tmp_path, text):
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"exposure\.ev is missing") as error:
        load_recipe(str(path))
    assert error.value.key == "exposure.ev"
    assert load_recipe(str(path), ["exposure.ev=0"]).exposure.ev == Constant(0.0)
    path.write_text("mixture: {even: 1}\ncamera: {iso: 3200}\n")  # as its message says
    assert load_recipe(str(path)).mixture["even"].recipe.camera.iso == Constant(3200.0)


def test_one_value_is_changed_by_a_text():
    assert load_recipe("even", "camera.iso=3200") == load_recipe("even", ["camera.iso=3200"])


def test_values_are_changed_from_the_command_line():
    recipe = load_recipe("even", ["camera.iso=3200", "exposure.ev=uniform(3,8)"])
    assert recipe.camera.iso == Constant(3200.0)
    assert recipe.exposure.ev == Uniform(3, 8)


def test_what_sets_noise_of_a_sensor_takes_its_noise_and_says_so():
    own = load_recipe("even")
    assert load_recipe("even", ["camera.matrix=none"]).noise == own.noise
    with pytest.warns(GloamWarning, match="recipe even: noise is that of this sensor"):
        recipe = load_recipe("even", ["camera.iso=3200"])
    assert recipe.noise != own.noise
    assert not any(
        path.startswith("noise") for one in recipe.together.values() for path in one.columns
    )


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("exposure.evv=3", ["unknown key exposure.evv", "known here: ev"]),
        ("lamps=3", ["unknown key lamps", "exposure", "camera"]),
        ("exposure.ev=uniform(8,3)", ["exposure.ev", "uniform(8,3)", "reversed range"]),
        ("exposure.ev=dark", ["exposure.ev", "'dark'", "uniform(low, high)"]),
        ("exposure.ev=99", ["exposure.ev", "99 is outside -4 to 16"]),
        ("exposure=5", ["exposure", "'5'"]),
        ("camera.name=leica", ["camera.name", "'leica'", "sony-a7s2"]),
        ("camera.iso=99999", ["camera.iso = 99999", "sony-a7s2 is calibrated from 50 to 25600"]),
        ("camera.iso=uniform(25, 100)", ["camera.iso = 25", "from 50 to 25600"]),
        ("illumination.smooth.cells=2.5", ["illumination.smooth.cells", "whole number"]),
        (
            "illumination.smooth.cells=uniform(2, 5)",
            ["illumination.smooth.cells", "choice(a, b, ...)"],
        ),
        ("camera.read_noise=pink", ["camera.read_noise", "'pink'", "tukey, gaussian"]),
        ("exposure", ["exposure", "KEY=VALUE"]),
        ("exposure.ev.deep=3", ["exposure.ev.deep"]),
    ],
)
def test_a_wrong_value_gets_one_line_with_key_value_and_what_is_allowed(override, words):
    with pytest.raises(ConfigError) as caught:
        load_recipe("even", [override])
    assert len(str(caught.value).splitlines()) == 1
    for word in words:
        assert word in str(caught.value)


def test_an_unknown_recipe_names_the_known_ones():
    with pytest.raises(ConfigError, match=r"evn.*even, .*uneven"):
        load_recipe("evn")


@pytest.mark.parametrize(
    "text", ["- 1\n- 2\n", "a: [1\n", "!!python/object/apply:os.system ['true']", "\x00"]
)
def test_a_file_that_is_no_recipe_is_refused(tmp_path, text):
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"r\.yaml"):
        load_recipe(str(tmp_path / "r.yaml"))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        load_recipe(str(tmp_path / "nowhere.yaml"))


def test_the_resolved_yaml_holds_every_value():
    whole = yaml.safe_load(recipe_yaml(CameraRecipe()))
    assert whole["illumination"]["lights"]["count"] == 0
    assert whole["camera"] == {
        "name": "sony-a7s2",
        "iso": 800,
        "read_noise": "tukey",
        "matrix": "none",
        "levels": 0,
    }


def test_an_unknown_key_suggests_the_one_that_is_meant():
    for key, meant in (
        ("iso", "camera.iso"),
        ("camera.izo", "camera.iso"),
        ("sigma", "isp.chroma.sigma"),
        ("exposre.ev", "exposure"),
    ):
        with pytest.raises(ConfigError, match=f"{meant} is meant"):
            load_recipe("even", [f"{key}=3"])
    with pytest.raises(ConfigError) as refused:
        load_recipe("even", ["qqq=3"])
    assert "is meant" not in str(refused.value)


def test_changes_may_be_a_text_a_list_or_a_dict():
    wanted = load_recipe("even", ["camera.iso=3200"])
    assert load_recipe("even", "camera.iso=3200") == wanted
    assert load_recipe("even", {"camera.iso": 3200}) == wanted
    assert load_recipe("even", {"camera": {"iso": 3200}}) == wanted
    assert repr(wanted) == "<CameraRecipe even>"


def test_overrides_change_nothing_of_what_is_given():
    """So that recipes which a set records can be overridden without a copy."""
    values = {"exposure": {"ev": 3}, "camera": {"iso": 800}}
    made = recipe_of(values, ["camera.iso=1600", "exposure.ev=2"], "it")
    assert values == {"exposure": {"ev": 3}, "camera": {"iso": 800}}
    assert str(made.camera.iso) == "1600"


@pytest.mark.parametrize(
    "values",
    [
        {"together": {"a": {"from": "rows.yaml"}}},
        {"camera": {"file": "cameras.yaml"}},
        {"mixture": {"a": {"weight": 1, "recipe": "mine.yaml"}}},
        {"model": "mixture", "mixture": {"a": {"weight": 1, "recipe": "even"}}},
    ],
)
def test_a_recipe_that_a_set_records_names_no_files(values):
    with pytest.raises(ConfigError):
        recorded_recipe(values, "recipe of a set")


@pytest.mark.parametrize("name", ["train-uneven", "even:0.5,uneven:0.5"])
def test_a_recorded_recipe_is_the_one_that_was_read(name):
    made = load_recipe(name, ["camera.iso=1600"])
    assert recorded_recipe(made.model_dump(mode="json"), "recipe of a set") == made
