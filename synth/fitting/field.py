"""The light of real pairs, by place and lightness: of one pair as a field, of many as ten numbers.

The mean light of a part of a low is linear in the light at the nodes of a bilateral grid, so that
Gauss and Newton's steps in stops find the grid whose render is nearest the low.

Fusing and tone mapping take light out of unevenly lit pairs. Each of these has ten numbers: how
much darker it is, stops at each lightness, and how much of the light around a place is undone with
it; and the spread of what they leave, by place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ..camera.illumination import blur_weights, cell_luminance
from ..camera.recipe import MAX_GRID, CameraRecipe
from ..draws.camera import draw_camera
from ..draws.record import CameraDraw, GridDraw, PoolsDraw, SceneLightDraw
from ..draws.table import table_of_records
from ..kernels.arrays import FloatArray, IntArray, Pixels, check_normal
from ..kernels.curves import CURVE_LEVELS, LEVEL_LIGHT, LUMINANCE
from ..kernels.exposure import GUIDES
from ..kernels.illumination import CELLS
from ..parameters.drawing import records_of
from ..parameters.keyed_random import KeyedRandom
from ..render.maps import camera_maps
from .fitted_recipe import GRID_CELLS, clip_to_bounds, column_indices

if TYPE_CHECKING:
    from .pairs import Pair

Singles = npt.NDArray[np.float32]
_PARTS = 128  # along a side of a square picture
_SIDE = 4  # pixels of a part, at least
_CLIPPED, _BLACK = 250, 2  # levels
_DARK = 1e-5  # light of a normal
_STEPS = 8
_FAR = 1.0  # EV: parts that are further off count less
_ALIKE = 1.0  # parts: how surely neighbouring nodes are alike
_FEWEST = 0.5  # of the variance that numbers of even light leave: more is even light's
_LEAST_EV = 0.3  # deviation within a picture, of what those leave
_AROUND = 0.05  # share of the light around that is undone: curves of tone undo none
_ROUNDS = 4
_ERROR, _INDEPENDENT = 0.3, 300  # EV that parts err by; parts, as neighbours err alike
_FIRST_SPREAD = np.array([1.5] * GUIDES + [0.4])
_LEAST_SPREAD = 0.15
_DARKEST = 2.0**-10
_SHADOWS = 0.03  # light of a normal
_PER_SATURATION, _PALE, _MOST_EXPONENT = 0.5, 0.85, 1.3  # .85 is that of lows of exponent 1


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
    columns = draw_camera(CameraRecipe(), KeyedRandom(0, ["field"]))
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
    """Return the parts of a pair, uint8 (H, W, 3); exponent: `tone.exponent` of the normal."""
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
        lit.append(means(light[:, :, None] * _near(light)))
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
    near = np.ascontiguousarray(np.moveaxis(_near(luminance), 2, 0))
    return float(np.log2((light * near).sum(axis=0)).mean())


def _near(light: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return weights (..., GUIDES) of the lightnesses of nodes, linear between, for light (...)."""
    guide = np.minimum(np.sqrt(light), 1) * (GUIDES - 1)
    return np.maximum(1 - np.abs(guide[..., None] - np.arange(GUIDES, dtype=light.dtype)), 0)


class _Parts(NamedTuple):
    """Parts of a pair, as of `field.parts_of`."""

    lit: FloatArray  # (N, GUIDES)
    dark: FloatArray  # (N), stops
    around: FloatArray  # (N), stops of the light around, of the mean
    place: IntArray  # (N), which of the grid's cells, and whether it is bright
    luminance: FloatArray  # (32, 32)


def light_of_pairs(
    pairs: Sequence[Pair], values: FloatArray, saturation: float = 1.0
) -> FloatArray | None:
    """Return values (N, C) whose tone is that of uneven light; None where it is even.

    values: with the tone of even light, which is taken where that leaves about as little.
    saturation: of the lows, over their normals', in the median; strong colours are of a contrast
      of each channel by itself.
    """
    exponent = float(np.clip(1 + _PER_SATURATION * (saturation - _PALE), 1, _MOST_EXPONENT))
    parts = [_parts(pair, exponent) for pair in pairs]
    mean: FloatArray = np.zeros(GUIDES + 1)
    precision: FloatArray = np.diag(_FIRST_SPREAD**-2.0)
    for number in range(_ROUNDS):
        found = np.array([_solved(one, mean, precision) for one in parts])
        found[:, 0] += found[:, 4]
        found[:, 1 : 1 + GUIDES] -= found[:, 4:5]
        own = found[:, 1:]
        if len(pairs) > GUIDES + 2 and number < _ROUNDS - 1:
            mean = own.mean(axis=0)
            spread = np.cov(own.T) + np.eye(GUIDES + 1) * _LEAST_SPREAD**2
            precision = np.asarray(np.linalg.inv(spread), np.float64)
    curves = values[:, column_indices("tone.curve")].reshape(len(values), 3, -1)
    left, even = np.array(
        [
            (_deviation(one, _left(one, numbers)), _even_left(one, curve, exponent))
            for one, numbers, curve in zip(parts, found, curves[:, 1], strict=True)
        ]
    ).T
    if (
        np.median(even) < _LEAST_EV
        or np.median(left**2) > _FEWEST * np.median(even**2)
        or np.median(found[:, -1]) < _AROUND
    ):
        return None
    made = values.copy()
    made[:, column_indices("noise.offset")] = 0
    middle = curves[:, :, CURVE_LEVELS.index(128)]
    apart = middle / np.maximum(middle[:, 1:2], 1e-6)
    even = LEVEL_LIGHT[list(CURVE_LEVELS)] ** exponent
    made[:, column_indices("tone.curve")] = (apart[:, :, None] * even).reshape(len(values), -1)
    made[:, column_indices("illumination.smooth.sigma_ev")] = 0
    made[:, column_indices("exposure.ev")[0]] = [
        -numbers[0] - _mean_of_levels(one, numbers)
        for one, numbers in zip(parts, found, strict=True)
    ]
    undone = column_indices("illumination.scene_light.undone", "illumination.scene.strength")
    made[:, undone] = own
    made[:, column_indices("illumination.scene_light.grid")[0]] = [
        _spread(one, numbers) for one, numbers in zip(parts, found, strict=True)
    ]
    return clip_to_bounds(made)


