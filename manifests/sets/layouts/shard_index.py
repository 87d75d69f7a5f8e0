"""DALI's index of a shard, v1.2: a line a sample, of ending, offset, size, name of each member."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from ....storage.parquet import pc
from ....storage.untrusted import (
    ENDING,
    KEY,
    MOST_BYTES,
    SAMPLE_NAME,
    naming,
    odd_name,
    read_file,
    shown,
)
from ..sample import split_ending
from .extents import BLOCK, NAME

INDEX_VERSION = "v1.2"
_MANY_BYTES = 1 << 22
_DIGITS = 15  # of a number, at most
_NAME = re.compile(SAMPLE_NAME)
_DIFFERENT = "its samples do not have the same members"


class Member(NamedTuple):
    """A line group of an index: where one file of a sample lies in the tar."""

    ending: str
    offset: int
    size: int
    name: str


class Members(NamedTuple):
    """All members of a tar in order: of each sample those of `kinds`, such as "json" and "low"."""

    names: list[str]
    offsets: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    kinds: list[str]


def read_index(path: Path, tar_bytes: int | None = None) -> list[list[Member]]:
    """Read the samples of an index, each a list of members; see `read_members`."""
    names, offsets, sizes, kinds = read_members(path, tar_bytes)
    members = [
        Member(name.partition(".")[2], offset, size, name)
        for name, offset, size in zip(names, offsets.tolist(), sizes.tolist(), strict=True)
    ]
    return [members[i : i + len(kinds)] for i in range(0, len(members), len(kinds) or 1)]


def read_members(path: Path, tar_bytes: int | None = None) -> Members:
    """Read an index, and check every name and number in it.

    tar_bytes: size of its tar, in which all members must lie.

    Raises SetError when it is missing, not an index of version 1.2, or names what a shard cannot
    hold.
    """
    with naming(path, ValueError, what=f"not a DALI index of {INDEX_VERSION}: "):
        first, _, body = read_file(path).decode("ascii").partition("\n")
        lines = body.removesuffix("\n").split("\n") if body else []
        if first != f"{INDEX_VERSION} {len(lines)}" or body[-1:] not in ("", "\n"):
            raise ValueError(f"first line says {shown(first)}, {len(lines)} samples follow")
        words = body.removesuffix("\n").replace("\n", " ").split(" ") if body else []
        return _checked_members(words, lines, MOST_BYTES if tar_bytes is None else tar_bytes)


def _checked_members(words: list[str], lines: list[str], tar_bytes: int) -> Members:
    """Check the words of an index, four for each member, as many in each line."""
    endings, names, numbers = words[::4], words[3::4], [*words[1::4], *words[2::4]]
    width = len(words) // 4 // max(len(lines), 1)
    if any(line.count(" ") != 4 * width - 1 for line in lines):
        raise ValueError(_DIFFERENT)
    if not all(map(str.isdecimal, numbers)) or max(map(len, numbers), default=0) > _DIGITS:
        raise ValueError("has offsets or sizes that are no numbers")
    offsets, sizes = np.array(list(map(int, numbers)), np.int64).reshape(2, -1)
    keys = [name.partition(".")[0] for name in names[:: width or 1]]
    ends = iter(endings)
    expected = [f"{key}.{next(ends)}" for key in keys for _ in range(width)]
    known = all(map(KEY.match, keys)) and all(map(ENDING.match, set(endings)))
    if names != expected or not known or len(max(names, key=len, default="")) > NAME:
        both = zip(names, expected, strict=True)
        odd = next(a for a, b in both if a != b or not _NAME.match(a) or len(a) > NAME)
        raise ValueError(odd_name(odd, "is no member of it"))
    kinds = [{split_ending(end)[0] for end in set(endings[i::width])} for i in range(width)]
    if any(len(one) > 1 for one in kinds):
        raise ValueError(_DIFFERENT)
    _check(offsets, sizes, np.int64(tar_bytes))
    return Members(names, offsets, sizes, [min(one) for one in kinds])


@dataclass(frozen=True)
class Columns:
    """Offsets and sizes of the members of some kinds, of the samples of several indexes in order.

    counts: samples of each index.
    blocks, sizes: uint32 arrays (samples, names); their first byte in blocks of 512 bytes, and how
      many bytes they have.
    names: names of each sample's first member.
    """

    counts: list[int]
    blocks: npt.NDArray[np.uint32]
    sizes: npt.NDArray[np.uint32]
    names: list[str] | None


def read_columns(
    texts: Sequence[bytes], tar_bytes: Sequence[int], kinds: Sequence[str], named: bool
) -> Columns:
    """Read indexes as columns: ten times as fast as `read_index`.

    texts: indexes as `ShardWriter` writes them; the samples of all have the same members.
    tar_bytes: the size of the tar of each, in which all members must lie.
    kinds: such as ("low", "normal").
    named: whether names are wanted.

    Raises ValueError when they are not such indexes.
    """
    counts, bodies, members = [], [], set()
    for text in texts:
        endings, body, count = _index_body(text)
        members.add(tuple(split_ending(ending)[0] for ending in endings))
        counts.append(count)
        bodies.append(body)
    if len(members) > 1:
        raise ValueError(_DIFFERENT)
    (known,) = members
    at = [known.index(kind) for kind in kinds]
    table = _index_table(b"".join(bodies), len(known), ["name0"] if named else [])
    if table.num_rows != sum(counts):
        raise ValueError(_DIFFERENT)
    ends = np.repeat(np.asarray(tar_bytes, np.int64), counts)
    blocks = np.empty((table.num_rows, len(at)), np.uint32)
    sizes = np.empty((table.num_rows, len(at)), np.uint32)
    for member in range(len(known)):
        both = table[f"at{member}"], table[f"size{member}"]
        if both[0].null_count or both[1].null_count:
            raise ValueError("a member has no offset or size")
        offsets, lengths = map(_int64_column, both)
        _check(offsets, lengths, ends)
        for column in (k for k, one in enumerate(at) if one == member):
            blocks[:, column], sizes[:, column] = offsets // BLOCK, lengths
    if named and not pc.all(pc.match_substring_regex(table["name0"], SAMPLE_NAME)).as_py():
        raise ValueError("a member has a name that gloam does not give")
    return Columns(counts, blocks, sizes, table["name0"].to_pylist() if named else None)


def _index_body(text: bytes) -> tuple[list[str], bytes, int]:
    """Return the endings of the first sample's members, the lines of all, and their number."""
    first, _, body = text.partition(b"\n")
    count = body.count(b"\n")
    if not count or first != f"{INDEX_VERSION} {count}".encode():
        raise ValueError(
            f"first line says {shown(first.decode('latin-1'))}, {count} samples follow"
        )
    if any(odd in body for odd in (b"\r", b" 0x", b" 0X")):  # which Arrow reads otherwise than DALI
        raise ValueError("has what no index holds")
    return body[: body.index(b"\n")].decode("ascii").split(" ")[::4], body, count


