"""A draw is shaped like its recipe, and each of its parameters is drawn on its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.draws.record import CameraDraw
from gloam.synth.models import draw, parse_draw
from gloam.synth.parameters.distributions import Constant, Uniform
from gloam.synth.parameters.drawing import draw_section
from gloam.synth.parameters.keyed_random import KeyedRandom
from gloam.synth.parameters.schema import OneOf, Within
from gloam.synth.power_law_model import PowerLawDraw, PowerLawRecipe
from gloam.synth.recipes.load import Recipe, load_recipe, shipped_recipes

MODELS = [(CameraRecipe, CameraDraw), (PowerLawRecipe, PowerLawDraw)]
RECIPES = {
    # All parts of the field, so that none of them hides a change.
    CameraRecipe: load_recipe(
        "night-lights",
        [
            "illumination.lights.count=3",
            "illumination.lamps.count=2",
            "illumination.gradient.ev=uniform(1, 4)",
            "camera.name=sony-a7s2",
            "camera.iso=800",
        ],
    ),
    PowerLawRecipe: load_recipe("agllnet"),
}
SENSOR = {
    f"camera.sensor.{name}"
    for name in ("gain", "row_sigma", "read_scale", "read_shape", "black", "white")
}
FIELD = {
    f"illumination.{path}"
    for path in (
        "smooth.sigma_ev",
        "smooth.cells",
        "smooth.values",
        *(
            f"{sort}.{name}"
            for sort in ("lights", "lamps")
            for name in ("count", "place", "ev", "radius", "falloff", "warmth_ev")
        ),
        "scene.strength",
        "vignette.ev",
        "gradient.ev",
    )
}
DEGRADATIONS = (
    "motion.probability",
    "motion.length",
    "defocus.probability",
    "defocus.radius",
    "shift.length",
    "banding.probability",
    "banding.depth",
    "banding.bands",
    "fixed_pattern.probability",
    "fixed_pattern.columns",
    "fixed_pattern.hot_share",
    "fixed_pattern.hot",
    "jpeg.probability",
    "jpeg.quality",
    "jpeg.chroma",
)
CHANNELS = "offset", "shot", "read", "tail_share", "tail", "rows"
RGB = "red", "green", "blue"
NOISE = {
    "noise.kurtosis",
    "noise.wide_share",
    "noise.grain.across",
    "noise.grain.down",
    "noise.grain.size",
    *(f"noise.grain.{name}.{part}" for name in RGB for part in ("across", "down", "coarse")),
    *(f"noise.curve.{name}" for name in ("light", *RGB)),
    *(f"noise.curve.{form}.{name}" for form in ("skewness", "kurtosis") for name in RGB),
    *(f"noise.correlation.{pair}" for pair in ("red_green", "green_blue", "red_blue")),
    *(f"noise.{part}.{name}" for part in CHANNELS for name in RGB),
}
EMITTERS = (
    *("count", "ev", "radius", "temperature", "glow.share", "glow.radius"),
    *(f"streaks.{name}" for name in ("lines", "share", "length")),
)
SCENE_LIGHT = (
    *("undone", "grid.sigma_ev", "grid.cells", "grid.levels", "ambient"),
    *(f"pools.{name}" for name in ("count", "ev", "radius", "falloff", "edges")),
)
ELSEWHERE: dict[str, set[str]] = {
    "together": set(),
    **{path: {"noise"} for path in NOISE},
    **{f"emitters.{path}": {"emitters"} for path in EMITTERS},
    **{f"illumination.scene_light.{path}": {"illumination.scene_light"} for path in SCENE_LIGHT},
    "name": set(),
    "about": set(),
    "illumination.probability": set(),
    "camera.read_noise": {"camera.sensor.read_noise"},
    "camera.levels": set(),
    "camera.own": set(),
    **{f"degradations.{path}": {"degradations"} for path in DEGRADATIONS},
    **{f"video.{name}": {"video"} for name in ("fps", "drift_ev", "flicker_ev", "flicker_hz")},
}
"""Fields of recipes, and where a draw has them, if it does."""
COMPUTED = {
    "camera": {
        "pixel_seed",
        "highlights.place",
        "illumination.smooth.values",
        "illumination.lights.place",
        "illumination.lamps.place",
        "illumination.gradient.angle",
        *SENSOR,
    },
    "power_law": {"pixel_seed"},
}
"""What draws have besides, by their model."""
DECIDES = {
    "highlights.sigma_ev": {"highlights.place"},
    **{f"tone.curve.{name}": {f"tone.curve.{other}" for other in RGB} for name in RGB},
    "illumination.probability": FIELD - {"illumination.vignette.ev"},  # which is 0 anyway
    "illumination.smooth.sigma_ev": {"illumination.smooth.values"},
    "illumination.smooth.cells": {"illumination.smooth.values"},
    **{
        f"illumination.{sort}.count": {p for p in FIELD if p.startswith(f"illumination.{sort}.")}
        for sort in ("lights", "lamps")
    },
    "camera.name": SENSOR,
    "camera.iso": SENSOR - {"camera.sensor.black", "camera.sensor.white"},
    "camera.read_noise": {"camera.sensor.read_scale", "camera.sensor.read_shape"},
    "camera.levels": SENSOR - {"camera.sensor.read_shape"},
    **{path: SENSOR | {"camera.sensor.read_noise", "camera.name", "camera.iso"} for path in NOISE},
}
"""What else than itself a parameter of a recipe decides."""
WITHIN_ITS_CAMERA = {"camera.iso": 12800}

keys = st.text("abcdefgh-_0123456789", min_size=1, max_size=20)


def schema(kind: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every field that is no section, by its path."""
    for name, info in kind.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from schema(info.annotation, f"{prefix}{name}.")
        else:
            yield prefix + name, info


