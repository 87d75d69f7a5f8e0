"""The rules of real sets: one YAML file a set, data alone; and pairing by patterns in names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import PurePath
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from ...errors import ConfigError, SourceError
from ...storage.untrusted import SPLITS
from ...storage.yaml_files import load_shipped
from ..config import Frozen, validate
from ..images.header import SUFFIXES
from ..images.npy import SUFFIX

_FIELD = re.compile(r"\{(\w+)(?::([^{}]+))?\}|(\*)")
_IMAGE = f"(?:{'|'.join(one.removeprefix('.') for one in (*SUFFIXES, SUFFIX))})"
_WORD, _BETWEEN = r"[^\s,;]+", r"[\s,;]+"
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
Fields = tuple[str | None, ...]
Box = tuple[float, float, float, float]
Match = str | tuple[str, str]


class Template(str):
    """A path in which `{field}` stands for what it captures, `{field:regex}` for that.

    Both stay within a folder's name or a file's; `*` is the suffix of any image that gloam reads.
    Letters' case makes no difference.

    Examples
    --------
    >>> Template("Low/low{number}.png").match("Low/low00690.png")["number"]
    '00690'
    """

    def match(self, path: str) -> re.Match[str] | None:
        """Match a relative path, whole."""
        return self.pattern.fullmatch(path)

    @property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression that it stands for."""
        return _template_pattern(str(self))

    @property
    def shown(self) -> str:
        """The template as people read it, without regular expressions."""
        return _FIELD.sub(_field_shown, self)


def _field_shown(field: re.Match[str]) -> str:
    if field[3]:
        return "*"
    regex = field[2] or ""
    if not re.fullmatch(r"\w+(\|\w*)*", regex):
        may_miss = regex and re.fullmatch(regex, "")
        return "" if may_miss else "{" + field[1] + "}"
    return f"[{regex[:-1]}]" if regex.endswith("|") else f"({regex})"


@lru_cache(maxsize=1024)
def _template_pattern(template: str) -> re.Pattern[str]:
    made, at, seen = "", 0, set()
    for field in _FIELD.finditer(template):
        made += re.escape(template[at : field.start()])
        name, regex = field[1], field[2] or "[^/]+?"
        if field[3]:
            made += _IMAGE
        else:
            made += f"(?P={name})" if name in seen else f"(?P<{name}>{regex})"
            seen.add(name)
        at = field.end()
    return compile_pattern(made + re.escape(template[at:]))


class Listing(Frozen):
    """A list of a set's own that says which files a split has.

    file: path of the list, in the set.
    line: regular expression of its lines, between blanks; its first group is the value, the last
      one what says the split. Lines without any digit are heads.
    split: what those of this split have there.
    """

    file: str
    line: str
    split: str


class LabelRule(Frozen):
    """Files that say where objects are.

    file: templates with the fields of the low; the first one that is there counts.
    line: what a line begins with: left, top, and right and bottom or width and height, numbers in
      pixels; and name, where there is one. Blanks, commas or semicolons are between them; commas
      between digits are decimal ones where blanks or semicolons part them all. A line that blanks
      part so, and that has a box by its commas, too, is read as other lines of its file are.
    name: class, where lines have none.
    """

    file: tuple[str, ...]
    line: str
    name: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression of a line, with groups of those names."""
        parts = [f"(?P<{one}>{_WORD if one == 'name' else _NUMBER})" for one in self.line.split()]
        return re.compile(rf"\s*{_BETWEEN.join(parts)}(?:[\s,;].*)?\s*", re.ASCII)

    def read(self, lines: Sequence[str]) -> list[tuple[str, Box] | None]:
        """Return the classes and boxes (left, top, right, bottom) of a file's lines, or None."""
        ways = [(self.pattern.fullmatch(line), self._with_decimal_commas(line)) for line in lines]
        boxes = [(self._marked(plain), self._marked(found)) for plain, found in ways]
        clear = any(other and not plain for plain, other in boxes) and not any(
            "," in line and not found for line, (_, found) in zip(lines, ways, strict=True)
        )
        read = []
        for line, (_, found), (plain, other) in zip(lines, ways, boxes, strict=True):
            unclear = found and plain and plain != other and ";" not in line and not clear
            read.append(None if unclear else other if found else plain)
        return read

    def _with_decimal_commas(self, line: str) -> re.Match[str] | None:
        if "," in line and len(re.split(r"[\s;]+", line.strip())) >= len(self.line.split()):
            return self.pattern.fullmatch(re.sub(r"(?<=\d),(?=\d)", ".", line))
        return None

    def _marked(self, found: re.Match[str] | None) -> tuple[str, Box] | None:
        sides = found.groupdict() if found else {}
        left, top = (float(sides.get(side, "nan")) for side in ("left", "top"))
        right = float(sides.get("right") or left + float(sides.get("width", "nan")))
        bottom = float(sides.get("bottom") or top + float(sides.get("height", "nan")))
        if left <= right < math.inf and top <= bottom < math.inf:
            return sides.get("name") or self.name, (left, top, right, bottom)
        return None


