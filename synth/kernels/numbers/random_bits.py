"""Random bits for pixels: an integer hash of (pixel seed, sample index), the same on every machine
and device.

Every sample owns one index, so no sample's bits depend on which worker, thread or order made it.
The bits of one sample come as one 32-bit state and as many 32-bit words finished from it as the
sample needs (shot noise, its remainder, read noise). All arithmetic is explicit uint32: Numba would
otherwise widen it to 64 bits, which is slower and differs on GPUs.
"""

from __future__ import annotations

import numpy as np

from ..compiling.compile import scalar

u32 = np.uint32

SHOT = u32(0x68BC21EB)
SHOT_REST = u32(0x02E5BE93)
READ = u32(0x967A889B)
ROUNDING = u32(0x7FEB352D)
ROW = u32(0xB5297A4D)


@scalar
def sample_state(index, seed_low, seed_high):
    """The 32-bit state of sample `index` (uint32) under a 64-bit seed given as two uint32 halves.

    Two rounds of xor-shift and multiplication with the constants of Wellons' hash prospector
    (public domain, bias about 0.1), one half of the seed entering before each, so that two seeds
    never yield shifted copies of one sequence.
    """
    x = u32(index ^ seed_low)
    x = u32(x ^ u32(x >> u32(16)))
    x = u32(x * u32(0x21F0AAAD))
    x = u32(x ^ seed_high)
    x = u32(x ^ u32(x >> u32(15)))
    x = u32(x * u32(0xD35A2D97))
    return u32(x ^ u32(x >> u32(15)))


@scalar
def random_word(state, purpose):
    """32 random bits (uint32) of a sample for one `purpose`, a constant of this module."""
    x = u32(state ^ purpose)
    x = u32(x * u32(0x9E3779B1))
    x = u32(x ^ u32(x >> u32(16)))
    x = u32(x * u32(0x85EBCA6B))
    return u32(x ^ u32(x >> u32(13)))
