"""The components of a mixture, made whole: what files and changes say of all, or of one of them."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ConfigError, GloamWarning
from ...manifests.config import shorten
from ..camera.recipe import CameraRecipe
from .mixture_recipe import Single, flat_values, merge_values
from .overrides import (
    apply_overrides,
    check_darkness,
    check_drawn_once,
    check_drawn_together,
    check_one_noise,
    override_key,
    replace_values,
    single_recipe,
)
from .recipe_files import read_values, shipped_names, with_files

_OWN = ("name", "about", "model", "mixture")
_PART = ("weight", "recipe")
_DEEPEST = 8
_MOST = 1000


def mixture_values(
    values: dict[str, Any], overrides: list[str], where: str, folder: Path | None
) -> dict[str, Any]:
    """Return a mixture whose components are whole recipes.

    An override such as `camera.iso=1600` changes every component that can have it, and a warning
    names the others; `mixture.NAME.camera.iso=1600` changes one, and goes before it.

    Raises ConfigError when a component is wrong, or an override fits none of them.
    """
    whole = {**values, "mixture": _parts(values["mixture"], where)}
    for_all: list[str] = []
    for_some: list[tuple[tuple[str, ...], str]] = []
    for override in overrides:
        first, *rest = override_key(override).split(".")
        if first not in _OWN:
            for_all.append(override)
        elif first != "mixture" or not rest:
            whole = apply_overrides(whole, [override])
        else:
            path, change = _of_one(override, whole["mixture"], where)
            if override_key(change) in _PART:
                part = apply_overrides({}, [change])
                if "weight" in part:
                    with suppress(ValueError):  # of what is no number: the model says so
                        part["weight"] = float(part["weight"])
                whole = merge_values(whole, _within(path, part))
            else:
                for_some.append((path, change))
    flat = _flat(whole, where, folder)
    for path, change in for_some:
        if not any(_is_in(component, path) for component in flat.values()):
            raise ConfigError(
                f"{where}: --set mixture.{'/'.join(path)}.{change}: its recipes are"
                f" {', '.join(flat)}",
                key=f"mixture.{'/'.join(path)}",
            )
    for_some.sort(key=lambda one: len(one[0]))
    recipes = _overridden(flat, for_all, for_some, where)
    models = sorted({recipe.model for recipe in recipes.values()})
    if len(models) > 1:
        raise ConfigError(
            f"{where}: mixture: its recipes are of the models {' and '.join(models)}; mix those of"
            " one",
            key="mixture",
        )
    if whole.get("model", "mixture") not in ("mixture", *models):
        raise ConfigError(
            f"{where}: model = {shorten(whole['model'])}: its recipes are of the model {models[0]};"
            " leave it out",
            key="model",
        )
    kept: dict[str, Any] = {name: whole[name] for name in ("name", "about") if name in whole}
    components = {name: {**flat[name].weight, "recipe": made} for name, made in recipes.items()}
    return {**kept, "model": "mixture", "mixture": components}


def _of_one(override: str, parts: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], str]:
    """Return which component an override changes, by the names that lead to it, and the change.

    `mixture.NAME=2` is of its weight; a component of a mixture in it is `mixture.NAME/INNER` or
    `mixture.NAME.mixture.INNER`. A name that is none yet makes another component.
    """
    key, equals, value = override.partition("=")
    rest = key.strip().removeprefix("mixture.")
    known = [name for name in parts if f"{rest}.".startswith((f"{name}.", f"{name}/"))]
    name = max(known, key=len, default=rest.split(".")[0])
    inner = r"(?:/|\.mixture\.)([^./=]+)"
    found = re.fullmatch(rf"((?:{inner})*)(?:\.(.+))?", rest[len(name) :])
    if not equals or not name or not found:
        raise ConfigError(f"--set {override}: write it as mixture.NAME.KEY=VALUE")
    change = found[3] or "weight"
    if not known and name not in shipped_names() and change != "recipe":
        raise ConfigError(
            f"{where}: --set {override}: its recipes are {', '.join(parts)}", key=key.strip()
        )
    return (name, *re.findall(inner, found[1])), f"{change}={value}"


def _within(path: tuple[str, ...], values: dict[str, Any]) -> dict[str, Any]:
    """Return values of a component as those of the mixture that it is in."""
    for name in reversed(path):
        values = {"mixture": {name: values}}
    return values


def _is_in(component: _Component, path: tuple[str, ...]) -> bool:
    return component.path[: len(path)] == path


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


class _Component(NamedTuple):
    """A component of a mixture: the names that lead to it, its share and its recipe's values.

    changed: the keys that each section beside it changes, from the inmost section on.
    """

    path: tuple[str, ...]
    weight: dict[str, Any]
    values: dict[str, Any]
    changed: tuple[set[str], ...] = ()

    def with_section(self, section: dict[str, Any], where: str) -> _Component:
        """Return it with the values of a section that stands beside it in place of its own."""
        keys = {path for path, _ in flat_values(section)}
        groups = section.get("together")
        if isinstance(groups, Mapping):
            drawn = {
                name: map(str, group["columns"])
                for name, group in groups.items()
                if isinstance(group, Mapping) and isinstance(group.get("columns"), list | tuple)
            }
            check_drawn_once(section, drawn, where)
        if "noise" in self.values:
            check_one_noise(keys, where)
        values = replace_values(self.values, section)
        return self._replace(values=values, changed=(*self.changed, keys))


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
        weight = {"weight": part["weight"]} if "weight" in part else {}
        whole, inner_folder = _whole(part.get("recipe", name), name, where, folder)
        if "mixture" in whole:
            structure = {"mixture": _structure(part["mixture"], at)} if "mixture" in part else {}
            whole = merge_values({**whole, "mixture": _parts(whole["mixture"], at)}, structure)
            inner = _flat(whole, at, inner_folder, depth + 1)
            share = _share(weight, at) / sum(_share(one.weight, at) for one in inner.values())
            made = [
                one._replace(
                    path=(name, *one.path), weight={"weight": share * _share(one.weight, at)}
                )
                for one in inner.values()
            ]
        elif "mixture" in part:
            raise ConfigError(f"{at}.mixture: {name} is one recipe, no mixture", key="mixture")
        else:
            made = [_Component((name,), weight, whole)]
        # Files that `common` names were read with its mixture.
        own = [(path, with_files(one, at, folder)) for path, one in _sections(part, (name,))]
        for component in made:
            for path, section in [((), common), *own]:
                if _is_in(component, path):
                    component = component.with_section(section, at)
            flat["/".join(component.path)] = component
        if len(flat) > _MOST:
            raise ConfigError(f"{where}: mixture: more than {_MOST} recipes")
    return flat


def _structure(mixture: Any, where: str) -> dict[str, dict[str, Any]]:
    """Return which recipes a mixture has and how often, without the sections beside them."""
    return {
        name: {key: part[key] for key in _PART if key in part}
        | ({"mixture": _structure(part["mixture"], where)} if "mixture" in part else {})
        for name, part in _parts(mixture, where).items()
    }


def _sections(
    part: dict[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield what stands beside a component, and beside those in it, with the names of each."""
    yield path, {key: value for key, value in part.items() if key not in (*_PART, "mixture")}
    for name, inner in part.get("mixture", {}).items():
        if isinstance(inner, Mapping):
            yield from _sections(dict(inner), (*path, str(name)))


