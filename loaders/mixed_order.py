"""The order of a mixture's samples: a function of seed and place, and of steps for schedules.

All ranks have one order in common, which has no epochs: places are counted from the training's
first sample. Ranks take turns at it, so that what is left of it does not depend on how many there
are; and a state is a place in it, beside the places where weights have changed before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..errors import LoaderError
from .mixture import MOST_SAMPLES, at
from .options import Options
from .order import Order, Position, Positions, Share, Step, Whole, epoch_order, epoch_seed
from .ranks import Rank
from .states import MixtureState, damaged, read_state

SPAN = 1000
"""Consecutive samples among which every share is right to within one."""
_UNITS = 1 << 20  # of a sample: what parts of samples are rounded to
_GOLDEN = (math.sqrt(5) - 1) / 2


class Segment(NamedTuple):
    """Samples of equal weights.

    step: the first one of it.
    place: number of its first sample, counted from the training's first.
    counts: samples of each component before it.
    """

    step: int
    place: int
    counts: tuple[int, ...]


class MixedSampler:
    """Which sample of which component comes at which place.

    names: of K components.
    weights: of each, a dict of step to float.
    steps: those that weights change at.
    """

    def __init__(
        self, names: Sequence[str], weights: Sequence[Mapping[int, float]], seed: int, shuffle: bool
    ) -> None:
        self._seeds = [epoch_seed(seed, 0, f"component {name}") for name in names]
        self._names, self._weights, self._shuffle = tuple(names), weights, shuffle
        self.steps = sorted({step for one in weights for step in one})
        self.segments = [Segment(0, 0, (0,) * len(names))]
        self._order = lru_cache(maxsize=4 * len(names))(epoch_order)
        self._shares = lru_cache(maxsize=8)(Shares)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_order": None, "_shares": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._order = lru_cache(maxsize=4 * len(self._seeds))(epoch_order)
        self._shares = lru_cache(maxsize=8)(Shares)

    def begin(self, step: int, place: int) -> None:
        """Begin a segment at a step, whose first sample has a place."""
        counts = self._counts_before(self.segments[-1], place)
        self.segments.append(Segment(step, place, tuple(counts.tolist())))

    def go_on(self, segments: Sequence[Segment], step: int, place: int) -> None:
        """Go on with the segments of another loader of the same mixture.

        step: one that it has come to.
        place: of its first sample.

        Raises LoaderError when no loader of this mixture has such segments.
        """
        begun = [0, *(begin for begin in self.steps if 0 < begin <= step)]
        first = Segment(0, 0, (0,) * len(self._names))
        if [one.step for one in segments] != begun or segments[0] != first:
            raise damaged("weights", f"must begin at the steps {begun}")
        for last, one in pairwise(segments):
            if not last.place <= one.place <= place:
                raise damaged("weights", f"place {one.place} is out of turn")
            if tuple(self._counts_before(last, one.place).tolist()) != one.counts:
                raise damaged("weights", f"other samples lie before place {one.place}")
        self.segments = list(segments)

    def samples_at(self, places: Whole) -> list[tuple[int, int]]:
        """Return component and number, counted from the training's first, of samples by place."""
        owners = np.searchsorted([one.place for one in self.segments], places, side="right") - 1
        breaks = np.flatnonzero((np.diff(places) != 1) | (np.diff(owners) != 0)) + 1
        found: list[tuple[int, int]] = []
        for run, (owner, *_) in zip(
            np.split(places, breaks), np.split(owners, breaks), strict=True
        ):
            segment = self.segments[owner]
            first = int(run[0])
            components = self._shares_of(segment).components(first - segment.place, len(run))
            numbers = np.empty(len(run), np.int64)
            for component, before in enumerate(self._counts_before(segment, first).tolist()):
                own = components == component
                numbers[own] = before + np.arange(np.count_nonzero(own))
            found += zip(components.tolist(), numbers.tolist(), strict=True)
        return found

    def numbered(self, component: int, count: int, number: int, side: int = 0) -> tuple[int, int]:
        """Return the pass over a component of `count` samples, and the number in it, of a sample.

        `side` tells lists of unpaired pictures apart.
        """
        epoch, place = divmod(number, count)
        seed = self._seeds[component] + side
        return epoch, int(self._order(count, seed, epoch, self._shuffle)[place])

    def place_after(self, component: int, number: int) -> int:
        """Return the place after a component's sample of a number, by the first weights.

        Raises LoaderError when it lies beyond `MOST_SAMPLES`.
        """
        shares = self._shares_of(self.segments[0])
        share = shares.exact[component]
        if number + 1 > share * MOST_SAMPLES:
            raise LoaderError(
                f"mix: {self._names[component]}: its share is so small that an epoch would have"
                f" more than {MOST_SAMPLES:,} samples: give epoch=, or a larger weight"
            )
        place = max(0, int(number / share) - 2 * SPAN)
        before = int(shares.before(place)[component])
        while True:
            own = shares.components(place, 4 * SPAN) == component
            if before + (count := int(own.sum())) > number:
                return place + int(np.flatnonzero(own)[number - before]) + 1
            place, before = place + 4 * SPAN, before + count

    def _shares_of(self, segment: Segment) -> Shares:
        return self._shares(tuple(at(one, segment.step) for one in self._weights))

    def _counts_before(self, segment: Segment, place: int) -> Whole:
        return np.array(segment.counts) + self._shares_of(segment).before(place - segment.place)


