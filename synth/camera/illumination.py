"""The illumination: how many stops more or less light falls on each part of the scene.

And the grid of it that kernels read.

The field is a sum of parts in EV on a 32 x 32 grid, shifted to a zero mean over the image, so that
its parts move light about and the exposure alone says how dark the whole is. Cell (i, j) stands for
the middle of its part of the image.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels.arrays import FloatArray, IntArray, read_only
from ..kernels.curves import LEVEL_LIGHT, LUMINANCE
from ..kernels.exposure import GUIDES
from ..kernels.illumination import (
    CELLS,
    FAINTEST,
    darkening_of,
    interpolate,
    light_of,
    mean_luminance,
    slices_of,
    sum_field,
)
from ..kernels.numbers.library import exp, power

CHANNEL_LIGHT = LUMINANCE[:, None] * LEVEL_LIGHT
DAYLIGHT = 6500.0
"""Kelvin, the temperature of a black body whose light is white."""
_PRIMARIES = np.array([611.0, 549.0, 464.0])
"""Dominant wavelengths of sRGB's red, green and blue, nm."""
_C2 = 1.438777e7
"""Second radiation constant, nm K."""
_NOTHING, _DARK = np.empty((0, 0)), np.zeros((CELLS, CELLS))
_BY_LUMINANCE = "lights", "grid_cells", "illumination_scene_strength", "exposure_by_brightness"
"""Columns of DRAW by which the photograph's own light matters, as to `luminance_matters`."""


def field_ev(
    pixels: npt.NDArray[np.uint8], luminance: FloatArray, table: Any, number: int
) -> tuple[FloatArray, FloatArray | None]:
    """Return the field (32, 32) in EV, mean 0, without what depends on lightness; and its colour.

    pixels: uint8 array (H, W, 3), the normal. luminance: its `cell_luminance`. table, number: a
    `draws.table.DrawTable`, and which of its draws.

    Returns of the colour (32, 32, 3) factors of luminance 1; None for white.
    """
    draw = table.draws[number]
    n, first = int(draw["illumination_smooth_cells"]), draw["first_light"]
    lights = table.lights[first : first + draw["lights"]]
    weights = cubic_weights(n) if n else _NOTHING, blur_weights()
    total, pools = np.empty((CELLS, CELLS)), np.empty((len(lights), CELLS, CELLS))
    places, draw_of = _places(*pixels.shape[:2]), (table.draws, number)
    sum_field(luminance, draw_of, table.smooth, lights, weights, places, (total, pools))
    if not draw["coloured"]:
        return total, None
    colour = np.ones((CELLS, CELLS, 3))
    for pool, tint in zip(pools, lights[:, 4:], strict=True):
        colour += pool[..., None] * tint
    colour = np.maximum(colour, FAINTEST)
    return total, colour / _luminance(colour)[..., None]


