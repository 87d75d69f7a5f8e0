"""Two small numbers in a larger one, which a GPU stores and fetches at once."""

from __future__ import annotations

import numpy as np

from ..compiling.compile import scalar
from ..types import f32, i32, u32, u64


@scalar
def pack_halves(first, second):
    """Join two whole numbers of 16 bits in one of 32."""
    return i32(i32(i32(second) << i32(16)) | i32(i32(first) & i32(0xFFFF)))


@scalar
def low_half(pair):
    """Return the first of two `pack_halves` numbers."""
    return i32(i32(pair << i32(16)) >> i32(16))


@scalar
def high_half(pair):
    """Return the second of two `pack_halves` numbers."""
    return i32(pair >> i32(16))


@scalar
def pack_floats(first, second):
    """Join two float32 numbers in one of 64 bits."""
    bits = u64(f32(second).view(np.uint32)) << u64(32)
    return bits | u64(f32(first).view(np.uint32))


@scalar
def unpack_floats(pair):
    """Return two float32 numbers that are `pack_floats`."""
    first = u32(pair & u64(0xFFFFFFFF))
    return first.view(np.float32), u32(pair >> u64(32)).view(np.float32)