def _parts(pair: Pair, exponent: float) -> _Parts:
    found = parts_of(pair.normal, pair.low, exponent)
    luminance = cell_luminance(pair.normal)
    smooth = np.log2(np.maximum(blur_weights() @ luminance @ blur_weights().T, _DARKEST))
    smooth -= smooth.mean()
    shape = found.kept.shape
    around = cv2.resize(smooth, shape[::-1], interpolation=cv2.INTER_LINEAR)[found.kept]
    rows, columns = (np.arange(n) * GRID_CELLS // n for n in shape)
    places = (rows[:, None] * GRID_CELLS + columns)[found.kept]
    lit = found.lit.astype(np.float64)
    bright = np.argmax(lit, axis=1) >= GUIDES // 2
    return _Parts(
        lit,
        np.log2(found.dark).astype(np.float64),
        np.asarray(around, np.float64),
        2 * places + bright,
        luminance,
    )


def _made(one: _Parts, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the stops of parts of the low by ten numbers, and each lightness's share of them."""
    by_level = one.lit * 2.0 ** numbers[1 : 1 + GUIDES]
    total = by_level.sum(axis=1)
    made = np.log2(total) + numbers[0] + numbers[-1] * one.around
    return made, by_level / total[:, None]


def _left(one: _Parts, numbers: FloatArray) -> FloatArray:
    return one.dark - _made(one, numbers)[0]


def _deviation(one: _Parts, left: FloatArray) -> float:
    """Return the deviation of what is left, but of what black offsets may have brightened."""
    shown = one.lit.sum(axis=1) > _SHADOWS
    return float(left[shown].std()) if shown.any() else 0.0


def _even_left(one: _Parts, curve: FloatArray, exponent: float) -> float:
    """Return the deviation of what the tone of even light leaves."""
    lit = np.sqrt(one.lit.sum(axis=1) ** (1 / exponent))
    nodes = np.sqrt(LEVEL_LIGHT[list(CURVE_LEVELS)])
    left = one.dark - 2 * np.log2(np.maximum(np.interp(lit, nodes, np.sqrt(curve)), 1e-4))
    return _deviation(one, left)


def _solved(one: _Parts, mean: FloatArray, precision: FloatArray) -> FloatArray:
    """Return the ten numbers of a pair, by Gauss and Newton's steps from where pairs are."""
    count = len(one.dark)
    middle = np.concatenate([[0.0], mean])
    prior = np.zeros((GUIDES + 2, GUIDES + 2))
    prior[1:, 1:], prior[0, 0] = precision, 1e-4
    numbers = middle.copy()
    if not count:
        return numbers
    numbers[0] = float(np.median(one.dark - np.log2(one.lit.sum(axis=1))))
    sure = min(count, _INDEPENDENT) / count / _ERROR**2
    for _ in range(_STEPS):
        made, shares = _made(one, numbers)
        left = one.dark - made
        slopes = np.column_stack([np.ones(count), shares, one.around])
        weight = sure / np.maximum(1, np.abs(left) / (2 * _ERROR))
        weighted = slopes * weight[:, None]
        side = weighted.T @ left - prior @ (numbers - middle)
        numbers = np.clip(numbers + np.linalg.solve(weighted.T @ slopes + prior, side), -16, 16)
    return numbers


def _mean_of_levels(one: _Parts, numbers: FloatArray) -> float:
    """Return the mean over cells of light by lightness, which kernels take off."""
    near = _near(one.luminance.ravel())
    return float(np.log2(near @ 2.0 ** numbers[1 : 1 + GUIDES]).mean())


def _spread(one: _Parts, numbers: FloatArray) -> float:
    """Return the deviation by place, dark and bright apart, of what ten numbers leave."""
    left = _left(one, numbers)
    counts = np.bincount(one.place, minlength=2 * GRID_CELLS**2)
    means = np.bincount(one.place, left, minlength=len(counts)) / np.maximum(counts, 1)
    known = counts > CELLS
    return float(means[known].std()) if known.sum() > 2 else 0.0
