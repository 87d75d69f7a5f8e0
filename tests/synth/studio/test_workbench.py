"""Answers to the studio's page: controls, lows, recipes, commands."""

from __future__ import annotations

import io
import itertools
import shlex
from copy import deepcopy

import numpy as np
import pytest
from PIL import Image

import gloam
from gloam.errors import ConfigError, GloamWarning, ImageRefused, SourceError
from gloam.synth.measures.contact_sheet import read_photographs
from gloam.synth.parameters.distributions import Distribution
from gloam.synth.recipes.load import load_recipe, recipe_of, shipped_recipes
from gloam.synth.recipes.mixture_recipe import MixtureRecipe
from gloam.synth.studio.workbench import (
    MOST,
    SIDE,
    Photographs,
    Workbench,
    cameras_of,
    changes,
    controls_of,
)

from ...conftest import picture


def encoded(width=96, height=72, kind="png"):
    data = io.BytesIO()
    Image.fromarray(picture(3, width, height)).save(data, kind)
    return data.getvalue()


@pytest.fixture
def bench(tmp_path):
    photographs = Photographs([("a.png", encoded()), ("b.jpg", encoded(60, 80, "jpeg"))])
    return Workbench(photographs, load_recipe("even"), "even", tmp_path)


def values_of(name, *overrides):
    return load_recipe(name, overrides).model_dump(mode="json")


def fields_of(sections):
    for section in sections:
        yield from section["fields"]
        yield from fields_of(section["sections"])


def distributions(section, path=()):
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Distribution):
            yield (*path, name)
        elif hasattr(type(value), "model_fields"):
            yield from distributions(value, (*path, name))
        elif isinstance(section, MixtureRecipe) and name == "mixture":
            for part, component in value.items():
                yield (*path, name, part, "weight")
                yield from distributions(component.recipe, (*path, name, part, "recipe"))


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)))


def changed(values, path, value):
    inner = values
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return values


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*shipped_recipes()} - {"train-uneven"}))  # as train-any
def test_every_parameter_has_a_control_and_its_bounds_make_a_low_or_a_line(bench, name):
    recipe = load_recipe(name)
    fields = list(fields_of(controls_of(recipe)))
    assert {tuple(field["path"]) for field in fields} == set(distributions(recipe))
    before = bench.low(0, values_of(name), 0)
    assert pixels(before).shape == (72, 96, 3)
    refused = []
    whole = bench.described(recipe)["values"]
    assert recipe_of(whole, (), "it") == recipe
    for field in fields:
        inner = whole
        for key in field["path"]:
            inner = inner[key]
        assert field["about"]
        for bound in field.get("names") or (field["low"], field["high"]):
            values = changed(deepcopy(whole), field["path"], bound)
            try:
                assert pixels(bench.low(0, values, 0)).shape == (72, 96, 3)
            except ConfigError as error:
                refused.append(str(error))
    for line in refused:  # ISOs that a camera is not calibrated for
        assert "iso = " in line
        assert "is calibrated from" in line


def test_the_low_is_what_darken_makes_and_only_what_is_dragged_moves(bench):
    for photo, shape in ((0, (72, 96, 3)), (1, (80, 60, 3))):
        normal = bench.photographs.normal(photo)
        assert normal.shape == shape
        for name in ("even", "train", "gamma"):
            low = pixels(bench.low(photo, values_of(name), 5))
            np.testing.assert_array_equal(low, gloam.darken(normal, name, seed=5, key="image"))
    drawn = dict(bench.about(0, values_of("night-lights"), 5, "night-lights")["drawn"])
    moved = dict(
        bench.about(
            0, values_of("night-lights", "camera.iso=loguniform(900, 4000)"), 5, "night-lights"
        )["drawn"]
    )
    assert {name for name in drawn if drawn[name] != moved[name]} <= {
        "camera.iso",
        "camera.sensor.gain",
        "camera.sensor.row_sigma",
        "camera.sensor.read_scale",
        "camera.sensor.read_shape",
    }
    assert drawn["camera.iso"] != moved["camera.iso"]


def test_brightened_pictures_show_what_is_hidden(bench):
    values = values_of("even")
    assert pixels(bench.low(0, values, 0)).mean() < 40
    assert pixels(bench.low(0, values, 0, bright=True)).mean() > 80
    assert pixels(bench.low(0, values, 0, small=True)).shape == (72, 96, 3)


