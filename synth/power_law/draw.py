"""One image's own parameters of the power_law model."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..parameters.randomness import Source
from .recipe import PowerLawRecipe


class PowerLawDraw(BaseModel):
    """Parameters of one low; see `Curve` and `Noise`. pixel_seed: 63 bits that key the noise of all
    samples."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Literal["power_law"] = "power_law"
    pixel_seed: int
    alpha: float
    beta: float
    gamma: float
    stretch: Literal["none", "range"]
    space: Literal["srgb", "raw"]
    peak: float
    variance: float
    deviation: float
    deviation_per_light: float


def draw_power_law(recipe: PowerLawRecipe, source: Source) -> PowerLawDraw:
    """Draw one image's parameters, each with a random number keyed by its path in the recipe."""
    values: dict[str, float | str] = {}
    for section in ("curve", "noise"):
        part = getattr(recipe, section)
        for name in type(part).model_fields:
            values[name] = getattr(part, name).quantile(source.uniform(f"{section}.{name}"))
    return PowerLawDraw.model_validate({"pixel_seed": source.bits("pixels") >> 1, **values})
