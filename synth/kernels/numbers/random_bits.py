"""Random bits for pixels: an integer hash of (pixel seed, sample index).

It is the same on every machine and device.

Every sample owns one index, so no sample's bits depend on which worker, thread or order made it.
The bits of one sample come as one 32-bit state and as many 32-bit words finished from it as the
sample needs (shot noise, its remainder, read noise). All arithmetic is explicit uint32: Numba would
otherwise widen it to 64 bits, which is slower and differs on GPUs.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from ..arrays import u32
from ..compiling.compile import scalar

SHOT = u32(0x68BC21EB)
SHOT_REST = u32(0x02E5BE93)
READ = u32(0x967A889B)
ROUNDING = u32(0x7FEB352D)
ROW = u32(0xB5297A4D)
COLUMN = u32(0x1B56C4E9)
HOT = u32(0x27D4EB2F)
HOT_BELOW = u32(0x165667B1)
CHANNEL = u32(0x9FB21C65)
CHANNEL_TAIL = u32(0xE98575B1)
CHANNEL_WIDTH = u32(0xC2B2AE35)
CHANNEL_ROW = u32(0x4CF5AD43)
CHANNEL_PATCH = u32(0x94D049BB)
CLIPPED = u32(0xBF58476D)


class PixelSeed(NamedTuple):
    """The 64 bits that key the noise of an image, as two uint32."""

    lower: np.uint32
    upper: np.uint32


def pixel_seed(bits: int) -> PixelSeed:
    """Return the seed of 64 bits, as kernels take it."""
    return PixelSeed(u32(bits & 0xFFFFFFFF), u32(bits >> 32))


def frame_seed(bits: int, number: int) -> int:
    """Return the 63 bits that key the noise of a clip's frame, of those of the clip's first one."""
    if number == 0:
        return bits
    text = f"gloam frame {bits} {number}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


@scalar
def channel_sample(channel, pixel, pixels):
    """Return a sample's index where each pixel has red, green and blue: plane after plane."""
    return u32(u32(channel) * u32(pixels) + u32(pixel))


@scalar
def mosaic_sample(row, site, sites):
    """Return the index of a site of a mosaic with so many `sites` a row."""
    return u32(u32(row) * u32(sites) + u32(site))


@scalar
def row_sample(row, samples):
    """Return the index of what a sensor row shares, after all of the sensor's `samples`."""
    return u32(u32(samples) + u32(row))


@scalar
def sample_state(index, seed):
    """Return the 32-bit state of sample `index` (uint32) under a `PixelSeed`.

    Two rounds of xor-shift and multiplication with the constants of Wellons' hash prospector
    (public domain, bias about 0.1), one half of the seed entering before each, so that two seeds
    never yield shifted copies of one sequence.
    """
    x = u32(index ^ seed.lower)
    x = u32(x ^ u32(x >> u32(16)))
    x = u32(x * u32(0x21F0AAAD))
    x = u32(x ^ seed.upper)
    x = u32(x ^ u32(x >> u32(15)))
    x = u32(x * u32(0xD35A2D97))
    return u32(x ^ u32(x >> u32(15)))


@scalar
def random_word(state, purpose):
    """Return 32 random bits (uint32) of a sample for one `purpose`, a constant of this module."""
    x = u32(state ^ purpose)
    x = u32(x * u32(0x9E3779B1))
    x = u32(x ^ u32(x >> u32(16)))
    x = u32(x * u32(0x85EBCA6B))
    return u32(x ^ u32(x >> u32(13)))
