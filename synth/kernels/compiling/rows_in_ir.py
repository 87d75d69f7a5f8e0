"""Rows, arrays of one dimension without gaps, as functions in LLVM's own language take them."""

from __future__ import annotations

from typing import Any

from numba import types


def are_rows(kinds: Any, *arrays: Any) -> bool:
    """Return whether arguments are rows of these kinds of number."""
    return all(
        isinstance(array, types.Array) and (array.dtype, array.ndim, array.layout) == (kind, 1, "C")
        for kind, array in zip(kinds, arrays, strict=True)
    )


def opened(context: Any, builder: Any, signature: Any, arguments: Any) -> tuple[list[Any], Any]:
    """Return where the numbers of rows begin, and how many the last row has."""
    arrays = [
        context.make_array(kind)(context, builder, argument)
        for kind, argument in zip(signature.args, arguments, strict=True)
    ]
    return [array.data for array in arrays], builder.extract_value(arrays[-1].shape, 0)
