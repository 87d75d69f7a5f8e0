"""Images that lie decoded in host memory, brought into form by threads, straight into a batch."""

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
    images : sequence of uint8 arrays (H, W, 3)
    changes : array (N, 7), optional
        Of `forms.Change`; by default the images are taken whole.
    made : function of an image's number and its Change
        Returns what the batch holds of it, each in the size that is asked for.
    members : int
        How many those are.

    Raises
    ------
    LoaderError
        When images of one batch have different sizes, and nothing is said that makes them alike.
    """

    def __init__(
        self,
        options: Options,
        pool: Executor,
        images: Sequence[Pixels],
        changes: Any,
        made: Callable[[int, Change], Sequence[Pixels]],
        members: int = 2,
    ) -> None:
        self._made = made
        drawn = []
        for i, image in enumerate(images):
            whole = 0, 0, *image.shape[:2]
            top, left, height, width = map(int, changes[i, :4]) if options.cuts else whole
            flips = (0, 0, 0) if changes is None else changes[i, 4:]
            drawn.append(Change(top, left, height, width, *map(bool, flips)))
        shapes = [
            options.size or turned_shape((change.height, change.width), change) for change in drawn
        ]
        self._batch = Batch(options, shapes, members)
        self._tasks: list[Future[None]] = [
            pool.submit(self._one, i, change) for i, change in enumerate(drawn)
        ]

    def images(self) -> tuple[Any, ...]:
        """Wait for the batch; return its members, tensors (N, 3, H, W) or (N, H, W, 3)."""
        for task in self._tasks:
            task.result()
        return self._batch.tensors()

    def _one(self, i: int, change: Change) -> None:
        self._batch.place(i, self._made(i, change), change)


def pair_of(
    options: Options, normals: Sequence[Pixels], low_of: Callable[[int, Window], Pixels]
) -> Callable[[int, Change], Sequence[Pixels]]:
    """Return what makes low and normal of a pair for a `HostBatch`.

    Parameters
    ----------
    options : Options
    normals : sequence of uint8 arrays (H, W, 3)
    low_of : function of a number and a Window
        Returns that window of a pair's low, uint8.
    """

    def made(i: int, change: Change) -> Sequence[Pixels]:
        low = sized(low_of(i, change.window), change.within(), options)
        return low, sized(normals[i], change, options)

    return made
