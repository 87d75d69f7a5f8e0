"""Drawing an image's parameters by walking a recipe: what comes out is shaped like it.

Every parameter has a random number of its own, keyed by (seed, key, the parameter's path in the
recipe), so that changing one distribution of a recipe leaves all other parameters as they were.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from .distributions import Constant, Distribution, Value
from .randomness import KeyedRandom
from .schema import Chance, Each, OneOf, Section, Within

D = TypeVar("D", bound="Drawn")


class Drawn(BaseModel):
    """A part of one image's own parameters, shaped like the recipe's section of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def changed(self: D, values: dict[str, Any]) -> D:
        """Return the same draw with other values, by their paths.

        Parameters
        ----------
        values : dict
            Such as `{"exposure.ev": 3.0, "camera.sensor.gain": 0.5}`. They are not checked.
        """
        changed = self
        for path, value in values.items():
            name, dot, rest = path.partition(".")
            known = name in type(self).model_fields
            own = getattr(changed, name) if known else None
            if isinstance(own, Drawn) and dot:
                value = own.changed({rest: value})
            elif dot or not known:
                raise AttributeError(f"{type(self).__name__} has no {path}")
            changed = changed.model_copy(update={name: value})
        return changed


def draw_section(section: Section, random: KeyedRandom, path: str = "") -> dict[str, Any]:
    """Draw all parameters of a section, and of the sections in it.

    Parameters
    ----------
    section : Section
    random : KeyedRandom
        The image's random numbers.
    path : str
        Of the section in its recipe, with a dot at its end.

    Returns
    -------
    dict
        By field: a number or a name; a tuple of them where the field is drawn several times
        (`Each`, or a section with a `count`); a bool for a `Chance`; a dict for a section.
    """
    values: dict[str, Any] = {}
    times: int | None = None
    for name, inner, whole, each, chance in _parts(type(section)):
        value, own = getattr(section, name), path + name
        if inner:
            values[name] = draw_section(value, random, f"{own}.")
        elif chance:
            share = float(draw_value(value, random, f"{own}.value"))
            values[name] = random.uniform(own) < share
        elif each or times is not None:
            count = each or times or 0
            values[name] = tuple([draw_value(value, random, own, i) for i in range(count)])
        else:
            drawn = draw_value(value, random, own)
            values[name] = int(drawn) if whole else drawn
            if type(section).repeated and name == "count":
                times = values[name]
    return values


@lru_cache(maxsize=64)
def _parts(kind: type[Section]) -> tuple[tuple[str, bool, bool, int, bool], ...]:
    """Return of each field to draw: name, whether it is a section, whole, how often, a chance."""
    parts = []
    for name, field in kind.model_fields.items():
        annotation, marks = field.annotation, field.metadata
        inner = isinstance(annotation, type) and issubclass(annotation, Section)
        if isinstance(annotation, type) and getattr(annotation, "apart", False):
            continue
        if not inner and not any(isinstance(mark, Within | OneOf) for mark in marks):
            continue  # for people, or taken as it is
        whole = any(isinstance(mark, Within) and mark.whole for mark in marks)
        each = next((mark.times for mark in marks if isinstance(mark, Each)), 0)
        chance = any(isinstance(mark, Chance) for mark in marks)
        parts.append((name, inner, whole, each, chance))
    return tuple(parts)


def draw_value(
    distribution: Distribution, random: KeyedRandom, purpose: str, index: int = 0
) -> Value:
    """Draw one value; a constant costs no random number."""
    if type(distribution) is Constant:
        return distribution.value
    return distribution.quantile(random.uniform(purpose, index))
