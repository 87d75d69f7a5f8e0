"""Columns of draws: what a recipe may draw, and nothing else."""

from __future__ import annotations

import pyarrow as pa
import pytest

import gloam
from gloam.synth.building.draw_columns import draw_fields
from gloam.synth.recipes.load import load_recipe, recipe_of

from ..overrides import ON_SENSOR

DEGRADED = ["degradations.jpeg.quality=90", "degradations.jpeg.probability=0.5"]


@pytest.mark.parametrize(("recipe", "overrides"), [(ON_SENSOR, []), ("extreme", []), ("gamma", [])])
def test_parts_that_a_recipe_has_not_have_no_columns(recipe, overrides):
    names = [field.name for field in draw_fields(load_recipe(recipe, overrides))]
    assert not any(name.startswith(("degradations", "video")) for name in names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("recipe", "overrides"), [("train", []), ("even", DEGRADED), ("gamma", DEGRADED)]
)
def test_those_that_it_has_have(recipe, overrides):
    fields = {field.name: field.type for field in draw_fields(load_recipe(recipe, overrides))}
    assert fields["degradations.jpeg.quality"] == pa.int64()
    assert ("degradations.motion.length" in fields) == (recipe != "gamma")


def test_tables_and_cards_hold_them(photographs, tmp_path):
    mixture = tmp_path / "some.yaml"
    mixture.write_text(
        "name: some\nabout: Half of them as JPEG.\nmixture:\n"
        f"  plain: {{weight: 0.5, recipe: {ON_SENSOR}}}\n"
        f"  coded:\n    weight: 0.5\n    recipe: {ON_SENSOR}\n"
        "    degradations: {jpeg: {quality: 70}}\n"
    )
    gloam.build(tmp_path / "set", f"folder={photographs}", val=0, select=False, recipe=str(mixture))
    pairs = gloam.open_set(tmp_path / "set")
    table = pairs.table("pairs")
    qualities = table.column("draw_degradations_jpeg_quality").to_pylist()
    drawn = [one["draw"].get("degradations") for one in pairs.records()]
    assert qualities == [one and one["jpeg"]["quality"] for one in drawn]
    assert {70, None} == set(qualities)
    assert "degradations" in (tmp_path / "set" / "README.md").read_text()
    datasets = pytest.importorskip("datasets")
    loaded = datasets.load_dataset(
        str(tmp_path / "set"), split="train", cache_dir=str(tmp_path / "cache")
    )
    found = [one["draw"]["degradations"] for one in loaded["json"]]
    assert [one and one["jpeg"]["quality"] for one in found] == qualities


def test_what_was_added_later_is_there_where_a_recipe_draws_it():
    shift = {f.name for f in draw_fields(load_recipe("even", ["degradations.shift.length=1"]))}
    assert {"degradations.shift.length", "degradations.shift.angle"} <= shift
    group = {"columns": ["noise.read.red", "tone.shoulder"], "rows": [[1, 2]]}
    values = {"exposure": {"ev": 3}, "together": {"camera": group}}
    together = {f.name for f in draw_fields(recipe_of(values, (), "test"))}
    assert {"noise.read.red", "noise.shot.blue", "tone.shoulder"} <= together
    assert not {"tone.toe", "tone.exponent"} & together
