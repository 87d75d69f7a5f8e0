"""The PNG lows of batches of clips, decoded by a GPU, ahead. Needs numba-cuda and torch."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ...synth.kernels.png.decode import png_size
from ...synth.kernels.png.decode_cuda import PngDecoder
from .low_pixels import low_pixels
from .stored_batches import Clip

_THREADS = 3
"""That each have a batch on the GPU: a file takes one thread of it, and a batch leaves it idle."""
MOST = 1 << 28
"""Bytes of a batch's lows: of larger ones several would take much of the GPU's memory."""
Pixels = npt.NDArray[np.uint8]


class LowsOnGpu:
    """Lows of batches that follow one another, in device memory.

    Parameters
    ----------
    device_id : int
        Number of the GPU.
    held : int
        Batches whose lows stay: when one begins, those of the batch so many before it end.
    """

    def __init__(self, device_id: int, held: int) -> None:
        self._device, self._held = device_id, held
        self._decoders: list[PngDecoder | None] = [None] * held
        self._pool = ThreadPoolExecutor(_THREADS)

    def begin(self, number: int, clips: Sequence[Future[Clip]]) -> Future[Any]:
        """Begin to decode a batch.

        Parameters
        ----------
        number : int
            Of the batch.
        clips : sequence of futures of Clip
            With encoded lows.

        Returns
        -------
        future of an uint8 tensor (N, H, W, 3), or of a list of N (H, W, 3)
            RGB; it raises ImageRefused where one is damaged.
        """
        return self._pool.submit(self._decoded, number % self._held, clips)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _decoded(self, place: int, clips: Sequence[Future[Clip]]) -> Any:
        lows: list[Pixels] = [low for clip in clips for low in clip.result().lows]
        size, found = png_size(lows[0]), np.zeros(len(lows), np.bool_)
        made: Any = [None] * len(lows)
        most = max(sum(map(len, lows)), 0 if size is None else 3 * size[0] * size[1] * len(lows))
        if size is not None and most <= MOST:
            decoder = self._decoders[place] = self._decoders[place] or PngDecoder(self._device)
            pixels, found = decoder.decode(lows, *size)
            made = torch.as_tensor(pixels, device=f"cuda:{self._device}")
            if found.all():
                return made
        return [
            made[i] if there else torch.from_numpy(low_pixels(low)).to(f"cuda:{self._device}")
            for i, (low, there) in enumerate(zip(lows, found, strict=True))
        ]
