"""Maps of a batch: where steps find and leave what they know of its pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import f32, i32, u32
from ..compiling.compile import scalar

LEVEL, LIGHT, NOISE, NOISE_LINEAR = 0, 3, 6, 9
PLANES, BLURRED = 12, 6
"""Planes of pixels, three of each: level, light, and the noise's deviation in levels and in light.

Before chroma is smoothed, the first two are blurred: levels, and variances of what the blur takes
of a pixel; the third are those of the rest, the last the deviation in light for that in levels."""
FIELD, MASK, EMITTERS = 12, 13, 14
"""Numbers of maps that are no such planes; the last are three, of red, green and blue."""


PER_LEVEL = 8
ROOTS = 255 * PER_LEVEL + 1
"""Levels that a root of light is found of."""
_PER_LEVEL, _LAST = f32(PER_LEVEL), f32(255)


class Maps(NamedTuple):
    """Maps of a batch of N images, and the memory that their steps share.

    into: float32 array (N * planes * rows * columns), of zeros.
    rows, columns: room for each image. high, wide: size that windows are resized to, or 0.
    around: by method, what a pixel takes of the sites around it, and which of them scatter, by
      parity of row and column.
    """

    into: npt.NDArray[np.float32]
    kinds: npt.NDArray[np.int32]  # (planes), what each plane shows, by the numbers above
    change: npt.NDArray[np.float32]  # (planes, 2), a value becomes (value - first) * second
    rows: int
    columns: int
    high: int
    wide: int
    in_light: int  # whether noise in light is asked for
    levels: npt.NDArray[np.float32]  # (N, ENCODE_CELLS)
    roots: npt.NDArray[np.float32]  # (N, ROOTS)
    shared: npt.NDArray[np.float32]  # of `render.site_noise.SiteNoise`
    light: npt.NDArray[np.float32]
    smoothed: npt.NDArray[np.float32]
    channels: npt.NDArray[np.float32]  # (N, 3, 3, LIGHTS), of `level_noise.noisy_level`
    first: npt.NDArray[np.int64]  # (N), the first pixel of an image's span among all
    stride: int  # P, pixels of all spans
    pixels: npt.NDArray[np.float32]  # (PLANES * P)
    blurred: npt.NDArray[np.float32]  # (BLURRED * P), along columns
    normal: npt.NDArray[np.float32]  # (2, n), nodes and weights
    laguerre: npt.NDArray[np.float32]  # (2, n)
    around: npt.NDArray[np.float32]  # (2, 2, 4, 3, 5, 5), of `render.site_noise`


@scalar
def light_of_level(level, roots):
    """Return the light of a level."""
    place = min(max(level, f32(0)), _LAST) * _PER_LEVEL
    cell = u32(min(i32(place), i32(ROOTS - 2)))
    root = roots[cell] + (roots[u32(cell + u32(1))] - roots[cell]) * (place - f32(cell))
    return root * root
