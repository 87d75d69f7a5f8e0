"""Recipes: YAML files that say from which distributions each image's parameters are drawn.

Parameters are distributions (see `distributions`): a number, `uniform(..)`, `loguniform(..)`,
`normal(..)`, `choice(..)`. What a recipe may say depends on its model: `camera_recipe` for the
camera, `power_law` for curves on encoded values.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field

from ...errors import ConfigError
from ...manifests.config import load_yaml, validated
from ..camera.recipe import CameraRecipe
from ..power_law.recipe import PowerLawRecipe

Recipe = Annotated[CameraRecipe | PowerLawRecipe, Field(discriminator="model")]
DEFAULT = "uneven"
_RECIPES: dict[str, type[CameraRecipe] | type[PowerLawRecipe]] = {
    "camera": CameraRecipe,
    "power_law": PowerLawRecipe,
}


def shipped_recipes() -> dict[str, str]:
    """Return the names of the recipes that gloam ships, and what each is about."""
    folder = resources.files(__package__)
    names = sorted(
        file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")
    )
    return {name: load_recipe(name).about for name in names}


def _shipped(name: str) -> dict[str, Any]:
    """Return the values of a shipped recipe."""
    with resources.as_file(resources.files(__package__) / f"{name}.yaml") as path:
        return load_yaml(Path(path))


@lru_cache(maxsize=32)
def _unchanged(name: str) -> Recipe:
    """Return a shipped recipe."""
    return recipe_of(_shipped(name), (), f"recipe {name}")


def load_recipe(name: Recipe | str, overrides: Iterable[str] = ()) -> Recipe:
    """Load a shipped recipe by its name, or one from a YAML file, with single values changed.

    Parameters
    ----------
    name : str or Recipe
        Such as `uneven`, or a path that ends in .yaml or .yml or exists; or a recipe that is loaded
        already.
    overrides : iterable of str
        Such as `camera.iso=3200` or `exposure.ev=uniform(3, 8)`.

    Raises
    ------
    ConfigError
        With the key, its value and what is allowed.

    Examples
    --------
    >>> import gloam
    >>> recipe = gloam.load_recipe("even", ["camera.iso=loguniform(800, 6400)"])
    >>> print(recipe.camera.iso)
    loguniform(800, 6400)
    """
    overrides = list(overrides)
    if not isinstance(name, str):
        return (
            recipe_of(name.model_dump(mode="json"), overrides, f"recipe {name.name}")
            if overrides
            else name
        )
    shipped = resources.files(__package__) / f"{name}.yaml"
    if "/" not in name and shipped.is_file():
        if not overrides:
            return _unchanged(name)
        values = _shipped(name)
    elif Path(name).suffix in (".yaml", ".yml") or Path(name).is_file():
        values = load_yaml(Path(name))
    else:
        folder = resources.files(__package__)
        known = sorted(
            file.name.removesuffix(".yaml")
            for file in folder.iterdir()
            if file.name.endswith(".yaml")
        )
        raise ConfigError(
            f"recipe {name}: neither a file nor one of {', '.join(known)}",
            key="recipe",
            value=name,
            allowed=known,
        )
    return recipe_of(values, overrides, f"recipe {name}")


def recipe_of(values: dict[str, Any], overrides: Iterable[str], where: str) -> Recipe:
    """Make a recipe from its values as YAML holds them, with single ones changed.

    `where` is named in errors.

    Raises
    ------
    ConfigError
        With the key, its value and what is allowed.
    """
    for override in overrides:
        _set(values, override)
    model = values.get("model", "camera")
    if not isinstance(model, str) or model not in _RECIPES:
        raise ConfigError(
            f"{where}: model = {model}: unknown; allowed: {', '.join(_RECIPES)}",
            key="model",
            value=model,
            allowed=list(_RECIPES),
        )
    return validated(_RECIPES[model], values, where)


def _set(values: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise ConfigError(f"--set {override}: write it as KEY=VALUE, for example camera.iso=3200")
    place = values
    for part in parts[:-1]:
        inner = place.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {override}: {part} holds a value, not further keys")
        place = inner
    place[parts[-1]] = value.strip()


def recipe_yaml(recipe: Recipe) -> bytes:
    """Return a recipe, resolved, as YAML: equal recipes give equal bytes."""
    return yaml.safe_dump(
        recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120
    ).encode("utf-8")
