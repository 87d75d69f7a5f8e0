"""A pool of shared memory for the batches of TorchLoader's processes.

Fresh pages would be cleared by the operating system and mapped by both sides: for pairs of
192 x 192 that takes .15 ms a pair of a process, as long as resizing both images.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch.utils.data import get_worker_info

_AHEAD = 2  # batches beyond those made ahead: one is written, one read


class BufferHandle(NamedTuple):
    """A batch in a shared buffer, as a worker process sends it."""

    number: int
    shape: tuple[int, ...]


class SharedBufferPool:
    """Shared buffers of one size, a few for each worker process.

    size: of each, bytes.
    workers, prefetch: processes, and batches that each makes ahead.
    """

    def __init__(self, size: int, workers: int, prefetch: int) -> None:
        self._each, self._size = prefetch + _AHEAD, size
        count = workers * self._each
        self._bytes = shared((count, size), torch.uint8)
        # In which pass a buffer was taken; 0 for none. The last number is the running pass.
        self._taken = shared((count + 1,), torch.int64).zero_()
        self.begin()

    def begin(self) -> None:
        """Begin a pass: buffers of earlier passes become free."""
        self._taken[-1] += 1

    def take(self, shape: tuple[int, ...]) -> BufferHandle | None:
        """Take a free buffer for bytes of a shape, in a worker process.

        None where all are taken, or too small.
        """
        worker, now = get_worker_info(), int(self._taken[-1])
        if worker is None or math.prod(shape) > self._size:
            return None
        for number in range(worker.id * self._each, (worker.id + 1) * self._each):
            if int(self._taken[number]) != now:
                self._taken[number] = now
                return BufferHandle(number, shape)
        return None

    def open(self, buffer: BufferHandle) -> torch.Tensor:
        """Return a buffer's contents, uint8 of its shape; valid until it is given back."""
        return self._bytes[buffer.number, : math.prod(buffer.shape)].view(buffer.shape)

    def give_back(self, buffer: BufferHandle) -> None:
        """Mark a buffer as free for writing."""
        self._taken[buffer.number] = 0


def shared(shape: tuple[int, ...], kind: torch.dtype) -> torch.Tensor:
    """Return an empty tensor in memory that processes share."""
    storage = torch.UntypedStorage._new_shared(math.prod(shape) * kind.itemsize)
    return torch.empty(0, dtype=kind).set_(storage).view(shape)
