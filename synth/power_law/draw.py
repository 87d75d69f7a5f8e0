"""One image's own parameters of the power_law model."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from ..degradations.draw import LastDegradationsDraw, draw_degradations
from ..parameters.drawing import Drawn, draw_section
from ..parameters.randomness import KeyedRandom
from .recipe import PowerLawRecipe


class CurveDraw(Drawn):
    """See `recipe.Curve`."""

    alpha: float
    beta: float
    gamma: float
    stretch: Literal["none", "range"]


class NoiseDraw(Drawn):
    """See `recipe.Noise`."""

    space: Literal["srgb", "raw"]
    peak: float
    variance: float
    deviation: float
    deviation_per_light: float

    @property
    def silent(self) -> bool:
        """Whether there is no noise at all."""
        return not (self.peak or self.variance or self.deviation or self.deviation_per_light)


class PowerLawDraw(Drawn):
    """Parameters of one low, as `recipe.PowerLawRecipe` has distributions.

    pixel_seed: 63 bits that key the noise of all samples. degradations: None where a recipe has
    none.
    """

    model: Literal["power_law"] = "power_law"
    pixel_seed: int
    curve: CurveDraw
    noise: NoiseDraw
    degradations: LastDegradationsDraw | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        if self.degradations is None:
            values.pop("degradations", None)
        return values


def draw_power_law(recipe: PowerLawRecipe, random: KeyedRandom) -> PowerLawDraw:
    """Draw one image's parameters."""
    values = draw_section(recipe, random)
    values["degradations"] = draw_degradations(recipe.degradations, random)
    return PowerLawDraw.model_validate({"pixel_seed": random.bits("pixels") >> 1, **values})
