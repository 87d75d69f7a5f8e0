"""Blur of the light on its way to the sensor: each point of the scene spreads over several pixels.

It is linear light that spreads, that of cut off highlights brightened and that of emitters added
before: lamps draw streaks and discs. Beyond the picture its edge is repeated.
"""

from __future__ import annotations

import numpy as np

from ..args import glare_of
from ..arrays import f32, i32, u64
from ..compiling.compile import fma, inlined, kernel, scalar
from ..emitters import Emission, add_emission, cell_weight, resolve
from ..exposure import highlight_factor, linearise
from ..illumination import CELLS


@scalar
def brightened(r, g, b, highlights, knee):
    """Return linear light whose highlights have their own brightening, `exposure.Exposure`'s."""
    factor = f32(1) + highlight_factor(r, g, b, highlights, knee)
    return r * factor, g * factor, b * factor


@kernel
def _add_weighted(row, weight, out):
    for x in range(out.shape[0]):
        out[x] = fma(weight, row[x], out[x])


@kernel
def _add_four(rows, weights, out):
    a, b, c, d = rows
    p, q, r, s = weights
    for x in range(out.shape[0]):
        near = fma(q, b[x], fma(p, a[x], out[x]))
        out[x] = fma(s, d[x], fma(r, c[x], near))


@kernel
def _brighten(red, green, blue, highlights, knee):
    for x in range(red.shape[0]):
        red[x], green[x], blue[x] = brightened(red[x], green[x], blue[x], highlights, knee)


@inlined
def _lit_row(rgb, y, span, emission, place, reach, room):
    """Fill the middle of a row of (3, R, n + 2 reach) from a span (first, n) of a row's pixels.

    The ends repeat its ends. place: rows, and the number of the one to fill.
    """
    (first, count), (rows, number) = span, place
    middle = slice(reach, reach + count)
    red, green, blue = rows[0, number, middle], rows[1, number, middle], rows[2, number, middle]
    linearise(rgb[y, first : first + count], emission.linear, red, green, blue)
    if emission.highlights != f32(0):
        _brighten(red, green, blue, emission.highlights, emission.knee)
    if emission.lamps.shape[0]:
        add_emission(y, first, rgb.shape[0], emission, (red, green, blue), room)
    for c in range(3):
        row = rows[c, number]
        row[:reach] = row[reach]
        row[reach + count :] = row[reach + count - 1]


@inlined
def _row_from(rows, place, y, x, width):
    left = x + place[1]
    return rows[(y + place[0]) % rows.shape[0], left : left + width]


@kernel
def find_lamps(pixels, channel_light, emitters, draw_of, exposure_ev, lamps):
    """Fill `lamps` (L, LAMP) of a photograph (H, W, 3); the rest as of `emitters.resolve`.

    draw_of: array of DRAW, and the number of the draw in it.
    """
    photograph = pixels.reshape(-1), u64(0), i32(pixels.shape[0]), i32(pixels.shape[1])
    glare, weights = glare_of(draw_of[0][draw_of[1]]), np.empty(CELLS * CELLS)
    for cell in range(CELLS * CELLS):
        weights[cell] = cell_weight(cell, photograph, channel_light)
    for k in range(lamps.shape[0]):
        resolve(emitters[k], photograph, weights, channel_light, glare, exposure_ev, lamps[k])


@kernel
def spread_light(rgb, light, draw_of, spread, part, out):
    """Fill a part of planes (3, H W) float32 with spread light.

    rgb: uint8 array (H, W, 3).
    light: of `Emission`: linear, lamps, illumination, cast.
    draw_of: array of DRAW, and the number of the draw in it.
    spread: int32 array (P, 2), from where light comes to a pixel, rows and columns away, within P's
      reach; float32 array (P), how much.
    part: Window, the pixels to be filled; others are left.
    """
    (linear, lamps, illumination, cast), (places, weights) = light, spread
    draw = draw_of[0][draw_of[1]]
    lit = lamps, glare_of(draw), illumination, cast
    emission = Emission(linear, draw.highlights, draw.knee, *lit)
    height, width = rgb.shape[0], rgb.shape[1]
    reach = 0
    for p in range(places.shape[0]):
        reach = max(reach, abs(places[p, 0]), abs(places[p, 1]))
    first, last = max(part.left - reach, 0), min(part.left + part.width + reach, width)
    # The rows that one row's light comes from, over and over; of each channel one after the other.
    count = 2 * reach + 1
    padded = np.empty((3, count, last - first + 2 * reach), np.float32)
    room = np.empty((3, last - first if emission.lamps.shape[0] else 0), np.float32)
    for i in range(part.height + 2 * reach):
        y = min(max(part.top - reach + i, 0), height - 1)
        _lit_row(rgb, y, (first, last - first), emission, (padded, i % count), reach, room)
        if i < 2 * reach:
            continue
        to = (part.top + i - 2 * reach) * width + part.left
        middle, start = i - reach, part.left - first + reach
        for c in range(3):
            row = out[c, to : to + part.width]
            row[:] = f32(0)
            own = padded[c]
            for p in range(0, places.shape[0] & ~3, 4):
                four = (
                    _row_from(own, places[p], middle, start, part.width),
                    _row_from(own, places[p + 1], middle, start, part.width),
                    _row_from(own, places[p + 2], middle, start, part.width),
                    _row_from(own, places[p + 3], middle, start, part.width),
                )
                _add_four(four, (weights[p], weights[p + 1], weights[p + 2], weights[p + 3]), row)
            for p in range(places.shape[0] & ~3, places.shape[0]):
                one = _row_from(own, places[p], middle, start, part.width)
                _add_weighted(one, weights[p], row)
