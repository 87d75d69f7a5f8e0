"""Check the numbers of a draw against the bounds of recipes.

Kernels take a draw's numbers as they are, as places in tables and as lengths of loops; and the
records of sets may be anybody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from ...storage.untrusted import shown
from .drawing import Drawn, Off
from .schema import Section, Within

Bounds = tuple[float, float]
_SHARE = (0.0, 1.0)
_DRAWN = {
    "pixel_seed": (0, 2**63 - 1),
    "seed": (0, 2**63 - 1),
    "angle": (-7.0, 7.0),  # radians
    "phase": _SHARE,
    "place": _SHARE,
    "within": _SHARE,
}
"""Bounds of what every draw has besides a recipe's parameters, by the ends of their paths."""


def check_numbers(
    drawn: Drawn, recipe: type[Section], others: Mapping[str, Bounds]
) -> dict[str, int]:
    """Check the numbers of a draw against the bounds of its recipe's parameters.

    others: bounds of numbers by their paths, where no recipe says them.

    Returns how many numbers there are, by path, where there are several. Raises ValueError, with
    its path, for one that is out of bounds.
    """
    lengths: dict[str, int] = {}
    _check(drawn, _part(type(drawn), recipe), others, lengths)
    return lengths


class _Part(NamedTuple):
    """A part of a draw: name, path and bounds of each of its numbers; the parts in it.

    off: what the part is in an image that has none of it, as rows of published mixtures say.
    """

    numbers: tuple[tuple[str, str, float, float], ...]
    inner: tuple[tuple[str, _Part], ...]
    off: Any = None


def _check(
    drawn: Drawn, part: _Part, others: Mapping[str, Bounds], lengths: dict[str, int]
) -> None:
    for name, path, low, high in part.numbers:
        value = getattr(drawn, name)
        low, high = others.get(path, (low, high))
        if isinstance(value, tuple):
            lengths[path] = len(value)
            value = next((one for one in value if not low <= one <= high), low)
        if value is not None and not low <= value <= high:
            raise ValueError(f"{path} = {shown(value)}: no recipe draws it ({low:g} to {high:g})")
    for name, own in part.inner:
        inner = getattr(drawn, name)
        if inner is not None and inner != own.off:
            _check(inner, own, others, lengths)


@lru_cache(maxsize=64)
def _part(kind: type[Drawn], recipe: type[BaseModel] | None, above: str = "") -> _Part:
    numbers, inner = [], []
    for name, field in kind.model_fields.items():
        kinds = get_args(field.annotation) or (field.annotation,)
        drawn = next(
            (one for one in kinds if isinstance(one, type) and issubclass(one, Drawn)), None
        )
        known = recipe.model_fields.get(name) if recipe else None
        if drawn is not None:
            section: Any = known.annotation if known else None
            off = next((mark.values for mark in field.metadata if isinstance(mark, Off)), None)
            inner.append((name, _part(drawn, section, f"{above}{name}.")._replace(off=off)))
        elif not {int, float} & {field.annotation, *kinds}:
            continue  # a name, or one of several
        else:
            marks = known.metadata if known else ()
            mark = next((mark for mark in marks if isinstance(mark, Within)), None)
            own = (0.0, 0.0) if mark is None else (mark.low, mark.high)
            bounds = _DRAWN.get(name, own)
            numbers.append((name, f"{above}{name}", *bounds))
    return _Part(tuple(numbers), tuple(inner))
