"""The parameters of a draw as columns of a set's table of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import pyarrow as pa
from pydantic import BaseModel

from ..models import Draw, draw_type, model_of
from ..parameters.drawing import leaves
from ..parameters.schema import Added, mark_of
from ..recipes.load import Recipe
from ..recipes.mixture_recipe import single_recipes

_KINDS: dict[Any, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string()}


def draw_fields(recipe: Recipe) -> list[pa.Field]:
    """Return Arrow columns of what a recipe draws, named by their paths: `camera.sensor.gain`.

    Parts that came after the first sets, such as `degradations`, are there if this recipe has them,
    or a component of it: they are null in rows of the others.
    """
    held = {path for single in single_recipes(recipe) for path in _added(single)}
    held |= {path for single in single_recipes(recipe) for path in _together(single)}
    kind = draw_type(model_of(recipe))
    return [pa.field(path, kind) for path, kind in _fields(kind, "", held)]


def with_all_columns(drawn: Draw, paths: Iterable[str]) -> dict[str, Any]:
    """Return a draw, as a record has it, with a value for each column of its set.

    Parts that other recipes of a mixture have are what they are in an image that has none of them.
    """
    kind: Any = type(drawn)
    known = leaves(kind)
    values = {path: known[path].get(drawn) for path in paths if path in known}
    return {"model": drawn.model, **nested(values)}


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by paths, such as `camera.iso`, as nested ones."""
    tree: dict[str, Any] = {}
    for path, value in values.items():
        *above, name = path.split(".")
        branch = tree
        for part in above:
            branch = branch.setdefault(part, {})
        branch[name] = value
    return tree


def _added(section: BaseModel, prefix: str = "", held: bool = False) -> Iterator[str]:
    """Yield the paths of what a recipe has that is not at its default, if that can be left out.

    held: whether the section is one of these; then all of it is, but for what can be left out.
    """
    for name, info in type(section).model_fields.items():
        value, path = getattr(section, name), prefix + name
        own = value != info.default if mark_of(info, Added) else held
        if own:
            yield path
        if isinstance(value, BaseModel):
            yield from _added(value, f"{path}.", own)


def _together(recipe: BaseModel) -> Iterator[str]:
    """Yield the paths of what is drawn together, and of the sections that have it."""
    for group in getattr(recipe, "together", {}).values():
        for path in group.columns:
            parts = path.split(".")
            yield from (".".join(parts[: i + 1]) for i in range(len(parts)))


def _fields(
    model: type[BaseModel], prefix: str, held: set[str]
) -> Iterator[tuple[str, pa.DataType]]:
    for name, info in model.model_fields.items():
        annotation: Any = info.annotation
        path = prefix + name
        if not info.is_required() and name != "model" and path not in held:
            continue
        if type(None) in get_args(annotation):
            (annotation,) = (one for one in get_args(annotation) if one is not type(None))
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _fields(annotation, f"{path}.", held)
        elif annotation in _KINDS:
            yield path, _KINDS[annotation]
        elif get_args(annotation)[0] is float:
            yield path, pa.list_(pa.float64())
        else:  # one of some names
            yield path, pa.string()
