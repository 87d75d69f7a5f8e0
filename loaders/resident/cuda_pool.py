"""Decoded pairs that stay in a GPU's memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from ..render.cuda_tensors import addresses
from ..steps import DecodedStep
from .host_pool import DoesNotFit

_BLOCK = 1 << 30  # bytes of memory that are taken at once
_KEPT_FREE = 0.9  # of the memory that is free, what a pool may take


class CudaPool:
    """Decoded images of one rank on torch's current GPU, one after the other.

    steps: decoded on this GPU.
    kinds: "normal", or "low" and "normal".
    count: pairs that will come.
    name: name of the data, for messages.
    sizes: int64 array (count, 2); height, width of the normals.
    at: dict of kind to uint64 array (count); the address of each image.

    Raises DoesNotFit with both numbers.
    """

    def __init__(
        self, steps: Iterator[DecodedStep], kinds: Sequence[str], count: int, name: str
    ) -> None:
        from ...synth.kernels.batch.device_memory import copy_images

        self._blocks: list[torch.Tensor] = []
        self._used = _BLOCK
        self._shapes: dict[str, list[tuple[int, int]]] = {kind: [] for kind in kinds}
        at: dict[str, list[np.ndarray[Any, Any]]] = {kind: [] for kind in kinds}
        limit, held, done = int(_KEPT_FREE * torch.cuda.mem_get_info()[0]), 0, 0
        for step in steps:
            wanted = len(step.normal)
            for kind in kinds:
                which = step.low if kind == "low" else step.normal
                shapes = [(int(height), int(width)) for height, width in step.sizes[which]]
                bytes_of = 3 * np.prod(np.array(shapes, np.int64).reshape(-1, 2), axis=1)
                held += int(bytes_of.sum())
                whole = held / (done + wanted) * count
                if whole > limit:
                    raise DoesNotFit(
                        f"{name}: its {count:,} pairs take {whole / 2**30:.1f} GiB decoded,"
                        f" {limit / 2**30:.1f} GiB are free on the GPU: take resident='auto',"
                        " resident_side= for smaller images, live lows, or more GPUs"
                    )
                places = np.array([self._place(int(size)) for size in bytes_of], np.uint64)
                copy_images(
                    places,
                    addresses([step.images[int(i)] for i in which]),
                    bytes_of,
                    torch.cuda.current_stream().cuda_stream,
                )
                at[kind].append(places)
                self._shapes[kind] += shapes
            done += wanted
            torch.cuda.current_stream().synchronize()  # what was copied from is free now
        self.at = {kind: np.concatenate(places) for kind, places in at.items()}
        self.sizes = np.array(self._shapes["normal"], np.int64)

    def image(self, kind: str, number: int) -> torch.Tensor:
        """Return an image as a tensor (H, W, 3) over the pool's memory."""
        address, (height, width) = int(self.at[kind][number]), self._shapes[kind][number]
        for block in self._blocks:
            first = address - block.data_ptr()
            if 0 <= first < block.numel():
                return block[first : first + 3 * height * width].view(height, width, 3)
        raise IndexError(number)

    def _place(self, size: int) -> int:
        """Return the address of room for an image."""
        if not self._blocks or self._used + size > self._blocks[-1].numel():
            self._blocks.append(torch.empty(max(size, _BLOCK), dtype=torch.uint8, device="cuda"))
            self._used = 0
        address = self._blocks[-1].data_ptr() + self._used
        self._used += size
        return address
