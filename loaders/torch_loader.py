"""TorchLoader: batches of (low, normal) that worker processes decode and make."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import torch

from ..errors import LoaderError
from .dataset import DECODERS
from .epoch_order import epoch_order
from .index import Contents
from .labels import PairLabels
from .memory.shared_buffers import SharedBufferPool
from .options import Options
from .pair_loader import PairLoader
from .samples import Place, Samples, collate_pairs
from .worker_loader import WorkerLoader

_OF_DALI = ("reader", "resident", "resident_side")


class TorchLoader(PairLoader, WorkerLoader):
    """PairLoader with backend="torch": OpenCV or Pillow decode, in worker processes.

    For a seed it gives the pairs in the order of `PairLoader(reader="external")`, and cuts the
    windows that every PairLoader does; the webdataset and file readers of DALI, which PairLoader
    takes by itself for sets, shuffle within a buffer and have an order of their own. Batches are
    copied to the device ahead of their use, from pinned memory on a stream of its own.

    Examples
    --------
    >>> import gloam
    >>> loader = gloam.TorchLoader("SET", "val", batch_size=2, size=64, workers=0, device="cpu")
    >>> [tuple(normal.shape) for low, normal in loader]
    [(2, 3, 64, 64)]
    """

    _backend = "torch"

    def _reader(self, contents: Contents, given: Mapping[str, Any]) -> str:
        for name in _OF_DALI:
            if given.get(name, "auto") not in ("auto", False, None):
                raise LoaderError(f"{name} goes with backend='dali': leave it out")
        return "torch"

    def _set_up(self, given: Mapping[str, Any]) -> None:
        decoder = given.get("decoder") or "opencv"
        if decoder not in DECODERS:
            raise LoaderError(f"decoder {decoder!r}: must be opencv or pillow")
        self._dataset = self._made_by(decoder)
        self._prepare()

    def _made_by(self, decoder: str) -> Any:
        """Return the samples of all ranks."""
        return Samples(self.contents, self._asked, decoder, self.live, self._drawn)

    def _largest(self) -> tuple[int, int] | None:
        """Return the largest size that batches have; None where it is not known."""
        return self.options.size

    def _collate(self, options: Options, rooms: SharedBufferPool | None) -> Any:
        return partial(collate_pairs, options, rooms, self.options)

    def _buffers_for(self, device: torch.device) -> SharedBufferPool | None:
        """Return rooms for batches of one size that values are made of, as those are copies."""
        options, sides = self.options, self._largest()
        if sides is None or options.dtype == "uint8" or device.type != "cpu":
            return None
        size = 2 * options.batch_size * 3 * math.prod(sides)
        try:
            return SharedBufferPool(size, self.num_workers, options.prefetch)
        except RuntimeError:  # of torch: /dev/shm is small, as in containers; see `told_batch`
            return None

    def _places(self) -> Iterator[list[Place]]:
        """Yield what is left of the running epoch: batches of pairs."""
        epoch, count = self.epoch, self.contents.count
        order = epoch_order(count, self.options.seed, epoch, self.options.shuffle)
        for batch in range(self._batch, len(self)):
            numbers = order[self._places_of(batch) % count].tolist()
            yield [Place(self.contents.pair(n), epoch, self._labels(n)) for n in numbers]

    def _labels(self, number: int) -> PairLabels | None:
        if self._columns is None:
            return None
        roles, mask = self._columns.roles, self._columns.mask(number)
        if mask is not None:
            mask = self.contents.nearest(mask)
        return PairLabels(self._columns.take([number]), roles, mask)
