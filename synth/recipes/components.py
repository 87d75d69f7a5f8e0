"""The components of a mixture, made whole: what files and changes say of all, or of one of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ConfigError, GloamWarning
from ...manifests.config import shorten
from ..camera.recipe import CameraRecipe
from .mixture import Single, flat_values, merge_values
from .named_files import with_files
from .overrides import (
    apply_overrides,
    check_drawn_together,
    check_one_noise,
    override_key,
    replace_values,
)
from .read_values import read_values, shipped_names
from .single import check_darkness, single_recipe

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
    parts = _parts(values["mixture"], where)
    for_all: list[str] = []
    for_one: dict[str, Any] = {}
    for override in overrides:
        if override_key(override).split(".")[0] in _OWN:
            for_one = apply_overrides(for_one, [_of_one(override, parts, where)])
        else:
            for_all.append(override)
    if "mixture" in for_one:
        for_one["mixture"] = _parts(for_one["mixture"], where)
    whole = merge_values({**values, "mixture": parts}, for_one)
    flat = _flat(whole, where, folder)
    recipes = _overridden(flat, for_all, dict(_taken(for_one.get("mixture", {}))), where)
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


def _of_one(override: str, parts: dict[str, dict[str, Any]], where: str) -> str:
    """Return an override of one component with its whole key.

    `mixture.NAME=2` is of its weight, `mixture.NAME/INNER` of a component of a mixture in it.
    """
    key, equals, value = override.partition("=")
    first, *rest = key.strip().split(".")
    if first != "mixture" or not rest or not equals:
        return override
    name, *more = rest
    path = [name] if name in parts else name.split("/")
    if path[0] not in parts and path[0] not in shipped_names():
        raise ConfigError(
            f"{where}: --set {override}: its recipes are {', '.join(parts)}", key=key.strip()
        )
    return f"mixture.{'.mixture.'.join(path)}.{'.'.join(more) or 'weight'}={value}"


def _taken(parts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, set[str]]]:
    """Yield the components that overrides name, with the keys that these change."""
    for name, part in parts.items():
        if not isinstance(part, Mapping):
            continue
        own = {key: value for key, value in part.items() if key != "mixture"}
        yield prefix + name, {path for path, _ in flat_values(own)}
        if isinstance(part.get("mixture"), Mapping):
            yield from _taken(part["mixture"], f"{prefix}{name}/")


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
    """A component of a mixture: its share, its recipe's values, and the keys that files change.

    These keys are of each section that stands beside it, from the inmost on.
    """

    weight: dict[str, Any]
    values: dict[str, Any]
    changed: tuple[set[str], ...] = ()

    def with_changes(self, *changes: dict[str, Any]) -> _Component:
        """Return it with sections that stand beside it in its place."""
        values = self.values
        for change in changes:
            values = replace_values(values, change)
        keys = tuple({path for path, _ in flat_values(change)} for change in changes)
        return _Component(self.weight, values, (*self.changed, *keys))


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
    common = with_files(common, where, folder)
    flat: dict[str, _Component] = {}
    for name, part in _parts(values["mixture"], where).items():
        at = f"{where}: mixture.{name}"
        own = {key: value for key, value in part.items() if key not in _PART}
        own = with_files(own, at, folder)
        weight = {"weight": part["weight"]} if "weight" in part else {}
        whole, inner_folder = _whole(part.get("recipe", name), name, where, folder)
        if "mixture" not in whole:
            if "mixture" in own:
                raise ConfigError(f"{at}.mixture: {name} is one recipe, no mixture", key="mixture")
            flat[name] = _Component(weight, whole).with_changes(common, own)
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
    try:
        if isinstance(recipe, Mapping):
            return with_files(dict(recipe), "recipe", folder), folder
        return read_values(str(recipe), folder)
    except ConfigError as error:
        raise ConfigError(
            f"{where}: mixture.{name}: {error}", key=f"mixture.{name}", value=recipe
        ) from error


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
    taken: dict[str, set[str]],
    where: str,
) -> dict[str, Single]:
    """Make the recipes of components, each with the overrides that it can have.

    `taken` has, by component, the keys that overrides of its own have changed already.

    Raises ConfigError when a component is wrong, or an override fits none of them.
    """
    made: dict[str, Single] = {}
    refused: dict[str, dict[str, ConfigError]] = {}
    for name, (_, values, changed) in parts.items():
        own = {
            key for part, keys in taken.items() if f"{name}/".startswith(f"{part}/") for key in keys
        }
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
        later: set[str] = set()
        for keys in reversed(changed):
            later |= {key for key in keys if key.startswith("together.")}
            check_one_noise(keys, at)
            check_drawn_together(made[name], keys, at, later)
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
        check_darkness(values, overrides, where)
    return made
