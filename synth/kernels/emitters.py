"""Light of lamps that shine into the lens: where they are, and what of it comes to a pixel.

A lamp is a disc whose edge the lens blurs, a glow around it, and streaks. Each part is scaled so
that its sum over all pixels is its share of the disc's light, within a percent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import f32, f64, i32, u64
from .compiling.compile import inlined, reciprocal, scalar
from .exposure import between, row_above
from .illumination import CELLS, luminance_at, sample_place
from .numbers.elementary import exp2

MOST_EMITTERS = 16
LAMP = 12
"""Numbers of a lamp: see `resolve`."""
_SAMPLES = 8
"""Pixels looked at along a side of a cell, for one to put a lamp at."""
_DARK = 1e-24
"""Weight of what is black."""
_EDGE = 1.5
"""Half the width of a disc's blurred edge, pixels."""
_REACH = 16.0
"""How far a glow goes, in its a."""
_END = (1 + _REACH**2) ** -1.5
_GLOW = 2 * (1 - (1 + _REACH**2) ** -0.5) - _REACH**2 * _END
"""Integral of a glow of peak 1 - _END, divided by pi a^2."""
_PER_EDGE, _LAST = f32(1 / (2 * _EDGE)), f32(_END)
_FAINTEST = f32(2.0**-100)


class Glare(NamedTuple):
    """How lamps of a picture shine."""

    glow: float  # share of their light
    radius: float  # a of the glow, of the longer side
    streaks: float  # share of their light
    length: float  # of streaks, of the longer side
    lines: int
    down: np.float32  # direction of the first streak
    across: np.float32
    turn_down: np.float32  # sine of the angle to the next one
    turn_across: np.float32  # its cosine


class Emission(NamedTuple):
    """Light of a picture before it spreads: the photograph's, and that of lamps."""

    linear: npt.NDArray[np.float32]  # (256), light of each level
    highlights: np.float32  # of `exposure.Exposure`
    knee: np.float32  # as of `exposure.Exposure`
    lamps: npt.NDArray[np.float32]  # (L, LAMP)
    glare: Glare
    illumination: npt.NDArray[np.float32]  # as of `exposure.Scene`
    cast: npt.NDArray[np.float32]  # as of `exposure.Scene`


