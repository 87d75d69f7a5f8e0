"""Reading a shard through, for its checksum and for what in it no shard of gloam's holds.

Its index, the headers of its tar and its records must name the same files, one after the other,
with nothing between them: then whoever walks the tar finds what the index says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from ....errors import SetError
from ....storage.untrusted import SAMPLE_NAME, open_regular, outside, read_regular, shown
from ..sample import parse_record, split_ending
from .extents import BLOCK, NAME
from .shard_files import BLANK_HEADER, SIZE_FIELD, index_path, shard_path
from .shard_index import read_all_columns

_AT_ONCE = 1 << 20  # bytes of whole members that are hashed and looked at together
_TYPE = 156
_FIXED = np.ones(BLOCK, bool)
_FIXED[:NAME] = _FIXED[SIZE_FIELD] = _FIXED[148:156] = False  # name, size and checksum differ
_BLANK = np.frombuffer(BLANK_HEADER, np.uint8)[_FIXED]
_OCTAL = (8 ** np.arange(10, -1, -1)).astype(np.int64)


class Examined(NamedTuple):
    """The SHA-256 of a file, and what in it is not as gloam writes it: where, and what."""

    sha256: str
    odd: list[tuple[str, str]]


def examine_shard(root: Path, unit: str) -> Examined:
    """Read the tar of a unit through.

    Raises
    ------
    OSError
        When it cannot be read.
    """
    path, digest = shard_path(root, unit), hashlib.sha256()
    odd: list[tuple[str, str]] = []
    with open_regular(path) as handle:
        size = handle.seek(0, 2)
        handle.seek(0)
        try:
            members = _members(index_path(root, unit), size)
            for some in members.parts():
                data = handle.read(some.end - some.start)
                digest.update(data)
                odd += _odd(some, data)
        except (OSError, SetError):
            odd = []  # of the index; it is said of that file
        while piece := handle.read(_AT_ONCE):
            digest.update(piece)
    return Examined(digest.hexdigest(), odd)


def examine_index(root: Path, unit: str) -> Examined:
    """Read the index of a unit through.

    Raises
    ------
    OSError
        When it or its tar cannot be read.
    """
    path = index_path(root, unit)
    data = read_regular(path)
    odd = []
    try:
        size = shard_path(root, unit).stat().st_size
        _members(path, size)
    except FileNotFoundError:
        pass  # it is said of the tar
    except SetError as error:
        odd.append(("", error.what))
    return Examined(hashlib.sha256(data).hexdigest(), odd)


class _Members(NamedTuple):
    """Members of a tar in their order, of which the first `width` are one sample's, and so on."""

    names: list[str]
    offsets: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    width: int
    start: int = 0
    end: int = 0

    def parts(self) -> Iterator[_Members]:
        """Yield whole samples, about a MiB at a time, which lie from `start` to `end`."""
        begins = self.offsets[:: self.width] - BLOCK
        last = int(self.offsets[-1] + self.sizes[-1])
        first = 0
        while first < len(begins):
            start = int(begins[first])
            after = max(first + 1, int(np.searchsorted(begins, start + _AT_ONCE)))
            end = int(begins[after]) if after < len(begins) else last
            own = slice(first * self.width, after * self.width)
            yield _Members(
                self.names[own], self.offsets[own], self.sizes[own], self.width, start, end
            )
            first = after


def _members(path: Path, tar_bytes: int) -> _Members:
    """Read an index.

    Raises
    ------
    SetError
        When it is no index of a whole tar, or names what no shard holds.
    """
    try:
        known, table = read_all_columns(read_regular(path), tar_bytes)
        width = len(known)
        keys = pc.replace_substring_regex(table["name0"], r"\..*", "")
        for member, ending in enumerate(known):
            names, endings = table[f"name{member}"], table[f"end{member}"]
            odd = pc.invert(pc.match_substring_regex(names, SAMPLE_NAME))
            odd = pc.or_(odd, pc.not_equal(pc.binary_join_element_wise(keys, endings, "."), names))
            name = names.filter(odd)
            if len(name):
                name = name[0].as_py()
                beyond = "names a file outside the set" if outside(name) else "is no such member"
                raise ValueError(f"{shown(name)} {beyond} ({ending})")
        columns = [
            np.stack([table[f"{part}{i}"].to_numpy() for i in range(width)], 1).ravel()
            for part in ("at", "size")
        ]
        texts = [table[f"name{i}"].to_pylist() for i in range(width)]
        names = [name for sample in zip(*texts, strict=True) for name in sample]
    except (ValueError, IndexError) as error:
        raise SetError(f"{path}: not an index of this set: {error}", path=path) from error
    offsets, sizes = columns
    follows = np.concatenate([[BLOCK], (offsets + -(-sizes // BLOCK) * BLOCK + BLOCK)[:-1]])
    if (offsets != follows).any():
        raise SetError(f"{path}: its members do not follow one another", path=path)
    return _Members(names, offsets, sizes, width)


def _odd(some: _Members, data: bytes) -> list[tuple[str, str]]:
    """List the members whose headers or records do not say what the index does."""
    if len(data) < some.end - some.start:
        return []  # cut short: its checksum says so
    whole = np.frombuffer(data, np.uint8)
    heads = whole[(some.offsets - BLOCK - some.start)[:, None] + np.arange(BLOCK)]
    digits = heads[:, SIZE_FIELD].astype(np.int64)[:, :11] - ord("0")
    same = np.ascontiguousarray(heads[:, :NAME]).view(f"S{NAME}")[:, 0] == np.array(
        [name.encode() for name in some.names], f"S{NAME}"
    )
    right = same & (digits @ _OCTAL == some.sizes) & (heads[:, _FIXED] == _BLANK).all(1)
    found = [
        (some.names[i], "is not the file whose header stands in the tar")
        for i in np.flatnonzero(~right).tolist()
    ]
    for i in range(0, len(some.names), some.width):
        at, name = int(some.offsets[i]) - some.start, some.names[i]
        try:
            record = parse_record(data[at : at + int(some.sizes[i])], name)
            own = [
                split_ending(one.partition(".")[2])[0] for one in some.names[i + 1 : i + some.width]
            ]
            if record["key"] != name.partition(".")[0] or not record["members"].keys() >= set(own):
                raise SetError(f"{name}: is the record of {shown(record['key'])}", path=name)
        except SetError as error:
            found.append((name, str(error).removeprefix(f"{name}: ")))
    return found
