"""How a loader of a mixture is gone through: by places in one order that all ranks share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ...errors import LoaderError
from ..index import Contents
from ..live.lows import LiveLows
from ..options import Options
from ..pair_loader import PairLoader
from ..ranks import Rank
from ..states import STATE_VERSION, MixtureState, read_state
from .course import Course, Segment, SteppedRank
from .mixture import Mixture, as_mixture, schedule
from .parts import Part, open_parts


class Begun(NamedTuple):
    """The beginning of an epoch, of which a loader may have been given the rest alone.

    place: number of its first sample, counted from the training's first.
    step: number of its first batch.
    offset: samples of it that other ranks than today's took, before what `_batch` counts.
    """

    epoch: int = 0
    place: int = 0
    step: int = 0
    offset: int = 0


class Sample(NamedTuple):
    """A sample of a mixture.

    part: number of its component.
    number: number of the pair in its component.
    turn: pass over the component, which crops and new lows are drawn by.
    bright: (number, turn); the same of the other list of unpaired pictures.
    """

    part: int
    number: int
    turn: int
    bright: tuple[int, int] | None


Batch = tuple[int, list[Sample]]
"""Its number, counted from the training's first, and its samples."""


class MixedEpochs(PairLoader):
    """A loader of a mixture, whatever makes its batches.

    Its state is a place in the order that all ranks share: any rank's goes on on any number of
    ranks, with any batch size and backend.
    """

    parts: tuple[Part, ...]
    _course: Course
    _sizes: Mapping[int, Options]  # by the step that each begins with
    _begun = Begun()

    def _opened(
        self, data: Any, split: str, given: Mapping[str, Any]
    ) -> tuple[Contents, Options, LiveLows | None]:
        mixture = cast(Mixture, as_mixture(data, given))
        for name in ("labels", "resident", "resident_side"):
            if given.get(name):
                raise LoaderError(f"{name} goes with one set, not with a mixture: leave it out")
        try:
            sizes = schedule(given.get("size"))
        except ValueError as error:
            raise LoaderError(f"size: {error}") from None
        training, live = split == "train", bool(given.get("live"))
        self._sizes = {
            step: self._options({**given, "size": size}, training, live)
            for step, size in sizes.items()
        }
        first, chosen = {**given, "size": sizes[0]}, self._sizes[0]
        self.parts = open_parts(mixture, first, split, chosen.seed)
        weights = [part.component.weight for part in self.parts]
        names = list(mixture.components)
        self._course = Course(names, weights, chosen.seed, chosen.shuffle)
        self._columns = self._drawn = None
        own = json.dumps([[part.name, part.fingerprint()] for part in self.parts])
        identity = hashlib.sha256(own.encode()).hexdigest()[:16]
        count = self._epoch_samples(mixture)
        return Contents(repr(mixture), split, None, count, identity), chosen, None

    def _epoch_samples(self, mixture: Mixture) -> int:
        """Return how many samples an epoch has."""
        if isinstance(mixture.epoch, int):
            return mixture.epoch
        passes = [(i, part.count * part.component.repeat) for i, part in enumerate(self.parts)]
        passes = [(i, count) for i, count in passes if self.parts[i].component.weight[0]]
        after = self._course.place_after
        if mixture.epoch == "longest":
            return max(after(i, count - 1) for i, count in passes)
        return min(after(i, count) - 1 for i, count in passes)

    @property
    def rank(self) -> Rank:
        """The part of this process; ranks take turns."""
        found = super().rank
        return SteppedRank(found.rank, found.world)

    def _check_share(self, rank: Rank) -> None:
        super()._check_share(SteppedRank(rank.rank, rank.world))

    def __len__(self) -> int:
        begun = self._of_epoch(self.epoch)
        return self.rank.batches(self.contents.count - begun.offset, self.options)

    def _taken(self, begun: Begun, batch: int) -> int:
        """Return how many samples of an epoch all ranks have taken before a batch."""
        rank = cast(SteppedRank, self.rank)
        left = self.contents.count - begun.offset
        return begun.offset + rank.done(left, self.options, batch)

    def _span(self, begun: Begun) -> int:
        """Return how many samples an epoch takes of the order: none of those that are dropped."""
        if self.options.last_batch != "drop":
            return self.contents.count
        batches = self.rank.batches(self.contents.count - begun.offset, self.options)
        return self._taken(begun, batches)

    def _steps(self, count: int) -> int:
        """Return how many batches of `count` samples the rank has that has most."""
        return SteppedRank(0, self.rank.world).batches(count, self.options)

    def _of_epoch(self, epoch: int) -> Begun:
        """Return where an epoch begins."""
        begun = self._begun
        if epoch < begun.epoch:
            begun = Begun()
        if epoch > begun.epoch:
            count, more = self.contents.count, epoch - begun.epoch - 1
            place = begun.place + self._span(begun) + more * self._span(Begun())
            step = begun.step + self._steps(count - begun.offset) + more * self._steps(count)
            begun = Begun(epoch, place, step)
        return begun

    def _place_of(self, step: int) -> int:
        """Return the place of a step's first sample."""
        epoch = self._begun.epoch
        while self._of_epoch(epoch + 1).step <= step:
            epoch += 1
        begun = self._of_epoch(epoch)
        return begun.place + self._taken(begun, step - begun.step)

    def _places_of(self, batch: int) -> Any:
        """Return the places of a batch's samples in the epoch; of repetitions beyond its end."""
        begun = self._of_epoch(self.epoch)
        left = self.contents.count - begun.offset
        return begun.offset + self.rank.places(left, self.options, batch)

    def _samples_of(self, places: npt.NDArray[np.int64], step: int) -> list[Sample]:
        """Return the samples at places of an epoch."""
        begun = self._of_epoch(self.epoch)
        self._course.advance(step, self._place_of)
        numbered, found = self._course.numbered, []
        for i, number in self._course.samples(begun.place + places % self.contents.count):
            part = self.parts[i]
            turn, own = numbered(i, part.contents.count, number)
            bright = None
            if part.bright is not None:
                other = numbered(i, part.bright.count, number, 1)
                bright = other[1], other[0]
            found.append(Sample(i, own, turn, bright))
        return found

    def _sources_of(self, batch: int) -> list[str]:
        begun = self._of_epoch(self.epoch)
        samples = self._samples_of(self._places_of(batch), begun.step + batch)
        parts = [self.parts[one.part] for one in samples]
        return ["" if part.bright is not None else f"component {part.name}" for part in parts]

    def _batches_left(self) -> Iterator[Batch]:
        """Yield the batches of the running epoch from this place on."""
        begun = self._of_epoch(self.epoch)
        for batch in range(self._batch, len(self)):
            step = begun.step + batch
            yield step, self._samples_of(self._places_of(batch), step)

    def _batches_ahead(self) -> Iterator[Batch]:
        """Return all batches from this place on, epoch after epoch.

        Whoever takes them may be ahead of this loader, in another thread, and outlive it.
        """
        ahead = copy(self)
        ahead._asked, ahead._bound = self.options, self.rank
        ahead._course = copy(self._course)
        ahead._course.segments = list(self._course.segments)
        return ahead._all_batches()

    def _all_batches(self) -> Iterator[Batch]:
        while True:
            yield from self._batches_left()
            self.epoch, self._batch = self.epoch + 1, 0

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is: plain JSON, the same on all ranks between two steps."""
        begun = self._of_epoch(self.epoch)
        step = begun.step + self._batch
        self._course.advance(step, self._place_of)
        return {
            "fingerprint": self._fingerprint(),
            "epoch": self.epoch,
            "begun": begun.place,
            "step": step,
            "taken": self._taken(begun, self._batch),
            "weights": [
                [one.step, one.place, list(one.counts)]
                for one in self._course.segments
                if one.step <= step
            ],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on, with the next pass, where another loader of the same mixture was, on any rank.

        Raises LoaderError when the state is of something else, with what differs, or is not as
        `state_dict` gave it.
        """
        found = read_state(MixtureState, state, self._fingerprint())
        found.check_places(self.contents.count, self.options.last_batch == "drop")
        segments = [Segment(*one) for one in found.weights]
        self._course.go_on(segments, found.step, found.begun + found.taken)
        self._pass, self._loaded = None, True
        each = self.rank.world * self.batch_size
        even = self.options.last_batch == "even" and self.batch_size > 1
        self._batch, offset = (0, found.taken) if even else divmod(found.taken, each)
        self.epoch = found.epoch
        self._begun = Begun(found.epoch, found.begun, found.step - self._batch, offset)
        self._moved()

    def set_epoch(self, epoch: int) -> None:
        """Begin epoch number `epoch` with the next pass; passes count up by themselves."""
        super().set_epoch(epoch)
        if self.epoch < self._begun.epoch:
            self._begun = Begun()
            self._course.segments = self._course.segments[:1]

    def _fingerprint(self) -> dict[str, Any]:
        options = self.options.fingerprint()
        for name in ("batch_size", "shuffle_buffer", "exact", "resident_side", "size"):
            options.pop(name, None)
        return {
            "version": STATE_VERSION,
            "data": self.contents.identity,
            "pairs": self.contents.count,
            "options": options,
            "size": {str(step): one.fingerprint()["size"] for step, one in self._sizes.items()},
        }

    def _sources(self) -> list[Contents]:
        both = ((part.contents, part.bright) for part in self.parts)
        return [one for pair in both for one in pair if one is not None]
