"""Degradations as drawn: of one image, as columns of many, as kernels read them; JPEG, the last."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.arrays import Pixels, Window
from ..kernels.degradations.jpeg import BESIDE, COSINES, UNIT, code_and_decode, quantisers
from ..parameters.drawing import record_of
from ..parameters.keyed_random import Columns, KeyedRandom
from .point_spread import NOTHING, Spread, make_spreads
from .recipe import Degradations, LastDegradations

_PATH = "degradations."
_ZERO = {
    "motion": ("length",),
    "defocus": ("radius",),
    "banding": ("depth",),
    "fixed_pattern": ("columns", "hot_share"),
    "jpeg": ("quality",),
}
"""Parameters that are 0 in images that have no such degradation."""
HALVED = "4:2:0"
_INVERSE = np.ascontiguousarray(COSINES.T)


LastDegradationsDraw, DegradationsDraw = record_of(LastDegradations), record_of(Degradations)


def finish_degradations(columns: Columns, random: KeyedRandom) -> None:
    """Switch off absent degradations and draw the values that recipes do not have.

    columns: what `draw_section` draws of a recipe; without degradations it stays as it is. random:
    the random numbers of the images.
    """
    for name, parts in _ZERO.items():
        there = columns.pop(f"{_PATH}{name}.probability", None)
        for part in parts if there is not None else ():
            path = f"{_PATH}{name}.{part}"
            columns[path] = np.where(there, columns[path], 0.0)
    if f"{_PATH}jpeg.quality" in columns:
        quality = np.floor(columns[f"{_PATH}jpeg.quality"] + 0.5)  # halves up
        columns[f"{_PATH}jpeg.quality"] = quality.astype(np.int64)
    if f"{_PATH}motion.length" in columns:
        columns[f"{_PATH}motion.angle"] = math.pi * random.uniform(f"{_PATH}motion.angle")
        if f"{_PATH}shift.length" in columns:
            columns[f"{_PATH}shift.angle"] = 2 * math.pi * random.uniform(f"{_PATH}shift.angle")
        columns[f"{_PATH}banding.phase"] = random.uniform(f"{_PATH}banding.phase")
        seeds = random.bits([f"{_PATH}fixed_pattern.seed"])[0] >> np.uint64(1)
        columns[f"{_PATH}fixed_pattern.seed"] = seeds


def fill_degradations(draws: npt.NDArray[Any], columns: Columns) -> Spread:
    """Fill in the degradations of many draws; returns how their light spreads.

    draws: array (N) of DRAW. columns: of the images.
    """
    if f"{_PATH}motion.length" in columns:
        _fill_sensor_and_jpeg(draws, columns)
    elif not draws["emitters_count"].any():
        return NOTHING
    length, angle, radius, shift, direction = (
        columns.get(f"{_PATH}{name}", np.zeros(len(draws)))
        for name in (
            "motion.length",
            "motion.angle",
            "defocus.radius",
            "shift.length",
            "shift.angle",
        )
    )
    # Directions of what is not there make no difference.
    angle, direction = np.where(length > 0, angle, 0.0), np.where(shift > 0, direction, 0.0)
    own = length, angle, radius, shift, direction, draws["emitters_count"] > 0
    places, spread = make_spreads(np.stack(own, 1))
    draws["spread"], draws["first_spread"] = places.T
    return spread


def _fill_sensor_and_jpeg(draws: npt.NDArray[Any], columns: Columns) -> None:
    """Fill in fixed patterns and JPEG."""
    share, count = (columns[f"{_PATH}fixed_pattern.{name}"] for name in ("hot_share", "columns"))
    gain = columns["camera.sensor.gain"]
    draws["patterned"] = (count > 0) | (share > 0)
    draws["hot_share"] = (share * 2.0**32).astype(np.uint32)
    draws["pattern_columns"] = gain * count
    draws["pattern_hot"] = gain * columns[f"{_PATH}fixed_pattern.hot"]
    seeds = columns[f"{_PATH}fixed_pattern.seed"].astype(np.uint64)
    draws["pattern_lower"] = seeds & np.uint64(0xFFFFFFFF)
    draws["pattern_upper"] = seeds >> np.uint64(32)
    draws["halved"] = columns[f"{_PATH}jpeg.chroma"] == HALVED


class JpegSetting(NamedTuple):
    """JPEG settings of a low."""

    quality: int  # 1 to 100; 0 for none
    halved: bool  # whether chroma is of 2 x 2 pixels


def jpeg_span(window: Window, height: int, width: int, setting: JpegSetting) -> Window:
    """Return the area of a picture that JPEG needs for a window of it.

    It is of whole blocks of the whole picture's grid, and of those whose chroma reaches into it.
    """
    if not setting.quality:
        return window
    top, left = (max(first - BESIDE, 0) // UNIT * UNIT for first in (window.top, window.left))
    bottom = min(-(-(window.top + window.height + BESIDE) // UNIT) * UNIT, height)
    right = min(-(-(window.left + window.width + BESIDE) // UNIT) * UNIT, width)
    return Window(top, left, bottom - top, right - left)


def jpeg(low: Pixels, setting: JpegSetting) -> Pixels:
    """Compress a low by JPEG and decode it; return the low itself if its draw has no JPEG.

    low: uint8 array (H, W, 3), a whole picture, or what `jpeg_span` says.
    """
    if not setting.quality:
        return low
    out = np.empty(low.shape, np.uint8)
    low = np.ascontiguousarray(low)
    code_and_decode(low, quantisers(setting.quality), setting.halved, COSINES, _INVERSE, out)
    return out
