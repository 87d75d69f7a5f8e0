"""The field of one real pair: the light by place and lightness that makes its low of its normal.

The mean light of a part of a low is linear in the light at the nodes of a bilateral grid, so that
Gauss and Newton's steps in stops find the grid whose render is nearest the low.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..camera.illumination import cell_luminance
from ..camera.recipe import MAX_GRID, CameraRecipe
from ..draws.camera import draw_camera
from ..draws.record import CameraDraw, GridDraw, PoolsDraw, SceneLightDraw
from ..draws.table import table_of_records
from ..kernels.arrays import FloatArray, Pixels, check_normal
from ..kernels.curves import LEVEL_LIGHT, LUMINANCE
from ..kernels.exposure import GUIDES
from ..kernels.illumination import CELLS
from ..parameters.drawing import records_of
from ..parameters.keyed_columns import KeyedColumns
from ..render.maps import camera_maps

Singles = npt.NDArray[np.float32]
_PARTS = 128  # along a side of a square picture
_SIDE = 4  # pixels of a part, at least
_CLIPPED, _BLACK = 250, 2  # levels
_DARK = 1e-5  # light of a normal
_STEPS = 8
_FAR = 1.0  # EV: parts that are further off count less
_ALIKE = 1.0  # parts: how surely neighbouring nodes are alike


@dataclass(frozen=True)
class SolvedField:
    """The field of a pair.

    Attributes
    ----------
    exposure_ev : float
        By how many stops the low is darker, in the mean over the picture.
    values : float64 array (8, 8, 8)
        Stops at the nodes of the grid, by lightness from black to white, down and across; mean 0
        over the picture.
    """

    exposure_ev: float
    values: FloatArray

    def draw(self) -> CameraDraw:
        """Return the draw of a low that has this light, and no more; `gloam` renders it."""
        levels, cells = self.values.shape[:2]
        numbers = tuple(self.values.ravel().tolist())
        grid = GridDraw(sigma_ev=1.0, cells=cells, levels=levels, values=numbers)
        pools = PoolsDraw(count=0, place=(), ev=(), radius=(), falloff=(), edges=())
        light = SceneLightDraw(undone=(0.0,) * GUIDES, grid=grid, ambient=0.0, pools=pools)
        of_light = {"exposure.ev": self.exposure_ev, "illumination.scene_light": light}
        return _bare().changed(of_light)

    def ev(self, normal: Pixels) -> Singles:
        """Return the stops (H, W) by which the rendered field changes each pixel's light.

        normal: uint8 array (H, W, 3), RGB.
        """
        known = camera_maps(normal, table_of_records([self.draw()]), 0, ["light"])["light"]
        return known[..., 0] - np.float32(self.exposure_ev)


def solve_field(normal: Pixels, low: Pixels) -> SolvedField:
    """Find the field of a real pair: 8 x 8 x 8 numbers by place and lightness, by least squares.

    Parameters
    ----------
    normal, low : uint8 array (H, W, 3)
        The pair, RGB, sRGB-encoded, in register.

    Returns
    -------
    SolvedField

    Raises
    ------
    ValueError
        When the two are not of that type and one shape, or nothing of the low is neither black nor
        clipped.

    Examples
    --------
    >>> import numpy as np, gloam
    >>> normal = np.tile(np.arange(40, 240, dtype=np.uint8)[:, None, None], (1, 200, 3))
    >>> low = gloam.darken(normal, "even", key="a", overrides={"exposure.ev": 3})
    >>> round(gloam.solve_field(normal, low).ev(normal).mean() / 3)
    -1
    """
    check_normal(normal)
    if low.dtype != np.uint8 or low.shape != normal.shape:
        raise ValueError("the low must be a uint8 array of its normal's shape")
    lit, dark, rows, columns, _ = parts_of(normal, low)
    if not len(dark):
        raise ValueError("nothing of the low is neither black nor clipped")
    places = (rows[:, :, None] * columns[:, None, :]).reshape(len(dark), -1)
    light = lit.sum(axis=1)
    apart = np.log2(dark / light)
    nodes = np.full(GUIDES * MAX_GRID**2, float(np.median(apart)))
    alike = _alike()
    for _ in range(_STEPS):
        there = 2.0 ** nodes.reshape(GUIDES, -1)
        by_level = lit * (places @ there.T)
        made = by_level.sum(axis=1)
        slopes = lit[:, :, None] * places[:, None, :] * there.astype(np.float32)
        slopes = slopes.reshape(len(dark), -1) / made[:, None]
        left = np.log2(dark / made)
        weight = 1 / np.maximum(1, np.abs(left) / _FAR)
        weighted = slopes * weight[:, None]
        square = (weighted.T @ slopes).astype(np.float64) + alike
        nodes = nodes + np.linalg.solve(square, weighted.T @ left - alike @ nodes)
        nodes = np.clip(nodes, -32, 32)
    values = nodes.reshape(GUIDES, MAX_GRID, MAX_GRID)
    mean = _mean_ev(values, cell_luminance(normal))
    return SolvedField(float(np.clip(-mean, -4, 16)), values - mean)


@lru_cache(maxsize=1)
def _bare() -> CameraDraw:
    columns = draw_camera(CameraRecipe(), KeyedColumns(0, ["field"]))
    return records_of(CameraDraw, columns)[0]


@lru_cache(maxsize=1)
def _alike() -> FloatArray:
    """Return the squares of the differences of neighbouring nodes, as a matrix (512, 512)."""
    numbers = np.arange(GUIDES * MAX_GRID**2).reshape(GUIDES, MAX_GRID, MAX_GRID)
    made = np.zeros((numbers.size, numbers.size))
    for axis in range(3):
        first = np.moveaxis(numbers, axis, 0)
        for a, b in zip(first[:-1].ravel(), first[1:].ravel(), strict=True):
            made[[a, b], [a, b]] += _ALIKE
            made[[a, b], [b, a]] -= _ALIKE
    return made


class Parts(NamedTuple):
    """Parts of a pair, at least 4 x 4 pixels: those that are neither black nor clipped in the low.

    kept: bool array (rows, columns), which those are, of all.
    """

    lit: Singles  # (N, GUIDES), light of the normal at each lightness, in the mean
    dark: Singles  # (N), light of the low
    rows: Singles  # (N, MAX_GRID), what each takes of the grid's rows
    columns: Singles  # (N, MAX_GRID)
    kept: npt.NDArray[np.bool_]


def parts_of(normal: Pixels, low: Pixels, exponent: float = 1.0) -> Parts:
    """Return the parts of a pair, uint8 arrays (H, W, 3) of one shape.

    exponent: `tone.exponent` of the normal's light.
    """
    height, width = normal.shape[:2]
    side = max(_SIDE, int(math.sqrt(height * width) / _PARTS))
    down, across = max(height // side, 1), max(width // side, 1)
    tall, wide = min(side, height), min(side, width)
    tables = [
        (LUMINANCE[:, None] * LEVEL_LIGHT**power).astype(np.float32) for power in (exponent, 1.0)
    ]
    lit, dark, kept = [], [], []

    def means(one: Singles) -> Singles:
        return one[:, : across * wide].reshape(tall, across, wide, -1).mean(axis=(0, 2))

    for i in range(down):
        bright, shown = (one[i * tall : (i + 1) * tall] for one in (normal, low))
        light, own = (
            table[0][one[:, :, 0]] + table[1][one[:, :, 1]] + table[2][one[:, :, 2]]
            for table, one in zip(tables, (bright, shown), strict=True)
        )
        guide = np.minimum(np.sqrt(light), 1) * (GUIDES - 1)
        near = np.maximum(1 - np.abs(guide[:, :, None] - np.arange(GUIDES, dtype=np.float32)), 0)
        lit.append(means(light[:, :, None] * near))
        dark.append(means(own[:, :, None])[:, 0])
        clipped = means((shown.min(axis=2) >= _CLIPPED)[:, :, None].astype(np.float32))
        level = means(shown.astype(np.float32)).mean(axis=1)
        kept.append((clipped[:, 0] == 0) & (level >= _BLACK) & (lit[-1].sum(axis=1) > _DARK))
    some = np.concatenate(kept)
    rows = np.repeat(_to_parts(height, down, tall), across, axis=0)
    columns = np.tile(_to_parts(width, across, wide), (down, 1))
    own_lit, own_dark = np.concatenate(lit)[some], np.concatenate(dark)[some]
    return Parts(own_lit, own_dark, rows[some], columns[some], np.array(kept))


def _to_parts(size: int, count: int, side: int) -> Singles:
    """Return what each of so many parts of a side takes of the grid's nodes along it (N, 8)."""
    weights = _linear((np.arange(size) + 0.5) / size, CELLS) @ _of_cells()
    return weights[: count * side].reshape(count, side, -1).mean(axis=1).astype(np.float32)


@lru_cache(maxsize=1)
def _of_cells() -> FloatArray:
    return _linear((np.arange(CELLS) + 0.5) / CELLS, MAX_GRID)


def _linear(places: FloatArray, count: int) -> FloatArray:
    """Return weights (N, count) of nodes in the middles of parts, linear between, for places."""
    at = np.clip(places * count - 0.5, 0, count - 1)
    return np.maximum(1 - np.abs(at[:, None] - np.arange(count)), 0)


def _mean_ev(values: FloatArray, luminance: FloatArray) -> float:
    """Return the mean over cells of the grid at their own lightness, as kernels take it off."""
    light = _of_cells() @ 2.0**values @ _of_cells().T  # (8, 32, 32)
    guide = np.minimum(np.sqrt(luminance), 1) * (GUIDES - 1)
    near = np.maximum(1 - np.abs(guide - np.arange(GUIDES)[:, None, None]), 0)
    return float(np.log2((light * near).sum(axis=0)).mean())
