"""Blur of the light on its way to the sensor: each point of the scene spreads over several pixels.

It is linear light that spreads, that of cut off highlights brightened before: lamps draw streaks
and discs. Beyond the picture its edge is repeated.
"""

from __future__ import annotations

import numpy as np

from ..compiling.compile import fma, kernel, scalar
from ..exposure import highlight_factor

i32 = np.int32
f32 = np.float32


@scalar
def brightened(r, g, b, highlights):
    """Return linear light whose highlights have their own brightening, `exposure.Exposure`'s."""
    factor = f32(1) + highlight_factor(r, g, b, highlights)
    return r * factor, g * factor, b * factor


@kernel
def _add_weighted(row, weight, out):
    for x in range(out.shape[0]):
        out[x] = fma(weight, row[x], out[x])


@kernel
def _lit_row(pixels, linear, highlights, rows, reach):
    """Fill the middle of rows (3, n + 2 reach) from pixels (n, 3); the ends repeat its ends."""
    red, green, blue = rows[0], rows[1], rows[2]
    count = pixels.shape[0]
    for x in range(count):
        red[reach + x], green[reach + x], blue[reach + x] = brightened(
            linear[pixels[x, 0]], linear[pixels[x, 1]], linear[pixels[x, 2]], highlights
        )
    for c in range(3):
        row = rows[c]
        row[:reach] = row[reach]
        row[reach + count :] = row[reach + count - 1]


@kernel
def spread_light(rgb, linear, highlights, places, weights, part, out):
    """Fill a part of planes (3, H W) float32 with spread light.

    Parameters
    ----------
    rgb : uint8 array (H, W, 3)
    linear : float32 array (256)
        Light of each level.
    highlights : float32
        Of `exposure.Exposure`.
    places : int32 array (P, 2)
        From where light comes to a pixel: rows and columns away, within P's reach.
    weights : float32 array (P)
        How much.
    part : Window
        The pixels to be filled; others are left.
    """
    height, width = rgb.shape[0], rgb.shape[1]
    reach = 0
    for p in range(places.shape[0]):
        reach = max(reach, abs(places[p, 0]), abs(places[p, 1]))
    first, last = max(part.left - reach, 0), min(part.left + part.width + reach, width)
    padded = np.empty((part.height + 2 * reach, 3, last - first + 2 * reach), np.float32)
    for i in range(padded.shape[0]):
        y = min(max(part.top - reach + i, 0), height - 1)
        _lit_row(rgb[y, first:last], linear, highlights, padded[i], reach)
    for i in range(part.height):
        start = (part.top + i) * width + part.left
        for c in range(3):
            row = out[c, start : start + part.width]
            row[:] = f32(0)
            for p in range(places.shape[0]):
                left = part.left + places[p, 1] - first + reach
                from_row = padded[i + reach + places[p, 0], c]
                _add_weighted(from_row[left : left + part.width], weights[p], row)
