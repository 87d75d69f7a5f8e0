"""Twins: pictures of one scene, at other exposures and from a little aside.

Two pictures are twins if their perceptual hashes differ in few bits and their thumbnails, on a
scale on which a gain is nearly a shift, correlate. Of some 300 unlike photographs no two came
nearer than 16 bits, nor over a correlation of .84; a twin that is cropped by up to 6 % of each side,
exposed by other 2 stops and shown by another curve is some 8 bits away.

All is in whole numbers, the same on every machine: which photographs become pairs may rest on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..images.decode import decode_small
from ..images.header import MAX_PIXELS, read_header
from .measures import SIDE, luma_cells, measure

_BITS = 14
_ALIKE = (9, 10)  # least correlation, as a fraction
_CELLS = 16
Thumbnail = npt.NDArray[np.int64]


class Twins(NamedTuple):
    """Two pictures that are twins: their places in two lists, and the bits that hashes differ in."""

    first: int
    second: int
    bits: int


def hash_of(data: bytes) -> int:
    """Return the perceptual hash of a picture's file.

    Raises
    ------
    gloam.errors.ImageRefused
        When it cannot be decoded.
    """
    return measure(data, MAX_PIXELS).perceptual_hash


def thumbnail_of(data: bytes) -> Thumbnail:
    """Return fourth roots of the means of 16 x 16 cells, in parts of 256.

    Raises
    ------
    gloam.errors.ImageRefused
        When it cannot be decoded.
    """
    cells = luma_cells(decode_small(data, read_header(data, MAX_PIXELS), SIDE), _CELLS)
    # IEEE 754 rounds a square root in one way.
    return np.rint(256 * np.sqrt(np.sqrt(cells + 1.0))).astype(np.int64).ravel()


def correlate(first: Thumbnail, second: Thumbnail) -> bool:
    """Return whether two thumbnails correlate by .9 or more."""
    count = len(first)
    sums = int(first.sum()), int(second.sum())
    product = count * int(first @ second) - sums[0] * sums[1]
    variances = [
        count * int(one @ one) - own * own for one, own in zip((first, second), sums, strict=True)
    ]
    over, under = _ALIKE
    return product > 0 and under**2 * product**2 >= over**2 * variances[0] * variances[1] > 0


def twins(
    first: npt.NDArray[np.uint64],
    second: npt.NDArray[np.uint64],
    thumbnail: Callable[[int, int], Thumbnail],
) -> list[Twins]:
    """Find pictures of two lists that are twins.

    Parameters
    ----------
    first, second : uint64 arrays
        Perceptual hashes.
    thumbnail : function of 0 or 1 and a place
        Returns the thumbnail of a picture of the first or second list.
    """
    found = []
    for place, own in enumerate(second.tolist()):
        bits = np.bitwise_count(first ^ np.uint64(own))
        near: Sequence[int] = np.flatnonzero(bits <= _BITS).tolist()
        if near:
            thumb = thumbnail(1, place)
            found += [
                Twins(other, place, int(bits[other]))
                for other in near
                if correlate(thumbnail(0, other), thumb)
            ]
    return sorted(found)
