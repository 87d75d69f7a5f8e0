"""Units of a set, and the one pass over them: that builds, remakes, verifies, measures, copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from ...engines.engine import Counted, Engine, ignore_progress
from ...engines.local import count
from ...errors import SetError
from ...storage.atomic import sha256_bytes
from ...storage.stores import map_concurrent
from .layouts import layout_named
from .layouts.layout import split_of
from .receipts import Receipt, read_receipt
from .sample import Sample, is_normal

U = TypeVar("U", bound=Any)
R = TypeVar("R")


@dataclass(frozen=True)
class Unit:
    """The pairs of one shard, in either layout, or some: small, so that a job can take it along.

    layout: "shards" or "files".
    name: such as `train-000000`.
    normal_root: the set that holds the normals of a set of lows only.
    keys: the planned pairs that are meant of it; None for all.
    into: name of the unit that is made of it, in another set.
    places: which of these pairs are wanted, counted from 0; None for all.
    """

    root: Path
    layout: str
    name: str
    count: int = 0
    normal_root: Path | None = None
    normal_layout: str = ""
    keys: frozenset[str] | None = None
    into: str = ""
    places: frozenset[int] | None = None

    @property
    def split(self) -> str:
        """Split of the unit."""
        return split_of(self.name)

    @cached_property
    def receipt(self) -> Receipt:
        """Receipt: sizes and checksums of the unit's files."""
        return read_receipt(self.root, self.name)

    def has(self, key: str) -> bool:
        """Return whether a planned pair is meant."""
        return self.keys is None or key in self.keys

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of its pairs, in order, without their images."""
        if self.count:
            yield from layout_named(self.layout).records(self.root, self.receipt)

    def pairs(self) -> Iterator[Sample]:
        """Yield its pairs that are wanted, in order, whole; a job's progress counts them.

        Raises SetError when a pair cannot be read, a normal is not the one that its low was made
        from, or there are more or fewer than its receipt says.
        """
        if not self.count:
            return
        seen = 0
        for sample in self._samples():
            if self.has(sample.key):
                if self.places is None or seen in self.places:
                    yield sample
                    count()
                seen += 1
        refused = sum(self.has(one.key) for one in self.receipt.refused)
        wanted = self.receipt.pairs if self.keys is None else len(self.keys) - refused
        if seen != wanted:
            what = f"holds {seen} pairs, its receipt says {wanted}; gloam verify it"
            raise SetError.at(self.root / self.name, what)

    def _samples(self) -> Iterator[Sample]:
        own = layout_named(self.layout).samples(self.root, self.receipt)
        if self.normal_root is None:
            yield from own
            return
        receipt = read_receipt(self.normal_root, self.name)
        others = layout_named(self.normal_layout).samples(self.normal_root, receipt)
        # A number that differs is found by verify.
        for pair, other in zip(own, others, strict=False):
            normals = {name: one for name, one in other.members.items() if is_normal(name)}
            known = pair.record["members"]
            if other.key != pair.key or any(
                name not in known or sha256_bytes(one.data) != known[name]["sha256"]
                for name, one in normals.items()
            ):
                raise SetError.at(
                    self.normal_root,
                    f"{self.name}: {other.key}: its normal is not the one that"
                    f" {pair.key} was made from",
                )
            yield replace(pair, members={**pair.members, **normals})

    def where(self, error: SetError) -> tuple[str, str]:
        """Return what an error of `pairs` is about, the unit or a file of it, and what it says."""
        said = str(error).removeprefix(f"{self.root}/").removeprefix(f"{self.root}: ")
        where, _, what = (said if self.name in said else f"{self.name}: {said}").partition(": ")
        return where, what

    def fault(self, key: str, what: str, member: str = "") -> SetError:
        """Return the error for a pair of it, or for one of its members."""
        named = f"{key}.{member}" if member else key
        return SetError(f"{self.root}: {self.name}: {named}: {what}", path=self.root, key=key)


def each_unit(
    job: Callable[[U], R],
    units: Iterable[U],
    engine: Engine | None = None,
    at: Counted = ignore_progress,
    done: int = 0,
    *,
    threads: int = 1,
) -> list[R]:
    """Run a job on each of some units, of a set or planned; returns what it returns, in order.

    job: a function that workers can be sent.
    engine: where it runs; None for threads of this process, for what waits for disks or stores.
    at: called with the number of pairs that jobs have counted so far, and `done` before; with
      threads, the number of units.
    """
    at(done)
    if engine is not None:
        return list(engine.map(job, units, lambda counted: at(done + counted)))
    found: list[R] = []
    listed = list(units)
    for result in map_concurrent(job, listed, listed[0].root, threads) if listed else ():
        found.append(result)
        at(done + len(found))
    return found
