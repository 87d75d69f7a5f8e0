"""Mean electrons of pixels, and of the sites that scatter there: what noise is found from."""

from __future__ import annotations

import math

from .compiling.compile import kernel, row_kernel, scalar
from .degradations.pattern import hot_offset
from .demosaic import BILINEAR, BINNED, BORDER
from .exposure import (
    between,
    expose_row,
    guide_of,
    light_of_pixels,
    row_above,
    rows_at,
    sliced,
)
from .numbers.random_bits import HOT, HOT_BELOW, channel_sample, mosaic_sample
from .types import f32, u32

_ROOT_HALF = f32(math.sqrt(0.5))


# What `rows_at` returns is counted by nobody: it is called in row kernels alone.
@row_kernel
def _light_of_row(rows, illumination, j, left, share, per_white, light):
    """Fill factors on the light of a row of pixels, three rows of linear light."""
    right = left + light.shape[0]
    if illumination.shape[0] > 1:
        lit = rows_at(illumination, j, left, right)
        for x in range(light.shape[0]):
            guide = guide_of(rows[0][x], rows[1][x], rows[2][x], per_white)
            light[x] = sliced(guide, lit, x, share)
    else:
        upper, lower = illumination[0, j, left:right], illumination[0, j + 1, left:right]
        for x in range(light.shape[0]):
            light[x] = between(upper[x], lower[x], share)


@kernel
def expose_window(rgb, window, scene, means, light):
    """Fill mean electrons (3, h, w) of a window of `rgb` (H, W, 3), and its factors on light."""
    height, columns = rgb.shape[0], rgb.shape[1]
    flat = rgb.reshape(height * columns, 3)
    illumination = scene.illumination
    for i in range(window.height):
        y = window.top + i
        rows = means[0, i], means[1, i], means[2, i]
        light_of_pixels(flat, y * columns + window.left, scene, rows[0], rows[1], rows[2])
        j, share = row_above(y, height, illumination.shape[1])
        per_white = scene.exposure.per_white
        _light_of_row(rows, illumination, j, window.left, share, per_white, light[i])
        expose_row(y, window.left, height, scene, rows)


@scalar
def hot_counts(c, index, method, gain, pattern):
    """Return the electrons that scatter by what a hot site of a channel adds, mostly none.

    Their places are known: that is no noise to a sensor, but to a low it is, and far from normal.
    """
    added = hot_offset(index, HOT, pattern)
    if method == BINNED and c == 1:  # of two sites, which count half each
        added = (added + hot_offset(index, HOT_BELOW, pattern)) * _ROOT_HALF
    return (added / gain) * (added / gain)


@kernel
def add_hot_sites(method, window, picture, pattern, gain, counts):
    """Add `hot_counts` to mean electrons (3, h, w).

    window: of pixels, or for a mosaic of its sites. picture: height and width.
    """
    pixels = u32(picture[0] * picture[1])
    for y in range(window.height):
        for x in range(window.width):
            row, column = window.top + y, window.left + x
            index = mosaic_sample(row, column, picture[1] + 2 * BORDER)
            pixel = u32(row * picture[1] + column)
            for c in range(3):
                if method < BILINEAR:
                    index = channel_sample(c, pixel, pixels)
                counts[c, y, x] += hot_counts(c, index, method, gain, pattern)
