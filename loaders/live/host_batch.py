"""Images that lie decoded in host memory, transformed by threads, straight into a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import numpy.typing as npt

from ...synth.kernels.arrays import Pixels, Window
from ..augment import CropFlip
from ..given import Known, Teller, batch_known
from ..options import Options
from ..samples import BatchTensors, sized, turned_shape


class HostBatch:
    """A batch that threads are making.

    crops: int array (N, 7); see `augment.draw_crops`.
    made: function of an image's number and its CropFlip; returns what the batch holds of it, each
      in the size that is asked for.
    members: how many those are.
    told: function of the same; returns what is known of the sample.

    Raises LoaderError when images of one batch have different sizes, and nothing is said that makes
    them alike.
    """

    def __init__(
        self,
        options: Options,
        pool: Executor,
        crops: npt.NDArray[np.int32],
        made: Callable[[int, CropFlip], Sequence[Pixels]],
        members: int = 2,
        told: Callable[[int, CropFlip], Known] | None = None,
    ) -> None:
        self._options, self._made, self._told = options, made, told
        drawn = [CropFlip(*crop) for crop in crops.tolist()]
        shapes = [options.size or turned_shape((one.height, one.width), one) for one in drawn]
        self._batch = BatchTensors(options, shapes, members)
        self._tasks: list[Future[Known | None]] = [
            pool.submit(self._one, i, crop) for i, crop in enumerate(drawn)
        ]

    def images(self) -> tuple[Any, ...]:
        """Wait for the batch; return its members, tensors (N, 3, H, W) or (N, H, W, 3)."""
        for task in self._tasks:
            task.result()
        return self._batch.tensors()

    def given(self) -> tuple[Any, ...]:
        """Wait for the batch; return what is known of it, where that is asked for."""
        known = [one for task in self._tasks if (one := task.result()) is not None]
        return (batch_known(known, self._options),) if known else ()

    def _one(self, i: int, crop: CropFlip) -> Known | None:
        self._batch.place(i, self._made(i, crop), crop)
        return None if self._told is None else self._told(i, crop)


def pairs_batch(
    options: Options,
    pool: Executor,
    crops: npt.NDArray[np.int32],
    normals: Sequence[Pixels],
    low_of: Callable[[int, Window], Pixels],
    told: Sequence[Teller] = (),
) -> HostBatch:
    """Return a `HostBatch` of low and normal of pairs.

    normals: sequence of uint8 arrays (H, W, 3).
    low_of: function of a number and a Window; returns that window of a pair's low, uint8.
    told: what tells what is known of each sample; empty where nobody asks.
    """

    def made(i: int, crop: CropFlip) -> Sequence[Pixels]:
        low = sized(low_of(i, crop.window), crop.within(), options)
        return low, sized(normals[i], crop, options)

    def known(i: int, crop: CropFlip) -> Known:
        return told[i](normals[i], crop)

    return HostBatch(options, pool, crops, made, told=known if told else None)
