"""Mixtures whose batches worker processes decode and make."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torch.utils.data import Dataset

from ..dataset import ReadyBatch, place_of
from ..options import Options
from ..samples import Place, Sample, Samples
from ..torch_loader import TorchLoader
from .epochs import MixedEpochs
from .mixture import at
from .parts import Part


class MixedPlace(NamedTuple):
    """All that a process needs to make one sample.

    part: number of its component.
    step: number of its batch, for schedules.
    """

    part: int
    step: int
    place: Place


class MixedSamples(Dataset[Any]):
    """Samples of a mixture: those of its components, each made as by a loader of it alone.

    sizes: dict of step to Options.
    count: samples of an epoch.
    """

    def __init__(
        self,
        parts: tuple[Part, ...],
        sizes: Mapping[int, Options],
        decoder: str,
        count: int,
    ) -> None:
        self._parts, self._sizes, self._decoder, self._count = parts, sizes, decoder, count
        self._made: dict[tuple[int, int], Samples] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, ReadyBatch):
            return place
        if isinstance(place, MixedPlace):
            return self.__getitems__([place])[0]
        left = place_of(place, sum(part.count for part in self._parts))
        for number, part in enumerate(self._parts):
            if left < part.contents.count:
                return self._of(number, 0).decoded(part.contents.pair(left))
            left -= part.contents.count
        raise IndexError(place)

    def __getitems__(self, places: list[MixedPlace]) -> list[Sample]:
        """Return the samples of a batch; those of one component and pass are made together."""
        if not all(isinstance(place, MixedPlace) for place in places):
            return [self[place] for place in places]
        groups: dict[tuple[int, int, int], list[int]] = {}
        for i, one in enumerate(places):
            groups.setdefault((one.part, one.place.epoch, one.step), []).append(i)
        made: dict[int, Sample] = {}
        for (part, _, step), own in groups.items():
            samples = self._of(part, step).__getitems__([places[i].place for i in own])
            for i, sample in zip(own, samples, strict=True):
                known = sample.known
                if known is not None:
                    known = known._replace(component=self._parts[part].name)
                made[i] = sample._replace(known=known)
        return [made[i] for i in range(len(places))]

    def _of(self, number: int, step: int) -> Samples:
        part = self._parts[number]
        begun = max(begin for begin in {*self._sizes, *part.live, 0} if begin <= step)
        if (number, begun) not in self._made:
            options = at(self._sizes, step)
            self._made[number, begun] = part.samples(options, self._decoder, step)
        return self._made[number, begun]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": {}}


class MixedTorch(MixedEpochs, TorchLoader):
    """A mixture with backend="torch"."""

    def _made_by(self, decoder: str) -> Any:
        return MixedSamples(self.parts, self._sizes, decoder, self.contents.count)

    def _largest(self) -> tuple[int, int] | None:
        sizes = [one.size for one in self._sizes.values()]
        return max((size for size in sizes if size), key=math.prod) if all(sizes) else None

    def _places(self) -> Iterator[list[Any]]:
        """Yield what is left of the running epoch: batches of samples."""
        for step, samples in self._batches_left():
            yield [
                MixedPlace(
                    one.part,
                    step,
                    Place(
                        self.parts[one.part].contents.pair(one.number),
                        one.turn,
                        bright=self._bright(one.part, one.bright),
                    ),
                )
                for one in samples
            ]

    def _bright(self, part: int, own: tuple[int, int] | None) -> Place | None:
        contents = self.parts[part].bright
        if own is None or contents is None:
            return None
        return Place(contents.pair(own[0]), own[1])
