"""The power_law model: beta (alpha x)^gamma on encoded values, then optional noise.

It is not how light behaves; it covers what others published, so that sets can be compared. Poisson
and Gaussian noise are added to encoded values, or (space: raw) to the mosaic of a sensor behind an
sRGB response.
"""

from __future__ import annotations

from typing import Annotated, Literal

from ..degradations.recipe import LastDegradations
from ..parameters.distributions import ZERO, Constant, Distribution
from ..parameters.schema import Added, OneOf, Section, Within, about


class Curve(Section):
    """beta (alpha x)^gamma of encoded values x in [0, 1]."""

    alpha: Annotated[Distribution, Within(0, 4), about("factor before the power")] = Constant(1.0)
    beta: Annotated[Distribution, Within(0, 4), about("factor after it")] = Constant(1.0)
    gamma: Annotated[Distribution, Within(0.1, 10), about("exponent")] = Constant(1.0)
    stretch: Annotated[
        Distribution,
        OneOf(("none", "range")),
        about("range first scales the image's values to 0 to 1, as MATLAB's imadjust"),
    ] = Constant("none")


class PowerLawNoise(Section):
    """Poisson noise, and Gaussian of variance + deviation^2 + (deviation_per_light L)^2 at light L.

    White is light 1.
    """

    space: Annotated[
        Distribution,
        OneOf(("srgb", "raw")),
        about("raw: linear light behind a Bayer mosaic, bilinear"),
    ] = Constant("srgb")
    peak: Annotated[
        Distribution, Within(0, 1e6, "photons"), about("of white, of Poisson noise; 0 for none")
    ] = ZERO
    variance: Annotated[Distribution, Within(0, 1), about("of Gaussian noise")] = ZERO
    deviation: Annotated[Distribution, Within(0, 1), about("of Gaussian noise, standard")] = ZERO
    deviation_per_light: Annotated[Distribution, Within(0, 1), about("the same, of light 1")] = ZERO


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
