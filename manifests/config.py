"""Reading YAML, and pydantic's findings as lines of file, key, value, and what is allowed."""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Iterator
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from ..errors import ConfigError, visible
from ..storage.untrusted import naming, read_regular

M = TypeVar("M", bound=BaseModel)

_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MERGE = "tag:yaml.org,2002:merge"
_READ_OTHERWISE = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
"""Kinds that YAML 1.1 takes plain texts for: `no` and `on`, `2024-01-01`."""
_EXPONENT = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+$", re.ASCII)
_OCTAL, _SIXTIES = re.compile(r"[-+]?0[0-9_]+"), re.compile(r"[^:]*:.*")
_LARGEST = 1 << 19  # bytes of a file that people write
_MOST_VALUES = 100_000  # in one, aliases followed
_MOST_FINDINGS = 20
_LONGEST_NUMBER = 100  # characters; Python itself takes hexadecimal ones of any length
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


def load_shipped(package: str | None, name: str) -> dict[str, Any]:
    """Read a YAML file of a package of gloam's, by LibYAML where it is there."""
    text = (resources.files(package or "") / name).read_text("utf-8")
    values: dict[str, Any] = yaml.load(text, _Shipped)
    return values


def shorten(value: Any) -> str:
    """Return the repr of a user's value, shortened."""
    return _SHORT.repr(value)


class InvalidValue(ValueError):
    """Raised by a validator of several fields for one of them.

    key: the field.
    value: its value.
    problem: the fault, and the values that are allowed.
    """

    def __init__(self, key: str, value: Any, problem: str) -> None:
        shown = f"{value:g}" if isinstance(value, float) else f"{value}"
        super().__init__(f"{key} = {shown}: {problem}")
        self.key, self.value, self.problem = key, value, problem


class _Unclear(Exception):
    """A number that YAML reads otherwise than it looks."""


class _Loader(yaml.SafeLoader):
    """The safe loader, which takes no text that grows when it is read, and no key twice.

    It reads what people mean: only `true` and `false` are such, 1e3 is a number, and a number that
    is another one to YAML 1.1 is refused.
    """

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()
        if node is not None:
            _count_values(node, {})
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key.value} stands twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [one for one in resolvers if one[0] not in _READ_OTHERWISE]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    _READ_OTHERWISE[0], re.compile("(true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver(_NUMBERS[1], _EXPONENT, list("-+.0123456789"))


class _Shipped(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A fast loader, not for strangers' files: of deep ones its recursion ends the process."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def _count_values(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """Count the values of a text with its aliases followed, each of which is looked at once.

    Raises ValueError when a value holds itself, there are too many, or a number is too long;
    _Unclear when one is not what it looks like.
    """
    if node not in known:
        known[node] = 0
        held = node.value if isinstance(node, yaml.CollectionNode) else []
        parts = chain.from_iterable(held) if isinstance(node, yaml.MappingNode) else held
        known[node] = 1 + sum(_count_values(part, known) for part in parts)
        if known[node] > _MOST_VALUES:
            raise ValueError(f"more than {_MOST_VALUES:,} values")
        if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            raise ValueError(f"a number of {len(node.value):,} characters")
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS:
            _refuse_unclear(node)
    elif not known[node]:
        raise ValueError("a value holds itself")
    return known[node]


def _refuse_unclear(node: yaml.ScalarNode) -> None:
    if _OCTAL.fullmatch(node.value):
        why = "is octal to YAML: write it without the leading 0"
    elif _SIXTIES.fullmatch(node.value):
        why = "counts in sixties to YAML: write it as one number"
    else:
        return
    raise _Unclear(
        f"line {node.start_mark.line + 1}: {node.value} {why}, or in quotes where it is a name"
    )


def load_yaml(path: Path) -> dict[str, Any]:
    """Read a mapping from a YAML file of at most 512 KiB, by the safe loader.

    Raises ConfigError when the file cannot be read, is too large, is not YAML, or is not a mapping.
    """
    with naming(path, OSError, ValueError, kind=ConfigError):  # of a name that no file can have
        data = read_regular(path, _LARGEST)
    with naming(path, ValueError, what="not YAML: ", kind=ConfigError):
        text = data.decode("utf-8")
    return parse_yaml(text, path)


def parse_yaml(text: str, where: object) -> dict[str, Any]:
    """Read a mapping from YAML, by the safe loader; `where` is named in errors.

    Raises ConfigError when it is too large, is not YAML, or is not a mapping.
    """
    if len(text) > _LARGEST:
        raise ConfigError.at(where, f"more than {_LARGEST >> 10} KiB of text")
    try:
        value = yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError.at(where, f"not YAML: {' '.join(str(error).split())[:1000]}") from error
    except _Unclear as error:
        raise ConfigError.at(where, str(error)) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError.at(where, f"expected keys and values, found a {type(value).__name__}")
    return value


def line_of(path: Path, key: str) -> int | None:
    """Return the line of a YAML file where a key stands, or what is there of the way to it.

    key: such as `mix.synth.weight`. None when nothing is.
    """
    node, line = yaml.compose(read_regular(path, _LARGEST).decode("utf-8"), _Loader), None
    while isinstance(node, yaml.MappingNode):
        inner = next((one for one in node.value if f"{key}.".startswith(f"{one[0].value}.")), None)
        if inner is None:
            break
        key = key[len(inner[0].value) + 1 :]
        line, node = inner[0].start_mark.line + 1, inner[1]
    return line


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
    """Write one of pydantic's findings as a line."""
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
