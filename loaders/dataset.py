"""Pairs one by one, decoded on the CPU.

They are what a loader is a loader of, and what TorchLoader's processes make batches from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ..errors import ImageRefused, LoaderError
from ..manifests.images.decode import decode_as_rgb
from ..synth.kernels.png.decode import decode_png
from .columns import StoredPair, read_extent
from .index import Contents
from .live.lows import LiveLows, normal_of

Pixels = npt.NDArray[np.uint8]
DECODERS = ("opencv", "pillow")


class ReadyBatch(NamedTuple):
    """A batch that a loader has made already, where a DataLoader expects the number of a sample."""

    batch: tuple[Any, ...]


class PairDataset:
    """The pairs of a loader, of all ranks, by number."""

    def __init__(
        self, contents: Contents, decoder: str = "opencv", live: LiveLows | None = None
    ) -> None:
        self._contents, self._decoder, self._live = contents, decoder, live

    def __len__(self) -> int:
        return self._contents.count

    def __getitem__(self, number: Any) -> Any:
        """Return the low and the normal of a pair, decoded: uint8 RGB (H, W, 3).

        Raises
        ------
        LoaderError
            Naming an image that cannot be read or decoded.
        IndexError
            Beyond the last pair.
        """
        if isinstance(number, ReadyBatch):
            return number
        if not 0 <= number < len(self):
            raise IndexError(f"pair {number} of {len(self)}")
        return self.decoded(self._contents.pairs[number])

    def decoded(self, pair: StoredPair, epoch: int = 0) -> tuple[Pixels, Pixels]:
        """Return both images of a pair; a live low is that of an epoch."""
        if self._live is None:
            return decoded_pair(pair, self._decoder)
        normal = self.normal(pair)
        return self._live.low(normal, pair.key, epoch), normal

    def normal(self, pair: StoredPair) -> Pixels:
        """Return the normal that a live low is made of."""
        return normal_of(pair, self._contents.layout is not None)


def first_batch(samples: list[ReadyBatch]) -> tuple[Any, ...]:
    """Collate the one batch that a DataLoader was given as its samples."""
    return samples[0].batch


def decoded_pair(pair: StoredPair, decoder: str) -> tuple[Pixels, Pixels]:
    """Decode both images of a pair.

    Raises
    ------
    LoaderError
        Naming the image that cannot be read or decoded, or the pair whose images differ in size.
    """
    decoded = []
    for member, piece in (("low", pair.low), ("normal", pair.normal)):
        try:
            decoded.append(_decoded(read_extent(piece), decoder))
        except ImageRefused as refusal:
            where = piece.named(pair.key, member)
            raise LoaderError(
                f"{where} cannot be decoded: {refusal.detail}; gloam verify the set, gloam build"
                " mends it"
            ) from None
    low, normal = decoded
    if low.shape != normal.shape:
        raise LoaderError(f"{pair.low.named(pair.key, 'low')}: low and normal differ in size")
    return low, normal


def _decoded(data: bytes, decoder: str) -> Pixels:
    pixels = decode_png(np.frombuffer(data, np.uint8))
    if pixels is not None:
        return pixels
    if decoder == "opencv":
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
        if image is not None:
            return image  # type: ignore[return-value]
    # Pillow, and what OpenCV cannot read; it says what is wrong with a damaged image.
    return decode_as_rgb(data)
