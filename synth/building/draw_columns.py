"""The parameters of a draw as columns of a set's table of pairs."""

from __future__ import annotations

from typing import Any, get_args

import pyarrow as pa
from pydantic import BaseModel


def draw_fields(model: type[BaseModel]) -> list[pa.Field]:
    """The Arrow columns of a draw's parameters."""
    kinds: dict[Any, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    fields = []
    for name, info in model.model_fields.items():
        annotation: Any = info.annotation
        kind: pa.DataType
        if annotation == tuple[float, ...]:
            kind = pa.list_(pa.float64())
        else:
            kind = kinds.get(annotation) or kinds[type(get_args(annotation)[0])]
        fields.append(pa.field(name, kind))
    return fields
