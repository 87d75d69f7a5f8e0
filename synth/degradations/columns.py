"""Degradations of many images at once, straight into what a batch's kernels read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..parameters.columns import Floats, KeyedColumns
from ..parameters.distributions import Distribution
from .jpeg import HALVED
from .recipe import Degradations
from .spread import NOTHING, Spread, Spreads

_PATH = "degradations."


def draw_columns(
    draws: npt.NDArray[Any], random: KeyedColumns, section: Degradations, gain: Floats
) -> Spread:
    """Fill in the degradations of many draws; returns how their light spreads.

    Parameters
    ----------
    draws : array (N) of DRAW
    random : KeyedColumns
    section : Degradations
        The numbers are those that `draw.draw_degradations` draws for each image, to the last bit.
    gain : float64 array (N)
        System gain, DN per electron.
    """
    if section == Degradations():
        return NOTHING
    banding, fixed, jpeg = section.banding, section.fixed_pattern, section.jpeg
    draws["band_depth"] = _taken(random, "banding", banding.probability, banding.depth, "depth")
    draws["band_count"] = random.numbers(banding.bands, f"{_PATH}banding.bands")
    draws["band_phase"] = random.uniform(f"{_PATH}banding.phase")
    quality = _taken(random, "jpeg", jpeg.probability, jpeg.quality, "quality")
    draws["quality"] = np.floor(quality + 0.5)
    draws["halved"] = random.values(jpeg.chroma, f"{_PATH}jpeg.chroma") == HALVED
    columns = _taken(random, "fixed_pattern", fixed.probability, fixed.columns, "columns")
    share = _taken(random, "fixed_pattern", fixed.probability, fixed.hot_share, "hot_share")
    hot = random.numbers(fixed.hot, f"{_PATH}fixed_pattern.hot")
    draws["patterned"] = (columns > 0) | (share > 0)
    bits = random.bits(f"{_PATH}fixed_pattern.seed") >> np.uint64(1)
    draws["pattern_lower"] = bits & np.uint64(0xFFFFFFFF)
    draws["pattern_upper"] = bits >> np.uint64(32)
    draws["hot_share"] = (share * 2.0**32).astype(np.uint32)
    draws["pattern_columns"], draws["pattern_hot"] = gain * columns, gain * hot
    return _spread(draws, random, section)


def _spread(draws: npt.NDArray[Any], random: KeyedColumns, section: Degradations) -> Spread:
    """Fill in the places that light spreads from."""
    motion, defocus = section.motion, section.defocus
    length = _taken(random, "motion", motion.probability, motion.length, "length")
    radius = _taken(random, "defocus", defocus.probability, defocus.radius, "radius")
    turns = random.uniform(f"{_PATH}motion.angle")
    spreads = Spreads()
    places = [
        spreads.place(one, math.pi * turn, disc)
        for one, turn, disc in zip(length.tolist(), turns.tolist(), radius.tolist(), strict=True)
    ]
    draws["spread"], draws["first_spread"] = np.array(places, np.int64).reshape(-1, 2).T
    return spreads.joined()


def _taken(
    random: KeyedColumns, name: str, probability: Distribution, part: Distribution, last: str
) -> Floats:
    """Return a part of a degradation, 0 in images that have none."""
    share = random.numbers(probability, f"{_PATH}{name}.probability.value")
    there = random.uniform(f"{_PATH}{name}.probability") < share
    return np.where(there, random.numbers(part, f"{_PATH}{name}.{last}"), 0.0)