def differences(one: BaseModel, other: BaseModel) -> set[str]:
    """Paths of what differs between two draws of a model."""
    return {
        path for path, _ in schema(type(one)) if attrgetter(path)(one) != attrgetter(path)(other)
    }


def another(recipe: Recipe, path: str, info: FieldInfo) -> Any:
    """A value that a parameter of a recipe may have and does not."""
    if path in WITHIN_ITS_CAMERA:
        return WITHIN_ITS_CAMERA[path]
    allowed = next(mark for mark in info.metadata if isinstance(mark, Within | OneOf))
    values = allowed.names if isinstance(allowed, OneOf) else (allowed.high, allowed.low)
    return next(v for v in values if attrgetter(path)(recipe) != Constant(v))


PARAMETERS = [
    pytest.param(RECIPES[kind], path, another(RECIPES[kind], path, info), id=path)
    for kind, _ in MODELS
    for path, info in schema(kind)
    if any(isinstance(mark, Within | OneOf) for mark in info.metadata)
]


@pytest.mark.parametrize(("recipe", "drawn"), MODELS)
def test_a_draw_has_the_shape_of_its_recipe(recipe, drawn):
    expected = set().union(*(ELSEWHERE.get(path, {path}) for path, _ in schema(recipe)))
    computed = COMPUTED[recipe().model]
    assert {path for path, _ in schema(drawn)} == expected | computed
    assert not expected & computed


def test_the_exceptions_are_fields_of_recipes():
    assert {*ELSEWHERE, *DECIDES} <= {path for path, _ in schema(CameraRecipe)}


@pytest.mark.filterwarnings("ignore:.* no longer that of a sensor")
@pytest.mark.parametrize(("recipe", "path", "value"), PARAMETERS)
def test_changing_one_distribution_changes_that_parameter_only(recipe, path, value):
    changed = load_recipe(recipe, [f"{path}={value}"])
    decided = ELSEWHERE.get(path, {path}) | DECIDES.get(path, set())
    assert differences(draw(recipe, 5, "k"), draw(changed, 5, "k")) == decided