def test_a_saved_recipe_and_the_command_make_the_low_that_is_shown(bench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    normal = bench.photographs.normal(0)
    values = values_of("even", "exposure.ev=uniform(2, 3)", "isp.chroma.strength=0.123456789")
    shown = pixels(bench.low(0, values, 7))
    assert bench.save(values, "mine", False) == {"file": "mine.yaml", "exists": False}
    np.testing.assert_array_equal(gloam.darken(normal, "mine.yaml", seed=7, key="image"), shown)
    assert "# -4 to 16 EV; stops under" in (tmp_path / "mine.yaml").read_text()
    assert bench.save(values, "mine", False)["exists"]
    assert not bench.save(values, "mine", True)["exists"]
    for base in ("even", "mine.yaml"):
        words = shlex.split(bench.about(0, values, 7, base)["command"])
        assert words[:6] == ["gloam", "build", "SET", "--source", "folder=PHOTOS", "--recipe"]
        assert words[-2:] == ["--seed", "7"]
        overrides = [after for word, after in itertools.pairwise(words) if word == "--set"]
        assert len(overrides) == (2 if base == "even" else 0)
        np.testing.assert_array_equal(
            gloam.darken(normal, words[6], seed=7, overrides=overrides, key="image"), shown
        )
    assert bench.about(0, values, 7, "")["command"] == ""


def test_commands_of_mixtures(bench):
    values = values_of("train")
    values["mixture"]["sensors"]["weight"] = 2.5
    values["mixture"]["cameras"]["recipe"]["exposure"]["ev"] = "uniform(1, 2)"
    words = shlex.split(bench.about(0, values, 0, "train")["command"])
    overrides = [after for word, after in itertools.pairwise(words) if word == "--set"]
    assert overrides == ["mixture.cameras.exposure.ev=uniform(1, 2)", "mixture.sensors.weight=2.5"]
    assert load_recipe("train", overrides) == recipe_of(values, (), "it")


def test_recipes_are_read_and_refused(bench):
    assert bench.recipe("uneven")["values"]["name"] == "uneven"
    found = bench.read(bench.text(values_of("night-lights")), "a file")
    assert recipe_of(found["values"], (), "it") == load_recipe("night-lights")
    assert found["base"] == ""
    for text in ("a: [", "1", "exposure: {ev: 99}", "model: none"):
        with pytest.raises(ConfigError):
            bench.read(text, "a file")
    with pytest.raises(ConfigError, match="not one of"):
        bench.recipe("../even")
    for name in ("", "a b", "../a", "a/b", ".hidden", "x" * 65):
        with pytest.raises(ConfigError, match="letters"):
            bench.save(values_of("even"), name, True)
    for values in ({}, {"model": "camera", "exposure": 3}, {"mixture": 3}, {"camera": {"iso": []}}):
        try:
            bench.low(0, values, 0)
        except ConfigError:
            continue
        assert values == {}  # nothing is switched on


def test_photographs_are_decoded_as_sources_are(tmp_path, photographs):
    held = Photographs([("large.jpg", encoded(1500, 700, "jpeg"))])
    assert max(held.normal(0).shape) == SIDE
    with pytest.warns(GloamWarning, match=r"passed over: text\.jpg"):
        assert len(Photographs([("text.jpg", b"hello"), ("a.png", encoded())])) == 1
    with pytest.raises(SourceError, match=r"text\.jpg"):
        Photographs([("text.jpg", b"hello")])
    with pytest.raises(ImageRefused):
        held.add("cut.jpg", encoded(kind="jpeg")[:300])
    for number in range(1, MOST):
        assert held.add("a.png", encoded()) == number
    with pytest.raises(ConfigError, match=f"limit of {MOST}"):
        held.add("a.png", encoded())
    with pytest.raises(ConfigError):
        held.normal(MOST)
    assert len(read_photographs([], 24)) == 6
    assert len(read_photographs([photographs], 24)) == 24
    assert [name for name, _ in read_photographs([photographs / "photo-1.jpg"])] == ["photo-1.jpg"]
    for wrong in (tmp_path, tmp_path / "none.jpg"):
        with pytest.raises(SourceError):
            read_photographs([wrong])


def test_isos_of_cameras():
    known = cameras_of(load_recipe("train"))
    assert known["sony-a7s2"][0] < 100 < known["sony-a7s2"][1]
    assert cameras_of(load_recipe("gamma")).keys() == known.keys()


def test_what_is_switched_off_is_in_the_command_too():
    plain, coded = load_recipe("even"), load_recipe("even", ["degradations.jpeg.quality=80"])
    assert changes(coded, plain) == ["degradations.jpeg.quality=0"]
    assert changes(plain, coded) == ["degradations.jpeg.quality=80"]
