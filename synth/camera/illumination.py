"""The illumination: how many stops more or less light falls on each part of the scene, and the grid
that kernels read.

The field is a sum of parts in EV on a 32 x 32 grid, shifted to a zero mean over the image, so that
its parts move light about and the exposure alone says how dark the whole is. Cell (i, j) stands for
the middle of its part of the image.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..kernels.curves import LEVEL_LIGHT, LUMINANCE
from ..kernels.illumination import CELLS, FAINTEST, interpolate, light_of, mean_luminance, sum_field
from .draw import CameraDraw

_CHANNEL_LIGHT = LUMINANCE[:, None] * LEVEL_LIGHT
_NOTHING = np.empty((0, 0))

FloatArray = npt.NDArray[np.float64]


def field_ev(pixels: npt.NDArray[np.uint8], draw: CameraDraw) -> FloatArray:
    """The field in EV.

    Parameters
    ----------
    pixels : uint8 array (H, W, 3)
        The normal; `lights` and `scene` depend on it.
    draw : CameraDraw

    Returns
    -------
    float64 array (32, 32)
        Mean 0.
    """
    return _field(pixels, draw)[0]


def _field(pixels: npt.NDArray[np.uint8], draw: CameraDraw) -> tuple[FloatArray, FloatArray | None]:
    """The field, and the colour of its light: factors (32, 32, 3) on R, G and B that keep
    luminance, None for white light."""
    y, x = _places(*pixels.shape[:2])
    n = draw.smooth_cells
    lights = np.array(
        (draw.light_places, draw.light_evs, draw.light_radii, draw.light_falloffs)
    ).T.copy()
    luminance = (
        cell_luminance(pixels) if len(lights) or draw.scene_strength else np.zeros((CELLS, CELLS))
    )
    gradient = np.zeros(2)
    if draw.gradient_ev:
        direction = np.array([math.sin(draw.gradient_angle), math.cos(draw.gradient_angle)])
        reach = float(np.abs(direction[0] * y[:, None] + direction[1] * x).max())
        gradient = direction * (draw.gradient_ev / 2 / (reach or 1.0))
    field, pools = np.empty((CELLS, CELLS)), np.empty((len(lights), CELLS, CELLS))
    smooth = np.array(draw.smooth_ev).reshape(n, n)
    cubic = _cubic_weights(n) if n else _NOTHING
    sum_field(
        luminance,
        smooth,
        cubic,
        lights,
        _blur_weights(),
        draw.scene_strength,
        y,
        x,
        draw.vignette_ev,
        gradient,
        field,
        pools,
    )
    if not any(draw.light_warmths):
        return field, None
    coloured = np.ones((CELLS, CELLS, 3))
    for pool, warmth in zip(pools, draw.light_warmths, strict=True):
        coloured += pool[..., None] * _tint(warmth)
    coloured = np.maximum(coloured, FAINTEST)
    return field, coloured / _luminance(coloured)[..., None]


def illumination_rows(
    pixels: npt.NDArray[np.uint8], draw: CameraDraw
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """The factors on scene light, interpolated to every column: what `photograph.photograph` takes.

    Returns
    -------
    float32 array (32, W)
        2^(field - exposure_ev) at the middle of each of 32 bands of rows.
    float32 array (32, 3, W) or (0, 3, W)
        The light's colour there, if it has any.
    """
    field, colour = _field(pixels, draw)
    width = pixels.shape[1]
    light = np.empty((CELLS, CELLS), np.float32)
    light_of(field, draw.exposure_ev, light)
    rows = _to_columns(light, width)
    if colour is None:
        return rows, np.empty((0, 3, width), np.float32)
    channels = [np.ascontiguousarray(colour[:, :, c], np.float32) for c in range(3)]
    return rows, np.stack([_to_columns(channel, width) for channel in channels], axis=1)


def _to_columns(grid: npt.NDArray[np.float32], width: int) -> npt.NDArray[np.float32]:
    rows = np.empty((CELLS, width), np.float32)
    interpolate(grid, *_columns(width), rows)
    return rows


@lru_cache(maxsize=256)
def _columns(width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The cell to the left of every column, and how far the column lies on the way to the next
    one."""
    position = np.clip((np.arange(width) + 0.5) * (CELLS / width) - 0.5, 0, CELLS - 1)
    left = np.minimum(position.astype(np.int64), CELLS - 2)
    return left, (position - left).astype(np.float32)


def cell_luminance(pixels: npt.NDArray[np.uint8]) -> FloatArray:
    """Mean linear luminance of 32 x 32 parts of an image, from 2 x 2 evenly spaced samples each."""
    cells = np.empty((CELLS, CELLS))
    mean_luminance(np.ascontiguousarray(pixels), _CHANNEL_LIGHT, cells)
    return cells


@lru_cache(maxsize=32)
def _cubic_weights(n: int) -> FloatArray:
    """Bicubic interpolation (Catmull-Rom, edges repeated) of n values to the grid, as weights (32,
    n)."""
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
    """Cell middles about the image's middle, down and across, in units of half of its longer
    side."""
    along = (np.arange(CELLS) + 0.5) / CELLS * 2 - 1
    longer = max(height, width)
    return along * (height / longer), along * (width / longer)


def _tint(warmth_ev: float) -> FloatArray:
    """Factors on R, G and B of a light whose red stands that many EV over its blue, luminance 1."""
    tint = np.array([2.0 ** (warmth_ev / 2), 1.0, 2.0 ** (-warmth_ev / 2)])
    return tint / _luminance(tint)


def _luminance(colour: FloatArray) -> FloatArray:
    """Of linear RGB in the last dimension, summed in order: a matrix library's last bits depend on
    the machine."""
    weighted: FloatArray = (
        LUMINANCE[0] * colour[..., 0]
        + LUMINANCE[1] * colour[..., 1]
        + LUMINANCE[2] * colour[..., 2]
    )
    return weighted


@lru_cache(maxsize=1)
def _blur_weights() -> FloatArray:
    """Binomial 1-4-6-4-1 blur with repeated edges, as weights (32, 32)."""
    weights = np.zeros((CELLS, CELLS))
    for offset, tap in zip((-2, -1, 0, 1, 2), (1, 4, 6, 4, 1), strict=True):
        np.add.at(
            weights, (np.arange(CELLS), np.clip(np.arange(CELLS) + offset, 0, CELLS - 1)), tap / 16
        )
    return weights
