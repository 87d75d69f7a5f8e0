"""Pairs one by one, decoded on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import cv2
import numpy as np

from ..errors import ImageRefused, LoaderError
from ..manifests.images.decode import decode_as_rgb, is_deep
from ..manifests.images.header import check_size
from ..synth.kernels.arrays import Pixels
from ..synth.kernels.png.decode import decode_png
from .columns import StoredPair, read_extent, undecodable

DECODERS = ("opencv", "pillow")


class ReadyBatch(NamedTuple):
    """A finished batch, passed through a DataLoader in place of a sample's number."""

    batch: tuple[Any, ...]


class NumberedSamples:
    """The samples of a loader, of all ranks, by number."""

    _contents: Any

    def __len__(self) -> int:
        return self._contents.count

    def __getitem__(self, number: Any) -> Any:
        """Return a sample, decoded: its images are uint8 RGB (H, W, 3).

        Raises LoaderError naming an image that cannot be read or decoded; IndexError beyond the
        last sample.
        """
        if isinstance(number, ReadyBatch):
            return number
        return self._decoded_at(place_of(number, len(self)))

    def _decoded_at(self, place: int) -> Any:
        raise NotImplementedError


def place_of(number: int, count: int) -> int:
    """Return the place of a sample by its number, which counts from the end where it is negative.

    Raises IndexError where there is none.
    """
    if not -count <= number < count:
        raise IndexError(f"index {number} is out of range for {count:,} samples")
    return number % count


def first_batch(samples: list[ReadyBatch]) -> tuple[Any, ...]:
    """Collate the one batch that a DataLoader was given as its samples."""
    return samples[0].batch


def decoded_pair(pair: StoredPair, decoder: str, of_set: bool) -> tuple[Pixels, Pixels]:
    """Decode both images of a pair.

    decoder: "opencv" or "pillow".
    of_set: whether it is a set's pair, or two files as they come.

    Raises LoaderError naming the image that cannot be read or decoded, or the pair whose images
    differ in size.
    """
    low, normal = (decoded_member(pair, name, decoder, of_set) for name in ("low", "normal"))
    check_one_shape(pair, low.shape[:2], normal.shape[:2])
    return low, normal


def decoded_member(
    pair: StoredPair, member: str, decoder: str, of_set: bool, by_kernels: bool = True
) -> Pixels:
    """Decode the low or the normal of a pair; see `decoded_pair`.

    by_kernels: whether gloam's own kernels may decode a PNG.
    """
    try:
        return _decoded(read_extent(getattr(pair, member)), decoder, by_kernels)
    except ImageRefused as refusal:
        raise undecodable(pair, member, refusal.detail, of_set) from None


def check_one_shape(pair: StoredPair, low: tuple[int, ...], normal: tuple[int, ...]) -> None:
    """Check that both images of a pair have one height and width: they are cut alike.

    Raises LoaderError naming the pair.
    """
    if low != normal:
        sizes = " and ".join(f"{height} x {width}" for height, width in (low, normal))
        raise LoaderError(
            f"{pair.low.named(pair.key, 'low')}: low and normal differ in size: {sizes} (height x"
            " width, upright); crop one of them, or leave the pair out",
            key=pair.key,
        )


def check_one_size(shapes: Sequence[Sequence[int]]) -> None:
    """Check that images that are to be one tensor have one shape.

    Raises LoaderError when they do not.
    """
    found = sorted({tuple(shape) for shape in shapes})
    if len(found) > 1:
        raise LoaderError(
            f"images of one batch have different sizes ({', '.join(map(str, found[:3]))}): give"
            " size=, pad=True or batch_size=1"
        )


def _decoded(data: bytes, decoder: str, by_kernels: bool) -> Pixels:
    pixels = decode_png(np.frombuffer(data, np.uint8)) if by_kernels else None
    if pixels is not None:
        return pixels
    # OpenCV does not turn AVIF, and knows no HEIC; their files begin with a box that is called so.
    by_opencv = decoder == "opencv" and data[4:8] != b"ftyp" and not is_deep(data)
    if by_opencv and check_size(data):
        with suppress(cv2.error):
            image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
            if image is not None:
                return image  # type: ignore[return-value]
    # Pillow, and what OpenCV cannot read; it says what is wrong with a damaged image.
    return decode_as_rgb(data, colours=False)
