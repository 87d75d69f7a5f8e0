"""Maps of a batch: where steps find and leave what they know of its pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiling.compile import scalar
from ..moments import ROUNDING
from ..types import f32, f64, i64

DOUBLE_PRECISION = True  # of roots and whole numbers, for `compiling.for_cuda`
PLANES, BLURRED = 15, 6
"""Planes of pixels, three of each: level, light, and the noise's deviation in levels and in light.

Before chroma is smoothed, its first two are blurred: level, variance of what is blurred, that of
the rest; then variance of light and of the level without smoothing."""
LEVELS = 256


class Maps(NamedTuple):
    """Maps of a batch of N images, and the memory that their steps share.

    into: float32 array (N * planes * rows * columns), of zeros.
    rows, columns: room for each image. high, wide: size that windows are resized to, or 0.
    light, ...: the first plane of each map; -1 where nobody asks for it.
    normal, laguerre: nodes and weights of quadratures. around: by method, what a pixel takes of the
      sites around it, and which of them scatter, by parity of row and column.
    """

    into: npt.NDArray[np.float32]
    planes: int
    rows: int
    columns: int
    high: int
    wide: int
    shift: float  # levels and their deviation become (level - shift) * scale
    scale: float
    light: int
    clean: int
    linear: int
    noise: int
    noise_linear: int
    mask: int
    emitter_light: int
    levels: npt.NDArray[np.float32]  # (N, ENCODE_CELLS)
    widths: npt.NDArray[np.float32]  # (N, LEVELS), light that a level is wide
    sites: npt.NDArray[np.float32]  # (N, 6), `shared` and `fourth` of SiteNoise
    squares: npt.NDArray[np.float32]  # (N, 4, 3, 3, 5), of SiteNoise
    powers: npt.NDArray[np.float32]  # (N, 4, 2, 3, 3), of SiteNoise
    taken: npt.NDArray[np.float32]  # (N, 4, 3, 6, 3, 3), `kernels.site_noise`
    channels: npt.NDArray[np.float32]  # (N, 3, 3, LIGHTS), noise of channels
    first: npt.NDArray[np.int64]  # (N), the first pixel of an image's span among all
    stride: int  # P, pixels of all spans
    pixels: npt.NDArray[np.float32]  # (PLANES * P)
    blurred: npt.NDArray[np.float32]  # (BLURRED * P), along columns
    normal: npt.NDArray[np.float32]  # (2, n)
    laguerre: npt.NDArray[np.float32]  # (2, n)
    around: npt.NDArray[np.float32]  # (2, 2, 4, 3, 5, 5), of `mosaic_noise`


@scalar
def fill_three(plane, place, values, maps):
    """Fill three planes of a pixel."""
    for c in range(3):
        maps.pixels[(plane + c) * maps.stride + place] = f32(values[c])


@scalar
def three_of(plane, place, maps):
    """Return three planes of a pixel."""
    at = plane * maps.stride + place
    values, two = maps.pixels, 2 * maps.stride
    return values[at], values[at + maps.stride], values[at + two]


@scalar
def fill_pixel(number, place, level, light, variances, maps):
    """Fill what `map_step` adds up of a pixel.

    variances: of the level; and of light and of the level before chroma is smoothed.
    """
    variance, own, before = variances
    fill_three(0, place, level, maps)
    fill_three(3, place, light, maps)
    for c in range(3):
        width = maps.widths[number, i64(np.rint(f64(level[c])))]
        in_light = (own[c] + ROUNDING * width * width) / (before[c] + ROUNDING)
        deviation = np.sqrt(variance[c] + ROUNDING)
        maps.pixels[(6 + c) * maps.stride + place] = f32(deviation)
        maps.pixels[(9 + c) * maps.stride + place] = f32(deviation * np.sqrt(in_light))