@pytest.mark.parametrize("kind", RECIPES)
def test_changed_changes_what_it_is_told_and_nothing_else(kind):
    drawn = draw(RECIPES[kind], 5, "k")
    before = drawn.model_dump()
    for path, _ in schema(type(drawn)):
        changed = drawn.changed({path: "other"})
        assert type(changed) is type(drawn)
        assert differences(drawn, changed) == {path}
        assert attrgetter(path)(changed) == "other"
    assert drawn.model_dump() == before


def test_changed_takes_several_paths_and_whole_sections():
    drawn = draw(RECIPES[CameraRecipe], 5, "k")
    bulb = drawn.illumination.lamps
    changes = {
        "camera.sensor.gain": 2.0,
        "camera.sensor.black": 7,
        "camera.name": "mine",
        "illumination.lights": bulb,
    }
    changed = drawn.changed(changes)
    assert {path: attrgetter(path)(changed) for path in changes} == changes
    lights = {path for path in FIELD if path.startswith("illumination.lights.")}
    assert differences(drawn, changed) == {*changes} - {"illumination.lights"} | lights
    assert drawn.changed({}) == drawn


@pytest.mark.parametrize(
    "path",
    ["ev", "exposure.evv", "exposure.ev.deep", "camera.sensor.gian", "camera.gain", "changed", ""],
)
def test_changed_refuses_an_unknown_path(path):
    drawn = draw(RECIPES[CameraRecipe], 5, "k")
    before = drawn.model_dump()
    with pytest.raises(AttributeError):
        drawn.changed({"exposure.ev": 1.0, path: 1.0})
    assert drawn.model_dump() == before


class Recorded(KeyedRandom):
    """Random numbers that know which of them were asked for."""

    def __init__(self) -> None:
        super().__init__(0, ["k"])
        self.asked: list[tuple[str, int]] = []

    def bits(self, purposes: Sequence[str], times: int = 1) -> Any:
        self.asked += [(purpose, i) for purpose in purposes for i in range(times)]
        return super().bits(purposes, times)


def test_a_value_needs_one_random_number():
    random = Recorded()
    random.values({"exposure.ev": Uniform(0, 1)})
    assert random.asked == [("exposure.ev", 0)]


@pytest.mark.parametrize(
    ("recipe", "asked"), [(PowerLawRecipe(), []), (CameraRecipe(), ["illumination.probability"])]
)
def test_a_recipe_of_constants_needs_none_but_for_its_chances(recipe, asked):
    random = Recorded()
    draw_section(recipe, random)
    assert random.asked == [(path, 0) for path in asked]


def test_what_is_there_several_times_has_a_random_number_for_each():
    values = {
        "illumination": {"lights": {"count": 3, "ev": "uniform(1, 2)"}},
        "white_balance": {"error_ev": "uniform(-1, 1)"},
    }
    random = Recorded()
    drawn = draw_section(CameraRecipe.model_validate(values), random)
    ev, radius, errors = (
        drawn[path].tolist()[0]
        for path in (
            "illumination.lights.ev",
            "illumination.lights.radius",
            "white_balance.error_ev",
        )
    )
    assert len(set(ev)) == 3
    assert radius == (0.3,) * 3
    assert len(set(errors)) == 2
    assert random.asked == [
        ("illumination.probability", 0),
        *(("illumination.lights.ev", i) for i in range(3)),
        *(("white_balance.error_ev", i) for i in range(2)),
    ]


@settings(max_examples=60)
@given(st.sampled_from(sorted(shipped_recipes())), st.integers(0, 2**63 - 1), keys)
def test_a_draw_comes_back_through_json(name, seed, key):
    drawn = draw(load_recipe(name), seed, key)
    assert parse_draw(json.loads(json.dumps(drawn.model_dump()))) == drawn
