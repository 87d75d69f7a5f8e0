"""A recipe as annotated YAML: values, with meaning and bounds of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from pydantic import BaseModel

from ...errors import visible
from ..camera.recipe import CameraRecipe
from ..parameters.schema import OneOf, Within
from .load import Recipe
from .mixture_recipe import MixtureRecipe

_WIDTH = 44


def annotated_yaml(recipe: Recipe) -> str:
    """Return a recipe with all its values as YAML, each with a comment.

    A comment has bounds and unit, and what the value is. Read again, the text is the recipe.
    """
    return "\n".join(_lines(recipe, recipe.model_dump(mode="json"), 0)) + "\n"


def _lines(
    section: BaseModel,
    values: dict[str, Any],
    depth: int,
    prefix: str = "",
    together: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """Yield the lines of a section whose keys begin with `prefix`, of a recipe's groups."""
    indent = "  " * depth
    if isinstance(section, CameraRecipe):
        prefix, together = "", section.together
    for name, field in type(section).model_fields.items():
        inner = getattr(section, name)
        if name not in values and not isinstance(inner, BaseModel):
            continue
        # A section that changes nothing is left out of files, and can be changed all the same.
        value = values[name] if name in values else inner.model_dump(mode="json")
        if isinstance(section, MixtureRecipe) and name == "mixture":
            yield f"{indent}{name}:".ljust(_WIDTH) + "  # recipes, taken as often as they weigh"
            for part, held in inner.items():
                key = yaml.safe_dump(part, allow_unicode=True).splitlines()[0]
                yield f"{indent}  {key}:".ljust(_WIDTH) + f"  # {visible(held.recipe.about)}"
                yield from _lines(held, value[part], depth + 2)
            continue
        if isinstance(inner, BaseModel):
            about = meaning_of(type(inner))
            yield f"{indent}{name}:" + (f"  # {about}" if depth or about else "")
            yield from _lines(inner, value, depth + 1, f"{prefix}{name}.", together)
            continue
        text = yaml.safe_dump(
            {name: value},
            sort_keys=False,
            allow_unicode=True,
            width=1 << 20,
            # A row of a table a line, and lists.
            default_flow_style=None if name == "together" or isinstance(value, list) else False,
        ).rstrip("\n")
        bounds = [str(mark) for mark in field.metadata if isinstance(mark, Within | OneOf)]
        drawn = [
            f"drawn in together.{visible(group)}, in place of this value"
            for group, one in (together or {}).items()
            if any(f"{path}.".startswith(f"{prefix}{name}.") for path in one.columns)
        ]
        about = "; ".join(filter(None, [*drawn[:1], *bounds, field.description or ""]))
        if name == "model" and depth:
            about = "how its lows are made"
        first, *rest = text.splitlines()
        yield f"{indent}{first}".ljust(_WIDTH if about else 0) + (f"  # {about}" if about else "")
        yield from (f"{indent}{line}" for line in rest)


def meaning_of(kind: type[BaseModel]) -> str:
    """Return the first paragraph of what a section says of itself, on one line."""
    return " ".join((kind.__doc__ or "").strip().split("\n\n")[0].split())
