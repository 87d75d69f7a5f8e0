"""From the sensor's samples to encoded pixels: black, white balance, colour matrix, encoding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import f32, i32, u16
from .compiling.compile import row_kernel, scalar
from .exposure import Matrix, transformed

ENCODE_CELLS = 1 << 12
"""Cells of the encoding table, evenly spaced in the square root of linear light."""
TOP = f32(ENCODE_CELLS - 1)


class Colour(NamedTuple):
    """How a camera makes colours of samples, of float32."""

    black: np.float32  # levels, DN
    white: np.float32  # levels, DN
    red_gain: np.float32  # the camera's own, erring white balance and digital gain
    green_gain: np.float32  # the camera's own, erring white balance and digital gain
    blue_gain: np.float32  # the camera's own, erring white balance and digital gain
    to_srgb: Matrix  # camera RGB, white balanced, to linear sRGB


class Development(NamedTuple):
    """The way from a sensor's samples to encoded values."""

    colour: Colour
    table: npt.NDArray[np.uint8]  # (ENCODE_CELLS), level of each place of the encoding table
    fine_table: npt.NDArray[np.int16]  # (ENCODE_CELLS), the same in the UNITs of `chroma`
    blur: npt.NDArray[np.float32]  # (n), weights of the chroma noise reduction, or none
    strength: np.float32  # of the chroma noise reduction, 0 to 1


@scalar
def balanced(dn, black, unit):
    """Return the white balanced light of a sample: black subtracted, cut at white.

    Cameras cut there, or else clipped light would turn magenta in the colour matrix. Values below
    black live on.
    """
    return min((dn - black) * unit, f32(1))


@scalar
def encoding_cell(light):
    """Return the place in the encoding table of linear light, cut to [0, 1]."""
    return i32(np.sqrt(min(max(light, f32(0)), f32(1))) * TOP + f32(0.5))


@scalar
def developed_light(red, greens, blue, colour):
    """Return a pixel's linear sRGB light, from the samples of red, two greens and blue.

    The steps are black, white balance, digital gain, colour matrix.
    """
    unit = f32(1) / (colour.white - colour.black)
    r = balanced(red, colour.black, colour.red_gain * unit)
    g = balanced(greens * f32(0.5), colour.black, colour.green_gain * unit)
    b = balanced(blue, colour.black, colour.blue_gain * unit)
    return transformed(colour.to_srgb, r, g, b)


@row_kernel
def develop(raw, colour, cells):
    """Turn rows (N) of red, of two greens' sum and of blue into rows of encoding table places."""
    red, greens, blue = raw
    r_cells, g_cells, b_cells = cells
    for x in range(red.shape[0]):
        r, g, b = developed_light(red[x], greens[x], blue[x], colour)
        r_cells[x] = u16(encoding_cell(r))
        g_cells[x] = u16(encoding_cell(g))
        b_cells[x] = u16(encoding_cell(b))


@row_kernel
def encode(cells, table, low):
    """Fill 8-bit pixels (N, 3) from encoding table places, three rows (N)."""
    red, green, blue = cells
    for x in range(low.shape[0]):
        low[x, 0] = table[red[x]]
        low[x, 1] = table[green[x]]
        low[x, 2] = table[blue[x]]
