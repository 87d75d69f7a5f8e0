"""The illumination: how many stops more or less light falls on each part of the scene, and the grid that kernels read.

The field is a sum of parts in EV on a 32 x 32 grid, shifted to a zero mean over the image, so that its parts move light
about and the exposure alone says how dark the whole is. Cell (i, j) stands for the middle of its part of the image.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numba
import numpy as np
import numpy.typing as npt

from .camera_draw import CameraDraw
from .compiling import kernel
from .transfer import LEVEL_LIGHT, LUMINANCE

CELLS = 32
_SAMPLES = 2  # a side, within a cell
_CHANNEL_LIGHT = LUMINANCE[:, None] * LEVEL_LIGHT
_FAINTEST = 2.0**-8  # of the light there is without lights; negative ones could take more than that
_DARKEST = 2.0**-10  # light below this, in the photograph, carries no information about the scene

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
    """The field, and the colour of its light: factors (32, 32, 3) on R, G and B that keep luminance, None for white light."""
    height, width = pixels.shape[:2]
    field = np.zeros((CELLS, CELLS))
    colour = None
    if draw.smooth_cells:
        field += _smooth(np.array(draw.smooth_ev).reshape(draw.smooth_cells, draw.smooth_cells))
    if draw.light_places or draw.scene_strength:
        luminance = cell_luminance(pixels)
        if draw.light_places:
            lit, colour = _lights(luminance, draw, height, width)
            field += lit
        if draw.scene_strength:
            field += draw.scene_strength * np.log2(np.maximum(_blurred(luminance), _DARKEST))
    if draw.vignette_ev or draw.gradient_ev:
        y, x = _places(height, width)
        if draw.vignette_ev:
            field += _vignette(y, x, draw.vignette_ev)
        if draw.gradient_ev:
            along = x * math.cos(draw.gradient_angle) + y * math.sin(draw.gradient_angle)
            reach = np.abs(along).max()
            field += draw.gradient_ev / 2 * along / (reach or 1.0)
    field -= field.mean()
    return field, colour


def illumination_rows(pixels: npt.NDArray[np.uint8], draw: CameraDraw) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
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
    rows = _to_columns(np.exp2(field - draw.exposure_ev), width)
    if colour is None:
        return rows, np.empty((0, 3, width), np.float32)
    return rows, np.ascontiguousarray(np.stack([_to_columns(colour[:, :, c], width) for c in range(3)], axis=1))


def _to_columns(grid: FloatArray, width: int) -> npt.NDArray[np.float32]:
    rounded = grid.astype(np.float32)
    rows = np.empty((CELLS, width), np.float32)
    _interpolate(rounded, *_columns(width), rows)
    return rows


@kernel
def _interpolate(grid, left, share, rows):  # type: ignore[no-untyped-def]
    for y in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            here = grid[y, left[x]]
            rows[y, x] = here + (grid[y, left[x] + 1] - here) * share[x]


@lru_cache(maxsize=256)
def _columns(width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The cell to the left of every column, and how far the column lies on the way to the next one."""
    position = np.clip((np.arange(width) + 0.5) * (CELLS / width) - 0.5, 0, CELLS - 1)
    left = np.minimum(position.astype(np.int64), CELLS - 2)
    return left, (position - left).astype(np.float32)


def cell_luminance(pixels: npt.NDArray[np.uint8]) -> FloatArray:
    """Mean linear luminance of 32 x 32 parts of an image, from 2 x 2 evenly spaced samples each."""
    return _mean_luminance(np.ascontiguousarray(pixels), _CHANNEL_LIGHT)


