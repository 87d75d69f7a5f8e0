"""Decoded images that stay in host memory: a split's normals and, where they are stored, its lows.

They are decoded once; later epochs read them where they lie.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np

from ...errors import LoaderError
from ...synth.kernels.arrays import Pixels
from ..columns import Pairs, StoredPair

_KEPT_FREE = 0.9  # of the memory that is free, what a pool may take


class DoesNotFit(LoaderError):
    """Pairs that are to stay in memory take more than there is."""


def decode_all(
    pairs: Pairs,
    numbers: Sequence[int],
    decoded: Callable[[StoredPair], tuple[Pixels, ...]],
    threads: int,
    name: str,
) -> dict[int, tuple[Pixels, ...]]:
    """Return the decoded pairs of one rank, by their numbers.

    numbers: those of the pairs that are kept.
    decoded: function of a StoredPair; returns its images, uint8 (H, W, 3): (low, normal), or the
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
