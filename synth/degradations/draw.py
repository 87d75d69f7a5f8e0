"""One image's own degradations, as `recipe.Degradations` has distributions."""

from __future__ import annotations

import math
from typing import Any, Literal

from ..parameters.drawing import Drawn, draw_section
from ..parameters.randomness import KeyedRandom
from .recipe import LastDegradations


class MotionDraw(Drawn):
    """See `recipe.Motion`. angle: of its direction, in radians."""

    length: float
    angle: float


class DefocusDraw(Drawn):
    """See `recipe.Defocus`."""

    radius: float


class BandingDraw(Drawn):
    """See `recipe.Banding`. phase: of the first row, in turns."""

    depth: float
    bands: float
    phase: float


class FixedPatternDraw(Drawn):
    """See `recipe.FixedPattern`. seed: 63 bits that key the pattern."""

    columns: float
    hot_share: float
    hot: float
    seed: int


class JpegDraw(Drawn):
    """See `recipe.Jpeg`. quality: 0 for none."""

    quality: int
    chroma: Literal["4:2:0", "4:4:4"]


class LastDegradationsDraw(Drawn):
    """What befell a low besides darkness, without a model of a camera."""

    jpeg: JpegDraw


class DegradationsDraw(LastDegradationsDraw):
    """All degradations of one image; a part that it has not is 0."""

    motion: MotionDraw
    defocus: DefocusDraw
    banding: BandingDraw
    fixed_pattern: FixedPatternDraw


_TAKEN = {
    "motion": ("length",),
    "defocus": ("radius",),
    "banding": ("depth",),
    "fixed_pattern": ("columns", "hot_share"),
    "jpeg": ("quality",),
}
"""What is 0 in images that have no such degradation."""


def draw_degradations(
    section: LastDegradations, random: KeyedRandom, path: str = "degradations."
) -> dict[str, Any] | None:
    """Draw one image's degradations, or None where a recipe has none.

    Parameters
    ----------
    section : LastDegradations
        Or `Degradations`.
    random : KeyedRandom
        The image's random numbers.
    path : str
        Of the section in its recipe, with a dot at its end.
    """
    if section == type(section)():
        return None
    values = draw_section(section, random, path)
    for name, parts in _TAKEN.items():
        if name in values and not values[name].pop("probability"):
            values[name].update(dict.fromkeys(parts, 0.0))
    values["jpeg"]["quality"] = rounded(values["jpeg"]["quality"])
    if "motion" in values:
        values["motion"]["angle"] = math.pi * random.uniform(f"{path}motion.angle")
        values["banding"]["phase"] = random.uniform(f"{path}banding.phase")
        values["fixed_pattern"]["seed"] = random.bits(f"{path}fixed_pattern.seed") >> 1
    return values


def rounded(quality: float) -> int:
    """Return the whole quality next to one, halves up."""
    return math.floor(quality + 0.5)
