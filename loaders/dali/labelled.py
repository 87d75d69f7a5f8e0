"""Labels beside the batches of a DALI pipeline, cropped and flipped as its images are."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..augment import draw_crops
from ..labels import LabelColumns, batch_labels, move_mask
from ..options import Options


class _Batch(NamedTuple):
    """A batch that is on its way."""

    numbers: npt.NDArray[np.int64]
    crops: npt.NDArray[Any]
    masks: list[Future[Any]]


class LabelSource:
    """The labels of a pipeline's batches.

    numbers: function of a batch's number; returns those of its pairs.
    epoch_of: function of a batch's number; returns its epoch.
    keys: function of numbers; returns the keys of their pairs.
    """

    def __init__(
        self,
        columns: LabelColumns,
        options: Options,
        numbers: Callable[[int], Any],
        epoch_of: Callable[[int], int],
        keys: Callable[[list[int]], list[str]],
    ) -> None:
        self._columns, self._options = columns, options
        self._numbers, self._epoch_of, self._keys = numbers, epoch_of, keys
        self._pool = ThreadPoolExecutor(max(options.workers, 1))
        self._ahead: dict[int, _Batch] = {}

    def ahead_of(self, crops: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function that begins to read a batch's masks when DALI asks for its crops."""

        def drawn(info: Any) -> Any:
            self._begin(info.iteration)
            return crops(info)

        return drawn

    def labels(self, done: int, count: int, numbers: Any = None) -> dict[str, Any]:
        """Return the labels of the first pairs of a batch; see `labels.batch_labels`.

        Their numbers are given where a pipeline hands them out.
        """
        batch = self._ahead.pop(done, None) or self._begin(done, numbers)
        self._ahead = {number: one for number, one in self._ahead.items() if number > done}
        masks = [mask.result() for mask in batch.masks[:count]]
        rows = self._columns.take(batch.numbers[:count])
        return batch_labels(rows, batch.crops[:count], masks, self._columns.roles, self._options)

    def close(self) -> None:
        """End the threads that read masks."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, done: int, given: Any = None) -> _Batch:
        numbers = np.asarray(self._numbers(done) if given is None else given, np.int64)
        keys, sizes = self._keys(numbers.tolist()), self._columns.sizes[numbers]
        crops = draw_crops(self._options, self._epoch_of(done), keys, sizes)
        masks = []
        if self._columns.masks is not None:
            masks = [
                self._pool.submit(move_mask, self._columns.masks[number], crop, self._options)
                for number, crop in zip(numbers.tolist(), crops, strict=True)
            ]
        self._ahead[done] = batch = _Batch(numbers, crops, masks)
        return batch
