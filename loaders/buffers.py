"""Memory of batches that is written to again and again.

Worker processes share theirs: fresh pages would be cleared by the operating system and mapped by
both sides; for pairs of 192 x 192 that takes .15 ms a pair of a process, as long as resizing both
images.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch.utils.data import get_worker_info

_KEPT = 4  # lows and normals of a batch, and of the one that is made ahead
_ROOM = 4  # a piece is larger than is asked for by this part, for what comes next
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


class ReusedMemory:
    """A pool of host memory for tensors, reused once none refers to it.

    The operating system clears fresh pages: for batches of values that takes a tenth of the time
    that a core has for a pair, for encoded images longer than reading them.

    kept: pieces that are kept while nobody has them.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._free: list[torch.Tensor] = []
        self._kept = kept

    def empty(self, shape: Sequence[int], kind: torch.dtype = torch.float32) -> torch.Tensor:
        """Return a tensor of a shape and type, whose values are any."""
        size = math.prod(shape) * kind.itemsize
        while self._free:
            held = self._free.pop()
            if held.numel() >= size:
                break
        else:
            held = torch.empty(size + size // _ROOM, dtype=torch.uint8)
        view = held.numpy()[:size]
        # A tensor of an array holds this very object for as long as any view of it lives.
        weakref.finalize(view, self._keep, held).atexit = False
        return torch.from_numpy(view).view(kind).view(*shape)

    def _keep(self, held: torch.Tensor) -> None:
        if len(self._free) < self._kept:
            self._free.append(held)