class SteppedRank(Rank):
    """A rank of those that take turns: at each step each takes the next samples of one order.

    So that what is left of an epoch does not depend on how many ranks there are.
    """

    def batches(self, count: int, options: Options) -> int:
        """Return how many batches of `count` samples an epoch has."""
        batch_size, last_batch = options.batch_size, options.last_batch
        steps, left = divmod(count, self.world * batch_size)
        if last_batch == "drop":
            return steps
        if last_batch in ("padded", "even") and (batch_size > 1 or last_batch == "padded"):
            return steps + (left > 0)
        return steps + (left > self.rank * batch_size)

    def places(self, count: int, options: Options, batch: int) -> Whole:
        """Return the places in an epoch's order of the samples of one batch."""
        batch_size, last_batch = options.batch_size, options.last_batch
        if last_batch == "even" and batch_size > 1:
            first, last = (self.done(count, options, batch + i) for i in (0, 1))
            own = [first + (last - first) * (self.rank + i) // self.world for i in (0, 1)]
            if own[0] == own[1]:  # fewer samples are left than ranks: this one repeats another
                own = [count, count + 1]
            return np.arange(*own)
        start = (batch * self.world + self.rank) * batch_size
        stop = start + batch_size
        return np.arange(start, stop if last_batch == "padded" else min(stop, count))

    def done(self, count: int, options: Options, batch: int) -> int:
        """Return how many samples all ranks have taken before a step."""
        taken = batch * self.world * options.batch_size
        if options.last_batch == "even" and options.batch_size > 1:
            # The last step needs a sample for each rank. Whole batches come first, so that what is
            # left after any of them is divided as it was.
            follow = self.batches(count, options) - batch
            return max(min(taken, count - follow * self.world), 0)
        return min(taken, count)


class EpochStart(NamedTuple):
    """The beginning of an epoch, of which a loader may have been given the rest alone.

    place: number of its first sample, counted from the training's first.
    step: number of its first batch.
    offset: samples of it that other ranks than today's took, before what is counted in batches.
    """

    epoch: int = 0
    place: int = 0
    step: int = 0
    offset: int = 0


class MixedOrder(Order):
    """The order of a mixture; any rank's state goes on on any number of ranks.

    count: samples of an epoch.
    sizes: of each component, how many samples it has, and how many bright pictures; 0 without.
    """

    def __init__(self, sampler: MixedSampler, count: int, sizes: Sequence[tuple[int, int]]) -> None:
        self.count, self._sampler, self._sizes = count, sampler, sizes
        self._start = EpochStart()

    def batches(self, epoch: int, share: Share) -> int:
        """Return how many batches an epoch has."""
        left = self.count - self._epoch_start(epoch, share).offset
        return _stepped_rank(share).batches(left, share.options)

    def places(self, epoch: int, batch: int, share: Share) -> Whole:
        """Return the places of a batch's samples in the epoch; of repetitions beyond its end."""
        start = self._epoch_start(epoch, share)
        left = self.count - start.offset
        return start.offset + _stepped_rank(share).places(left, share.options, batch)

    def step(self, epoch: int, batch: int, share: Share) -> Step:
        """Return a batch's samples."""
        start = self._epoch_start(epoch, share)
        number, places = start.step + batch, self.places(epoch, batch, share)
        self._advance(number, share)
        numbered, found = self._sampler.numbered, []
        for i, one in self._sampler.samples_at(start.place + places % self.count):
            count, brights = self._sizes[i]
            passed, own = numbered(i, count, one)
            other = numbered(i, brights, one, 1)[::-1] if brights else None
            found.append(Position(i, own, passed, other))
        return Step(number, Positions.of(found))

    def state(self, epoch: int, batch: int, share: Share) -> dict[str, Any]:
        """Return where a loader is: the same on all ranks between two steps."""
        start = self._epoch_start(epoch, share)
        step = start.step + batch
        self._advance(step, share)
        return {
            "epoch": epoch,
            "begun": start.place,
            "step": step,
            "taken": self._taken_before(start, batch, share),
            "weights": [
                [one.step, one.place, list(one.counts)]
                for one in self._sampler.segments
                if one.step <= step
            ],
        }

    def resume(self, state: Any, own: dict[str, Any], share: Share) -> tuple[int, int]:
        """Return the epoch and batch to go on from."""
        found, options = read_state(MixtureState, state, own), share.options
        found.check_places(self.count, options.last_batch == "drop")
        segments = [Segment(*one) for one in found.weights]
        self._sampler.go_on(segments, found.step, found.begun + found.taken)
        even = options.last_batch == "even" and options.batch_size > 1
        each = share.rank.world * options.batch_size
        batch, offset = (0, found.taken) if even else divmod(found.taken, each)
        self._start = EpochStart(found.epoch, found.begun, found.step - batch, offset)
        return found.epoch, batch

    def fingerprint(self, share: Share) -> dict[str, Any]:
        """Return what two loaders must have in common: neither ranks nor sizes of batches."""
        options = share.options.fingerprint()
        for name in ("batch_size", "exact", "resident_side", "size"):
            options.pop(name, None)
        return {"options": options}

    def begin(self, epoch: int) -> None:
        """Let an epoch begin at its first sample, and those before the one that was loaded."""
        if epoch < self._start.epoch:
            self._start = EpochStart()
            self._sampler.segments = self._sampler.segments[:1]

    def ahead(self) -> MixedOrder:
        """Return the same for whoever is ahead of the loader: it finds changes of weights."""
        ahead = copy(self)
        ahead._sampler = copy(self._sampler)
        ahead._sampler.segments = list(self._sampler.segments)
        return ahead

    def _advance(self, step: int, share: Share) -> None:
        """Find out where weights change up to a step."""
        for begin in self._sampler.steps:
            if self._sampler.segments[-1].step < begin <= step:
                self._sampler.begin(begin, self._place_of(begin, share))

    def _taken_before(self, start: EpochStart, batch: int, share: Share) -> int:
        """Return how many samples of an epoch all ranks have taken before a batch."""
        left = self.count - start.offset
        return start.offset + _stepped_rank(share).done(left, share.options, batch)

    def _epoch_length(self, start: EpochStart, share: Share) -> int:
        """Return how many samples an epoch takes of the order: none of those that are dropped."""
        if share.options.last_batch != "drop":
            return self.count
        batches = _stepped_rank(share).batches(self.count - start.offset, share.options)
        return self._taken_before(start, batches, share)

    def _epoch_start(self, epoch: int, share: Share) -> EpochStart:
        """Return where an epoch begins."""
        start = self._start
        if epoch < start.epoch:
            start = EpochStart()
        if epoch > start.epoch:
            count, more = self.count, epoch - start.epoch - 1
            first = SteppedRank(0, share.rank.world)  # which has most batches
            steps = [first.batches(own, share.options) for own in (count - start.offset, count)]
            place = (
                start.place
                + self._epoch_length(start, share)
                + more * self._epoch_length(EpochStart(), share)
            )
            start = EpochStart(epoch, place, start.step + steps[0] + more * steps[1])
        return start

    def _place_of(self, step: int, share: Share) -> int:
        """Return the place of a step's first sample."""
        epoch = self._start.epoch
        while self._epoch_start(epoch + 1, share).step <= step:
            epoch += 1
        start = self._epoch_start(epoch, share)
        return start.place + self._taken_before(start, step - start.step, share)


def _stepped_rank(share: Share) -> SteppedRank:
    return SteppedRank(share.rank.rank, share.rank.world)


class Shares:
    """Spread samples over components by their weights.

    Any 1,000 consecutive samples hold the floor or the ceiling of 1,000 times each share. They
    repeat one pattern, with the whole samples that each component has among 1,000, each time at
    the same places. What is left of 1,000 places goes to components in turns: the parts of samples
    that they have a right to lie on a circle, one after the other, which is gone around in steps
    of little more than one sample, so that none is met twice before the pattern repeats.

    weights: at least 0, not all of them 0.
    exact: list of Fraction, the shares.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        exact = [Fraction(str(weight)) for weight in weights]
        self.exact = [weight / sum(exact) for weight in exact]
        shares = [SPAN * weight / sum(exact) for weight in exact]
        self._whole = np.array([int(share) for share in shares], np.int64)
        parts = [share - int(share) for share in shares]
        self._turns = int(sum(parts))  # places of the pattern that are taken in turns
        self._pattern = _spread_evenly([*self._whole.tolist(), self._turns])
        in_turn = self._pattern == len(weights)
        self._turn = np.cumsum(in_turn) - in_turn  # how many such are before each place
        self._ends = np.cumsum([round(part * _UNITS) for part in parts], dtype=np.int64)
        self._ends[max(np.flatnonzero(np.array(parts, float)), default=0) :] = self._turns * _UNITS
        room = (1 - float(max(parts))) / max(self._turns - 1, 1)
        self._step = _UNITS + math.floor(_GOLDEN * room * _UNITS) * (self._turns > 1)
        if self._turns == 1:
            self._step = round(_GOLDEN * _UNITS)
        self._known = 0, np.zeros(len(weights), np.int64)  # a place, and what is before it

    def components(self, first: int, count: int) -> Whole:
        """Return the components (count) of the samples from number `first` on."""
        rounds, places = np.divmod(np.arange(first, first + count), SPAN)
        found = self._pattern[places]
        shared = np.flatnonzero(found == len(self._whole))
        turns = rounds[shared] * self._turns + self._turn[places[shared]]
        at = turns % (self._turns * _UNITS or 1) * self._step % (self._turns * _UNITS or 1)
        found[shared] = np.searchsorted(self._ends, at, side="right")
        return found

    def before(self, place: int) -> Whole:
        """Return how many samples of each component are before a place."""
        at, counts = self._known
        if not at <= place <= at + SPAN:
            at, counts = place - place % SPAN, self._before_round(place // SPAN)
        found = self.components(at, place - at)
        self._known = place, counts + np.bincount(found, minlength=len(counts))
        return self._known[1]

    def _before_round(self, rounds: int) -> Whole:
        """Return how many samples of each component are in so many rounds."""
        if not self._turns:
            return rounds * self._whole
        whole, turns = self._turns * _UNITS, rounds * self._turns
        # Turn n is before an end where floor(n step / whole) - floor((n step - end) / whole) is 1.
        steps = _floors(turns, whole, self._step, 0)
        ends = [steps - _floors(turns, whole, self._step, -end) for end in self._ends.tolist()]
        return rounds * self._whole + np.diff(ends, prepend=0)


def _floors(count: int, divisor: int, factor: int, add: int) -> int:
    """Return the sum of floor((factor n + add) / divisor) over n from 0 to count - 1.

    By Euclid's algorithm, as in Graham, Knuth, Patashnik: Concrete Mathematics, 3.5.
    """
    total = 0
    while count:
        total += count * (count - 1) // 2 * (factor // divisor) + count * (add // divisor)
        factor, add = factor % divisor, add % divisor
        count, add = divmod(factor * count + add, divisor)
        factor, divisor = divisor, factor
    return total


def _spread_evenly(counts: Sequence[int]) -> Whole:
    """Spread so many of each kind evenly: always that kind comes which is most behind its share."""
    total, wanted = sum(counts), np.array(counts, np.int64)
    made, out = np.zeros(len(counts), np.int64), np.empty(total, np.int64)
    for place in range(total):
        kind = int(np.argmax((place + 1) * wanted - made * total))
        out[place] = kind
        made[kind] += 1
    return out
