"""Labels beside the batches of a DALI pipeline: whose they are, and how those are changed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...synth.parameters.columns import Keys
from ..labels import LabelColumns, batch_labels, moved_mask, whole
from ..options import Options
from .forms.forming import drawn_changes


class _Batch(NamedTuple):
    """A batch that is on its way."""

    numbers: npt.NDArray[np.int64]
    changes: npt.NDArray[Any]
    masks: list[Future[Any]]


class LabelSource:
    """The labels of a pipeline's batches; and the changes of their pairs, where it draws none.

    Parameters
    ----------
    columns : LabelColumns
    options : Options
    numbers : function of a batch's number
        Returns those of its pairs.
    epoch_of : function of a batch's number
        Returns its epoch.
    keys : function of numbers, optional
        Returns the keys of pairs whose changes are drawn by them, as they are for live and resident
        pairs; others are drawn by their numbers.
    """

    def __init__(
        self,
        columns: LabelColumns,
        options: Options,
        numbers: Callable[[int], Any],
        epoch_of: Callable[[int], int],
        keys: Callable[[list[int]], list[str]] | None = None,
    ) -> None:
        self._columns, self._options = columns, options
        self._numbers, self._epoch_of, self._keys = numbers, epoch_of, keys
        self._pool = ThreadPoolExecutor(max(options.threads, 1))
        self._ahead: dict[int, _Batch] = {}

    def forms(self, info: Any) -> list[Any]:
        """Return the windows and flips of DALI's next batch."""
        return list(self._begin(info.iteration).changes)

    def labels(self, done: int, count: int, numbers: Any = None) -> dict[str, Any]:
        """Return the labels of the first pairs of a batch; see `labels.batch_labels`.

        Their numbers are given where a pipeline hands them out.
        """
        batch = self._ahead.pop(done, None) or self._begin(done, numbers)
        self._ahead = {number: one for number, one in self._ahead.items() if number > done}
        masks = [mask.result() for mask in batch.masks[:count]]
        rows = self._columns.take(batch.numbers[:count])
        return batch_labels(rows, batch.changes[:count], masks, self._columns.roles, self._options)

    def close(self) -> None:
        """End the threads that read masks."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, done: int, given: Any = None) -> _Batch:
        numbers = np.asarray(self._numbers(done) if given is None else given, np.int64)
        changes = self._changes(numbers, self._epoch_of(done))
        masks = []
        if self._columns.masks is not None:
            masks = [
                self._pool.submit(moved_mask, self._columns.masks[number], change, self._options)
                for number, change in zip(numbers.tolist(), changes, strict=True)
            ]
        self._ahead[done] = batch = _Batch(numbers, changes, masks)
        return batch

    def _changes(self, numbers: npt.NDArray[np.int64], epoch: int) -> npt.NDArray[Any]:
        options, sizes = self._options, self._columns.sizes[numbers]
        named = numbers.tolist()
        keys = Keys([str(n) for n in named]) if self._keys is None else self._keys(named)
        changes = drawn_changes(options, keys, sizes, epoch)
        if changes is None:
            return whole(sizes)
        made: npt.NDArray[Any] = changes
        return made
