"""Draw an image's parameters by walking its recipe; the draw has the recipe's structure.

Every parameter has a random number of its own, keyed by (seed, key, the parameter's path in the
recipe), so that changing one distribution of a recipe leaves all other parameters as they were.

Draws of sets are checked: kernels take their numbers as they are, as places in tables and as
lengths of loops, and the records of sets may be anybody's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin

import numpy as np
import numpy.typing as npt
from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    create_model,
    model_serializer,
)
from pydantic.fields import FieldInfo

from ...storage.untrusted import shown
from .distributions import UNIT, Constant, Distribution
from .keyed_random import Columns, KeyedRandom, Ragged
from .schema import Added, Chance, Each, OneOf, Section, Within, mark_of, section_of

D = TypeVar("D", bound="Drawn")
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


class Drawn(BaseModel):
    """A part of one image's own parameters, shaped like the recipe's section of it.

    A field with a default came after the first sets: it is left out of JSON where it is at that,
    unless it was given, so that all records of a recipe have the same keys.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        for name, default in _defaults(type(self)):
            if name not in self.model_fields_set and getattr(self, name) == default:
                values.pop(name, None)
        return values

    def changed(self: D, values: dict[str, Any]) -> D:
        """Return the same draw with other values, by their paths.

        values: such as `{"exposure.ev": 3.0, "camera.sensor.gain": 0.5}`. They are not checked.
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


@dataclass(frozen=True)
class Off:
    """Annotates a part that records may lack: its values in an image that has none of it."""

    values: Drawn


def nothing_of(kind: type[D]) -> D:
    """Return a part of an image that has none of it: zeros, no numbers, the last of its names."""
    values: dict[str, Any] = {}
    required = {
        name: one.annotation for name, one in kind.model_fields.items() if one.is_required()
    }
    for name, annotation in required.items():
        if isinstance(annotation, type) and issubclass(annotation, Drawn):
            values[name] = nothing_of(annotation)
        elif annotation in (int, float):
            values[name] = 0
        else:
            values[name] = () if get_origin(annotation) is tuple else get_args(annotation)[-1]
    return kind(**values)


@lru_cache(maxsize=128)
def record_of(section: type[Section], optional: bool = False) -> Any:
    """Return the class of a section's draws: a number, a name or several of each parameter.

    Probabilities are none of them, as what is drawn is whether something is there at all; what
    is `beside` comes behind a count or the model's name, or last.

    optional: whether all of it came after the first sets, and has a default.
    """
    fields: dict[str, Any] = {}
    for name, field in section.model_fields.items():
        added, within, names = mark_of(field, Added), mark_of(field, Within), mark_of(field, OneOf)
        default: Any = getattr(field.default, "value", None) if added or optional else ...
        if inner := section_of(field):
            own = record_of(inner, True) if added and not added.none else record_of(inner)
            if added and added.none:
                fields[name] = Annotated[own | None, Off(nothing_of(own))], None
            else:
                fields[name] = own, own() if added else ...
        elif mark_of(field, Each):
            fields[name] = tuple[float, ...], default if default is ... else ()
        elif within and section.repeated and name != "count":
            fields[name] = tuple[float, ...], default
        elif within and not mark_of(field, Chance):
            number = int if within.whole else float
            fields[name] = number, default if default is ... else number(default)
        elif names:
            fields[name] = Literal[names.names], default
        elif name == "model":
            fields[name] = field.annotation, field.default
        if name in ("count", "model"):
            fields |= section.beside
    fields = {name: one for name, one in (fields | section.beside).items() if one is not None}
    name = f"{section.__name__.removesuffix('Section')}Draw"
    record = create_model(name, __base__=Drawn, __module__=section.__module__, **fields)
    setattr(sys.modules[section.__module__], name, record)  # where pickle looks for it
    return record


@lru_cache(maxsize=64)
def _defaults(kind: type[Drawn]) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (name, field.default)
        for name, field in kind.model_fields.items()
        if name != "model" and not field.is_required()
    )


def draw_section(section: Section, random: KeyedRandom, also: Sequence[str] = ()) -> Columns:
    """Draw all parameters of a section, and of the sections in it, for many images.

    random: the random numbers of N images. also: paths that are drawn even if they are `Added` and
    at their default.

    Returns columns by their paths: numbers or names; `Ragged` where the field is drawn several
    times (`Each`, or a section with a `count`); bools for a `Chance`. A constant costs no random
    number. Fields that are `Added` and at their default are left out.
    """
    plan = _plan(_Same(section), tuple(also))
    count = len(random)
    columns = random.values(plan.once)
    columns.update(zip(plan.fixed, np.repeat(plan.numbers[:, None], count, 1), strict=True))
    columns |= {path: np.full(count, name) for path, name in plan.names.items()}
    for path in plan.chances:
        columns[path] = columns[path] < columns.pop(f"{path}.value").astype(np.float64)
    for path in plan.whole:
        columns[path] = columns[path].astype(np.int64)
    for times, values in plan.several.items():
        many = columns[times] if isinstance(times, str) else np.full(count, times)
        columns |= random.several(values, many)
    return columns


class _Plan(NamedTuple):
    """Distributions of a section, by path.

    fixed, numbers: paths of constants, and their values (P). names: those that are names. several:
    by how often they are drawn, a number or the path of a count. whole: what is a whole number.
    """

    once: dict[str, Distribution]
    fixed: list[str]
    numbers: npt.NDArray[np.float64]
    names: dict[str, str]
    several: dict[Any, dict[str, Distribution]]
    chances: list[str]
    whole: list[str]


class _Same:
    """A section as the key of a cache: a frozen one is the same for ever.

    A hash of its values would take as long as the plan.
    """

    def __init__(self, section: Section) -> None:
        self.section = section

    def __hash__(self) -> int:
        return id(self.section)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.section is self.section


@lru_cache(maxsize=64)
def _plan(same: _Same, also: tuple[str, ...]) -> _Plan:
    once: dict[str, Distribution] = {}
    several: dict[Any, dict[str, Distribution]] = {}
    chances, whole = [], []
    for path, value, field, count in _drawn_fields(same.section, "", also):
        each, within = mark_of(field, Each), mark_of(field, Within)
        if each or count:
            several.setdefault(each.times if each else count, {})[path] = value
        elif mark_of(field, Chance):
            once.update({path: UNIT, f"{path}.value": value})
            chances.append(path)
        else:
            once[path] = value
            whole.extend([path] if within and within.whole else [])
    fixed = {path: one.value for path, one in once.items() if isinstance(one, Constant)}
    names = {path: value for path, value in fixed.items() if isinstance(value, str)}
    paths = [path for path in fixed if path not in names]
    numbers = np.array([fixed[path] for path in paths], np.float64)
    drawn = {path: one for path, one in once.items() if path not in fixed}
    return _Plan(drawn, paths, numbers, names, several, chances, whole)


def _drawn_fields(
    section: Section, path: str, also: Sequence[str]
) -> Iterator[tuple[str, Distribution, FieldInfo, str]]:
    """Yield path, distribution and field of each parameter to draw, and the path of its `count`.

    path: of the section in its recipe, with a dot at its end. The last is "" for what is drawn
    once. Fields that are for people, or taken as they are, are none.
    """
    repeated = type(section).repeated
    for name, field in type(section).model_fields.items():
        value, own = getattr(section, name), path + name
        added = mark_of(field, Added) is not None and value == field.default
        if added and not any(f"{one}.".startswith(f"{own}.") for one in also):
            continue
        if section_of(field):
            yield from _drawn_fields(value, f"{own}.", also)
        elif mark_of(field, Within) or mark_of(field, OneOf):
            yield own, value, field, f"{path}count" if repeated and name != "count" else ""


def records_of(kind: type[D], columns: Columns) -> list[D]:
    """Return the draws of N images as records."""
    lists = [(path.split("."), column.tolist()) for path, column in columns.items()]
    records = []
    for i in range(len(lists[0][1])):
        values: dict[str, Any] = {}
        for (*sections, name), column in lists:
            inner = values
            for section in sections:
                inner = inner.setdefault(section, {})
            inner[name] = column[i]
        records.append(kind.model_validate(values))
    return records


def columns_of(kind: type[Drawn], records: Sequence[Drawn]) -> Columns:
    """Return the columns of N records: those that `records_of` takes, none left out."""
    columns: Columns = {}
    for path, leaf in leaves(kind).items():
        values = [leaf.get(record) for record in records]
        if values and isinstance(values[0], tuple):
            counts = np.array([len(value) for value in values])
            table = np.zeros((len(values), int(counts.max())))
            for row, value in zip(table, values, strict=True):
                row[: len(value)] = value
            columns[path] = Ragged(table, counts)
        else:
            columns[path] = np.array(values, leaf.dtype)
    return columns


class Leaf(NamedTuple):
    """A parameter of a record.

    get: function of a record, returns its value; where the part that has it is missing, as if that
    were `Off`.
    """

    get: Callable[[Any], Any]
    dtype: Any  # of its column
    default: Any  # of one that came after the first sets


@lru_cache(maxsize=8)
def leaves(kind: type[Drawn]) -> dict[str, Leaf]:
    """Return the parameters of a record by their paths."""
    found: dict[str, Leaf] = {}
    for name, field in kind.model_fields.items():
        mark = mark_of(field, Off)
        off = mark and mark.values
        inner = field.annotation if off is None else type(off)
        if isinstance(inner, type) and issubclass(inner, Drawn):
            for path, leaf in leaves(inner).items():
                found[f"{name}.{path}"] = leaf._replace(get=partial(_inner, name, off, leaf.get))
        elif name != "model":
            default = None if field.is_required() else field.default
            dtype = np.float64 if inner in (float, float | None) else None
            found[name] = Leaf(attrgetter(name), dtype, default)
    return found


def _inner(name: str, off: Any, get: Callable[[Any], Any], record: Any) -> Any:
    own = getattr(record, name)
    return get(off if own is None else own)


def check_numbers(
    drawn: Drawn, recipe: type[Section], others: Mapping[str, Bounds]
) -> dict[str, int]:
    """Check the numbers of a draw against the bounds of its recipe's parameters.

    others: bounds of numbers by their paths, where no recipe says them.

    Returns how many numbers there are, by path, where there are several. Raises ValueError, with
    its path, for one that is out of bounds.
    """
    lengths: dict[str, int] = {}
    _check(drawn, _bounded(type(drawn), recipe), others, lengths)
    return lengths


class _Bounded(NamedTuple):
    """A part of a draw: name, path and bounds of each of its numbers; the parts in it.

    off: what the part is in an image that has none of it, as rows of published mixtures say.
    """

    numbers: tuple[tuple[str, str, float, float], ...]
    inner: tuple[tuple[str, _Bounded], ...]
    off: Any = None


def _check(
    drawn: Drawn, part: _Bounded, others: Mapping[str, Bounds], lengths: dict[str, int]
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
def _bounded(kind: type[Drawn], recipe: type[BaseModel] | None, above: str = "") -> _Bounded:
    numbers, inner = [], []
    for name, field in kind.model_fields.items():
        kinds = get_args(field.annotation) or (field.annotation,)
        drawn = next(
            (one for one in kinds if isinstance(one, type) and issubclass(one, Drawn)), None
        )
        known = recipe.model_fields.get(name) if recipe else None
        if drawn is not None:
            own, off = (
                _bounded(drawn, known and section_of(known), f"{above}{name}."),
                mark_of(field, Off),
            )
            inner.append((name, own._replace(off=off and off.values)))
        elif not {int, float} & {field.annotation, *kinds}:
            continue  # a name, or one of several
        else:
            within = known and mark_of(known, Within)
            bounds = _DRAWN.get(name, (within.low, within.high) if within else (0.0, 0.0))
            numbers.append((name, f"{above}{name}", *bounds))
    return _Bounded(tuple(numbers), tuple(inner))
