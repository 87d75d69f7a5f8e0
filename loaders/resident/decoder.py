"""Steps of images that lie decoded in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...synth.kernels.arrays import Pixels
from ..order import Step, Whole
from ..steps import DecodedStep

if TYPE_CHECKING:
    from .cuda_pool import CudaPool

_AHEAD = 4  # batches that are made while one is used


class HostResident:
    """Takes images out of host memory.

    pool: (low, normal), or the normal alone, by number; see `host_pool.decode_all`.
    """

    ahead = _AHEAD

    def __init__(self, pool: Mapping[int, tuple[Pixels, ...]], steps: Iterator[Step]) -> None:
        self._pool, self._steps = pool, steps

    def next(self, stream: Any = None) -> DecodedStep:
        """Return the next step."""
        step = next(self._steps)
        groups = [self._pool[one.number] for one in step.positions]
        images = [image for own in groups for image in own]
        ends = np.cumsum([len(own) for own in groups])
        sizes = np.array([image.shape[:2] for image in images], np.int64)
        return DecodedStep(step, images, sizes, np.concatenate([[0], ends[:-1]]), ends - 1)

    def close(self) -> None:
        """There is nothing to end."""


class CudaResident:
    """Takes images out of a GPU's memory.

    pool: those of the samples from number `first` on.
    """

    ahead = _AHEAD

    def __init__(self, pool: CudaPool, first: int, steps: Iterator[Step]) -> None:
        self._pool, self._first, self._steps = pool, first, steps

    def next(self, stream: Any = None) -> DecodedStep:
        """Return the next step."""
        step = next(self._steps)
        numbers = np.array([one.number for one in step.positions]) - self._first
        normal, sizes = np.arange(len(numbers)), self._pool.sizes[numbers]
        low = normal
        if "low" in self._pool.at:
            low, sizes = normal + len(numbers), np.concatenate([sizes, sizes])
        return DecodedStep(step, _Images(self._pool, numbers), sizes, low, normal)

    def close(self) -> None:
        """There is nothing to end."""


class _Images(Sequence[Any]):
    """Tensors of normals, then of lows; made when they are asked for."""

    def __init__(self, pool: CudaPool, numbers: Whole) -> None:
        self._pool, self._numbers = pool, numbers

    def __len__(self) -> int:
        return len(self._pool.at) * len(self._numbers)

    def __getitem__(self, number: Any) -> Any:
        kind, place = divmod(int(number), len(self._numbers))
        return self._pool.image("low" if kind else "normal", int(self._numbers[place]))
