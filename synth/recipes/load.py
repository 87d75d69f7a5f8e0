"""Recipes: YAML files that say from which distributions each image's parameters are drawn.

Parameters are distributions (see `distributions`): a number, `uniform(..)`, `loguniform(..)`,
`normal(..)`, `choice(..)`. What a recipe may say depends on its model: `camera_recipe` for the
camera, `power_law` for curves on encoded values. `mixture` takes several recipes, by weight.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import Field

from ...errors import ConfigError, GloamWarning
from ...manifests.config import load_yaml, shorten, validate
from ..camera.recipe import CameraRecipe
from ..power_law.recipe import PowerLawRecipe
from .mixture import MixtureRecipe, flat_values, merge_values, mixture_name, parse_weights
from .named_files import with_files
from .overrides import (
    Overrides,
    apply_overrides,
    check_drawn_together,
    override_key,
    override_texts,
    replace_values,
    warn_of_sensor_noise,
)

Recipe = Annotated[CameraRecipe | PowerLawRecipe | MixtureRecipe, Field(discriminator="model")]
DEFAULT = "uneven"
_RECIPES: dict[str, type[CameraRecipe] | type[PowerLawRecipe] | type[MixtureRecipe]] = {
    "camera": CameraRecipe,
    "power_law": PowerLawRecipe,
    "mixture": MixtureRecipe,
}
_OWN = ("name", "about", "model", "mixture")
_PART = ("weight", "recipe")
_DEEPEST = 8
_MOST = 1000


def shipped_recipes() -> dict[str, str]:
    """Return the names of the shipped recipes, with their descriptions."""
    return {name: load_recipe(name).about for name in _names()}


def _shipped(name: str) -> dict[str, Any]:
    """Return the values of a shipped recipe."""
    with resources.as_file(resources.files(__package__) / f"{name}.yaml") as path:
        return load_yaml(Path(path))


@lru_cache(maxsize=32)
def _unchanged(name: str) -> Recipe:
    """Return a shipped recipe."""
    return recipe_of(_shipped(name), (), f"recipe {name}")


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
        return (
            recipe_of(name.model_dump(mode="json"), overrides, f"recipe {name.name}")
            if overrides
            else name
        )
    if not overrides and name in _names():
        return _unchanged(name)
    weights = None if Path(name).is_file() else parse_weights(name)
    if weights is not None:
        values = {"name": mixture_name(weights), "mixture": weights}
        return recipe_of(values, overrides, f"recipe {name}")
    values = _values_of(name)
    made = recipe_of(values, overrides, f"recipe {name}", Path(name).parent)
    if isinstance(made, CameraRecipe):
        _check_darkness(apply_overrides(values, overrides), f"recipe {name}")
    return made


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    files = (file.name for file in resources.files(__package__).iterdir())
    return tuple(sorted(name[:-5] for name in files if name.endswith(".yaml")))


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

    Raises ConfigError with the key, its value and what is allowed.
    """
    if "mixture" in values:
        mixture = _mixture(values, list(overrides), where, folder)
        return validate(MixtureRecipe, mixture, where)
    changed = apply_overrides(values, overrides)
    recipe = recorded_recipe(with_files(changed, where), where)
    if isinstance(recipe, CameraRecipe):
        check_drawn_together(recipe, map(override_key, overrides), where)
        warn_of_sensor_noise(values, changed)
    return recipe


def recorded_recipe(values: dict[str, Any], where: str) -> Recipe:
    """Make a recipe of the values that a set records.

    They may be anybody's: no file is read that they name.

    Raises ConfigError when they are no recipe's.
    """
    model = values.get("model", "camera")
    if not isinstance(model, str) or model not in _RECIPES:
        raise ConfigError(
            f"{where}: model = {shorten(model)}: unknown; allowed: {', '.join(_RECIPES)}",
            key="model",
            value=model,
            allowed=list(_RECIPES),
        )
    return validate(_RECIPES[model], values, where)


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


def _mixture(
    values: dict[str, Any], overrides: list[str], where: str, folder: Path | None
) -> dict[str, Any]:
    """Return a mixture whose components are whole recipes.

    An override such as `camera.iso=1600` changes every component that can have it, and a warning
    names the others; `mixture.NAME.camera.iso=1600` changes one, and goes before it.
    """
    for_all: list[str] = []
    for_one: dict[str, Any] = {}
    for override in overrides:
        key, equals, value = override.partition("=")
        first, *rest = key.strip().split(".")
        if first not in _OWN:
            for_all.append(override)
        elif first == "mixture" and len(rest) == 1:
            weight = f"mixture.{rest[0]}.weight={value}" if equals else override
            for_one = apply_overrides(for_one, [weight])
        else:
            for_one = apply_overrides(for_one, [override])
    parts = _parts(values["mixture"], where)
    if "mixture" in for_one:
        for_one["mixture"] = _parts(for_one["mixture"], where)
    whole = merge_values({**values, "mixture": parts}, for_one)
    flat = _flat(whole, where, folder)
    singly = for_one.get("mixture", {})
    taken = [(name, {path for path, _ in flat_values(part)}) for name, part in singly.items()]
    recipes = _overridden(flat, for_all, taken, where)
    models = sorted({recipe.model for recipe in recipes.values()})
    if len(models) > 1:
        raise ConfigError(
            f"{where}: mixture: its recipes are of the models {' and '.join(models)}; mix those of"
            " one",
            key="mixture",
        )
    kept: dict[str, Any] = {name: whole[name] for name in ("name", "about") if name in whole}
    components = {name: {**flat[name].weight, "recipe": made} for name, made in recipes.items()}
    return {**kept, "model": "mixture", "mixture": components}


