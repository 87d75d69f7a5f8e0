"""A recipe that gloam ships, moved: what is searched where one of them is nearer than most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ConfigError
from ..camera.recipe import CameraRecipe
from ..camera.sensors import iso_range
from ..parameters.distributions import (
    Choice,
    Constant,
    Distribution,
    LogUniform,
    Normal,
    Uniform,
)
from ..parameters.schema import Within
from ..recipes.load import Recipe, load_recipe, recipe_of
from ..recipes.mixture import MixtureRecipe, single_recipes

_LIGHT = "illumination."
_PLACES = {
    "ev": ("exposure.ev",),
    "contrast": ("isp.contrast",),
    "iso": ("camera.iso",),
    "field": (_LIGHT + "smooth.sigma_ev",),
    "chroma": ("isp.chroma.strength",),
    "sigma": ("isp.chroma.sigma",),
    "gain": ("isp.digital_gain_ev",),
    "cast": ("white_balance.error_ev",),
    "red": ("white_balance.red",),
    "blue": ("white_balance.blue",),
    "highlights": ("highlights.ev",),
    "lights": (_LIGHT + "lights.ev",),
    "scene": (_LIGHT + "scene.strength",),
    "warmth": (_LIGHT + "lights.warmth_ev", _LIGHT + "lamps.warmth_ev"),
    "lamps": (_LIGHT + "lamps.ev",),
}
_SCALED = "field", "highlights", "scene", "warmth", "red", "blue", "sigma"
"""Multiplied by a power of two; others are shifted, ISO in stops."""
_SPREAD = "ev", "contrast", "iso", "gain", "cast"
_STEPS = {
    "ev": 0.15,
    "ev_spread": 0.2,
    "contrast": 0.08,
    "contrast_spread": 0.3,
    "iso": 0.3,
    "iso_spread": 0.3,
    "field": 0.3,
    "chroma": 0.1,
    "sigma": 0.4,
    "gain": 0.3,
    "gain_spread": 0.3,
    "cast_spread": 0.3,
    "red": 0.3,
    "blue": 0.3,
    "highlights": 0.3,
    "lights": 0.7,
    "scene": 0.4,
    "warmth": 0.4,
    "lamps": 1.0,
}
_FURTHEST, _FURTHEST_EV = 12, 6.0  # steps, and EV of exposure


@dataclass(frozen=True)
class Moved:
    """A point of the search.

    Attributes
    ----------
    base : str
        The recipe.
    moves : tuple of (name, float)
        By how much its parameters are moved, in all components of a mixture: stops, or what the
        parameter is measured in; binary logarithms of factors where a spread, the field,
        highlights, the scene's own light, warmth, the gains of red and blue, or the blur of chroma
        noise reduction grow.
    """

    base: str
    moves: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, base: str) -> Moved:
        """Return a recipe as it is; what it has can be moved, without a camera nothing."""
        cameras = [
            one for one in single_recipes(load_recipe(base)) if isinstance(one, CameraRecipe)
        ]
        names = []
        for name, places in _PLACES.items():
            found = [_at(recipe, place) for recipe in cameras for place in places]
            if name != "cast" and any(one != Constant(0.0) for one in found):
                names.append(name)
            if name in _SPREAD and any(not isinstance(one, Constant) for one in found):
                names.append(f"{name}_spread")
        return cls(base, tuple((name, 0.0) for name in names))

    @property
    def steps(self) -> dict[str, float]:
        """How far a parameter goes to see what it does."""
        return _STEPS

    def values(self) -> dict[str, float]:
        """Return the numbers by name."""
        return dict(self.moves)

    def moved(self, **changes: float) -> Moved:
        """Return parameters with some changed, within what is searched."""
        values = self.values()
        for name, value in changes.items():
            most = _FURTHEST_EV if name == "ev" else _FURTHEST * _STEPS[name]
            values[name] = min(max(value, -most), most)
        return Moved(self.base, tuple(values.items()))

    def part(self, share: float) -> Moved:
        """Return a recipe that went only a share of the way."""
        return self.moved(**{name: share * value for name, value in self.moves})

    def recipe(self, name: str = "fitted", about: str = "") -> Recipe:
        """Return the recipe that they stand for."""
        base, moves = load_recipe(self.base), self.values()
        parts = (
            {f"mixture.{key}.": part.recipe for key, part in base.mixture.items()}
            if isinstance(base, MixtureRecipe)
            else {"": base}
        )
        changes = [
            f"{prefix}{change}"
            for prefix, part in parts.items()
            if isinstance(part, CameraRecipe)
            for change in _changes(part, moves)
        ]
        values = base.model_dump(mode="json") | {"name": name, "about": about}
        return recipe_of(values, changes, f"recipe {name}")


def _changes(recipe: CameraRecipe, moves: dict[str, float]) -> Iterator[str]:
    """Yield what `--set` takes to move a recipe."""
    for name, places in _PLACES.items():
        by, wider = moves.get(name, 0.0), moves.get(f"{name}_spread", 0.0)
        if not by and not wider:
            continue
        for place in places:
            was = _at(recipe, place)
            if was != Constant(0.0):  # it has such a thing
                yield f"{place}={_moved(was, name, by, wider, _bounds(recipe, place))}"


def _moved(
    was: Distribution, name: str, by: float, wider: float, bounds: tuple[float, float]
) -> Distribution:
    """Return a distribution that is shifted or scaled, and wider about its middle."""
    spread = 2.0**wider
    middle = was.mean if isinstance(was, Normal) else was.quantile(np.array([0.5])).tolist()[0]
    if isinstance(middle, str):
        return was

    def moved(value: Any) -> float:
        if name == "iso":
            new = middle * (value / middle) ** spread * 2.0**by
        elif name in _SCALED:
            new = value * 2.0**by
        else:
            new = middle + (value - middle) * spread + by
        return float(f"{min(max(new, bounds[0]), bounds[1]):.5g}")

    if isinstance(was, Normal):
        deviation = was.deviation * (2.0**by if name in _SCALED else spread)
        mean, low, high = moved(was.mean), moved(was.low), moved(was.high)
        return Normal(mean, float(f"{deviation:.5g}"), low, high)
    return _each(was, moved)


def _each(was: Distribution, moved: Callable[[Any], float]) -> Distribution:
    match was:
        case Uniform():
            return Uniform(moved(was.low), moved(was.high))
        case LogUniform():
            return LogUniform(moved(was.low), moved(was.high))
        case Choice():
            return Choice(tuple(moved(value) for value in was.values))
        case Constant():
            return Constant(moved(was.value))
    return was


def _at(recipe: CameraRecipe, place: str) -> Any:
    """Return the section or the distribution at a path of a recipe."""
    found: Any = recipe
    for section in place.split("."):
        found = getattr(found, section)
    return found


def _bounds(recipe: CameraRecipe, place: str) -> tuple[float, float]:
    """Return between what a parameter may lie."""
    *sections, last = place.split(".")
    section = _at(recipe, ".".join(sections))
    if place == "camera.iso":
        ranges = [iso_range(str(name), section.own) for name in section.name.extremes()]
        return max(low for low, _ in ranges), min(high for _, high in ranges)
    for mark in type(section).model_fields[last].metadata:
        if isinstance(mark, Within):
            return mark.low, mark.high
    raise ConfigError(f"{place}: has no bounds")
