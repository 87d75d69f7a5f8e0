"""The PNG lows of batches of clips, decoded by a GPU, ahead. Needs numba-cuda and torch."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ...synth.kernels.png.decode import decode_png, png_size
from ...synth.kernels.png.decode_cuda import PngDecoder
from .clip_bytes import Clip
from .low_pixels import low_pixels

_THREADS = 3
"""That each have a batch on the GPU: a file takes one thread of it, and a batch leaves it idle."""
_MOST = 1 << 28
"""Bytes of a batch's lows: of larger ones several would take much of the GPU's memory."""
_A_CORE = 2
"""Files of a batch for each core, from which on a GPU is faster: a thread of it takes six times as
long for a file as a core, and three batches are on it at once."""
Pixels = npt.NDArray[np.uint8]


def decodes_on_gpu(device_id: int, low: Pixels, files: int, cores: int) -> bool:
    """Return whether a GPU decodes the lows of a set, and cores do not do so sooner.

    Parameters
    ----------
    device_id : int
        Number of the GPU.
    low : uint8 array
        One of the lows.
    files : int
        Of a batch.
    cores : int
    """
    size = png_size(low)
    if files < _A_CORE * cores or size is None or 3 * size[0] * size[1] * files > _MOST:
        return False
    with ThreadPoolExecutor(1) as alone:  # the caller's thread keeps its GPU
        return alone.submit(_decodes, device_id, low, size).result()


def _decodes(device_id: int, low: Pixels, size: tuple[int, int]) -> bool:
    """Return whether a file is one of gloam's, and a GPU decodes it."""
    wanted = decode_png(low)
    if wanted is None:
        return False
    try:  # Numba may be there without all that it needs
        made, found = PngDecoder(device_id).decode([low], *size)
        return bool(found.all() and (made.copy_to_host()[0] == wanted).all())
    except Exception:  # of as many kinds as there are things to lack
        return False


class LowsOnGpu:
    """Lows of batches that follow one another, in device memory.

    Parameters
    ----------
    device_id : int
        Number of the GPU.
    held : int
        Batches whose lows stay: when one begins, those of the batch so many before it end.
    cores : int
        That decode what the GPU does not: files of others, and of another size than the first.
    """

    def __init__(self, device_id: int, held: int, cores: int) -> None:
        self._device, self._held = device_id, held
        self._name = f"cuda:{device_id}"
        self._decoders: list[PngDecoder | None] = [None] * held
        self._pool, self._cores = ThreadPoolExecutor(_THREADS), ThreadPoolExecutor(cores)

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
        for pool in (self._pool, self._cores):
            pool.shutdown(wait=False, cancel_futures=True)

    def _decoded(self, place: int, clips: Sequence[Future[Clip]]) -> Any:
        lows: list[Pixels] = [low for clip in clips for low in clip.result().lows]
        size, found = png_size(lows[0]), np.zeros(len(lows), np.bool_)
        made: Any = [None] * len(lows)
        most = max(sum(map(len, lows)), 0 if size is None else 3 * size[0] * size[1] * len(lows))
        if size is not None and most <= _MOST:
            decoder = self._decoders[place] = self._decoders[place] or PngDecoder(self._device)
            pixels, found = decoder.decode(lows, *size)
            made = torch.as_tensor(pixels, device=self._name)
            if found.all():
                return made
        others = [low for low, there in zip(lows, found, strict=True) if not there]
        by_cores = iter([torch.tensor(low) for low in self._cores.map(low_pixels, others)])
        return [
            made[i] if there else next(by_cores).to(self._name) for i, there in enumerate(found)
        ]