class _Component(NamedTuple):
    """A component of a mixture: its share, its recipe's values, and the keys that files change."""

    weight: dict[str, Any]
    values: dict[str, Any]
    changed: set[str]

    def with_changes(self, *changes: dict[str, Any]) -> _Component:
        """Return it with sections that stand beside it in its place."""
        values, changed = self.values, set(self.changed)
        for change in changes:
            values = replace_values(values, change)
            changed |= {path for path, _ in flat_values(change)}
        return _Component(self.weight, values, changed)


def _flat(
    values: dict[str, Any], where: str, folder: Path | None, depth: int = 0
) -> dict[str, _Component]:
    """Return the components by their names.

    Components of a mixture in the mixture are NAME/OWN, and have the product of both shares.
    Sections beside the mixture change all of them, those of a component itself alone.
    """
    if depth > _DEEPEST:
        raise ConfigError(f"{where}: mixtures within mixtures, more than {_DEEPEST} deep")
    common = {name: value for name, value in values.items() if name not in _OWN}
    flat: dict[str, _Component] = {}
    for name, part in _parts(values["mixture"], where).items():
        at = f"{where}: mixture.{name}"
        own = {key: value for key, value in part.items() if key not in _PART}
        weight = {"weight": part["weight"]} if "weight" in part else {}
        whole, inner_folder = _whole(part.get("recipe", name), name, where, folder)
        if "mixture" not in whole:
            flat[name] = _Component(weight, whole, set()).with_changes(common, own)
            continue
        inner_parts = _parts(whole["mixture"], at)
        if "mixture" in own:
            inner_parts = merge_values(inner_parts, _parts(own.pop("mixture"), at))
        inner = _flat({**whole, "mixture": inner_parts}, at, inner_folder, depth + 1)
        share = _share(weight, at) / sum(_share(one.weight, at) for one in inner.values())
        for inner_name, one in inner.items():
            one = one._replace(weight={"weight": share * _share(one.weight, at)})
            flat[f"{name}/{inner_name}"] = one.with_changes(common, own)
        if len(flat) > _MOST:
            raise ConfigError(f"{where}: mixture: more than {_MOST} recipes")
    return flat


def _whole(
    recipe: Any, name: str, where: str, folder: Path | None
) -> tuple[dict[str, Any], Path | None]:
    """Return the values of a component's recipe, and where files lie that it names."""
    if isinstance(recipe, Mapping):
        return dict(recipe), folder
    beside = Path(str(recipe)) if folder is None else folder / str(recipe)
    try:
        values = _values_of(str(beside) if beside.is_file() else str(recipe))
    except ConfigError as error:
        raise ConfigError(
            f"{where}: mixture.{name}: {error}", key=f"mixture.{name}", value=recipe
        ) from error
    return values, beside.parent if beside.is_file() else None


def _share(weight: dict[str, Any], where: str) -> float:
    """Return a weight that is to be multiplied, as a number."""
    given = weight.get("weight")
    try:
        share = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        share = math.nan
    if not 0 < share < math.inf:
        raise ConfigError(
            f"{where}.weight = {shorten(given)}: must be a number above 0",
            key="weight",
            value=given,
        )
    return share


def _overridden(
    parts: dict[str, _Component],
    overrides: list[str],
    taken: list[tuple[str, set[str]]],
    where: str,
) -> dict[str, CameraRecipe | PowerLawRecipe]:
    """Make the recipes of components, each with the overrides that it can have.

    `taken` has, by component, the keys that overrides of its own have changed already.

    Raises ConfigError when a component is wrong, or an override fits none of them.
    """
    made: dict[str, CameraRecipe | PowerLawRecipe] = {}
    refused: dict[str, dict[str, ConfigError]] = {}
    for name, (_, values, changed) in parts.items():
        own = {key for part, keys in taken if f"{name}/".startswith(f"{part}/") for key in keys}
        wanted = [one for one in overrides if override_key(one) not in own]
        at = f"{where}: mixture.{name}"
        try:
            made[name] = _component(values, wanted, at)
        except ConfigError:
            if not wanted:
                raise
            fitting: list[str] = []
            for override in wanted:
                try:
                    _component(values, [*fitting, override], at)
                    fitting.append(override)
                except ConfigError as error:
                    refused.setdefault(override, {})[name] = error
            made[name] = _component(values, fitting, at)
        check_drawn_together(made[name], own | changed, at)
    for override, errors in refused.items():
        why = str(next(iter(errors.values()))).splitlines()[0]
        if len(errors) == len(parts):
            raise ConfigError(
                f"{why}; --set {override} fits none of the mixture's recipes",
                key=override_key(override),
            )
        warnings.warn(
            f"--set {override} changes the mixture's other recipes, not {', '.join(errors)}: {why}",
            GloamWarning,
            stacklevel=2,
        )
    return made


def _component(
    values: dict[str, Any], overrides: list[str], where: str
) -> CameraRecipe | PowerLawRecipe:
    """Make the recipe of a component."""
    changed = apply_overrides(values, overrides)
    made = recipe_of(changed, (), where)
    assert not isinstance(made, MixtureRecipe)
    if isinstance(made, CameraRecipe):
        _check_darkness(changed, where)
        check_drawn_together(made, map(override_key, overrides), where)
        warn_of_sensor_noise(values, changed)
    return made


def recipe_yaml(recipe: Recipe) -> bytes:
    """Return a recipe, resolved, as YAML: equal recipes give equal bytes."""
    return yaml.safe_dump(
        recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120
    ).encode("utf-8")
