"""YAML that people write, read strictly: what a text means is what it looks like."""

from __future__ import annotations

import re
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from ..errors import ConfigError
from .untrusted import naming, read_regular

_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MERGE = "tag:yaml.org,2002:merge"
_READ_OTHERWISE = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
"""Kinds that YAML 1.1 takes plain texts for: `no` and `on`, `2024-01-01`."""
_EXPONENT = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+$", re.ASCII)
_OCTAL, _SIXTIES = re.compile(r"[-+]?0[0-9_]+"), re.compile(r"[^:]*:.*")
_LARGEST = 1 << 19  # bytes of a file that people write
_MOST_VALUES = 100_000  # in one, aliases followed
_LONGEST_NUMBER = 100  # characters; Python itself takes hexadecimal ones of any length


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


def load_shipped(package: str | None, name: str) -> dict[str, Any]:
    """Read a YAML file of a package of gloam's, by LibYAML where it is there."""
    text = (resources.files(package or "") / name).read_text("utf-8")
    values: dict[str, Any] = yaml.load(text, _Shipped)
    return values


def load_yaml(path: Path, lines: dict[str, int] | None = None) -> dict[str, Any]:
    """Read a mapping from a YAML file of at most 512 KiB, by the safe loader.

    lines: gets the line that each key stands on, by its way from above: `mix.synth.weight`.

    Raises ConfigError when the file cannot be read, is too large, is not YAML, or is not a mapping.
    """
    with naming(path, OSError, ValueError, kind=ConfigError):  # of a name that no file can have
        data = read_regular(path, _LARGEST)
    with naming(path, ValueError, what="not YAML: ", kind=ConfigError):
        text = data.decode("utf-8")
    values = parse_yaml(text, path)
    if lines is not None:
        lines |= _lines_of_keys(yaml.compose(text, _Loader))
    return values


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


def _lines_of_keys(node: yaml.Node | None, above: str = "") -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        found[f"{above}{key.value}"] = key.start_mark.line + 1
        found |= _lines_of_keys(value, f"{above}{key.value}.")
    return found
