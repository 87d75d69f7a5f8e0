"""The power_law model: beta (alpha x)^gamma on encoded values, then optional noise.

It is not how light behaves; it covers what others published, so that sets can be compared. Poisson
and Gaussian noise are added to encoded values, or (space: raw) to the mosaic of a sensor behind an
sRGB response.
"""

from __future__ import annotations

from typing import Annotated, Literal

from ..degradations.recipe import LastDegradations
from ..parameters.distributions import Distribution
from ..parameters.schema import Added, Section, number, one_of


class Curve(Section):
    """beta (alpha x)^gamma of encoded values x in [0, 1]."""

    alpha: Distribution = number((0, 4), "factor before the power", default=1.0)
    beta: Distribution = number((0, 4), "factor after it", default=1.0)
    gamma: Distribution = number((0.1, 10), "exponent", default=1.0)
    stretch: Distribution = one_of(
        ("none", "range"),
        "range first scales the image's values to 0 to 1, as MATLAB's imadjust",
        default="none",
    )


class PowerLawNoise(Section):
    """Poisson noise, and Gaussian of variance + deviation^2 + (deviation_per_light L)^2 at light L.

    White is light 1.
    """

    space: Distribution = one_of(
        ("srgb", "raw"), "raw: linear light behind a Bayer mosaic, bilinear", default="srgb"
    )
    peak: Distribution = number((0, 1e6, "photons"), "of white, of Poisson noise; 0 for none")
    variance: Distribution = number((0, 1), "of Gaussian noise")
    deviation: Distribution = number((0, 1), "of Gaussian noise, standard")
    deviation_per_light: Distribution = number((0, 1), "the same, of light 1")


class PowerLawRecipe(Section):
    """A recipe of the power_law model.

    name and about are for people; every other part is documented at its class.
    """

    name: str = "custom"
    about: str = ""
    model: Literal["power_law"] = "power_law"
    curve: Curve = Curve()
    noise: PowerLawNoise = PowerLawNoise()
    degradations: Annotated[LastDegradations, Added()] = LastDegradations()