def _index_table(body: bytes, members: int, texts: list[str]) -> pa.Table:
    """Read groups of four words as columns: numbers, and those of `texts`."""
    every = [f"{part}{i}" for i in range(members) for part in ("end", "at", "size", "name")]
    numbers = [name for name in every if name.startswith(("at", "size"))]
    types = {name: pa.int64() if name in numbers else pa.string() for name in every}
    return csv.read_csv(
        pa.BufferReader(body),
        # Threads that begin cost more than the lines of a few shards.
        csv.ReadOptions(
            column_names=every, block_size=1 << 22, use_threads=len(body) > _MANY_BYTES
        ),
        csv.ParseOptions(delimiter=" ", quote_char=False),
        csv.ConvertOptions(column_types=types, include_columns=numbers + texts),
    )


def _int64_column(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return a column of int64 without nulls; Arrow's own way imports pandas, for half a second."""
    array = column.combine_chunks()
    return np.frombuffer(array.buffers()[1], np.int64, len(array), 8 * array.offset)


def _check(offsets: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], tar_bytes: Any) -> None:
    """Refuse members that do not lie in their tar of `tar_bytes`, a number or one for each."""
    if (offsets % BLOCK).any() or (offsets < BLOCK).any():
        raise ValueError("a member does not begin at a block")
    # In this order nothing overflows.
    if (sizes < 0).any() or (sizes > tar_bytes).any() or (offsets > tar_bytes - sizes).any():
        raise ValueError("a member does not lie in its tar")
    if sizes.max(initial=0) >= 1 << 32:
        raise ValueError("a member is too large")
