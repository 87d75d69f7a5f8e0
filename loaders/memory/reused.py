"""Host memory of tensors, reused once no tensor refers to it."""

from __future__ import annotations

import weakref

import torch

_KEPT = 4  # lows and normals of a batch, and of the one that is made ahead


class ReusedMemory:
    """A pool of host memory for float tensors, reused once no tensor refers to it.

    The operating system clears fresh pages: for batches of values that takes a tenth of the time
    that a core has for a pair.
    """

    def __init__(self) -> None:
        self._free: list[torch.Tensor] = []

    def empty(self, shape: torch.Size) -> torch.Tensor:
        """Return a float32 tensor of a shape, whose values are any."""
        count = shape.numel()
        while self._free:
            held = self._free.pop()
            if held.numel() >= count:
                break
        else:
            held = torch.empty(count)
        view = held.numpy()[:count]
        # A tensor of an array holds this very object for as long as any view of it lives.
        weakref.finalize(view, _keep, self._free, held).atexit = False
        return torch.from_numpy(view).view(shape)


def _keep(free: list[torch.Tensor], held: torch.Tensor) -> None:
    if len(free) < _KEPT:
        free.append(held)