class Rule(Frozen):
    """Files of one split.

    low, normal: files with equal values of the fields that both have are a pair; several lows may
      share a normal. A set without normals, or without lows, has one of them.
    only, but: dict of a field to a list's name; files whose field is in a list, or is not.
    first: whether the first of several normals is taken, as the field's loaders do.
    """

    low: str = ""
    normal: str = ""
    only: dict[str, str] = Field(default_factory=dict)
    but: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    first: bool = False

    @model_validator(mode="after")
    def _of_something(self) -> Self:
        if not self.low and not self.normal:
            raise ValueError("low or normal: at least one is needed")
        return self

    @property
    def templates(self) -> list[Template]:
        """Templates of its files' names."""
        return [Template(one) for one in (self.low, self.normal) if one]


_Rules = Annotated[
    tuple[Rule, ...], BeforeValidator(lambda value: value if isinstance(value, list) else [value])
]
"""The rules of a split; a file may have one without a list around it."""


class SetRules(Frozen):
    """A real set.

    title, paper, holds, terms, url, source: its name in the field, who made it, what it holds,
      under which terms and where its authors offer it, and the repository whose code or words the
      rules were read in.
    scene: the field that tells scenes apart; without one every normal is a scene.
    layouts: tuple of dict of a split to rules; ways in which it lies about: the first one that fits
      counts.
    lists: dict of a name to values, or to a file of them.
    """

    title: str
    paper: str
    holds: str
    terms: str
    url: str
    source: str
    scene: str = ""
    layouts: tuple[dict[str, _Rules], ...]
    lists: dict[str, tuple[str, ...] | Listing] = Field(default_factory=dict)
    labels: LabelRule | None = None

    @property
    def splits(self) -> list[str]:
        """Those that it has in some layout, in order."""
        return [split for split in SPLITS if any(split in one for one in self.layouts)]

    @property
    def looks(self) -> list[str]:
        """Templates of its files' names: the layouts one after the other, lists, labels."""
        rules = [rule for layout in self.layouts for own in layout.values() for rule in own]
        found = [template for rule in rules for template in rule.templates]
        found += [Template(one.file) for one in self.lists.values() if isinstance(one, Listing)]
        found += map(Template, self.labels.file if self.labels else ())
        return list(dict.fromkeys(template.shown for template in found))


def set_names() -> list[str]:
    """Return the names of all sets that there are rules for, in order."""
    files = (one.name for one in resources.files(__package__).iterdir())
    return sorted(PurePath(name).stem for name in files if name.endswith(".yaml"))


@lru_cache(maxsize=64)
def load_rules(name: str) -> SetRules:
    """Read the rules of a set. Raises ConfigError when there is no set of that name."""
    names = set_names()
    if name not in names:
        raise ConfigError(f"{name}: no real set of that name; there are {', '.join(names)}")
    return validate(SetRules, load_shipped(__package__, f"{name}.yaml"), f"{name}.yaml")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a user's regular expression, ignoring case. Raises SourceError when it is none."""
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise SourceError(f"{pattern}: no regular expression: {error}") from None


def captured_fields(match: re.Match[str], names: Iterable[str]) -> Fields:
    """Return the captures of a match: by names, or by number if there are none."""
    names = list(names)
    return tuple(match[name] for name in names) if names else match.groups()


def shared_names(low: re.Pattern[str], normal: re.Pattern[str]) -> list[str]:
    """Return the names of groups that both patterns have.

    Raises SourceError when nothing says which files belong together.
    """
    names = sorted(low.groupindex.keys() & normal.groupindex.keys())
    if not names and (low.groups != normal.groups or not low.groups):
        raise SourceError(
            f"{low.pattern}, {normal.pattern}: both need the same capture groups, which say what"
            " belongs together, such as (\\d+)"
        )
    return names


def match_files(
    lows: Mapping[str, str], normals: Mapping[str, str], match: Match
) -> list[tuple[str, str]]:
    """Pair files by the captures of a pattern in their names; many lows may have one normal.

    lows, normals: mapping of a name to a path; names are relative paths with suffix, in order.
    match: str, or two; a regular expression that is found in the names of both, or one for either.

    Raises SourceError when a name has no match or no partner, or two normals capture the same.
    """
    patterns = (match, match) if isinstance(match, str) else tuple(match)
    low, normal = map(compile_pattern, patterns)
    names = shared_names(low, normal)
    by_fields: dict[Fields, str] = {}
    for name in normals:
        fields = _fields_in_name(normal, name, names)
        if fields in by_fields:
            raise SourceError(f"{name}, {by_fields[fields]}: {normal.pattern} captures the same")
        by_fields[fields] = name
    pairs, used = [], set()
    for name, path in lows.items():
        partner = by_fields.get(_fields_in_name(low, name, names))
        if partner is None:
            raise SourceError(f"{name}: no normal in which {normal.pattern} captures the same")
        used.add(partner)
        pairs.append((path, normals[partner]))
    alone = [name for name in normals if name not in used]
    if alone:
        raise SourceError(f"{alone[0]}: no low belongs to it, nor to {len(alone) - 1} others")
    return pairs


def _fields_in_name(pattern: re.Pattern[str], name: str, names: list[str]) -> Fields:
    found = pattern.search(name)
    if found is None:
        raise SourceError(f"{name}: {pattern.pattern} is not found in it")
    return captured_fields(found, names)
