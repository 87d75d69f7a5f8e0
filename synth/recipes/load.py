"""Recipes: YAML files that say from which distributions each image's parameters are drawn.

Parameters are distributions (`synth.parameters.distributions`): a number, `uniform(..)`,
`loguniform(..)`, `normal(..)`, `choice(..)`. What a recipe may say depends on its model:
`synth.camera.recipe` for the camera, `synth.power_law_model` for curves on encoded values. A
mixture (`mixture_recipe`) takes several recipes, by weight.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field

from ...errors import ConfigError
from ...manifests.config import validate
from ..camera.recipe import CameraRecipe
from ..power_law_model import PowerLawRecipe
from . import DEFAULT as DEFAULT
from .mixture_components import mixture_values
from .mixture_recipe import MixtureRecipe, parse_weights
from .overrides import (
    Overrides,
    check_darkness,
    check_drawn_once,
    override_key,
    override_texts,
    recorded_single,
    single_recipe,
)
from .recipe_files import read_values, shipped_names, shipped_values, with_files

Recipe = Annotated[CameraRecipe | PowerLawRecipe | MixtureRecipe, Field(discriminator="model")]


def shipped_recipes() -> dict[str, str]:
    """Return the names of the shipped recipes, with their descriptions."""
    return {name: load_recipe(name).about for name in shipped_names()}


@lru_cache(maxsize=32)
def _shipped(name: str) -> Recipe:
    """Return a shipped recipe; callers share it, as recipes never change."""
    return recipe_of(shipped_values(name), (), f"recipe {name}")


def load_recipe(name: Recipe | str, overrides: Overrides = ()) -> Recipe:
    """Load a shipped recipe by its name, or one from a YAML file, with single values changed.

    Parameters
    ----------
    name : str or Recipe
        Such as `uneven`, or a path that ends in .yaml or .yml or exists; several with weights,
        `even:0.5,uneven:0.5`, are a mixture; or a recipe that is loaded already.
    overrides : dict, str or iterable of str
        Such as `{"camera.iso": 3200}`, `camera.iso=3200` or `["exposure.ev=uniform(3, 8)"]`.

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
    overrides = override_texts(overrides)
    if not isinstance(name, str | CameraRecipe | PowerLawRecipe | MixtureRecipe):
        raise ConfigError(
            f"recipe {name!r}: must be a name, a file or a recipe; a mixture is one text, such as"
            " even:0.5,uneven:0.5",
            key="recipe",
        )
    if not isinstance(name, str):
        if not overrides:
            return name
        return recipe_of(name.model_dump(mode="json"), overrides, f"recipe {name.name}")
    if not overrides and name in shipped_names():
        return _shipped(name)
    weights = None if os.path.isfile(name) else parse_weights(name)
    if weights is not None:
        parts = (f"{part}:{weight:g}" for part, weight in sorted(weights.items()))
        values = {"name": ",".join(parts), "mixture": weights}  # the same for any order
        return recipe_of(values, overrides, f"recipe {name}")
    values, folder = read_values(name)
    made = recipe_of(values, overrides, f"recipe {name}", folder)
    if isinstance(made, CameraRecipe):
        check_darkness(made, values, overrides, f"recipe {name}")
        drawn = {group: together.columns for group, together in made.together.items()}
        check_drawn_once(values, drawn, f"recipe {name}")
    return made


def recipe_of(
    values: dict[str, Any], overrides: Iterable[str], where: str, folder: Path | None = None
) -> Recipe:
    """Make a recipe from its values as YAML holds them, with single ones changed.

    where: what errors name. folder: where files lie that the values name; the current one where it
    is not given.

    Raises ConfigError with the key, its value and what is allowed.
    """
    overrides = list(overrides)
    values = with_files(values, where, folder, set(map(override_key, overrides)))
    if "mixture" not in values:
        return single_recipe(values, overrides, where)
    return validate(MixtureRecipe, mixture_values(values, overrides, where, folder), where)


def recorded_recipe(values: dict[str, Any], where: str) -> Recipe:
    """Make a recipe of the values that a set records.

    They are not trusted: no file is read that they name.

    Raises ConfigError when they are no recipe's.
    """
    if values.get("model") != "mixture":
        return recorded_single(values, where)
    return validate(MixtureRecipe, values, where)


def recipe_yaml(recipe: Recipe) -> bytes:
    """Return a recipe, resolved, as YAML: equal recipes give equal bytes."""
    return yaml.safe_dump(
        recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120
    ).encode("utf-8")
