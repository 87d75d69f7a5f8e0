"""The illumination: how many stops more or less light falls on each part of the scene.

And the grid of it that kernels read.

The field is a sum of parts in EV on a 32 x 32 grid, shifted to a zero mean over the image, so that
its parts move light about and the exposure alone says how dark the whole is. Cell (i, j) stands for
the middle of its part of the image.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.arrays import FloatArray, IntArray, read_only
from ..kernels.curves import LEVEL_LIGHT, LUMINANCE
from ..kernels.exposure import GUIDES
from ..kernels.illumination import (
    CELLS,
    FAINTEST,
    Parts,
    SceneLight,
    darkening_of,
    interpolate,
    light_of,
    mean_luminance,
    slices_of,
    sum_field,
)
from ..kernels.numbers.library import power

CHANNEL_LIGHT = LUMINANCE[:, None] * LEVEL_LIGHT
_NOTHING, _DARK = np.empty((0, 0)), np.zeros((CELLS, CELLS))


class Field(NamedTuple):
    """The parts of a scene's illumination, besides the scene."""

    draw: Any  # of `kernels.args`
    smooth: FloatArray  # float64 array (n, n), nodes of the smooth field
    lights: FloatArray  # float64 array (L, 7), as of `draws.table.DrawTable`
    scene: SceneLight


def field_ev(pixels: npt.NDArray[np.uint8], field: Field) -> tuple[FloatArray, FloatArray | None]:
    """Return the field (32, 32) in EV, mean 0, without what depends on lightness; and its colour.

    pixels: uint8 array (H, W, 3), the normal; `lights` and `scene` depend on it.

    Returns of the colour (32, 32, 3) factors of luminance 1; None for white.
    """
    y, x = _places(*pixels.shape[:2])
    n, count, draw = len(field.smooth), len(field.lights), field.draw
    scene, gradient_ev = draw.illumination_scene_strength, draw.illumination_gradient_ev
    luminance = cell_luminance(pixels) if count or scene else _DARK
    gradient = np.zeros(2)
    if gradient_ev:
        direction = np.array((draw.slope_down, draw.slope_across))
        reach = float(np.abs(direction[0] * y[:, None] + direction[1] * x).max())
        gradient = direction * (gradient_ev / 2 / (reach or 1.0))
    parts = Parts(
        field.smooth,
        cubic_weights(n) if n else _NOTHING,
        field.lights,
        blur_weights(),
        scene,
        draw.illumination_vignette_ev,
        gradient,
    )
    total, pools = np.empty((CELLS, CELLS)), np.empty((count, CELLS, CELLS))
    sum_field(luminance, parts, (y, x), total, pools)
    if not draw.coloured:
        return total, None
    colour = np.ones((CELLS, CELLS, 3))
    for pool, tint in zip(pools, field.lights[:, 4:], strict=True):
        colour += pool[..., None] * tint
    colour = np.maximum(colour, FAINTEST)
    return total, colour / _luminance(colour)[..., None]


def illumination_rows(
    pixels: npt.NDArray[np.uint8], field: Field
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the factors on scene light, interpolated to every column, for `exposure.Scene`.

    Returns float32 array (1, 32, W), 2^(field - exposure.ev) at the middle of each of 32 bands of
    rows; or (GUIDES, 32, W) where it depends on lightness. Returns float32 array (32, 3, W) or
    (0, 3, W), the light's colour there, if it has any.
    """
    total, colour = field_ev(pixels, field)
    width = pixels.shape[1]
    exposure_ev, scene = exposure_of(pixels, field.draw), field.scene
    light = np.empty((GUIDES if scene.cells else 1, CELLS, CELLS), np.float32)
    if scene.cells:
        places = _places(*pixels.shape[:2])
        slices_of(total, cell_luminance(pixels), scene, places, exposure_ev, light)
    else:
        light_of(total, exposure_ev, light[0])
    rows = _to_columns(light, width)
    if colour is None:
        return rows, np.empty((0, 3, width), np.float32)
    channels = np.ascontiguousarray(np.moveaxis(colour, 2, 0), np.float32)
    cast = _to_columns(channels, width)
    return rows, np.ascontiguousarray(cast.swapaxes(0, 1))


def exposure_of(pixels: npt.NDArray[np.uint8], draw: Any) -> float:
    """Return by how many stops a photograph is darkened by a row of a draw table."""
    exposure_ev, by_brightness = draw.exposure_ev, draw.exposure_by_brightness
    if by_brightness:
        exposure_ev = darkening_of(cell_luminance(pixels), exposure_ev, by_brightness)
    return float(exposure_ev)


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