def illumination_rows(
    pixels: npt.NDArray[np.uint8], table: Any, number: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the factors on scene light, interpolated to every column, for `exposure.Scene`.

    pixels, table, number: as of `field_ev`.

    Returns float32 array (1, 32, W), 2^(field - exposure.ev) at the middle of each of 32 bands of
    rows; or (GUIDES, 32, W) where it depends on lightness. Returns float32 array (32, 3, W) or
    (0, 3, W), the light's colour there, if it has any.
    """
    draw, width = table.draws[number], pixels.shape[1]
    looked_at = any(draw[name] for name in _BY_LUMINANCE)
    luminance = cell_luminance(pixels) if looked_at else _DARK
    total, colour = field_ev(pixels, luminance, table, number)
    exposure_ev, sliced = exposure_of(luminance, draw), draw["grid_cells"] > 0
    light = np.empty((GUIDES if sliced else 1, CELLS, CELLS), np.float32)
    if sliced:
        places, lit_by = _places(*pixels.shape[:2]), (table.grids, table.pools)
        slices_of(total, luminance, (table.draws, number), lit_by, places, exposure_ev, light)
    else:
        light_of(total, exposure_ev, light[0])
    rows = _to_columns(light, width)
    if colour is None:
        return rows, np.empty((0, 3, width), np.float32)
    channels = np.ascontiguousarray(np.moveaxis(colour, 2, 0), np.float32)
    cast = _to_columns(channels, width)
    return rows, np.ascontiguousarray(cast.swapaxes(0, 1))


def exposure_of(luminance: FloatArray, draw: Any) -> float:
    """Return by how many stops a row of DRAW darkens a photograph of such `cell_luminance`."""
    exposure_ev, by_brightness = float(draw["exposure_ev"]), float(draw["exposure_by_brightness"])
    return darkening_of(luminance, exposure_ev, by_brightness) if by_brightness else exposure_ev


def _to_columns(grid: npt.NDArray[np.float32], width: int) -> npt.NDArray[np.float32]:
    rows = np.empty((len(grid), CELLS, width), np.float32)
    interpolate(grid, *_columns(width), rows)
    return rows


@lru_cache(maxsize=256)
def _columns(width: int) -> tuple[IntArray, npt.NDArray[np.float32]]:
    """Return the first column right of each cell's middle (32), and how far each lies to the next.

    The last is W; columns beyond the outer middles are at these.
    """
    position = np.clip((np.arange(width) + 0.5) * (CELLS / width) - 0.5, 0, CELLS - 1)
    left = np.minimum(position.astype(np.int64), CELLS - 2)
    return np.searchsorted(left, np.arange(CELLS)), (position - left).astype(np.float32)


def cell_luminance(pixels: npt.NDArray[np.uint8]) -> FloatArray:
    """Return the mean linear luminance of 32 x 32 parts of an image, of 2 x 2 samples each."""
    cells = np.empty((CELLS, CELLS))
    mean_luminance(read_only(pixels), CHANNEL_LIGHT, cells)
    return cells


@lru_cache(maxsize=32)
def cubic_weights(n: int) -> FloatArray:
    """Return Catmull-Rom's interpolation of n values to the grid, edges repeated: (32, n)."""
    position = (np.arange(CELLS) + 0.5) * n / CELLS - 0.5
    base = np.floor(position).astype(np.int64)
    t = position - base
    taps = (
        ((-t + 2) * t - 1) * t / 2,
        ((3 * t - 5) * t * t + 2) / 2,
        ((-3 * t + 4) * t + 1) * t / 2,
        (t - 1) * t * t / 2,
    )
    weights = np.zeros((CELLS, n))
    for offset, tap in zip((-1, 0, 1, 2), taps, strict=True):
        np.add.at(weights, (np.arange(CELLS), np.clip(base + offset, 0, n - 1)), tap)
    return weights


@lru_cache(maxsize=256)
def _places(height: int, width: int) -> tuple[FloatArray, FloatArray]:
    """Return cell middles about the image's, down and across, in halves of its longer side."""
    along = (np.arange(CELLS) + 0.5) / CELLS * 2 - 1
    longer = max(height, width)
    return along * (height / longer), along * (width / longer)


def light_tints(warmth_ev: FloatArray) -> FloatArray:
    """Return factors of luminance 1 on R, G and B (N, 3): red so many EV over blue."""
    red, blue = power(2.0, warmth_ev / 2), power(2.0, -warmth_ev / 2)
    tints = np.stack([red, np.ones_like(red), blue], -1)
    return tints / _luminance(tints)[:, None]


def black_body_tints(kelvin: FloatArray) -> FloatArray:
    """Return factors on R, G and B (N, 3) of the light of black bodies, of luminance 1.

    6500 K is white. They are Planck's law at the dominant wavelengths of sRGB's primaries.
    """
    hot, day = (
        exp((_C2 / (_PRIMARIES * one)).reshape(-1)).reshape(-1, 3) - 1
        for one in (kelvin[:, None], np.array([[DAYLIGHT]]))
    )
    tints: FloatArray = day / hot
    red, green, blue = (LUMINANCE * tints).T
    return tints / (red + green + blue)[:, None]


def _luminance(colour: FloatArray) -> FloatArray:
    """Return the luminance of RGB, summed in order: a library's last bits depend on the machine."""
    return (
        LUMINANCE[0] * colour[..., 0]
        + LUMINANCE[1] * colour[..., 1]
        + LUMINANCE[2] * colour[..., 2]
    )


@lru_cache(maxsize=1)
def blur_weights() -> FloatArray:
    """Return the binomial 1-4-6-4-1 blur with repeated edges, as weights (32, 32)."""
    weights = np.zeros((CELLS, CELLS))
    for offset, tap in zip((-2, -1, 0, 1, 2), (1, 4, 6, 4, 1), strict=True):
        np.add.at(
            weights, (np.arange(CELLS), np.clip(np.arange(CELLS) + offset, 0, CELLS - 1)), tap / 16
        )
    return weights