def _whole(
    recipe: Any, name: str, where: str, folder: Path | None
) -> tuple[dict[str, Any], Path | None]:
    """Return the values of a component's recipe, and where files lie that it names."""
    try:
        if isinstance(recipe, Mapping):
            return with_files(dict(recipe), "recipe", folder), folder
        values, beside = read_values(str(recipe), folder)
        return with_files(values, f"recipe {recipe}", beside), beside
    except ConfigError as error:
        raise ConfigError(
            f"{where}: mixture.{name}: {error}", key=f"mixture.{name}", value=recipe
        ) from error


def _share(weight: dict[str, Any], where: str) -> float:
    """Return a weight that is to be multiplied, as a number."""
    given: Any = weight.get("weight")
    try:
        share = float(given)
    except (TypeError, ValueError, OverflowError):
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
    for_all: list[str],
    for_some: list[tuple[tuple[str, ...], str]],
    where: str,
) -> dict[str, Single]:
    """Make the recipes of components, each with the overrides that it can have.

    Those `for_some` are by the names that lead to components; they go before those `for_all`.

    Raises ConfigError when a component is wrong, or an override fits none of them.
    """
    made: dict[str, Single] = {}
    refused: dict[str, dict[str, ConfigError]] = {}
    pictures = any("noise" in component.values for component in parts.values())
    for name, component in parts.items():
        own = [change for path, change in for_some if _is_in(component, path)]
        keys = set(map(override_key, own))
        wanted = [one for one in for_all if override_key(one) not in keys]
        at = f"{where}: mixture.{name}"
        if pictures and "noise" not in component.values:
            for override in [one for one in wanted if one.startswith("noise.")]:
                wanted.remove(override)
                refused.setdefault(override, {})[name] = ConfigError(
                    f"{at}: {override_key(override)}: noise is that of a sensor here",
                    key=override_key(override),
                )
        try:
            made[name] = _component(component.values, [*wanted, *own], at)
        except ConfigError:
            if not wanted:
                raise
            fitting: list[str] = []
            for override in wanted:
                try:
                    _component(component.values, [*fitting, override, *own], at)
                    fitting.append(override)
                except ConfigError as error:
                    refused.setdefault(override, {})[name] = error
            made[name] = _component(component.values, [*fitting, *own], at)
        later = keys
        for changed in reversed(component.changed):
            later = later | changed
            check_drawn_together(made[name], changed, at, later)
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


def _component(values: dict[str, Any], overrides: list[str], where: str) -> Single:
    made = single_recipe(values, overrides, where)
    if isinstance(made, CameraRecipe):
        check_darkness(made, values, overrides, where)
    return made
