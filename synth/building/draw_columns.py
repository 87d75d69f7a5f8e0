"""The parameters of a draw as columns of a set's table of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pyarrow as pa
from pydantic import BaseModel

_KINDS: dict[Any, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string()}


def draw_fields(model: type[BaseModel]) -> list[pa.Field]:
    """Return Arrow columns of a draw's parameters, named by their paths: `camera.sensor.gain`."""
    return [pa.field(path, kind) for path, kind in _fields(model, "")]


def _fields(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, pa.DataType]]:
    for name, info in model.model_fields.items():
        annotation: Any = info.annotation
        path = prefix + name
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _fields(annotation, f"{path}.")
        elif type(None) in get_args(annotation):
            continue  # what only some draws have stands in the records alone
        elif annotation in _KINDS:
            yield path, _KINDS[annotation]
        elif get_args(annotation)[0] is float:
            yield path, pa.list_(pa.float64())
        else:  # one of some names
            yield path, pa.string()
