"""The power_law model: beta (alpha x)^gamma on encoded values, then optional noise.

It is not how light behaves; it covers what others published, so that sets can be compared. Poisson
and Gaussian noise are added to encoded values, or (space: raw) to the mosaic of a sensor behind an
sRGB response.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from .degradations.draw import HALVED, JpegSetting, finish_degradations, jpeg
from .degradations.recipe import LastDegradations
from .kernels.arrays import FloatArray, Pixels, Window, read_only, window_of
from .kernels.curves import encode_table, srgb_to_linear
from .kernels.numbers.quantiles import normal_quantile, scaled
from .kernels.numbers.random_bits import pixel_seed
from .kernels.numbers.shot_and_read_noise import poisson_alias_table
from .kernels.power_law import EncodedNoise, add_noise, round_levels, through_mosaic
from .parameters.distributions import Distribution
from .parameters.drawing import draw_section, record_of
from .parameters.keyed_random import Columns, KeyedRandom
from .parameters.schema import Added, Section, number, one_of


class Curve(Section):
    """beta (alpha x)^gamma of encoded values x in [0, 1]."""

    alpha: Distribution = number((0, 4), "factor before the power", default=1.0)
    beta: Distribution = number((0, 4), "factor on that power", default=1.0)
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
    peak: Distribution = number(
        (0, 1e6, "photons"), "at white, which have Poisson noise; 0 for none"
    )
    variance: Distribution = number((0, 1), "variance of Gaussian noise")
    deviation: Distribution = number((0, 1), "standard deviation of Gaussian noise")
    deviation_per_light: Distribution = number((0, 1), "the same at white, in proportion to light")


class PowerLawRecipe(Section):
    """A recipe of the power_law model.

    name and about are for people; every other part is documented at its class.
    """

    beside: ClassVar = {"pixel_seed": (int, ...)}  # 63 bits that key the noise of all samples
    name: str = "custom"
    about: str = ""
    model: Literal["power_law"] = "power_law"
    curve: Curve = Curve()
    noise: PowerLawNoise = PowerLawNoise()
    degradations: Annotated[LastDegradations, Added(none=True)] = LastDegradations()


_PARAMETERS: Any = record_of(PowerLawRecipe)


class PowerLawDraw(_PARAMETERS):  # type: ignore[misc]
    """Parameters of one low, as `PowerLawRecipe` has distributions.

    degradations: None where a recipe has none.
    """

    @property
    def noiseless(self) -> bool:
        """True if the draw has no noise."""
        own = self.noise
        return not (own.peak or own.variance or own.deviation or own.deviation_per_light)


def draw_power_law(recipe: PowerLawRecipe, random: KeyedRandom) -> Columns:
    """Draw the parameters of many images, as columns of `PowerLawDraw`."""
    columns = draw_section(recipe, random)
    finish_degradations(columns, random)
    columns["pixel_seed"] = random.bits(["pixels"])[0] >> np.uint64(1)
    return columns


def render_power_law(
    normal: Pixels, draw: PowerLawDraw, window: Window | None = None, lit_as: Pixels | None = None
) -> Pixels:
    """Make the low of a pair, or a window of it: a pure function.

    normal: uint8 array (H, W, 3), RGB, the stored normal as decoded.
    window: what of the low is returned; all of it is made.
    lit_as: uint8 array (H, W, 3), the image that is stretched to its range, instead of the normal:
      the first frame of its clip.

    Returns uint8 array (H, W, 3), or the window's height and width, RGB. Raises ValueError when the
    normal is not a uint8 array (H, W, 3), or the window does not lie within it.
    """
    window = window_of(normal, window)
    low = _darkened(normal, draw, curve_table(normal if lit_as is None else lit_as, draw))
    if (last := draw.degradations) is not None:
        low = jpeg(low, JpegSetting(last.jpeg.quality, last.jpeg.chroma == HALVED))
    top, left = window.top, window.left
    return low[top : top + window.height, left : left + window.width]


def _darkened(normal: Pixels, draw: PowerLawDraw, curve: FloatArray) -> Pixels:
    """Return the levels that a curve (256) makes of a normal's, with noise.

    Without any noise there is no mosaic either: what is published so has none.
    """
    height, width = normal.shape[:2]
    if draw.noiseless:
        plain: Pixels = np.rint(255 * curve).astype(np.uint8)[normal]
        return plain
    noise = EncodedNoise(
        np.float32(draw.noise.peak),
        np.float32(draw.noise.variance + draw.noise.deviation**2),
        np.float32(draw.noise.deviation_per_light),
        scaled(normal_quantile(), 1.0),
        poisson_alias_table(),
        pixel_seed(draw.pixel_seed),
    )
    low = np.empty((height, width, 3), np.uint8)
    if draw.noise.space == "srgb":
        values = curve.astype(np.float32)[normal.ravel()]
        add_noise(values, np.uint32(0), noise)
        round_levels(values, low.reshape(-1))
    else:
        light = srgb_to_linear(curve).astype(np.float32)
        through_mosaic(read_only(normal), light, noise, encode_table(), low)
    return low


def curve_table(normal: Pixels, draw: PowerLawDraw) -> FloatArray:
    """Return the darkened values in [0, 1], float64 (256), of the levels of a photograph.

    normal: uint8 array (H, W, 3), whose range counts where the curve is stretched to it.
    """
    x = np.arange(256) / 255
    if draw.curve.stretch == "range":
        least, most = int(normal.min()) / 255, int(normal.max()) / 255
        x = np.clip((x - least) / ((most - least) or 1.0), 0, 1)
    curve = draw.curve
    return np.clip(curve.beta * (curve.alpha * x) ** curve.gamma, 0, 1)
