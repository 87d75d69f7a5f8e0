"""The fields of recipes: sections, and bounds, units and meaning of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, core_schema

from .distributions import ALLOWED, Choice, Constant, Distribution, Listed, format_value, parse

WHOLE = {"whole": True}
"""The context by which all values of a section are dumped."""
M = TypeVar("M")


def mark_of(field: FieldInfo, kind: type[M]) -> M | None:
    """Return the annotation of a kind that a field has, None where it has none."""
    for mark in field.metadata:
        if isinstance(mark, kind):
            return mark
    return None


def section_of(field: FieldInfo) -> type[Section] | None:
    """Return the section that a field of another one is, None where it is a value."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


class Section(BaseModel):
    """A part of a recipe: unknown keys are refused.

    repeated: whether what it holds is there `count` times, each drawn anew.
    beside: what draws have that is no parameter, or of another type than one: the type and the
      default of each, as fields of pydantic; None for a parameter that they do not keep.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    repeated: ClassVar[bool] = False
    beside: ClassVar[dict[str, Any]] = {}

    @model_serializer(mode="wrap")
    def _without_what_is_added(
        self, handler: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        """Leave out what is `Added` and at its default, unless the context asks for the whole."""
        values: dict[str, Any] = handler(self)
        if info.context == WHOLE:
            return values
        for name, field in type(self).model_fields.items():
            if mark_of(field, Added) and getattr(self, name) == field.default:
                values.pop(name, None)
        return values

    def __repr__(self) -> str:
        """Show a whole recipe by its name alone: it has some hundred values."""
        name = getattr(self, "name", None)
        return f"<{type(self).__name__} {name}>" if isinstance(name, str) else super().__repr__()


@dataclass(frozen=True)
class Added:
    """Annotates a field that came after the first sets.

    At its default it is neither drawn nor written: recipes and records of those sets
    stay what they were.
    """

    none: bool = False  # of a section: whether draws have None for it then, not its default


@dataclass(frozen=True)
class Each:
    """Annotates a field that is drawn several times, each with a random number of its own.

    Or it is a list of so many numbers; `fewer`: or of less, which goes on with its last one.
    """

    times: int
    fewer: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_wrap_validator_function(self._check, handler(source))

    def _check(self, value: Any, check_one: Callable[[Any], Distribution]) -> Distribution:
        if isinstance(value, Listed):
            value = value.value
        if isinstance(value, str) and value.startswith("["):  # of the command line
            value = value.strip("[] ").split(",")
        if not isinstance(value, list | tuple):
            return check_one(value)
        numbers = [one.value for one in map(check_one, value) if isinstance(one, Constant)]
        count = len(numbers)
        if count != len(value) or not count or (count != self.times and not self.fewer):
            raise _finding(f"must be a list of {self.times} numbers, not {value}")
        if count > self.times:
            raise _finding(f"must be a list of {self.times} numbers at most, not {count}")
        return Listed((*numbers, *numbers[-1:] * (self.times - count)))


@dataclass(frozen=True)
class Chance:
    """Annotates a field that is the probability of something: what is drawn is whether it is."""


@dataclass(frozen=True)
class Within:
    """Annotates a field of a pydantic model: a distribution of numbers within [low, high]."""

    low: float
    high: float
    unit: str = ""  # what the numbers count, for people ("EV", "pixels"); "" for plain ones
    whole: bool = False  # whether they are whole numbers

    def __str__(self) -> str:
        return (
            f"{format_value(self.low)} to {format_value(self.high)}"
            + f" {self.unit}".rstrip()
            + (", whole" if self.whole else "")
        )

    def _check(self, value: Any) -> Distribution:
        distribution = _parsed(value)
        for extreme in distribution.extremes():
            if isinstance(extreme, str):
                raise _finding(f"{extreme!r} is not a number; allowed is {ALLOWED}")
            if not self.low <= extreme <= self.high:
                raise _finding(
                    f"{format_value(extreme)} is outside {format_value(self.low)} to"
                    f" {format_value(self.high)}"
                )
            if self.whole and (
                extreme != int(extreme) or not isinstance(distribution, Constant | Choice)
            ):
                raise _finding(
                    f"{format_value(extreme)}: must be a whole number or choice(a, b, ...) of whole"
                    " numbers"
                )
        return distribution

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return _schema(self._check)


@dataclass(frozen=True)
class OneOf:
    """Annotates a field of a pydantic model: a distribution (constant or choice) over names."""

    names: tuple[str, ...]
    more: bool = False  # whether the model itself may know others, and checks them

    def __str__(self) -> str:
        return "" if self.more else ", ".join(self.names)

    def _check(self, value: Any) -> Distribution:
        distribution = _parsed(value)
        for extreme in distribution.extremes():
            if extreme not in self.names and not (self.more and isinstance(extreme, str)):
                raise _finding(f"unknown name {extreme!r}; allowed: {', '.join(self.names)}")
        return distribution

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return _schema(self._check)


def _schema(check: Callable[[Any], Distribution]) -> core_schema.CoreSchema:
    as_text = core_schema.plain_serializer_function_ser_schema(
        lambda d: d.value if isinstance(d, Constant) else str(d)
    )
    return core_schema.no_info_plain_validator_function(check, serialization=as_text)


def _parsed(value: Any) -> Distribution:
    try:
        return parse(value)
    except ValueError as error:
        raise _finding(str(error)) from None


def _finding(message: str) -> PydanticCustomError:
    return PydanticCustomError("gloam", "{message}", {"message": message})


def number(
    bounds: tuple[float, float] | tuple[float, float, str],
    about: str,
    *,
    default: float | Constant = 0.0,
    whole: bool = False,
    each: int = 0,
    fewer: bool = False,
    chance: bool = False,
    added: bool = False,
) -> Any:
    """Declare a parameter that is a number within bounds, with their unit, and say what it is.

    whole: see `Within`. each, fewer: of `Each`. chance, added: whether it is a `Chance`, `Added`.
    """
    default = default if isinstance(default, Constant) else Constant(default)
    within = Within(bounds[0], bounds[1], bounds[2] if len(bounds) == 3 else "", whole)
    marks = [within, *[Each(each, fewer)] * bool(each), *[Chance()] * chance]
    return _declared(default, about, [*marks, *[Added()] * added])


def one_of(names: tuple[str, ...], about: str, *, default: str, more: bool = False) -> Any:
    """Declare a parameter that is one of some names, and say what it is; see `OneOf`."""
    return _declared(Constant(default), about, [OneOf(names, more)])


def _declared(default: Constant, about: str, marks: list[Any]) -> Any:
    field: Any = Field(default=default, description=about)
    field.metadata += marks
    return field


def within_of(kind: type[BaseModel], path: str) -> Within | None:
    """Return the bounds of a number that recipes of a kind draw once an image, by its path.

    The last part of a path may say which of several (`Each`). None where there is no such number.
    """
    name, _, rest = path.partition(".")
    field = kind.model_fields.get(name)
    if field is None:
        return None
    if inner := section_of(field):
        return None if inner.repeated else within_of(inner, rest)
    each = mark_of(field, Each)
    wanted = [str(i) for i in range(each.times)] if each else [""]
    return mark_of(field, Within) if rest in wanted and not mark_of(field, Chance) else None
