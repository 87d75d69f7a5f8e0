"""Orders: which samples come when, as functions of seed and epoch, and the positions in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from .options import Options
from .ranks import Rank
from .states import LoaderState, damaged, read_state

Whole = npt.NDArray[np.int64]


def epoch_seed(seed: int, epoch: int, purpose: str) -> int:
    """Return a 31-bit seed for one purpose of one epoch."""
    digest = hashlib.blake2b(
        f"{seed}\0{epoch}\0{purpose}".encode(), digest_size=8, person=b"gloam load"
    ).digest()
    return int.from_bytes(digest, "little") & 0x7FFFFFFF


def epoch_order(count: int, seed: int, epoch: int, shuffle: bool) -> Whole:
    """Return the numbers 0 to count - 1, shuffled or not; equal on all ranks."""
    if not shuffle:
        return np.arange(count)
    return np.random.Generator(np.random.Philox(key=epoch_seed(seed, epoch, "order"))).permutation(
        count
    )


class Position(NamedTuple):
    """One sample of an order.

    component: number of the component that it is of.
    number: number of the sample in its component.
    epoch: pass over the component, which crops and new lows are drawn by.
    bright: (number, epoch); the same of the other list of unpaired pictures.
    """

    component: int
    number: int
    epoch: int
    bright: tuple[int, int] | None = None


class Positions:
    """Samples of an order, as columns: a batch is made without a Python object a sample.

    component, number, epoch: int64 arrays (N); see `Position`.
    bright: int64 array (N, 2), -1 for none; None where no sample has one.
    """

    def __init__(
        self, component: Whole, number: Whole, epoch: Whole, bright: Whole | None = None
    ) -> None:
        self.component, self.number, self.epoch, self.bright = component, number, epoch, bright

    @classmethod
    def of(cls, positions: Iterable[Position]) -> Positions:
        """Return the columns of some positions."""
        rows = [(*one[:3], *(one.bright or (-1, -1))) for one in positions]
        component, number, epoch, *bright = np.array(rows, np.int64).reshape(-1, 5).T
        other = np.stack(bright, axis=1)
        return cls(component, number, epoch, other if (other >= 0).any() else None)

    def __len__(self) -> int:
        return len(self.number)

    def __iter__(self) -> Iterator[Position]:
        brights = [None] * len(self) if self.bright is None else self.bright.tolist()
        columns = self.component.tolist(), self.number.tolist(), self.epoch.tolist(), brights
        for component, number, epoch, bright in zip(*columns, strict=True):
            other = None if bright is None or bright[0] < 0 else (bright[0], bright[1])
            yield Position(component, number, epoch, other)

    def __getitem__(self, row: int) -> Position:
        return list(self)[row]


class Step(NamedTuple):
    """A batch that is to be made.

    number: counted from the training's first, for schedules.
    counts: samples of each batch, where it is several at once.
    """

    number: int
    positions: Positions
    counts: tuple[int, ...] = ()


class Share(NamedTuple):
    """A process's share of an order, which is known when the first batch is asked for."""

    rank: Rank
    options: Options


class Order:
    """Says which samples come when: here all of them once an epoch; ranks have parts of it.

    Its state is the number of batches that were given.

    count: samples of an epoch, of all ranks.
    own: each rank has samples of its own, shuffled by themselves.
    """

    kind = "shuffled"

    def __init__(self, count: int, seed: int, shuffle: bool, own: bool = False) -> None:
        self.count, self.own = count, own
        self._drawn = partial(epoch_order, seed=seed, shuffle=shuffle)
        self._orders: dict[tuple[int, int, int], Whole] = {}

    def numbers(self, epoch: int, first: int, last: int) -> Whole:
        """Return the numbers from `first` to `last` in an epoch's order."""
        return first + self._drawn(last - first, epoch=epoch)

    def batches(self, epoch: int, share: Share) -> int:
        """Return how many batches an epoch has."""
        return share.rank.batches(self.count, share.options)

    def places(self, epoch: int, batch: int, share: Share) -> Whole:
        """Return the places of a batch's samples in the epoch; beyond `count` of repetitions.

        See `Rank.places`.
        """
        return share.rank.places(self.count, share.options, batch)

    def step(self, epoch: int, batch: int, share: Share) -> Step:
        """Return a batch's samples."""
        places = self.places(epoch, batch, share) % self.count
        first, last = share.rank.slice(self.count) if self.own else (0, self.count)
        held, key = self._orders, (epoch, first, last)
        if key not in held:  # replaced whole: threads ask for other epochs
            self._orders = held = dict(list(held.items())[-2:]) | {
                key: self.numbers(epoch, first, last)
            }
        numbers = held[key][places - first]
        number = epoch * self.batches(epoch, share) + batch
        component = np.zeros_like(numbers)
        return Step(number, Positions(component, numbers, np.full_like(numbers, epoch)))

    def state(self, epoch: int, batch: int, share: Share) -> dict[str, Any]:
        """Return where a loader is that has given `batch` batches of an epoch: JSON values."""
        return {"epoch": epoch, "batch": batch}

    def resume(self, state: Any, own: dict[str, Any], share: Share) -> tuple[int, int]:
        """Return the epoch and batch to go on from.

        own: fingerprint of the loader.

        Raises LoaderError when the state is of another loader, or damaged.
        """
        found = read_state(LoaderState, state, own)
        length = self.batches(found.epoch, share)
        if found.batch > length:
            raise damaged("batch", f"{found.batch} of an epoch of {length} batches")
        return found.epoch, found.batch

    def fingerprint(self, share: Share) -> dict[str, Any]:
        """Return what two loaders must have in common for their states to be exchanged.

        Here the rank and its batches, too.
        """
        return {
            "order": "each rank's own" if self.own and share.rank.world > 1 else self.kind,
            "rank": share.rank.rank,
            "world_size": share.rank.world,
            "options": share.options.fingerprint(),
        }

    def begin(self, epoch: int) -> None:
        """Let an epoch begin at its first sample, whatever state was loaded before."""

    def ahead(self) -> Self:
        """Return the same for whoever asks ahead of the loader, from another thread."""
        return copy(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_orders": {}}


def endless_steps(
    order: Order, epoch: int, batch: int, share: Share, at_once: int = 1
) -> Iterator[Step]:
    """Yield steps from a batch on, epoch after epoch.

    at_once: batches of a step; none goes on in the next epoch.
    """
    while True:
        count = order.batches(epoch, share)
        while batch < count:
            end = min((batch // at_once + 1) * at_once, count)
            steps = [order.step(epoch, number, share) for number in range(batch, end)]
            yield steps[0] if at_once == 1 else _join_steps(steps)
            batch = end
        epoch, batch = epoch + 1, 0


def _join_steps(steps: Sequence[Step]) -> Step:
    positions = Positions.of(one for step in steps for one in step.positions)
    return Step(steps[0].number, positions, tuple(len(step.positions) for step in steps))
