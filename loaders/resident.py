"""Decoded images that stay in memory, of the host or of a GPU, and steps that take them from it.

They are decoded once; later epochs read them where they lie.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch

from ..errors import LoaderError
from ..synth.kernels.arrays import Pixels
from .order import Step, Whole
from .render.cuda_lows import addresses
from .steps import DecodedStep
from .stored_pairs import Pairs, StoredSample

_KEPT_FREE = 0.9  # of the memory that is free, what a pool may take
_AHEAD = 4  # batches that are made while one is used
_BLOCK = 1 << 30  # bytes of memory that are taken at once


class DoesNotFit(LoaderError):
    """Pairs that are to stay in memory take more than there is."""


def decode_all(
    pairs: Pairs,
    numbers: Sequence[int],
    decoded: Callable[[StoredSample], tuple[Pixels, ...]],
    threads: int,
    name: str,
) -> dict[int, tuple[Pixels, ...]]:
    """Return the decoded pairs of one rank, by their numbers.

    numbers: those of the pairs that are kept.
    decoded: function of a StoredSample; returns its images, uint8 (H, W, 3): (low, normal), or the
      normal alone where lows are live.
    name: name of the data, for messages.

    Raises DoesNotFit with both numbers; LoaderError naming an image that cannot be decoded.
    """
    kept: dict[int, tuple[Pixels, ...]] = {}
    limit, held = int(_KEPT_FREE * free_memory()), 0
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        # Unnamed, so that what raises drops it, and what is not begun is never decoded.
        for done, images in enumerate(pool.map(lambda i: decoded(pairs[i]), numbers), 1):
            held += sum(image.nbytes for image in images)
            if held > limit:
                whole = held / done * len(numbers)
                raise DoesNotFit(
                    f"{name}: its {len(numbers):,} pairs take {whole / 2**30:.1f} GiB decoded,"
                    f" {limit / 2**30:.1f} GiB are free: take resident='auto', resident_side="
                    " for smaller images, live lows, a smaller set, or more ranks"
                )
            kept[numbers[done - 1]] = images
    return kept


def shrunk(image: Pixels, side: int | None) -> Pixels:
    """Return an image (H, W, 3) whose longer side is at most `side`, by averaging."""
    height, width = image.shape[:2]
    if side is None or max(height, width) <= side:
        return image
    share = side / max(height, width)
    size = max(round(width * share), 1), max(round(height * share), 1)
    smaller: Pixels = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA))
    return smaller


def free_memory() -> int:
    """Return how many bytes of host memory are free, those that the system can give back included.

    A limit of the process's control group counts, as containers have one.
    """
    free = 1 << 62
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) << 10
        most = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        if most != "max":
            free = min(free, int(most) - used)
    except OSError:
        if free == 1 << 62 and hasattr(os, "sysconf"):
            free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return free


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
        from ..synth.kernels.batch.device_memory import copy_images

        self._blocks: list[torch.Tensor] = []
        self._used = _BLOCK
        self._spots: dict[str, list[tuple[int, int]]] = {kind: [] for kind in kinds}
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
                spots = [self._place_in_block(int(size)) for size in bytes_of]
                first = [self._blocks[block].data_ptr() + begin for block, begin in spots]
                places = np.array(first, np.uint64)
                copy_images(
                    places,
                    addresses([step.images[int(i)] for i in which]),
                    bytes_of,
                    torch.cuda.current_stream().cuda_stream,
                )
                at[kind].append(places)
                self._spots[kind] += spots
                self._shapes[kind] += shapes
            done += wanted
            torch.cuda.current_stream().synchronize()  # what was copied from is free now
        self.at = {kind: np.concatenate(places) for kind, places in at.items()}
        self.sizes = np.array(self._shapes["normal"], np.int64)

    def image(self, kind: str, number: int) -> torch.Tensor:
        """Return an image as a tensor (H, W, 3) over the pool's memory."""
        (block, begin), (height, width) = self._spots[kind][number], self._shapes[kind][number]
        return self._blocks[block].as_strided((height, width, 3), (3 * width, 3, 1), begin)

    def _place_in_block(self, size: int) -> tuple[int, int]:
        """Return the block that has room for an image, and where in it."""
        if not self._blocks or self._used + size > self._blocks[-1].numel():
            self._blocks.append(torch.empty(max(size, _BLOCK), dtype=torch.uint8, device="cuda"))
            self._used = 0
        begin = self._used
        self._used += size
        return len(self._blocks) - 1, begin


class HostResident:
    """Takes images out of host memory.

    pool: (low, normal), or the normal alone, by number; see `decode_all`.
    """

    ahead = _AHEAD

    def __init__(self, pool: Any, steps: Iterator[Step]) -> None:
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


class CudaResident(HostResident):
    """Takes images out of a GPU's memory.

    pool: `CudaPool` of the samples from number `first` on.
    """

    def __init__(self, pool: CudaPool, first: int, steps: Iterator[Step]) -> None:
        super().__init__(pool, steps)
        self._first = first

    def next(self, stream: Any = None) -> DecodedStep:
        """Return the next step."""
        step = next(self._steps)
        numbers = step.positions.number - self._first
        normal, sizes = np.arange(len(numbers)), self._pool.sizes[numbers]
        low, at = normal, self._pool.at["normal"][numbers]
        if "low" in self._pool.at:
            low, sizes = normal + len(numbers), np.concatenate([sizes, sizes])
            at = np.concatenate([at, self._pool.at["low"][numbers]])
        return DecodedStep(step, _Images(self._pool, numbers), sizes, low, normal, at=at)


class _Images(Sequence[Any]):
    """Tensors of normals, then of lows; made when they are asked for."""

    def __init__(self, pool: CudaPool, numbers: Whole) -> None:
        self._pool, self._numbers = pool, numbers

    def __len__(self) -> int:
        return len(self._pool.at) * len(self._numbers)

    def __getitem__(self, number: Any) -> Any:
        kind, place = divmod(int(number), len(self._numbers))
        return self._pool.image("low" if kind else "normal", int(self._numbers[place]))
