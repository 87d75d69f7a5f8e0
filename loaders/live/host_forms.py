"""Pairs that lie decoded in host memory, brought into form by threads, straight into a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import numpy.typing as npt

from ...synth.kernels.arrays import Window
from ..forms import Change
from ..options import Options
from ..samples import Batch, sized, turned_shape

Pixels = npt.NDArray[np.uint8]


class HostBatch:
    """A batch that threads are making.

    Parameters
    ----------
    options : Options
    pool : Executor
    normals : sequence of uint8 arrays (H, W, 3)
    changes : array (N, 7), optional
        Of `forms.Change`; by default the images are taken whole.
    low_of : function of a number and a Window
        Returns that window of a pair's low, uint8.

    Raises
    ------
    LoaderError
        When images of one batch have different sizes, and nothing is said that makes them alike.
    """

    def __init__(
        self,
        options: Options,
        pool: Executor,
        normals: Sequence[Pixels],
        changes: Any,
        low_of: Callable[[int, Window], Pixels],
    ) -> None:
        self._options, self._low_of = options, low_of
        cut = options.size is not None and options.crop != "resize"
        drawn = [change_at(changes, i, image.shape, cut) for i, image in enumerate(normals)]
        self._batch = Batch(options, shapes_of(drawn, options))
        self._tasks: list[Future[None]] = [
            pool.submit(self._one, i, normal, drawn[i]) for i, normal in enumerate(normals)
        ]

    def images(self) -> tuple[Any, ...]:
        """Wait for the batch; return low and normal, tensors (N, 3, H, W) or (N, H, W, 3)."""
        for task in self._tasks:
            task.result()
        return self._batch.tensors()

    def _one(self, i: int, normal: Pixels, change: Change) -> None:
        low = sized(self._low_of(i, change.window), change.within(), self._options)
        self._batch.place(i, (low, sized(normal, change, self._options)), change)


def change_at(changes: Any, number: int, shape: Sequence[int], cut: bool) -> Change:
    """Return the change of an image among many, of which some may be cut."""
    whole = 0, 0, *shape[:2]
    top, left, height, width = map(int, changes[number, :4]) if cut else whole
    flips = (0, 0, 0) if changes is None else changes[number, 4:]
    return Change(top, left, height, width, *map(bool, flips))


def shapes_of(changes: Sequence[Change], options: Options) -> list[tuple[int, int]]:
    """Return the height and width that each image has after its change."""
    return [
        options.size or turned_shape((change.height, change.width), change) for change in changes
    ]
