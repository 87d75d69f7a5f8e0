"""The layout protocol, how a set holds its samples: `shards.Shards` and `files.Files` have it.

A unit is the samples of one shard, `train-000000` say, in either layout: what is built, receipted
and verified at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from ....errors import DamagedError
from ....storage.atomic import atomic_write
from ....storage.untrusted import LIST_LINES, inside, outside, read_file, shown
from ..receipts import Receipt, UnitFile
from ..sample import Sample
from .extents import Extents, Keys
from .shard_tar import Examined

LISTS = "lists"
"""The folder of a set's lists."""


class UnitWriter(AbstractContextManager["UnitWriter"], Protocol):
    """Writes one unit: a context manager. Without `close` the next run overwrites the files."""

    def add(self, sample: Sample) -> None:
        """Write a sample's record and members."""

    def close(self) -> list[UnitFile]:
        """Make all of it durable, and list its files."""


class Layout(Protocol):
    """A way in which a set holds its samples."""

    @property
    def name(self) -> str:
        """Its name in `set.json`."""

    def writer(self, root: Path, unit: str) -> UnitWriter:
        """Begin to write a unit."""

    def records(self, root: Path, receipt: Receipt) -> Iterator[dict[str, Any]]:
        """Yield the records of a unit, in order, without reading its images."""

    def samples(self, root: Path, receipt: Receipt) -> Iterator[Sample]:
        """Yield the samples of a unit, in order, whole. Raises SetError when one cannot be read."""

    def examine(self, root: Path, unit: str, path: str) -> Examined:
        """Read one of a unit's files through: its checksum, and what in it no set holds.

        Raises OSError when it cannot be read.
        """

    def glance(self, root: Path, receipt: Receipt) -> list[tuple[str, str]]:
        """Say what is wrong with a unit whose files have the right sizes, reading little of it.

        Returns files and their faults; none of a layout of whose files no more is known than their
        sizes without reading them. Raises OSError when one cannot be read.
        """
        return []

    def damage(self, root: Path, unit: str, path: str) -> list[tuple[str, str]]:
        """List damaged members of a unit's file, and their faults.

        None where it cannot be told, as of a layout whose files hold one member each.
        """
        return []

    def write_lists(self, root: Path, split: str, receipts: Sequence[Receipt]) -> list[Path]:
        """Write the lists of a split that other readers take; returns their paths."""

    def check(
        self, root: Path, split: str, units: Sequence[str], count: int, names: Sequence[str]
    ) -> None:
        """Refuse what loaders would read, where it is not what was built.

        Raises SetError when a file or a list is missing or another one; it says what to do.
        """

    def member_path(self, split: str, key: str, member: str) -> str:
        """Return the path of a sample's file, in its set or tar; `member`: `normal.jpg`, say."""

    def extents(
        self, root: Path, split: str, units: Sequence[str], names: Sequence[str], *, held: bool
    ) -> tuple[Keys, list[Extents]]:
        """Find the keys of a split, and for each named member where its bytes lie, as columns.

        With `held` the keys are held in memory, even where they can be read when they are wanted.
        """


def unit_name(split: str, number: int) -> str:
    """Return the name of a unit, such as `train-000000`."""
    return f"{split}-{number:06d}"


def split_of(unit: str) -> str:
    """Return the split of a unit: `train` of `train-000000`."""
    return unit.rpartition("-")[0]


def unit_number(unit: str) -> int:
    """Return the number of a unit in its split: 7 of `train-000007`."""
    return int(unit.rpartition("-")[2])


def list_path(root: Path, name: str) -> Path:
    """Return where a list such as `train-low` lies in a set."""
    return inside(root, f"{LISTS}/{name}.txt")


def write_list(root: Path, name: str, lines: Iterable[str]) -> Path:
    """Publish a list of shards, indexes, lows or normals, line by line; returns its path."""
    path = list_path(root, name)
    with atomic_write(path) as handle:
        handle.writelines(f"{line}\n".encode("ascii") for line in lines)
    return path


def read_list(root: Path, name: str) -> list[str]:
    """Read the lines of one of a set's lists, such as `train-low`.

    Raises SetError when it cannot be read, or has a line that gloam does not write.
    """
    path = list_path(root, name)
    data = read_file(path)
    lines = data.decode("utf-8", "replace").splitlines()
    if not LIST_LINES.match(data):
        odd = next((line for line in lines if not LIST_LINES.match(f"{line}\n".encode())), "")
        beyond = outside(odd.rpartition(" ")[0] or odd)
        what = "names a file outside the set" if beyond else "is no line of a list"
        raise DamagedError.at(path, f"{shown(odd)} {what}; gloam verify says what was changed")
    return lines
