"""Options of the command from the fields of models, where name, default, help and bounds stand."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

F = TypeVar("F", bound=Callable[..., Any])


def field_option(
    model: type[BaseModel], name: str, *, shown: bool = True, **more: Any
) -> Callable[[F], F]:
    """Make the option of a field; what is not given stays None, so that a build file may say it.

    model: a pydantic model, each of whose fields has a description.
    name: name of the field.
    shown: whether the field's default is shown.
    **more: options of `click.option` that take the place of the field's.
    """
    field = model.model_fields[name]
    kind = _kind_of(field)
    given: dict[str, Any] = (
        {"is_flag": True} if kind is bool else {"type": _click_type(kind, field)}
    )
    return click.option(
        f"--{name.replace('_', '-')}",
        **{**given, "default": None, "help": _help(field, shown), **more},
    )


def _kind_of(field: FieldInfo) -> Any:
    """Return a field's type without None."""
    kinds = [one for one in get_args(field.annotation) if one is not NoneType]
    return kinds[0] if get_origin(field.annotation) is UnionType else field.annotation


def _click_type(kind: Any, field: FieldInfo) -> Any:
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is int:
        bounds = {
            key: getattr(one, key)
            for one in field.metadata
            for key in ("ge", "le")
            if hasattr(one, key)
        }
        return click.IntRange(bounds.get("ge"), bounds.get("le"))
    return kind


def _help(field: FieldInfo, shown: bool) -> str:
    if not shown or field.default is None or field.default is False:
        return f"{field.description}"
    return f"{field.description}  [default: {field.default}]"
