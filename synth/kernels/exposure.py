"""From 8-bit pixels to the light on the sensor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import f32, i32, u32, u64
from .compiling.compile import row_kernel, scalar

_PER_KNEE = f32(1 / 0.4)
_SIXTH = f32(1 / 6)
KNEE = 0.6
"""Share of white from which on light counts as highlights."""
GUIDES = 8
"""Lightnesses, evenly spaced from black to white, that illumination is known at where it depends on
them: lightness is the root of luminance, which texture hardly moves in the dark."""
_RED, _GREEN, _BLUE = f32(0.2126), f32(0.7152), f32(0.0722)
_LAST_GUIDE = f32(GUIDES - 1)


class Matrix(NamedTuple):
    """A colour matrix, row by row, of float32: `rg` is what the new red takes of green."""

    rr: np.float32
    rg: np.float32
    rb: np.float32
    gr: np.float32
    gg: np.float32
    gb: np.float32
    br: np.float32
    bg: np.float32
    bb: np.float32


class Exposure(NamedTuple):
    """How a camera sees light, of float32."""

    to_camera: Matrix  # linear sRGB to camera RGB, divided by the white balance gains
    electrons: np.float32  # of a sample of linear value 1: (white - black) / K
    highlights: np.float32  # by how much white is brightened, less 1, over white's light squared
    knee: np.float32  # light from which on it is: KNEE of white
    per_white: np.float32  # 1 over the light of white


class Bands(NamedTuple):
    """Bands of light that comes and goes while rows are read, of float32."""

    depth: np.float32  # share of the light that comes and goes; 0 for no bands
    number: np.float32  # over the picture's height
    phase: np.float32  # of the first row, in turns


class Scene(NamedTuple):
    """The light that a photograph becomes.

    illumination: float32 array (1, rows, W), factor on it at the centres of evenly spaced rows,
      already interpolated to every column; or (GUIDES, rows, W), those at lightnesses.
    cast: float32 array (rows, 3, W) or (0, 3, W), further factors on red, green and blue, where the
      light has a colour.
    lit: float32 array (3, H W) or (3, 0), red, green and blue light of the pixels that are made,
      where it is spread: `degradations.blur`.
    """

    linear: npt.NDArray[np.float32]  # (256) or (768), of `linearise`
    illumination: npt.NDArray[np.float32]
    cast: npt.NDArray[np.float32]
    exposure: Exposure  # without highlights where light is spread: `lit` has them
    bands: Bands
    lit: npt.NDArray[np.float32]


@scalar
def between(upper, lower, share):
    """Interpolate linearly."""
    return upper + (lower - upper) * share


@scalar
def row_above(y, height, rows):
    """Find the last of evenly spaced `rows` above picture row `y`, and how far it lies below."""
    position = (f32(y) + f32(0.5)) * (f32(rows) / f32(height)) - f32(0.5)
    position = min(max(position, f32(0)), f32(rows - 1))
    j = min(i32(position), i32(rows - 2))
    return j, position - f32(j)


@scalar
def highlight_factor(r, g, b, highlights, knee):
    """Return by how much a pixel of linear light is brightened, less 1; see `light_factor`."""
    near = max(r, max(g, b)) * f32(0.5) + (r + g + b) * _SIXTH
    over = max(near - knee, f32(0)) * _PER_KNEE
    return highlights * over * over


@scalar
def light_factor(r, g, b, light, exposure):
    """Return the mean electrons that a pixel's linear light of 1 becomes.

    Illumination, sensor, and its highlights' own brightening enter.

    Light of white was cut off by the camera that took the photograph: it is brightened by the
    factor 1 + highlights, equally in all channels, so that lamps stay both bright and neutral in
    the dark. How near to white light is, is half its largest channel and half the mean of all: from
    .6 on it is brightened, a warm bulb (255, 214, 150) by a third of the whole. A steeper rise, or
    the largest channel alone, would make the fine grain of skin or a pale wall glitter.
    """
    scale = exposure.electrons
    return light * (scale + highlight_factor(r, g, b, scale * exposure.highlights, exposure.knee))


@scalar
def transformed(m, x, y, z):
    """Apply a colour matrix."""
    return (
        m.rr * x + m.rg * y + m.rb * z,
        m.gr * x + m.gg * y + m.gb * z,
        m.br * x + m.bg * y + m.bb * z,
    )


@scalar
def guide_of(r, g, b, per_white):
    """Return where a pixel's lightness lies among GUIDES: from 0, black, to the last, white."""
    luminance = _RED * r + _GREEN * g + _BLUE * b
    return min(np.sqrt(max(luminance * per_white, f32(0))), f32(1)) * _LAST_GUIDE


@scalar
def near(guide, k):
    """Return the weight of the `k`-th of GUIDES for a pixel of such a guide."""
    return max(f32(1) - abs(guide - f32(k)), f32(0))


