"""Recipes: YAML files that say from which distributions each image's parameters are drawn.

Parameters are distributions (see `distributions`): a number, `uniform(..)`, `loguniform(..)`,
`normal(..)`, `choice(..)`. What a recipe may say depends on its model: `camera_recipe` for the
camera, `power_law` for curves on encoded values. `mixture` takes several recipes, by weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from .mixture import MixtureRecipe, merged, mixture_name, named_weights

Recipe = Annotated[CameraRecipe | PowerLawRecipe | MixtureRecipe, Field(discriminator="model")]
DEFAULT = "uneven"
_RECIPES: dict[str, type[CameraRecipe] | type[PowerLawRecipe] | type[MixtureRecipe]] = {
    "camera": CameraRecipe,
    "power_law": PowerLawRecipe,
    "mixture": MixtureRecipe,
}
_OWN = ("name", "about", "model", "mixture")
_PART = ("weight", "recipe")


def shipped_recipes() -> dict[str, str]:
    """Return the names of the recipes that gloam ships, and what each is about."""
    return {name: load_recipe(name).about for name in _names()}


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
        Such as `uneven`, or a path that ends in .yaml or .yml or exists; several with weights,
        `even:0.5,uneven:0.5`, are a mixture; or a recipe that is loaded already.
    overrides : iterable of str, or one str
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
    overrides = [overrides] if isinstance(overrides, str) else list(overrides)
    if not isinstance(name, str | CameraRecipe | PowerLawRecipe | MixtureRecipe):
        raise ConfigError(
            f"recipe {name!r}: must be a name, a file or a recipe; a mixture is one text, such as"
            " even:0.5,uneven:0.5",
            key="recipe",
        )
    if not isinstance(name, str):
        return (
            recipe_of(name.model_dump(mode="json"), overrides, f"recipe {name.name}")
            if overrides
            else name
        )
    if not overrides and name in _names():
        return _unchanged(name)
    weights = None if Path(name).is_file() else named_weights(name)
    if weights is not None:
        values = {"name": mixture_name(weights), "mixture": weights}
        return recipe_of(values, overrides, f"recipe {name}")
    values = _values_of(name)
    made = recipe_of(values, overrides, f"recipe {name}", Path(name).parent)
    if isinstance(made, CameraRecipe):
        _check_darkness(_overridden(values, overrides), f"recipe {name}")
    return made


def _names() -> list[str]:
    folder = resources.files(__package__)
    return sorted(
        file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")
    )


def _values_of(name: str) -> dict[str, Any]:
    """Return the values of a shipped recipe, or of one in a YAML file."""
    known = _names()
    if name in known:
        return _shipped(name)
    if Path(name).suffix in (".yaml", ".yml") or Path(name).is_file():
        return load_yaml(Path(name))
    raise ConfigError(
        f"recipe {name}: neither a file nor one of {', '.join(known)}",
        key="recipe",
        value=name,
        allowed=known,
    )


def recipe_of(
    values: dict[str, Any], overrides: Iterable[str], where: str, folder: Path | None = None
) -> Recipe:
    """Make a recipe from its values as YAML holds them, with single ones changed.

    `where` is named in errors; files that a mixture names lie in `folder`, or are found from here.

    Raises
    ------
    ConfigError
        With the key, its value and what is allowed.
    """
    mixes = "mixture" in values
    if mixes:
        values = {**values, "mixture": _parts(values["mixture"], where)}
    values = _overridden(values, overrides)
    if mixes:
        values = _resolved(values, where, folder)
    model = values.get("model", "camera")
    if not isinstance(model, str) or model not in _RECIPES:
        raise ConfigError(
            f"{where}: model = {model}: unknown; allowed: {', '.join(_RECIPES)}",
            key="model",
            value=model,
            allowed=list(_RECIPES),
        )
    return validated(_RECIPES[model], values, where)


def _check_darkness(values: dict[str, Any], where: str) -> None:
    """Refuse values, of a file, that leave out what makes lows dark."""
    if "ev" not in values.get("exposure", {}):
        raise ConfigError(
            f"{where}: exposure.ev is missing: by how many stops its lows are darker, 0 where they"
            " are not; what else is left out does nothing. To change a recipe that gloam ships,"
            " begin with 'mixture: {uneven: 1}'",
            key="exposure.ev",
        )


def _parts(mixture: Any, where: str) -> dict[str, dict[str, Any]]:
    """Return the components of a mixture, each as a mapping, of a weight alone too."""
    if not isinstance(mixture, Mapping) or not mixture:
        raise ConfigError(
            f"{where}: mixture: expected recipes and their weights, such as even: 0.5",
            key="mixture",
        )
    return {
        str(name): dict(part) if isinstance(part, Mapping) else {"weight": part}
        for name, part in mixture.items()
    }


def _resolved(values: dict[str, Any], where: str, folder: Path | None) -> dict[str, Any]:
    """Return a mixture whose components are whole recipes.

    Sections beside the mixture change all of them, those of a component itself alone.
    """
    common = {name: value for name, value in values.items() if name not in _OWN}
    parts: dict[str, Any] = {}
    for name, part in _parts(values["mixture"], where).items():
        recipe = part.get("recipe", name)
        whole = dict(recipe) if isinstance(recipe, Mapping) else None
        if whole is None:
            beside = folder / str(recipe) if folder is not None else Path(str(recipe))
            try:
                whole = _values_of(str(beside) if beside.is_file() else str(recipe))
            except ConfigError as error:
                raise ConfigError(
                    f"{where}: mixture.{name}: {error}", key=f"mixture.{name}", value=recipe
                ) from error
        if "mixture" in whole:
            raise ConfigError(
                f"{where}: mixture.{name}: is a mixture itself; name its recipes here",
                key=f"mixture.{name}",
            )
        own = {key: value for key, value in part.items() if key not in _PART}
        weight = {"weight": part["weight"]} if "weight" in part else {}
        changed = merged(merged(whole, common), own)
        made = recipe_of(changed, (), f"{where}: mixture.{name}")
        if isinstance(made, CameraRecipe):
            _check_darkness(changed, f"{where}: mixture.{name}")
        parts[name] = {**weight, "recipe": made}
    models = sorted({part["recipe"].model for part in parts.values()})
    if len(models) > 1:
        raise ConfigError(
            f"{where}: mixture: its recipes are of the models {' and '.join(models)}; mix those of"
            " one",
            key="mixture",
        )
    kept: dict[str, Any] = {name: values[name] for name in ("name", "about") if name in values}
    return {**kept, "model": "mixture", "mixture": parts}


def _overridden(values: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Return values with single ones changed; those that are given stay as they are."""
    for override in overrides:
        key, equals, value = override.partition("=")
        parts = key.strip().split(".")
        if not equals or not all(parts):
            raise ConfigError(
                f"--set {override}: write it as KEY=VALUE, for example camera.iso=3200"
            )
        values = _with(values, parts, value.strip(), override)
    return values


def _with(values: dict[str, Any], parts: list[str], value: str, override: str) -> dict[str, Any]:
    part, *rest = parts
    if not rest:
        return {**values, part: value}
    inner = values.get(part, {})
    if not isinstance(inner, dict):
        raise ConfigError(f"--set {override}: {part} holds a value, not further keys")
    return {**values, part: _with(inner, rest, value, override)}


def recipe_yaml(recipe: Recipe) -> bytes:
    """Return a recipe, resolved, as YAML: equal recipes give equal bytes."""
    return yaml.safe_dump(
        recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120
    ).encode("utf-8")
