"""One image's own parameters of the power_law model."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ..degradations.draw import LastDegradationsDraw, finish_degradations
from ..parameters.drawing import Drawn, Off, draw_section, nothing_of
from ..parameters.keyed_columns import Columns, KeyedColumns
from .recipe import PowerLawRecipe

_NO_DEGRADATIONS = Off(nothing_of(LastDegradationsDraw))


class CurveDraw(Drawn):
    """See `recipe.Curve`."""

    alpha: float
    beta: float
    gamma: float
    stretch: Literal["none", "range"]


class PowerLawNoiseDraw(Drawn):
    """See `recipe.PowerLawNoise`."""

    space: Literal["srgb", "raw"]
    peak: float
    variance: float
    deviation: float
    deviation_per_light: float

    @property
    def silent(self) -> bool:
        """True if the draw has no noise."""
        return not (self.peak or self.variance or self.deviation or self.deviation_per_light)


class PowerLawDraw(Drawn):
    """Parameters of one low, as `recipe.PowerLawRecipe` has distributions.

    pixel_seed: 63 bits that key the noise of all samples. degradations: None where a recipe has
    none.
    """

    model: Literal["power_law"] = "power_law"
    pixel_seed: int
    curve: CurveDraw
    noise: PowerLawNoiseDraw
    degradations: Annotated[LastDegradationsDraw | None, _NO_DEGRADATIONS] = None


def draw_power_law(recipe: PowerLawRecipe, random: KeyedColumns) -> Columns:
    """Draw the parameters of many images, as columns of `PowerLawDraw`."""
    columns = draw_section(recipe, random)
    finish_degradations(columns, random)
    columns["pixel_seed"] = random.bits(["pixels"])[0] >> np.uint64(1)
    return columns