@scalar
def expose_pixel(r, g, b, light, exposure):
    """Return the mean electrons of red, green and blue sites under a pixel of linear sRGB light."""
    e = light_factor(r, g, b, light, exposure)
    red, green, blue = transformed(exposure.to_camera, r, g, b)
    return max(red, f32(0)) * e, max(green, f32(0)) * e, max(blue, f32(0)) * e


@row_kernel
def light_of_pixels(flat, first, scene, red, green, blue):
    """Fill three rows (N) with the light of pixels of a picture (H W, 3), from one on."""
    last = first + red.shape[0]
    if scene.lit.shape[1] > 0:
        for x in range(red.shape[0]):
            red[x] = scene.lit[0, first + x]
            green[x] = scene.lit[1, first + x]
            blue[x] = scene.lit[2, first + x]
    else:
        linearise(flat[first:last], scene.linear, red, green, blue)


@row_kernel
def linearise(rgb, linear, red, green, blue):
    """Fill rows (N) with light of 8-bit pixels (N, 3), by one table (256) or three (768)."""
    if linear.shape[0] > 256:
        for x in range(red.shape[0]):
            red[x] = linear[rgb[x, 0]]
            green[x] = linear[u32(256) + u32(rgb[x, 1])]
            blue[x] = linear[u32(512) + u32(rgb[x, 2])]
    else:
        for x in range(red.shape[0]):
            red[x] = linear[rgb[x, 0]]
            green[x] = linear[rgb[x, 1]]
            blue[x] = linear[rgb[x, 2]]


@scalar
def band_factor(y, height, bands):
    """Return the share of light of mains lamps that picture row `y` got, of the mean over a band.

    Rows are read one after the other, while the lamps' light comes and goes: bands, as a smoothed
    triangle, which is near a sine.
    """
    turns = (f32(y) + f32(0.5)) / f32(height) * bands.number + bands.phase
    turns -= np.floor(turns)
    wave = f32(1) - abs(f32(2) * turns - f32(1))
    wave = wave * wave * (f32(3) - f32(2) * wave)
    return (f32(1) - bands.depth * wave) / (f32(1) - f32(0.5) * bands.depth)


@row_kernel
def _expose(rows, upper, lower, share, banded, exposure):
    """Turn the light of pixels of a row, three rows (N), into mean electrons, in place."""
    red, green, blue = rows
    for x in range(red.shape[0]):
        light = between(upper[x], lower[x], share) * banded
        red[x], green[x], blue[x] = expose_pixel(red[x], green[x], blue[x], light, exposure)


@row_kernel
def _expose_sliced(rows, grid, at, share, banded, exposure):
    """Do what `_expose` does, of light by lightness: flat (GUIDES rows W), from a place on.

    at: that place, and how far on the next row and the next lightness are.
    """
    (red, green, blue), (first, row, slice_of) = rows, at
    for x in range(red.shape[0]):
        guide = guide_of(red[x], green[x], blue[x], exposure.per_white)
        light, place = f32(0), first + u64(x)
        for k in range(GUIDES):  # all, for a CPU's vectors: those far away weigh nothing
            light += between(grid[place], grid[place + row], share) * near(guide, k)
            place += slice_of
        light *= banded
        red[x], green[x], blue[x] = expose_pixel(red[x], green[x], blue[x], light, exposure)


@row_kernel
def _tint(rows, upper, lower, left, share):
    """Colour the light of pixels of a row, three rows (N), in place.

    `upper` and `lower` are (3, W) factors on R, G and B, of which those from column `left` on
    count.
    """
    red, green, blue = rows
    for x in range(red.shape[0]):
        red[x] *= between(upper[0, left + x], lower[0, left + x], share)
        green[x] *= between(upper[1, left + x], lower[1, left + x], share)
        blue[x] *= between(upper[2, left + x], lower[2, left + x], share)


@row_kernel
def expose_row(y, left, height, scene, rows):
    """Turn the light of picture row `y`, three rows (N), into mean electrons, in place.

    Those are of red, green and blue sites, from column `left` on.
    """
    light, cast = scene.illumination, scene.cast
    j, share = row_above(y, height, light.shape[1])
    if cast.shape[0]:
        _tint(rows, cast[j], cast[j + 1], left, share)
    bands = scene.bands
    banded = band_factor(y, height, bands) if bands.depth > f32(0) else f32(1)
    if light.shape[0] > 1:
        width = light.shape[2]
        at = u64(j * width + left), u64(width), u64(light.shape[1] * width)
        _expose_sliced(rows, light.reshape(-1), at, share, banded, scene.exposure)
    else:
        right = left + rows[0].shape[0]
        upper, lower = light[0, j, left:right], light[0, j + 1, left:right]
        _expose(rows, upper, lower, share, banded, scene.exposure)
