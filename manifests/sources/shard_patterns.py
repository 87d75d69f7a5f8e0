"""The shards that a name with braces and stars stands for: `train-{000..099}.tar`, `*.tar`."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

from braceexpand import braceexpand

from ...errors import SourceError
from ...storage.stores import as_path
from .folders import HIDDEN, is_hidden

_MOST_SHARDS = 1_000_000
_INNERMOST = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.-?(\d+))?")
_LETTERS = re.compile(r"[A-Za-z]\.\.[A-Za-z](?:\.\.-?\d+)?")
_COUNTED = re.compile("\0(\\d+)\0")


def expand_shards(path: str, passed: Counter[str]) -> list[Path]:
    """Return the shards that a pattern names, in its order; hidden ones are counted in `passed`.

    Raises SourceError when it names none, too many, or cannot be read.
    """
    try:
        if (many := count_expansions(path)) > _MOST_SHARDS:
            raise SourceError(
                f"webdataset={path}: its braces stand for {many:,} shards, the limit is"
                f" {_MOST_SHARDS:,}"
            )
        patterns = list(braceexpand(path))
    except ValueError as error:  # unbalanced braces
        raise SourceError(f"webdataset={path}: {error}") from error
    shards: list[Path] = []
    for pattern in patterns:
        parent = as_path(pattern).parent
        matches = (
            sorted(parent.glob(as_path(pattern).name)) if "*" in pattern else [as_path(pattern)]
        )
        if not matches:
            raise SourceError(f"webdataset={pattern}: matches no shard")
        shown = [shard for shard in matches if not is_hidden(shard.name)]
        if len(shown) < len(matches):
            passed[HIDDEN] += len(matches) - len(shown)
        shards += shown
    return shards


def count_expansions(pattern: str) -> int:
    """Return how many names the braces of a pattern stand for, without expanding them.

    Examples
    --------
    >>> count_expansions("{train,val}-{000..099}.tar"), count_expansions("{0..9999999999}")
    (200, 10000000000)
    """

    def product(text: str) -> int:
        return math.prod(map(int, _COUNTED.findall(text)))

    def counted(group: re.Match[str]) -> str:
        if found := _RANGE.fullmatch(group[1]):
            first, last, step = (int(number or 1) for number in found.groups())
            return f"\0{abs(last - first) // (step or 1) + 1}\0"
        if _LETTERS.fullmatch(group[1]):
            return f"\0{len(list(braceexpand(group[0])))}\0"
        return f"\0{sum(map(product, group[1].split(',')))}\0"

    changed = 1
    while changed:
        pattern, changed = _INNERMOST.subn(counted, pattern)
    return product(pattern)
