"""The filter that resizes along one axis: for one output pixel at a time, on CPU and GPU.

It is a triangle as wide as an output pixel where a picture shrinks, and linear interpolation where
it grows: DALI's antialiased linear resize.
"""

from __future__ import annotations

import numpy as np

from .compiling.compile import scalar
from .types import f32, f64, i64

DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`


@scalar
def radius_of(before, after):
    """Return how far the filter reaches, in input pixels."""
    return max(f64(before) / f64(after), 1.0)


@scalar
def tap_count(before, after):
    """Return of how many input pixels an output pixel is the sum, at most."""
    return i64(np.floor(2.0 * radius_of(before, after))) + i64(1)


@scalar
def fill_taps(before, after, at, weights, place, step):
    """Write the weights of an output pixel's inputs; return the first of them, maybe off the edge.

    before, after: pixels of the input and of the output.
    at: the output pixel.
    weights: float32 array, gets `tap_count` of them, which sum to 1, at `place`, `place + step` and
      so on.
    place, step: int.
    """
    radius = radius_of(before, after)
    centre = (f64(at) + 0.5) * (f64(before) / f64(after)) - 0.5
    first = -np.floor(radius - centre)  # rounded up
    total = 0.0
    for k in range(tap_count(before, after)):
        total += max(1.0 - abs(first + f64(k) - centre) / radius, 0.0)
    for k in range(tap_count(before, after)):
        weight = max(1.0 - abs(first + f64(k) - centre) / radius, 0.0)
        weights[place + k * step] = f32(weight / total)
    return i64(first)
