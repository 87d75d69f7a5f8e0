"""DALI's index of a shard, version 1.2.

It has for each sample a line with the ending, offset, size and name of each member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from ....errors import SetError
from ....storage.untrusted import ENDING, KEY, SAMPLE_NAME, outside, read_regular, shown
from ..sample import split_ending
from .extents import BLOCK

INDEX_VERSION = "v1.2"
_MANY_BYTES = 1 << 22


@dataclass(frozen=True)
class Member:
    """A line group of an index: where one file of a sample lies in the tar."""

    ending: str
    offset: int
    size: int
    name: str


def read_index(path: Path, tar_bytes: int | None = None) -> list[list[Member]]:
    """Read the samples of a DALI index, each a list of members.

    Parameters
    ----------
    path : Path
    tar_bytes : int, optional
        Size of its tar, in which all members must lie.

    Raises
    ------
    SetError
        When it is missing, not an index of version 1.2, or names what a shard cannot hold.
    """
    try:
        data = read_regular(path)
        lines = data.decode("ascii").splitlines()
        version, count = lines[0].split(" ")
        samples: list[list[Member]] = []
        for line in lines[1:]:
            words = line.split(" ")
            if len(words) % 4:
                raise ValueError(f"line {len(samples) + 2} is not groups of four")
            groups = zip(*[iter(words)] * 4, strict=True)
            samples.append(
                [
                    Member(ending, int(offset), int(size), name)
                    for ending, offset, size, name in groups
                ]
            )
        if version != INDEX_VERSION or int(count) != len(samples):
            raise ValueError(f"first line says {shown(lines[0])}, {len(samples)} samples follow")
        for number, sample in enumerate(samples, 2):
            _check_sample(sample, number, tar_bytes)
    except OSError as error:
        raise SetError(f"{path}: {error.strerror or error}", path=path) from error
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise SetError(
            f"{path}: not a DALI index of {INDEX_VERSION}: {error}", path=path
        ) from error
    return samples


def _check_sample(sample: list[Member], line: int, tar_bytes: int | None) -> None:
    """Refuse members that no shard holds."""
    for member in sample:
        key, _, ending = member.name.partition(".")
        if not KEY.match(key) or not ENDING.match(ending) or ending != member.ending:
            beyond = " names a file outside the set" if outside(member.name) else ""
            raise ValueError(f"line {line}: {shown(member.name)}{beyond or ' is no member of it'}")
        if key != sample[0].name.partition(".")[0]:
            raise ValueError(f"line {line}: members of two keys")
        end = member.offset + member.size
        if member.offset < 0 or member.size < 0 or (tar_bytes is not None and end > tar_bytes):
            raise ValueError(
                f"line {line}: {member.name}: {member.size} bytes at {member.offset} do not lie in"
                f" a tar of {tar_bytes}"
            )


@dataclass(frozen=True)
class Columns:
    """Where the members of some names lie, of the samples of several indexes in order.

    Attributes
    ----------
    counts : list of int
        Samples of each index.
    blocks, sizes : uint32 arrays (samples, names)
        Their first byte in blocks of 512 bytes, and how many bytes they have.
    names : list of str, optional
        Of each sample's first member.
    """

    counts: list[int]
    blocks: npt.NDArray[np.uint32]
    sizes: npt.NDArray[np.uint32]
    names: list[str] | None


def read_columns(
    texts: Sequence[bytes], tar_bytes: Sequence[int], kinds: Sequence[str], named: bool
) -> Columns:
    """Read indexes as columns: ten times as fast as `read_index`.

    Parameters
    ----------
    texts : sequence of bytes
        Indexes as `ShardWriter` writes them; the samples of all have the same members.
    tar_bytes : sequence of int
        The size of the tar of each, in which all members must lie.
    kinds : sequence of str
        Such as ("low", "normal").
    named : bool
        Whether names are wanted.

    Raises
    ------
    ValueError
        When they are not such indexes.
    """
    counts, bodies, members = [], [], set()
    for text in texts:
        endings, body, count = _body(text)
        members.add(tuple(split_ending(ending)[0] for ending in endings))
        counts.append(count)
        bodies.append(body)
    if len(members) > 1:
        raise ValueError("its samples do not have the same members")
    (known,) = members
    at = [known.index(kind) for kind in kinds]
    table = _table(b"".join(bodies), len(known), ["name0"] if named else [])
    if table.num_rows != sum(counts):
        raise ValueError("its samples do not have the same members")
    ends = np.repeat(np.asarray(tar_bytes, np.int64), counts)
    blocks = np.empty((table.num_rows, len(at)), np.uint32)
    sizes = np.empty((table.num_rows, len(at)), np.uint32)
    for member in range(len(known)):
        offsets, lengths = _checked(table, member, ends)
        for column in (k for k, one in enumerate(at) if one == member):
            blocks[:, column], sizes[:, column] = offsets // BLOCK, lengths
    if named and not pc.all(pc.match_substring_regex(table["name0"], SAMPLE_NAME)).as_py():
        raise ValueError("a member has a name that gloam does not give")
    return Columns(counts, blocks, sizes, table["name0"].to_pylist() if named else None)


def _body(text: bytes) -> tuple[list[str], bytes, int]:
    """Return the endings of the first sample's members, the lines of all, and their number."""
    first, _, body = text.partition(b"\n")
    count = body.count(b"\n")
    if not count or first != f"{INDEX_VERSION} {count}".encode():
        raise ValueError(
            f"first line says {shown(first.decode('latin-1'))}, {count} samples follow"
        )
    return body[: body.index(b"\n")].decode("ascii").split(" ")[::4], body, count


def _table(body: bytes, members: int, others: list[str]) -> pa.Table:
    """Read groups of four words as columns."""
    every = [f"{part}{i}" for i in range(members) for part in ("end", "at", "size", "name")]
    types = {name: pa.int64() if name.startswith(("at", "size")) else pa.string() for name in every}
    wanted = [f"{part}{i}" for i in range(members) for part in ("at", "size")] + others
    return csv.read_csv(
        pa.BufferReader(body),
        # Threads that begin cost more than the lines of a few shards.
        csv.ReadOptions(
            column_names=every, block_size=1 << 22, use_threads=len(body) > _MANY_BYTES
        ),
        csv.ParseOptions(delimiter=" ", quote_char=False),
        csv.ConvertOptions(column_types=types, include_columns=wanted),
    )


def _checked(
    table: pa.Table, member: int, tar_bytes: npt.NDArray[np.int64] | np.int64
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return offsets and sizes of a member of each sample, which must lie in the tar."""
    offsets, lengths = table[f"at{member}"].to_numpy(), table[f"size{member}"].to_numpy()
    if (offsets % BLOCK).any() or (offsets < BLOCK).any():
        raise ValueError("a member does not begin at a block")
    # In this order nothing overflows.
    if (lengths < 0).any() or (lengths > tar_bytes).any() or (offsets > tar_bytes - lengths).any():
        raise ValueError("a member does not lie in its tar")
    if lengths.max() >= 1 << 32:
        raise ValueError("a member is too large")
    return offsets, lengths
