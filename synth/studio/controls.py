"""The schema of a recipe's parameters, by which a page makes a control for each."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ..camera.calibrated_sensors import camera_names, iso_range
from ..parameters.schema import Each, OneOf, Section, Within
from ..recipes.load import Recipe
from ..recipes.mixture_recipe import MixtureRecipe, single_recipes

_HEAVIEST = 10.0  # weight of a mixture's recipe that its slider goes up to


def controls_of(recipe: Recipe) -> list[dict[str, Any]]:
    """Return the sections of a recipe, each with its fields and further sections.

    Returns a section has `path` (list of keys in the recipe's values), `title`, `about`, `fields`
    and `sections`. A field has `path`, `name`, `about`, and either `names` (one of them) or `low`,
    `high`, `unit` and `whole`; `plain` where it is a number, never a distribution.
    """
    if not isinstance(recipe, MixtureRecipe):
        return _section(recipe, [])["sections"]
    made = []
    for name, component in recipe.mixture.items():
        path = ["mixture", name]
        inner = _section(component.recipe, [*path, "recipe"])
        weight = {
            "path": [*path, "weight"],
            "name": "weight",
            "about": str(type(component).model_fields["weight"].description),
            "low": 0.01,
            "high": _HEAVIEST,
            "unit": "",
            "whole": False,
            "plain": True,
        }
        made.append({**inner, "path": path, "title": name, "fields": [weight, *inner["fields"]]})
    return made


def cameras_of(recipe: Recipe) -> dict[str, tuple[float, float]]:
    """Return the ISOs that each camera is calibrated for, a recipe's own ones too."""
    own: dict[str, Any] = {}
    for part in single_recipes(recipe):
        own |= part.camera.own if part.model == "camera" else {}
    return {name: iso_range(name, own) for name in (*camera_names(), *own)}


def _section(section: BaseModel, path: list[str]) -> dict[str, Any]:
    fields, sections = [], []
    for name, field in type(section).model_fields.items():
        value, own = getattr(section, name), [*path, name]
        if isinstance(value, Section):
            sections.append(_section(value, own))
            continue
        mark = next((m for m in field.metadata if isinstance(m, Within | OneOf)), None)
        if mark is None:
            continue  # for people, or calibrations
        known: dict[str, Any] = (
            {"low": mark.low, "high": mark.high, "unit": mark.unit, "whole": mark.whole}
            if isinstance(mark, Within)
            else {"names": list(dict.fromkeys([*mark.names, *getattr(section, "own", ())]))}
        )
        times = next((m.times for m in field.metadata if isinstance(m, Each)), 1)
        about = str(field.description or "")
        fields.append(
            {"path": own, "name": name, "about": about, "times": times, "plain": False} | known
        )
    about = " ".join((type(section).__doc__ or "").strip().split("\n\n")[0].split())
    title = path[-1] if path else ""
    return {"path": path, "title": title, "about": about, "fields": fields, "sections": sections}
