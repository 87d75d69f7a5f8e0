"""Models of what people write, and pydantic's findings as lines: key, value, what is allowed."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from ..errors import ConfigError, visible

M = TypeVar("M", bound=BaseModel)

_MOST_FINDINGS = 20
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 2, 80, 80
_WHOLE: tuple[Any, ...] = (int, int | None)
_NUMBER: tuple[Any, ...] = (float, float | None)
_TRUTH: tuple[Any, ...] = (bool, bool | None)


class Numbers(BaseModel):
    """A model whose numbers and truths are none of those that Python takes for them.

    True and false are not 1 and 0, and a text, "3" or "yes", is neither.
    """

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_or_text(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str | int | float):
            return value
        kind = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, bool):
            if "bool" not in str(kind):
                raise ValueError("true and false are no numbers or names")
        elif kind in _TRUTH:
            raise ValueError("must be true or false")
        elif isinstance(value, float | str) and kind in _WHOLE:
            raise ValueError("must be a whole number")
        elif isinstance(value, str) and kind in _NUMBER:
            raise ValueError("must be a number")
        return value


class Frozen(Numbers):
    """A model of a file's values: unknown keys are refused, and nothing is changed later."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def shorten(value: Any) -> str:
    """Return the repr of a user's value, shortened."""
    return _SHORT.repr(value)


class InvalidValue(ValueError):
    """Raised by a validator of several fields for one of them: key, value, and what is allowed."""

    def __init__(self, key: str, value: Any, problem: str) -> None:
        shown = f"{value:g}" if isinstance(value, float) else f"{value}"
        super().__init__(f"{key} = {shown}: {problem}")
        self.key, self.value, self.problem = key, value, problem


def validate(model: type[M], values: dict[str, Any], where: str) -> M:
    """Validate a mapping as a model.

    Raises ConfigError with one line a finding: where, key, value and what is allowed.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        findings = error.errors(include_url=False)
        key, value, allowed = _finding_facts(findings[0], model)
        lines = [_finding_line(finding, model, where) for finding in findings[:_MOST_FINDINGS]]
        if len(findings) > _MOST_FINDINGS:
            lines.append(f"{where}: and {len(findings) - _MOST_FINDINGS:,} more like these")
        raise ConfigError("\n".join(lines), key=key, value=value, allowed=allowed) from None


def _finding_facts(finding: Any, model: type[BaseModel]) -> tuple[str, Any, Any]:
    """Return key, value, and what is allowed, of one of pydantic's findings."""
    place = [str(part) for part in finding["loc"]]
    own = finding.get("ctx", {}).get("error")
    if isinstance(own, InvalidValue):
        return ".".join([*place, own.key]), own.value, own.problem
    if finding["type"] == "extra_forbidden":
        return ".".join(place), finding["input"], _fields_at(model, finding["loc"][:-1])
    return ".".join(place), finding.get("input"), finding["msg"].removeprefix("Value error, ")


def _finding_line(finding: Any, model: type[BaseModel], where: str) -> str:
    key = ".".join(visible(str(part)[:80]) for part in finding["loc"])
    given = shorten(finding["input"])
    if finding["type"] == "extra_forbidden":
        known = ", ".join(_fields_at(model, finding["loc"][:-1]))
        near = _nearest_key(model, key)
        meant = f"; {near} is meant?" if near else ""
        known_here = f"; known here: {known}" if known else ""
        return f"{where}: unknown key {key} = {given}{meant}{known_here}"
    if finding["type"] in ("model_type", "dict_type") and (
        known := ", ".join(_fields_at(model, finding["loc"]))
    ):
        return f"{where}: {key} = {given}: must hold keys and values; known here: {known}"
    message = finding["msg"].removeprefix("Value error, ")
    if finding["type"] == "value_error" and isinstance(finding["input"], dict):
        return f"{where}: {key}.{message}" if key else f"{where}: {message}"  # names key and value
    shown = "" if finding["type"] == "missing" else f" = {given}"
    return f"{where}: {key}{shown}: {message}"


def _nearest_key(model: type[BaseModel], key: str) -> str:
    """Find the key of a model that somebody who wrote another one may have meant.

    It has the same last part, or is spelt nearly so; "" when there is none.
    """
    paths = list(_key_paths(model))
    last = key.rpartition(".")[2]
    same = [path for path in paths if path.rpartition(".")[2] == last]
    found = same[:1] or difflib.get_close_matches(key, paths, 1, 0.8)
    if not found:
        leaves = difflib.get_close_matches(last, [one.rpartition(".")[2] for one in paths], 1, 0.75)
        found = [path for path in paths if path.rpartition(".")[2] in leaves][:1]
    return found[0] if found else ""


def _fields_of(kind: Any) -> dict[str, Any]:
    """Return the type of each field of a model; nothing of other types."""
    if not isinstance(kind, type) or not issubclass(kind, BaseModel):
        return {}
    return {name: field.annotation for name, field in kind.model_fields.items()}


def _key_paths(kind: Any, prefix: str = "") -> Iterator[str]:
    for name, inner in _fields_of(kind).items():
        yield f"{prefix}{name}"
        yield from _key_paths(inner, f"{prefix}{name}.")


def _fields_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    kind: Any = model
    for part in path:
        kind = _fields_of(kind).get(str(part))
    return list(_fields_of(kind))
