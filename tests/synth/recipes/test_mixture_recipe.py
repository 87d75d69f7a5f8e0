"""Mixtures: components as often as their weights say, each with the bytes of its recipe alone."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import gloam
from gloam.errors import ConfigError, GloamWarning
from gloam.synth.draws.table import DrawTable, table_of_records
from gloam.synth.measures.set_statistics import measure_set
from gloam.synth.models import component_of, draw, draw_table, render
from gloam.synth.parameters.distributions import Constant
from gloam.synth.recipes.annotated import annotated_yaml
from gloam.synth.recipes.load import load_recipe, recipe_of, recipe_yaml
from gloam.synth.recipes.mixture_recipe import MixtureRecipe, join_names

KEYS = [f"key {i}" for i in range(4000)]


@pytest.mark.slow
@given(st.integers(0, 2**40), st.lists(st.floats(0.01, 100), min_size=1, max_size=4))
def test_components_come_as_often_as_their_weights_say(seed, weights):
    names = ["even", "extreme", "night-lights", "uneven"][: len(weights)]
    mixture = dict(zip(names, weights, strict=True))
    recipe = recipe_of({"mixture": mixture}, (), "mixture")
    found = Counter(component_of(recipe, seed, key) for key in KEYS[:1000])
    for name, weight in mixture.items():
        often = binom(1000, weight / sum(weights))
        # A rare one's count is skewed: six deviations above are no wonder among many draws.
        assert min(often.cdf(found[name]), often.sf(found[name] - 1)) > 1e-10


def test_shares_are_those_of_the_weights():
    recipe = load_recipe("even:2,uneven:1,night-lights:1")
    found = Counter(component_of(recipe, 7, key) for key in KEYS)
    for name, share in (("even", 0.5), ("uneven", 0.25), ("night-lights", 0.25)):
        assert abs(found[name] / len(KEYS) - share) < 4 * math.sqrt(share * (1 - share) / len(KEYS))


def test_an_image_is_that_of_its_component_alone(photograph):
    recipe = load_recipe("even:0.5,uneven:0.3,extreme:0.2")
    for key in KEYS[:12]:
        alone = component_of(recipe, 3, key)
        assert draw(recipe, 3, key) == draw(load_recipe(alone), 3, key)
        low = gloam.darken(photograph, recipe, seed=3, key=key)
        assert (low == gloam.darken(photograph, alone, seed=3, key=key)).all()


def test_many_are_drawn_as_one_by_one():
    recipe = load_recipe("train")
    many = draw_table(recipe, 5, KEYS[:300])
    each = table_of_records([draw(recipe, 5, key) for key in KEYS[:300]])
    for i in range(300):
        both = [table.take([i]) for table in (many, each)]
        curves = [table.linear[table.draws["linear"]] for table in both]
        assert np.array_equal(*curves)
        for table in both:
            table.draws["linear"] = 0  # its number in a table that either orders in its own way
        for field in fields(DrawTable):
            if field.name == "linear":
                continue
            one, other = (getattr(table, field.name) for table in both)
            parts = zip(one, other, strict=True) if field.name == "spread" else [(one, other)]
            assert all(np.array_equal(*both) for both in parts), (i, field.name)


@pytest.mark.parametrize("name", ["train", "even:0.5,uneven:0.5", "gamma:1,llnet:3"])
def test_a_written_mixture_is_the_same_in_any_order(name):
    recipe = load_recipe(name)
    assert isinstance(recipe, MixtureRecipe)
    for text in (recipe_yaml(recipe).decode(), annotated_yaml(recipe)):
        values = yaml.safe_load(text)
        assert recipe_of(values, (), "again") == recipe
        values["mixture"] = dict(reversed(values["mixture"].items()))
        again = recipe_of(values, (), "again")
        assert all(draw(again, 1, key) == draw(recipe, 1, key) for key in KEYS[:50])


def test_sections_change_all_components_or_one(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "mixture:\n  even: 1\n  uneven: {weight: 3, exposure: {ev: 2}}\n"
        "  third: {weight: 1, recipe: even, camera: {iso: 100}}\ncamera: {iso: 3200}\n"
    )
    recipe = load_recipe(str(tmp_path / "mine.yaml"), ["mixture.even=2", "isp.contrast=1.5"])
    assert isinstance(recipe, MixtureRecipe)
    found = {
        name: (part.weight, str(part.recipe.camera.iso), str(part.recipe.isp.contrast))
        for name, part in recipe.mixture.items()
        if part.recipe.model == "camera"
    }
    assert found == {
        "even": (2, "3200", "1.5"),
        "third": (1, "100", "1.5"),
        "uneven": (3, "3200", "1.5"),
    }
    assert recipe.mixture["uneven"].recipe.exposure.ev != load_recipe("uneven").exposure.ev
    assert join_names(["even:0.5", "mine.yaml"]) == "even:0.5,mine.yaml:1"
    assert join_names(["even"]) == "even"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"mixture": {"x": {"weight": 1, "recipe": "no.yaml"}}}, "mine: mixture.x: no.yaml"),
        ({"mixture": {"nothing": 1}}, "recipe nothing: neither a file"),
        ({"mixture": {"even": 0}}, "mixture.even.weight = 0"),
        ({"mixture": {"even": "a lot"}}, "mixture.even.weight = 'a lot'"),
        ({"mixture": 3}, "expected recipes and their weights"),
        ({"mixture": {"even": {"recipe": "uneven"}}}, "mixture.even.weight"),
        ({"mixture": {"even": {"weight": 1, "exposure": {"evv": 1}}}}, "unknown key exposure.evv"),
        ({"mixture": {"even": 1, "gamma": 1}}, "of the models camera and power_law"),
        ({"mixture": {"train": 0, "even": 1}}, "mixture.train.weight = 0: must be a number above"),
        ({"mixture": {"train": 1, "gamma": 1}}, "of the models camera and power_law"),
        ({"mixture": {"even": 1}, "exposure": {"ev": "loud"}}, "exposure.ev = 'loud'"),
        ({"mixture": {"even": {"weight": 1, "exposure": {3: 4}}}}, "Keys should be strings"),
        ({"mixture": {"even": {"weight": 1, "mixture": {"uneven": 1}}}}, "even is one recipe"),
        ({"mixture": {"even": "1"}}, "mixture.even.weight = '1': must be a number"),
        ({"mixture": {"even": 1e308}}, "a weight is above 0, at most 1e+300"),
        ({"mixture": {"even": 1}, "model": "power_law"}, "its recipes are of the model camera"),
    ],
)
def test_a_wrong_mixture_gets_one_line(values, words):
    with pytest.raises(ConfigError) as caught:
        recipe_of(values, (), "recipe mine")
    assert len(str(caught.value).splitlines()) == 1
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("even:0.5,even:0.2", "even stands twice"),
        ("even:much", "'much' is no weight"),
        ("even:0.5,", "a name is missing"),
        (["even:0.5", "uneven:0.5"], "a mixture is one text"),
        ({"even": 0.5}, "a mixture is one text"),
        (",".join(f"n{i}:1" for i in range(100)), "neither a file nor one of"),
    ],
)
def test_a_wrong_text_gets_one_line(name, words):
    with pytest.raises(ConfigError, match=words):
        load_recipe(name)


def test_changes_name_components_as_the_docs_and_completion_do(tmp_path):
    mixed = tmp_path / "mixed.yaml"
    shared = {"degradations": {"jpeg": {"probability": 0.1}}}  # of all, beside the mixture
    mixed.write_text(yaml.safe_dump({"mixture": {"train": 1, "night-lights": 1}, **shared}))
    made = load_recipe("train-any", ["mixture.train/pictures.exposure.ev=4", "exposure.ev=3"])
    levels = {name: str(part.recipe.exposure.ev) for name, part in made.mixture.items()}
    assert levels.pop("train/pictures") == "4"
    assert set(levels.values()) == {"3"}
    jpeg = "degradations.jpeg.probability"
    made = load_recipe(str(mixed), [f"mixture.train/pictures.{jpeg}=1"])
    shares = {
        name: part.recipe.degradations.jpeg.probability for name, part in made.mixture.items()
    }
    assert shares.pop("train/pictures") == Constant(1.0)
    assert set(shares.values()) == {Constant(0.1)}
    added = load_recipe("even:1", ["mixture.one.recipe=uneven", "mixture.one.weight=3"])
    assert {name: part.weight for name, part in added.mixture.items()} == {"even": 1, "one": 3}
    for change in ("mixture.train/picture.exposure.ev=2", "mixture.train.=3"):
        with pytest.raises(ConfigError, match=r"mixture\.train"):
            load_recipe("train-any", [change])
    with pytest.raises(ConfigError, match="its recipes are pictures, sensors, cameras"):
        load_recipe("train", ["mixture.picture=2"])
    with pytest.raises(ConfigError, match="override 3: write KEY=VALUE"):
        load_recipe("train", 3)


def test_a_mixture_has_one_name_in_any_order():
    first, other = load_recipe("uneven:.5,even:0.50"), load_recipe("even:0.5,uneven:0.5")
    assert first == other
    assert load_recipe("even,uneven:2") == load_recipe("even:1,uneven:2")


@pytest.mark.parametrize(
    ("name", "parts"), [("mine", {"even", "dim-lamps", "uneven"}), ("grainy", {"uneven"})]
)
def test_what_the_docs_show_is_a_mixture(tmp_path, name, parts):
    text = (Path(__file__).parents[3] / "docs" / "recipes.md").read_text()
    block = text[text.index(f"    name: {name}\n") :].split("\n\n", 1)[0]
    (tmp_path / "mine.yaml").write_text(textwrap.dedent(block))
    recipe = load_recipe(str(tmp_path / "mine.yaml"))
    assert isinstance(recipe, MixtureRecipe)
    assert set(recipe.mixture) == parts


def test_a_mixture_holds_mixtures_whose_weights_multiply(tmp_path):
    train = load_recipe("train")
    recipe = load_recipe("train:3,night-lights:1")
    assert isinstance(train, MixtureRecipe)
    assert isinstance(recipe, MixtureRecipe)
    total = sum(part.weight for part in train.mixture.values())
    for name, part in train.mixture.items():
        assert recipe.mixture[f"train/{name}"].recipe == part.recipe
        assert recipe.mixture[f"train/{name}"].weight == pytest.approx(3 * part.weight / total)
    assert recipe.mixture["night-lights"].weight == 1
    assert recipe_of(yaml.safe_load(recipe_yaml(recipe)), (), "again") == recipe
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "deep.yaml").write_text("exposure: {ev: 3}\n")
    (tmp_path / "folder" / "inner.yaml").write_text("mixture: {even: 1, deep.yaml: 1}\n")
    (tmp_path / "outer.yaml").write_text(
        "mixture: {x: {weight: 2, recipe: folder/inner.yaml, isp: {contrast: 1.5}}}\n"
    )
    changes = ["mixture.x.mixture.even=3", "mixture.x.exposure.ev=5"]
    found = load_recipe(str(tmp_path / "outer.yaml"), changes)
    assert isinstance(found, MixtureRecipe)
    assert {name: part.weight for name, part in found.mixture.items()} == {
        "x/even": 1.5,
        "x/deep.yaml": 0.5,
    }
    for part in found.mixture.values():
        assert (str(part.recipe.exposure.ev), str(part.recipe.isp.contrast)) == ("5", "1.5")


def test_a_mixture_that_holds_itself_gets_one_line(tmp_path):
    (tmp_path / "me.yaml").write_text("mixture: {me.yaml: 1}\n")
    with pytest.raises(ConfigError, match="more than 8 deep"):
        load_recipe(str(tmp_path / "me.yaml"))


def test_a_change_of_all_goes_where_it_can_and_says_where_not(tmp_path):
    phones = {"weight": 1, "recipe": "even", "camera": {"name": "google-pixel", "iso": 400}}
    several = tmp_path / "several.yaml"
    several.write_text(yaml.safe_dump({"mixture": {"even": 1, "uneven": 1, "phones": phones}}))
    with pytest.warns(GloamWarning, match=r"not phones: .* google-pixel is calibrated") as told:
        recipe = load_recipe(str(several), ["camera.iso=6400", "mixture.even.camera.iso=800"])
    assert sum("not phones" in str(one.message) for one in told) == 1
    assert isinstance(recipe, MixtureRecipe)
    isos = {name: str(part.recipe.camera.iso) for name, part in recipe.mixture.items()}
    assert isos == {"even": "800", "phones": "400", "uneven": "6400"}
    with pytest.raises(ConfigError, match=r"--set camera.isoo=1 fits none of the mixture"):
        load_recipe("train", ["camera.isoo=1"])


def test_files_of_a_mixture_say_how_dark_they_are(tmp_path):
    (tmp_path / "inner.yaml").write_text("camera: {iso: 3200}\n")
    (tmp_path / "outer.yaml").write_text("mixture: {even: 1, x: {weight: 1, recipe: inner.yaml}}\n")
    with pytest.raises(ConfigError, match=r"mixture\.x: exposure\.ev is missing"):
        load_recipe(str(tmp_path / "outer.yaml"))
    with pytest.raises(ConfigError, match=r"exposure\.ev is missing"):
        load_recipe(f"even:1,{tmp_path / 'inner.yaml'}:1")
    common = "mixture: {even: 1, x: {weight: 1, recipe: inner.yaml}}\nexposure: {ev: 2}\n"
    (tmp_path / "outer.yaml").write_text(common)
    assert str(load_recipe(str(tmp_path / "outer.yaml")).mixture["x"].recipe.exposure.ev) == "2"


def test_files_of_a_mixture_lie_beside_it(tmp_path):
    (tmp_path / "inner.yaml").write_text("exposure: {ev: 3}\n")
    (tmp_path / "outer.yaml").write_text("mixture: {x: {weight: 1, recipe: inner.yaml}}\n")
    recipe = load_recipe(str(tmp_path / "outer.yaml"))
    assert isinstance(recipe, MixtureRecipe)
    assert str(recipe.mixture["x"].recipe.exposure.ev) == "3"


@pytest.mark.parametrize("codec", ["png", "none"])
def test_a_set_of_a_mixture_knows_its_components(photographs, tmp_path, codec):
    recipe = "even:0.5,uneven:0.5"
    options = {"select": False, "val": 4, "seed": 5}
    root = tmp_path / "set"
    gloam.build(root, f"folder={photographs}", recipe=recipe, low_codec=codec, **options)
    assert not gloam.verify(root)
    found = gloam.open_set(root)
    parts = Counter()
    for pair in found.pairs():
        name = component_of(load_recipe(recipe), 5, pair.key)
        parts[name] += 1
        assert pair.record["draw"] == draw(load_recipe(name), 5, pair.key).model_dump(mode="json")
    measured = measure_set(found, 100)
    assert {name: len(rows) for name, rows in measured.by_component().items()} == parts
    assert measured.as_json()["components"].keys() == parts.keys()
    gloam.regenerate(root, tmp_path / "again", seed=6)
    assert not gloam.verify(tmp_path / "again")
    other = next(iter(gloam.open_set(tmp_path / "again").pairs()))
    assert other.record["draw"] == draw(load_recipe(recipe), 6, other.key).model_dump(mode="json")


def test_loaders_make_lows_of_a_mixture(photographs):
    recipe = load_recipe("even:0.5,uneven:0.5")
    loader = gloam.TorchLoader(
        gloam.pairs_in(photographs),
        batch_size=1,
        live=True,
        recipe="even:0.5,uneven:0.5",
        draws="set",
        shuffle=False,
        dtype="uint8",
        layout="HWC",
        keys=True,
        workers=0,
    )
    for low, normal, (key,) in loader:
        assert (low[0].numpy() == render(normal[0].numpy(), draw(recipe, 0, key))).all()
