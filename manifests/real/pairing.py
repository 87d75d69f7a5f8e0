"""Pairing by patterns: files whose names agree in what two patterns capture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...errors import SourceError

Fields = tuple[str | None, ...]
Match = str | tuple[str, str]


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
        fields = _found(normal, name, names)
        if fields in by_fields:
            raise SourceError(f"{name}, {by_fields[fields]}: {normal.pattern} captures the same")
        by_fields[fields] = name
    pairs, used = [], set()
    for name, path in lows.items():
        partner = by_fields.get(_found(low, name, names))
        if partner is None:
            raise SourceError(f"{name}: no normal in which {normal.pattern} captures the same")
        used.add(partner)
        pairs.append((path, normals[partner]))
    alone = [name for name in normals if name not in used]
    if alone:
        raise SourceError(f"{alone[0]}: no low belongs to it, nor to {len(alone) - 1} others")
    return pairs


def _found(pattern: re.Pattern[str], name: str, names: list[str]) -> Fields:
    found = pattern.search(name)
    if found is None:
        raise SourceError(f"{name}: {pattern.pattern} is not found in it")
    return captured_fields(found, names)
