"""Mixtures of recipes: each image is drawn by one of them, chosen by its key."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator

from ...errors import ConfigError
from ...manifests.config import Numbers
from ...storage.stores import in_store
from ..camera.recipe import CameraRecipe
from ..kernels.arrays import IntArray
from ..parameters.keyed_random import KeyedRandom
from ..parameters.schema import Section
from ..power_law_model import PowerLawRecipe

Single = Annotated[CameraRecipe | PowerLawRecipe, Field(discriminator="model")]
_PURPOSE = "mixture"
_HEAVIEST = 1e300  # a thousand of them have a sum


class WeightedRecipe(Section, Numbers):
    """One of a mixture's recipes, and how often it is taken."""

    weight: float = Field(allow_inf_nan=False, description="its share, over that of all")
    recipe: Single

    @field_validator("weight")
    @classmethod
    def _above_nothing(cls, weight: float) -> float:
        if not 0 < weight <= _HEAVIEST:
            raise ValueError(
                f"a weight is above 0, at most {_HEAVIEST:g}; leave a recipe out that is not to be"
                " taken"
            )
        return weight


class MixtureRecipe(Section):
    """A weighted mixture of recipes of one model.

    The image of a key is what its component alone would make of it with the same seed.
    """

    name: str = "custom"
    about: str = ""
    model: Literal["mixture"] = "mixture"
    mixture: dict[str, WeightedRecipe] = Field(min_length=1)

    @field_validator("mixture")
    @classmethod
    def _of_one_model(cls, mixture: dict[str, WeightedRecipe]) -> dict[str, WeightedRecipe]:
        models = {component.recipe.model for component in mixture.values()}
        if len(models) > 1:
            raise ValueError("its recipes are of several models; mix those of one")
        return dict(sorted(mixture.items()))  # what is drawn depends on no order in a file

    @property
    def drawn(self) -> str:
        """The model of its components."""
        return next(iter(self.mixture.values())).recipe.model

    def components(self, random: KeyedRandom) -> IntArray:
        """Return the numbers of the components that many images have."""
        weights = [component.weight for component in self.mixture.values()]
        total = math.fsum(weights)
        ends = [math.fsum(weights[:i]) / total for i in range(1, len(weights))]
        return np.searchsorted(ends, random.uniform(_PURPOSE), side="right")


def single_recipes(recipe: Single | MixtureRecipe) -> list[Single]:
    """Return the recipes of a mixture, or the recipe itself."""
    if isinstance(recipe, MixtureRecipe):
        return [component.recipe for component in recipe.mixture.values()]
    return [recipe]


def merge_values(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested values with those of others in their place."""
    made = dict(values)
    for name, value in others.items():
        own = made.get(name)
        nested = isinstance(own, Mapping) and isinstance(value, Mapping)
        made[name] = merge_values(own, value) if nested else value  # type: ignore[arg-type]
    return made


def flat_values(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested values by their paths, such as `camera.iso`."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat_values(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def parse_weights(text: str) -> dict[str, float] | None:
    """Read `NAME:WEIGHT,NAME:WEIGHT`; None where a text is one name.

    A name without a weight, beside others, has the weight 1.

    Raises ConfigError when a weight is no number, or a name stands twice.

    Examples
    --------
    >>> parse_weights("even:0.5,uneven:0.5")
    {'even': 0.5, 'uneven': 0.5}
    >>> parse_weights("even")
    """
    if ":/" in text and in_store(text):
        raise ConfigError(f"recipe {text}: must be the name of one, or a file of this machine")
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1 and ":" not in text:
        return None
    found: dict[str, float] = {}
    for part in parts:
        name, _, weight = part.rpartition(":") if ":" in part else (part, "", "1")
        try:
            share = float(weight)
        except ValueError:
            raise ConfigError(
                f"recipe {text}: {weight!r} is no weight; write NAME:WEIGHT, such as even:0.5",
                key="recipe",
                value=text,
            ) from None
        if not name or name in found:
            why = f"{name} stands twice; give it one weight" if name else "a name is missing"
            raise ConfigError(f"recipe {text}: {why}", key="recipe", value=text)
        found[name] = share
    return found


def join_names(names: Sequence[str]) -> str:
    """Return recipes that are given one by one as one text for `parse_weights`.

    A single one stays as it is; one without a weight has the weight 1.
    """
    if len(names) == 1:
        return names[0]
    return ",".join(name if ":" in name else f"{name}:1" for name in names)
