"""From the sensor's samples to encoded pixels: black, white balance, colour matrix, encoding.
Scalar functions of one pixel, which a GPU compiles from the same source, and loops over rows."""

from __future__ import annotations

import numpy as np

from .compiling.compile import kernel, scalar
from .exposure import BLACK, DEVELOP_GAINS, WHITE, weighted

u16 = np.uint16
i32 = np.int32
f32 = np.float32

ENCODE_CELLS = 1 << 12
"""Cells of the encoding table, evenly spaced in the square root of linear light."""
TOP = f32(ENCODE_CELLS - 1)


@scalar
def balanced(dn, black, unit):
    """White balanced light of a sample: black subtracted, cut at white.

    Cameras cut there, or else clipped light would turn magenta in the colour matrix. Values below
    black live on.
    """
    return min((dn - black) * unit, f32(1))


@scalar
def encoding_cell(light):
    """Place in the encoding table of linear light, cut to [0, 1]."""
    return i32(np.sqrt(min(max(light, f32(0)), f32(1))) * TOP + f32(0.5))


@kernel
def develop(r_raw, gg_raw, b_raw, p, red, green, blue):
    """Turn samples, rows (N) of red, of the sum of two greens and of blue, into encoding table
    places: black, white balance, digital gain, colour matrix.
    """
    black = p[BLACK]
    unit = f32(1) / (p[WHITE] - black)
    r_unit, g_unit, b_unit = (
        p[DEVELOP_GAINS] * unit,
        p[DEVELOP_GAINS + 1] * unit,
        p[DEVELOP_GAINS + 2] * unit,
    )
    rr, rg, rb, gr, gg, gb, br, bg, bb = (
        p[9],
        p[10],
        p[11],
        p[12],
        p[13],
        p[14],
        p[15],
        p[16],
        p[17],
    )
    for x in range(red.shape[0]):
        r = balanced(r_raw[x], black, r_unit)
        g = balanced(gg_raw[x] * f32(0.5), black, g_unit)
        b = balanced(b_raw[x], black, b_unit)
        red[x] = u16(encoding_cell(weighted(rr, rg, rb, r, g, b)))
        green[x] = u16(encoding_cell(weighted(gr, gg, gb, r, g, b)))
        blue[x] = u16(encoding_cell(weighted(br, bg, bb, r, g, b)))


@kernel
def encode(red, green, blue, table, low):
    """Fill 8-bit pixels (N, 3) from encoding table places, three rows (N)."""
    for x in range(low.shape[0]):
        low[x, 0] = table[red[x]]
        low[x, 1] = table[green[x]]
        low[x, 2] = table[blue[x]]
