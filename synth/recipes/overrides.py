"""A recipe of one model, made of its values with single ones changed: `camera.iso=3200`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from ...errors import ConfigError, GloamWarning
from ...manifests.config import shorten, validate
from ..camera.recipe import CameraRecipe
from ..parameters.schema import WHOLE, OneOf, Within, mark_of
from ..power_law_model import PowerLawRecipe
from .mixture_recipe import MixtureRecipe, Single, flat_values, merge_values
from .recipe_files import with_files

Overrides = Mapping[str, Any] | str | Iterable[str]
"""Single values of a recipe to change."""
_OF_SENSOR = frozenset({"name", "iso", "read_noise", "levels", "file", "own"})
"""Keys of `camera` that set a sensor's noise; its matrix does not."""
_MODELS: dict[str, type[CameraRecipe] | type[PowerLawRecipe]] = {
    "camera": CameraRecipe,
    "power_law": PowerLawRecipe,
}


def override_texts(overrides: Overrides) -> list[str]:
    """Return changes of a recipe as texts, `camera.iso=3200`."""
    if isinstance(overrides, Mapping):
        return [
            f"{key}{text}"
            for key, value in overrides.items()
            for text in (
                [f".{inner}" for inner in override_texts(value)]
                if isinstance(value, Mapping)
                else [f"={value}"]
            )
        ]
    texts = [overrides] if isinstance(overrides, str) else overrides
    texts = list(texts) if isinstance(texts, Iterable) else [texts]
    for text in texts:
        if not isinstance(text, str):
            raise ConfigError(f"override {text!r}: write KEY=VALUE, for example camera.iso=3200")
    return texts


def override_key(override: str) -> str:
    """Return what an override changes, `camera.iso`."""
    return override.partition("=")[0].strip()


