"""Recipes of the camera model: the distributions that each image's parameters are drawn from.

What a recipe leaves out is switched off (no field, no colour error, ...), so a short recipe is a simple one.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from .cameras import GAUSSIAN, MAX_LEVELS, TUKEY, camera_names, iso_range
from .demosaic import METHODS
from .distributions import Constant, Distribution, OneOf, Within

MAX_LIGHTS = 16
MAX_CELLS = 16


class Section(BaseModel):
    """A part of a recipe: unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Exposure(Section):
    """How much less light falls on the sensor.

    ev: stops under the exposure of the normal.
    """

    ev: Annotated[Distribution, Within(-4, 16)] = Constant(0.0)


class Highlights(Section):
    """ev: stops by which white is brightened, as the photograph cut its light off; what comes near white, less."""

    ev: Annotated[Distribution, Within(0, 8)] = Constant(0.0)


class Tone(Section):
    """How cameras encode light, undone on the way in and done again on the way out.

    strength: of the tone curve y = (1-t) x + t (3x^2 - 2x^3) on encoded values. transfer: `srgb` (IEC 61966-2-1), or `gamma`, a
    plain power law of that exponent. applied: `both` ways, or only `in`, as some published code leaves the curve out on the
    way back.
    """

    strength: Annotated[Distribution, Within(0, 1)] = Constant(0.0)
    transfer: Annotated[Distribution, OneOf(("srgb", "gamma"))] = Constant("srgb")
    gamma: Annotated[Distribution, Within(1, 5)] = Constant(2.2)
    applied: Annotated[Distribution, OneOf(("both", "in"))] = Constant("both")


class Smooth(Section):
    """A random smooth field: a grid of cells x cells normal numbers, standard deviation sigma_ev in EV, bicubic between."""

    sigma_ev: Annotated[Distribution, Within(0, 6)] = Constant(0.0)
    cells: Annotated[Distribution, Within(2, MAX_CELLS, whole=True)] = Constant(4.0)


class Lights(Section):
    """Pools of light: how many, EV at their middle, radius (share of the longer side), falloff (2 is Gaussian), and colour:
    warmth_ev is the EV of red over blue, 0 for white light, 2 or so for a bulb under daylight white balance.

    They are placed at random, preferably where the photograph is bright.
    """

    count: Annotated[Distribution, Within(0, MAX_LIGHTS, whole=True)] = Constant(0.0)
    ev: Annotated[Distribution, Within(-8, 12)] = Constant(0.0)
    radius: Annotated[Distribution, Within(0.01, 2)] = Constant(0.3)
    falloff: Annotated[Distribution, Within(0.5, 8)] = Constant(2.0)
    warmth_ev: Annotated[Distribution, Within(-6, 6)] = Constant(0.0)


class Scene(Section):
    """strength: a of a * (log2 of the photograph's own smoothed luminance, less its mean): what was dark gets darker."""

    strength: Annotated[Distribution, Within(-2, 4)] = Constant(0.0)


class Vignette(Section):
    """ev: loss in the corners, by the cos^4 law."""

    ev: Annotated[Distribution, Within(0, 6)] = Constant(0.0)


class Gradient(Section):
    """ev: difference between two opposite sides, in a random direction."""

    ev: Annotated[Distribution, Within(-12, 12)] = Constant(0.0)


class Illumination(Section):
    """The field: EV over the image, a sum of parts, zero mean. probability: share of the images that have one.

    `lights` and `lamps` are two sorts of the same thing, such as pools of light on a street and the lamps that make them.
    """

    probability: Annotated[Distribution, Within(0, 1)] = Constant(1.0)
    smooth: Smooth = Smooth()
    lights: Lights = Lights()
    lamps: Lights = Lights()
    scene: Scene = Scene()
    vignette: Vignette = Vignette()
    gradient: Gradient = Gradient()


class Camera(Section):
    """The sensor.

    name: entry of the camera file. iso: the nearest calibrated one is taken; nominal for cameras calibrated by gain. read_noise:
    form of the read noise (Gaussian for cameras that have no Tukey fit). matrix: `random` mixes the colours of four cameras,
    `none` gives a sensor that sees sRGB. levels: steps of the converter from black to white in place of the sensor's own, 0 for
    those.
    """

    name: Annotated[Distribution, OneOf(camera_names())] = Constant("sony-a7s2")
    iso: Annotated[Distribution, Within(1, 1_000_000)] = Constant(800.0)
    read_noise: Annotated[Distribution, OneOf((TUKEY, GAUSSIAN))] = Constant(TUKEY)
    matrix: Annotated[Distribution, OneOf(("random", "none"))] = Constant("none")
    levels: Annotated[Distribution, Within(0, MAX_LEVELS, whole=True)] = Constant(0.0)

    @model_validator(mode="after")
    def _calibrated(self) -> Camera:
        for name in self.name.extremes():
            low, high = iso_range(str(name))
            for iso in self.iso.extremes():
                if not low <= float(iso) <= high:
                    raise ValueError(f"iso = {iso:g}: {name} is calibrated from {low:g} to {high:g}")
        return self


class WhiteBalance(Section):
    """Gains of red and blue over green, and the camera's error on each in EV (drawn for red and for blue)."""

    red: Annotated[Distribution, Within(0.2, 8)] = Constant(1.0)
    blue: Annotated[Distribution, Within(0.2, 8)] = Constant(1.0)
    error_ev: Annotated[Distribution, Within(-3, 3)] = Constant(0.0)


class ChromaNoiseReduction(Section):
    """Smoothing of colour differences, as cameras do it: strength is the share of the way to their Gaussian blur, whose
    deviation sigma is in pixels.
    """

    strength: Annotated[Distribution, Within(0, 1)] = Constant(0.0)
    sigma: Annotated[Distribution, Within(0.3, 5)] = Constant(1.0)


class Isp(Section):
    """From raw to picture.

    digital_gain_ev: brightening after the sensor. contrast: exponent in linear light. demosaic: `binned` gives each pixel a quad
    of sites of its own, as in a picture that was shrunk; `bilinear` and `malvar` one site, for noise at native resolution;
    `none` a sample of each channel a pixel, as code that works on RGB assumes (no real sensor).
    """

    digital_gain_ev: Annotated[Distribution, Within(-2, 14)] = Constant(0.0)
    contrast: Annotated[Distribution, Within(0.2, 4)] = Constant(1.0)
    demosaic: Annotated[Distribution, OneOf(tuple(METHODS))] = Constant("binned")
    chroma: ChromaNoiseReduction = ChromaNoiseReduction()


class CameraRecipe(Section):
    """A recipe of the camera model.

    name and about are for people; every other part is documented at its class.
    """

    name: str = "custom"
    about: str = ""
    model: Literal["camera"] = "camera"
    exposure: Exposure = Exposure()
    highlights: Highlights = Highlights()
    tone: Tone = Tone()
    illumination: Illumination = Illumination()
    camera: Camera = Camera()
    white_balance: WhiteBalance = WhiteBalance()
    isp: Isp = Isp()