@numba.njit(cache=True)
def _mean_luminance(pixels, channel_light):  # type: ignore[no-untyped-def]
    height, width = pixels.shape[0], pixels.shape[1]
    cells = np.zeros((CELLS, CELLS))
    for i in range(CELLS * _SAMPLES):
        y = int((i + 0.5) * height / (CELLS * _SAMPLES))
        for j in range(CELLS * _SAMPLES):
            x = int((j + 0.5) * width / (CELLS * _SAMPLES))
            light = channel_light[0, pixels[y, x, 0]] + channel_light[1, pixels[y, x, 1]] + channel_light[2, pixels[y, x, 2]]
            cells[i // _SAMPLES, j // _SAMPLES] += light
    return cells / (_SAMPLES * _SAMPLES)


def _smooth(grid: FloatArray) -> FloatArray:
    """Bicubic interpolation (Catmull-Rom, edges repeated) of n x n values to the grid."""
    weights = _cubic_weights(len(grid))
    return weights @ grid @ weights.T


@lru_cache(maxsize=32)
def _cubic_weights(n: int) -> FloatArray:
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
    """Cell middles about the image's middle, in units of half of its longer side."""
    along = (np.arange(CELLS) + 0.5) / CELLS * 2 - 1
    longer = max(height, width)
    return (along * (height / longer))[:, None], (along * (width / longer))[None, :]


def _lights(luminance: FloatArray, draw: CameraDraw, height: int, width: int) -> tuple[FloatArray, FloatArray | None]:
    """Pools of light in EV, and their colour: they sum in linear light, and the sum is turned to EV.

    A light of EV e brightens its middle by e stops (a negative one darkens it) and fades as exp(-(distance / radius)^falloff).
    """
    y, x = _places(height, width)
    # Places are drawn with a weight that grows with the photograph's own light, but none is impossible.
    weight = np.sqrt(luminance.ravel()) + 0.05
    cumulative = np.cumsum(weight)
    cumulative /= cumulative[-1]
    cells = np.minimum(np.searchsorted(cumulative, draw.light_places), CELLS * CELLS - 1)
    rows, columns = np.divmod(cells, CELLS)
    square = (y.ravel() - y[rows]) ** 2  # (lights, 32) each
    across = (x.ravel() - x[0, columns][:, None]) ** 2
    # The radius is a share of the longer side, distances are in halves of it.
    radii, falloffs = 2 * np.array(draw.light_radii), np.array(draw.light_falloffs)
    strengths = np.exp2(draw.light_evs) - 1
    distances = (square[:, :, None] + across[:, None, :]) / (radii**2)[:, None, None]
    pools = strengths[:, None, None] * np.exp(-(distances ** (falloffs / 2)[:, None, None]))
    total = np.maximum(1 + pools.sum(axis=0), _FAINTEST)
    if not any(draw.light_warmths):
        return np.log2(total), None
    tints = np.array([_tint(warmth) for warmth in draw.light_warmths])
    coloured = np.maximum(1 + np.einsum("lyx,lc->yxc", pools, tints), _FAINTEST)
    return np.log2(total), coloured / (coloured @ LUMINANCE)[:, :, None]


def _tint(warmth_ev: float) -> FloatArray:
    """Factors on R, G and B of a light whose red stands that many EV over its blue, luminance 1."""
    tint: FloatArray = np.exp2([warmth_ev / 2, 0.0, -warmth_ev / 2])
    return tint / (tint @ LUMINANCE)


def _vignette(y: FloatArray, x: FloatArray, corner_ev: float) -> FloatArray:
    """The cos^4 law of natural vignetting: illuminance falls with cos^4 of the angle to the axis, -corner_ev in a corner."""
    square = (y**2 + x**2) / (y.max() ** 2 + x.max() ** 2)
    return -2 * np.log2(1 + (2 ** (corner_ev / 2) - 1) * square)


def _blurred(luminance: FloatArray) -> FloatArray:
    """Binomial 1-4-6-4-1 blur with repeated edges."""
    weights = _blur_weights()
    return weights @ luminance @ weights.T


@lru_cache(maxsize=1)
def _blur_weights() -> FloatArray:
    weights = np.zeros((CELLS, CELLS))
    for offset, tap in zip((-2, -1, 0, 1, 2), (1, 4, 6, 4, 1), strict=True):
        np.add.at(weights, (np.arange(CELLS), np.clip(np.arange(CELLS) + offset, 0, CELLS - 1)), tap / 16)
    return weights