def apply_overrides(values: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Return values with single ones changed; those that are given stay as they are."""
    for override in overrides:
        key, equals, value = override.partition("=")
        parts = key.strip().split(".")
        if not equals or not all(parts):
            raise ConfigError(f"--set {override}: write KEY=VALUE, for example camera.iso=3200")
        if parts[0] == "together" and parts[2:] == ["from"]:
            values = _with(values, parts[:2], {}, override)
        values = _with(values, parts, value.strip(), override)
        if parts[-1] in ("file", "from"):
            values = with_files(values, "--set")
        if _takes_sensor(values, set(parts[1:2]) if parts[0] == "camera" else set()):
            values = _without_own_noise(values)
    return values


def replace_values(values: dict[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested values with those of others in their place.

    A group that is drawn together and has columns takes the place of all of the former, and so does
    a camera of its own.
    """
    made = merge_values(values, others)
    groups, camera = others.get("together"), others.get("camera")
    if isinstance(groups, Mapping):
        whole = {k: v for k, v in groups.items() if isinstance(v, Mapping) and "columns" in v}
        made["together"] = {**made["together"], **whole}
    own = camera.get("own") if isinstance(camera, Mapping) else None
    if isinstance(own, Mapping):
        made["camera"] = {**made["camera"], "own": {**made["camera"]["own"], **own}}
    if "noise" in others or not isinstance(camera, Mapping):
        return made
    return _without_own_noise(made) if _takes_sensor(made, set(camera)) else made


def _takes_sensor(values: dict[str, Any], changed: set[str]) -> bool:
    """Return whether a change of keys of `camera` chooses a sensor's noise."""
    return "noise" in values and not _OF_SENSOR.isdisjoint(changed)


def warn_of_other_noise(values: dict[str, Any], changed: dict[str, Any], where: str) -> None:
    """Warn where changes chose a sensor's noise in place of a recipe's own, or left out a sensor's.

    The latter where neither read nor shot noise takes its place.
    """
    now = changed.get("noise")
    if "noise" in values and now is None:
        kind = "that of this sensor, not the noise that the recipe knows by pictures"
    elif "noise" not in values and isinstance(now, Mapping) and not {"read", "shot"} & set(now):
        kind = "no longer that of a sensor: set noise.read and noise.shot, too"
    else:
        return
    warnings.warn(f"{where}: noise is {kind}", GloamWarning, stacklevel=2)


def _without_own_noise(values: dict[str, Any]) -> dict[str, Any]:
    """Return values without noise as pictures show it."""
    made = {name: value for name, value in values.items() if name != "noise"}
    if isinstance(values.get("together"), Mapping):
        groups = {name: _without_noise(group) for name, group in values["together"].items()}
        made["together"] = {name: group for name, group in groups.items() if group}
    return made


def _without_noise(group: Any) -> Any:
    """Return parameters that are drawn together without those of noise, None without others.

    Anything that is no such group is left to the recipe's own checks.
    """
    try:
        paths = group["columns"]
        kept = [i for i, path in enumerate(paths) if not path.startswith("noise.")]
        made = {**group, "columns": [paths[i] for i in kept]}
        for name in ("rows", "covariance"):
            if name in group:
                made[name] = [[row[i] for i in kept] for row in group[name]]
        if "covariance" in made:
            made["covariance"] = [made["covariance"][i] for i in kept]
            made["mean"] = [group["mean"][i] for i in kept]
    except (AttributeError, IndexError, KeyError, TypeError):
        return group
    return made if kept else None


def _with(values: dict[str, Any], parts: list[str], value: Any, override: str) -> dict[str, Any]:
    part, *rest = parts
    if not rest:
        return {**values, part: value}
    inner = values.get(part, {})
    if not isinstance(inner, dict):
        raise ConfigError(f"--set {override}: {part} holds a value, not further keys")
    return {**values, part: _with(inner, rest, value, override)}


def check_drawn_together(
    recipe: CameraRecipe | PowerLawRecipe,
    changed: Iterable[str],
    where: str,
    beside: Iterable[str] = (),
) -> None:
    """Refuse changes of keys that are drawn together with others: they would do nothing.

    `beside` holds keys that were changed beside them or later: a group whose columns are among them
    is meant to draw what it names.
    """
    keys, said = set(changed), set(beside)
    together = recipe.together.items() if isinstance(recipe, CameraRecipe) else ()
    for name, group in together:
        if said & {f"together.{name}.columns", f"together.{name}.from"}:
            continue
        for path in group.columns:
            if keys & {path, path.rpartition(".")[0]}:
                raise ConfigError(
                    f"{where}: {path}: is drawn together with others: change it in together.{name},"
                    " in a recipe file",
                    key=path,
                )


@cache
def _usual() -> dict[str, Any]:
    """Return what all recipes begin with, by paths."""
    return dict(flat_values(CameraRecipe().model_dump(mode="json", context=WHOLE)))


def check_drawn_once(
    values: Mapping[str, Any], drawn: Mapping[str, Iterable[str]], where: str
) -> None:
    """Refuse values beside groups, with the columns of each, that draw them: they would do nothing.

    Those that all recipes begin with may stand there, as in recipes that are written whole.
    """
    usual = _usual()
    given = {key for key, value in flat_values(values) if value != usual.get(key, 0)}
    for name, columns in drawn.items():
        for path in columns:
            for key in given & {path, path.rpartition(".")[0]}:
                raise ConfigError(
                    f"{where}: {key}: is drawn in together.{name}, too: leave it out, or take it"
                    " out of that group",
                    key=key,
                )


def check_one_noise(changed: Iterable[str], where: str) -> None:
    """Refuse changes that choose both a sensor's noise and noise as pictures show it."""
    keys = sorted(changed)
    own = [key for key in keys if key.startswith("noise.")]
    sensor = [key for key in keys if key.startswith("camera.") and key.split(".")[1] in _OF_SENSOR]
    if own and sensor:
        raise ConfigError(
            f"{where}: {sensor[0]} chooses a sensor's noise, {own[0]} noise as pictures show it:"
            " leave one out",
            key=own[0],
        )


def recorded_single(values: dict[str, Any], where: str) -> Single:
    """Make a recipe of values that hold all of it, such as a set's; no file is read.

    Raises ConfigError when they are no recipe's.
    """
    model = values.get("model", "camera")
    if not isinstance(model, str) or model not in _MODELS:
        known = [*_MODELS, "mixture"]
        raise ConfigError(
            f"{where}: model = {shorten(model)}: unknown; allowed: {', '.join(known)}",
            key="model",
            value=model,
            allowed=known,
        )
    return validate(_MODELS[model], values, where)


def single_recipe(values: dict[str, Any], overrides: Iterable[str], where: str) -> Single:
    """Make a recipe of its values, files read, with single ones changed.

    Raises ConfigError when they are no recipe's, or a change would do nothing.
    """
    overrides = list(overrides)
    keys = [override_key(override) for override in overrides]
    changed = apply_overrides(values, overrides)
    recipe = recorded_single(changed, where)
    if isinstance(recipe, CameraRecipe):
        if "noise" in values:
            check_one_noise(keys, where)
        check_drawn_together(recipe, keys, where)
        warn_of_other_noise(values, changed, where)
    return recipe


def check_darkness(
    recipe: CameraRecipe, values: dict[str, Any], overrides: Iterable[str], where: str
) -> None:
    """Refuse a recipe whose values, of a file, leave out what makes lows dark."""
    said = {"exposure.ev"} & {override_key(override) for override in overrides}
    drawn = any("exposure.ev" in group.columns for group in recipe.together.values())
    if "ev" not in values.get("exposure", {}) and not said and not drawn:
        raise ConfigError(
            f"{where}: exposure.ev is missing: by how many stops its lows are darker, 0 where they"
            " are not; what else is left out does nothing. To change a recipe that gloam ships,"
            " begin with 'mixture: {uneven: 1}'",
            key="exposure.ev",
        )


def recipe_keys(recipe: Single | MixtureRecipe) -> list[str]:
    """Return the keys that `--set` can change, such as `camera.iso`; of a mixture its own too."""
    if not isinstance(recipe, MixtureRecipe):
        return list(_value_paths(recipe, ""))
    keys: dict[str, None] = {}
    for name, part in recipe.mixture.items():
        own = list(_value_paths(part.recipe, ""))
        keys |= dict.fromkeys([*own, f"mixture.{name}", *(f"mixture.{name}.{key}" for key in own)])
    return list(keys)


def _value_paths(section: BaseModel, prefix: str) -> Iterator[str]:
    """Yield the paths of a section's values, those of the sections in it, too."""
    for name, field in type(section).model_fields.items():
        inner = getattr(section, name)
        if isinstance(inner, BaseModel):
            yield from _value_paths(inner, f"{prefix}{name}.")
        elif mark_of(field, Within) or mark_of(field, OneOf):
            yield prefix + name
