"""Batches of (low, normal) from a set, through DALI."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import LoaderError
from ..dataset import PairDataset
from ..index import Contents
from ..live.pool import DoesNotFit
from ..pair_loader import PairLoader
from .batches import keys_of_records, numbers_of, tensor_of
from .dali_loader import DaliLoader
from .labelled import LabelSource

READERS = ("webdataset", "file", "external")
_OTHER_ORDER = (
    "the state is of a loader that kept its pairs in memory, and this one does not, or the other"
    " way round: their orders differ; say resident=True or False, as there"
)


class DaliPairs(PairLoader, DaliLoader):
    """PairLoader with backend="dali"."""

    _labels: LabelSource | None = None

    def _reader(self, contents: Contents, given: Mapping[str, Any]) -> str:
        resident = given.get("resident", False)
        if resident not in (True, False, "auto"):
            raise LoaderError(f"resident {resident!r}: must be True, False or 'auto'")
        if given.get("resident_side") is not None and not resident:
            raise LoaderError("resident_side goes with resident=True")
        if given.get("decoder") is not None:
            raise LoaderError("decoder goes with backend='torch': leave it out")
        reader = "external" if resident else given.get("reader", "auto")
        if reader == "auto":
            return contents.reader
        if reader not in READERS:
            raise LoaderError(f"reader {reader!r}: must be auto or one of {', '.join(READERS)}")
        if reader not in (contents.reader, "external"):
            raise LoaderError(
                f"reader {reader!r} cannot read {contents.name}; use reader={contents.reader!r}"
            )
        return str(reader)

    def _set_up(self, given: Mapping[str, Any]) -> None:
        self._resident = given.get("resident", False)
        self._pools: dict[str, Any] = {}  # what is in memory, decoded

    @property
    def dataset(self) -> PairDataset:
        """The pairs of all ranks; `dataset[i]` decodes one of them on the CPU."""
        return PairDataset(self.contents, live=self.live)

    def _build(self, epoch: int, checkpoint: bytes | None) -> Any:
        """Build the pipeline of an epoch."""
        builder = self._builder
        numbers = self._source_numbers(epoch, checkpoint)
        crops = builder.crops(epoch, numbers)
        if self._columns is not None:
            self._labels = LabelSource(
                self._columns,
                self.options,
                numbers,
                builder.epoch_of(epoch),
                self.contents.keys_of,
            )
            crops = self._labels.ahead_of(crops)
        if self._resident and self.options.last_batch == "padded":
            raise LoaderError(
                f"{self.contents.name}: resident pairs are each rank's own, and last_batch='padded'"
                " gives them in turn: leave resident out, or take last_batch='partial'"
            )
        if self._resident:
            if checkpoint is not None and self.rank.world > 1:
                raise LoaderError.at(self.contents.name, _OTHER_ORDER)
            try:
                return builder.build_resident((self.epoch, self._batch), self._pools)
            except DoesNotFit as error:
                if self._resident != "auto":
                    raise
                print(f"{error}; loading it batch by batch", file=sys.stderr)
                self._resident = False
                if checkpoint is None and self._done:
                    raise LoaderError.at(self.contents.name, _OTHER_ORDER) from error
        done = 0 if checkpoint is None else self._done
        return builder.build(epoch, checkpoint, done, numbers, crops)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_pools": {}, "_labels": None}

    def _drop(self) -> None:
        super()._drop()
        if self._labels is not None:
            self._labels.close()
            self._labels = None

    def _handed_out(self, outputs: tuple[Any, ...], count: int, done: int) -> tuple[Any, ...]:
        known: tuple[Any, ...] = ()
        if self.options.give:
            outputs, known = outputs[:-1], outputs[-1:]
            if count < self.options.batch_size:
                from ..given import first_of  # which needs torch

                known = (first_of(known[0], count),)
        made = self._batch_of(outputs, count)
        if self._labels is None:
            return (*made, *known)
        numbers = outputs[2] if self._resident else None
        return (*made, self._labels.labels(done, count, numbers), *known)

    def _batch_of(self, outputs: Sequence[Any], count: int) -> tuple[Any, ...]:
        low, normal, *labels = outputs
        keys: list[str] = []
        if len(labels) == 2 and self.reader == "file":
            if (numbers_of(labels[0]) != numbers_of(labels[1])).any():
                raise LoaderError.at(
                    self.contents.name,
                    "the lists of lows and normals are out of step; gloam verify the set",
                )
        elif len(labels) == 2:
            keys, others = (keys_of_records(label, count) for label in labels)
            if keys != others:
                where = f"{self.contents.name} and the normals of {self.contents.normal_root}"
                raise LoaderError(f"{where} are out of step; gloam verify both")
        images = tuple(tensor_of(images)[:count] for images in (low, normal))
        if not self.options.keys:
            return images
        return (*images, keys or self._builder.keys(labels[0])[:count])