@scalar
def _sample_weight(cell, number, photograph, channel_light):
    """Return how likely a lamp is at a cell's sample (a 64th at half its light); row, column."""
    normal, first, height, width = photograph
    y = sample_place(cell // CELLS * _SAMPLES + number // _SAMPLES, height, _SAMPLES)
    x = sample_place(cell % CELLS * _SAMPLES + number % _SAMPLES, width, _SAMPLES)
    light = luminance_at(first + u64(3 * (y * width + x)), normal, channel_light)
    square = light * light
    return square * square * square + _DARK, y, x


@scalar
def cell_weight(cell, photograph, channel_light):
    """Return how likely a lamp is in a cell: the weights of its samples, summed."""
    total = 0.0
    for number in range(_SAMPLES * _SAMPLES):
        total += _sample_weight(cell, number, photograph, channel_light)[0]
    return total


@scalar
def _bright_pixel(place, within, weights, photograph, channel_light):
    """Return row and column of a place in [0, 1) of all cells, and of one in a cell's samples.

    Both are in order, each cell and sample as long as its weight.
    """
    total = 0.0
    for cell in range(CELLS * CELLS):
        total += weights[cell]
    wanted, total, found = place * total, 0.0, 0
    for cell in range(CELLS * CELLS):
        found = cell
        total += weights[cell]
        if total >= wanted:
            break
    wanted, total, y, x = within * weights[found], 0.0, i32(0), i32(0)
    for number in range(_SAMPLES * _SAMPLES):
        weight, y, x = _sample_weight(found, number, photograph, channel_light)
        total += weight
        if total >= wanted:
            break
    return y, x


@scalar
def resolve(emitter, photograph, weights, channel_light, glare, exposure_ev, lamp):
    """Fill the numbers of a lamp (LAMP), as `shine` takes them.

    emitter: float64 array (7), place among the cells, place in the cell, EV, radius, tint.
    photograph: samples (uint8 array), which of them is its first (uint64), height, width.
    weights: float64 array (1024), `cell_weight` of its cells.
    channel_light: float64 array (3, 256).
    lamp: gets row, column and radius in pixels; light of the disc, of the glow's middle, of streaks
      at the lamp; 1 / a^2, 1 / length, 1 / width^2 of a streak; squared reach of all; then the
      factors on red and on blue, of which green has 1.
    """
    y, x = _bright_pixel(emitter[0], emitter[1], weights, photograph, channel_light)
    longer = f64(max(photograph[2], photograph[3]))
    radius = max(emitter[3] * longer, _EDGE)
    tail = max(glare.radius * longer, 1.0)
    length, width = max(glare.length * longer, 4.0), max(radius, 2.0)
    streaks = glare.streaks if glare.lines > 0 else 0.0
    light = exp2(emitter[2] - exposure_ev) * emitter[5]
    energy = light * math.pi * radius * radius
    blurred = radius * radius + _EDGE * _EDGE / 7
    reach = radius + _EDGE
    if glare.glow > 0.0:
        reach = max(reach, _REACH * tail)
    if streaks > 0.0:
        reach = max(reach, length + width)
    lamp[0], lamp[1], lamp[2] = f32(y), f32(x), f32(radius)
    lamp[3] = f32((1.0 - glare.glow - streaks) * energy / (math.pi * blurred))
    lamp[4] = f32(glare.glow * energy / (math.pi * _GLOW * tail * tail))
    # Integrals of (1 - u)^2 from -1 to 1, and of (1 - v^2)^2.
    each = 2.0 / 3.0 * length * (16.0 / 15.0 * width) * max(glare.lines, 1)
    lamp[5] = f32(streaks * energy / each)
    lamp[6], lamp[7] = f32(1.0 / (tail * tail)), f32(1.0 / length)
    lamp[8], lamp[9] = f32(1.0 / (width * width)), f32(reach * reach)
    lamp[10], lamp[11] = f32(emitter[4] / emitter[5]), f32(emitter[6] / emitter[5])


@scalar
def shine(y, x, lamp, glare):
    """Return the green light of a lamp at a pixel."""
    down, across = f32(y) - lamp[0], f32(x) - lamp[1]
    square = down * down + across * across
    if square >= lamp[9]:
        return f32(0)
    edge = (lamp[2] + f32(_EDGE) - np.sqrt(square)) * _PER_EDGE
    t = min(max(edge, f32(0)), f32(1))
    light = lamp[3] * (t * t * t * (f32(10) + t * (f32(6) * t - f32(15))))
    s = f32(1) + square * lamp[6]
    light += lamp[4] * max(reciprocal(s * np.sqrt(s)) - _LAST, f32(0))
    sine, cosine = glare.down, glare.across
    for _ in range(glare.lines):
        along = max(f32(1) - abs(down * sine + across * cosine) * lamp[7], f32(0))
        beside = down * cosine - across * sine
        sharp = max(f32(1) - beside * beside * lamp[8], f32(0))
        light += lamp[5] * (along * along) * (sharp * sharp)
        turned = sine * glare.turn_across + cosine * glare.turn_down
        cosine = cosine * glare.turn_across - sine * glare.turn_down
        sine = turned
    return light


@scalar
def per_light(illumination):
    """Return what light becomes that the illumination is not to change, when it is multiplied."""
    return reciprocal(max(illumination, _FAINTEST))


@inlined
def add_shine(y, left, lamps, glare, rows):
    """Add the light of lamps to three rows (N) of picture row `y`, from column `left` on."""
    red, green, blue = rows
    for k in range(lamps.shape[0]):
        lamp = lamps[k]
        down = f32(y) - lamp[0]
        if down * down < lamp[9]:
            for x in range(red.shape[0]):
                light = shine(y, left + x, lamp, glare)
                red[x] += light * lamp[10]
                green[x] += light
                blue[x] += light * lamp[11]


@inlined
def add_emission(y, left, height, emission, rows, room):
    """Add lamps to light (three rows, N) that the illumination is yet to change; room: (3, N)."""
    room[:] = f32(0)
    add_shine(y, left, emission.lamps, emission.glare, (room[0], room[1], room[2]))
    light, cast = emission.illumination[-1], emission.cast  # of white, where lightness counts
    j, share = row_above(y, height, light.shape[0])
    for c in range(3):
        for x in range(rows[c].shape[0]):
            at = left + x
            of = between(light[j, at], light[j + 1, at], share)
            if cast.shape[0]:
                of *= between(cast[j, c, at], cast[j + 1, c, at], share)
            rows[c][x] += room[c, x] * per_light(of)
