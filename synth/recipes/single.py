"""A recipe of one model, made of its values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import ConfigError
from ...manifests.config import shorten, validate
from ..camera.recipe import CameraRecipe
from ..power_law.recipe import PowerLawRecipe
from .mixture import Single
from .overrides import (
    apply_overrides,
    check_drawn_together,
    check_one_noise,
    override_key,
    warn_of_other_noise,
)

_MODELS: dict[str, type[CameraRecipe] | type[PowerLawRecipe]] = {
    "camera": CameraRecipe,
    "power_law": PowerLawRecipe,
}


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
