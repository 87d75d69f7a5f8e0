"""Recipes of the camera model: the distributions that each image's parameters are drawn from.

Parts that a recipe leaves out are switched off (no field, no colour error, ...), so a short recipe
is a simple one. What each parameter is, and within which bounds, stands with it as data: `gloam
recipes show` prints it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from ...manifests.config import InvalidValue
from ..degradations.recipe import Degradations
from ..kernels.curves import CURVE_LEVELS, LEVEL_LIGHT
from ..kernels.demosaic import METHODS
from ..kernels.exposure import GUIDES
from ..parameters.distributions import ZERO, Constant, Distribution, Listed
from ..parameters.schema import Added, Chance, Each, OneOf, Section, Within, about
from ..parameters.together import Together
from .calibration import Calibration
from .emitters import Emitters
from .noise import NoiseSection
from .sensors import GAUSSIAN, MAX_LEVELS, TUKEY, camera_names, iso_range

MAX_LIGHTS = 16
MAX_CELLS = 16
MAX_GRID = 8


class ExposureSection(Section):
    """Underexposure: the reduction of light on the sensor."""

    ev: Annotated[
        Distribution, Within(-4, 16, "EV"), about("stops under the exposure of the normal")
    ] = ZERO
    by_brightness: Annotated[
        Distribution,
        Added(),
        Within(-2, 2),
        about(
            "further stops for each stop that the normal's mean light lies above .18 of white;"
            " at least 2 EV of `ev` are left"
        ),
    ] = ZERO


class Highlights(Section):
    """Light that the photograph cut off."""

    ev: Annotated[
        Distribution,
        Within(0, 8, "EV"),
        about("stops by which white is brightened; what comes near white, less"),
    ] = ZERO
    sigma_ev: Annotated[
        Distribution,
        Added(),
        Within(0, 3, "EV"),
        about("standard deviation of the light of white from place to place"),
    ] = ZERO


_Lights = Annotated[
    Distribution,
    Within(0, 256),
    Each(len(CURVE_LEVELS)),
    about(f"of levels {', '.join(map(str, CURVE_LEVELS))}"),
]
_AS_SHOWN = Listed(tuple(round(float(LEVEL_LIGHT[level]), 6) for level in CURVE_LEVELS))


class ToneCurve(Section):
    """Scene light of the normal's levels by channel, where a plain camera's white is 1.

    It takes the place of exponent, shoulder and the inverse of strength and transfer. Between nodes
    it is linear in encoded values (sRGB's), and never falls.
    """

    red: _Lights = _AS_SHOWN
    green: _Lights = _AS_SHOWN
    blue: _Lights = _AS_SHOWN


class Tone(Section):
    """The camera's tone curve, inverted for the normal and applied to the low."""

    strength: Annotated[
        Distribution,
        Within(0, 1),
        about("t of the tone curve y = (1-t) x + t (3x^2 - 2x^3) on encoded values"),
    ] = ZERO
    transfer: Annotated[
        Distribution,
        OneOf(("srgb", "gamma")),
        about("srgb (IEC 61966-2-1), or a plain power law, of the exponent gamma"),
    ] = Constant("srgb")
    gamma: Annotated[Distribution, Within(1, 5), about("exponent of transfer: gamma")] = Constant(
        2.2
    )
    applied: Annotated[
        Distribution,
        OneOf(("both", "in")),
        about("both ways; or only in, as published code leaves the curve out on the way back"),
    ] = Constant("both")
    exponent: Annotated[
        Distribution,
        Added(),
        Within(0.7, 1.4),
        about("g of y = x^g in linear light: contrast of the photograph's own camera, undone"),
    ] = Constant(1.0)
    shoulder: Annotated[
        Distribution,
        Added(),
        Within(0, 6),
        about("h of y (1 + h y^2): the photograph's compressed highlights, undone"),
    ] = ZERO
    toe: Annotated[
        Distribution,
        Added(),
        Within(0.01, 0.1),
        about("a of (1 + a) x^(1/2.4) - a on the way out; .04 is straight to level 7, .055 sRGB"),
    ] = Constant(0.055)
    curve: Annotated[ToneCurve, Added()] = ToneCurve()


class Smooth(Section):
    """A random smooth field: a grid of cells x cells normal numbers, bicubic between."""

    sigma_ev: Annotated[
        Distribution, Within(0, 6, "EV"), about("standard deviation of the grid's numbers")
    ] = ZERO
    cells: Annotated[
        Distribution, Within(2, MAX_CELLS, whole=True), about("of the grid along each side")
    ] = Constant(4.0)


class LightsSection(Section):
    """Pools of light, placed at random, preferably where the photograph is bright."""

    repeated = True
    count: Annotated[Distribution, Within(0, MAX_LIGHTS, whole=True), about("how many")] = ZERO
    ev: Annotated[Distribution, Within(-8, 12, "EV"), about("at their middle")] = ZERO
    radius: Annotated[Distribution, Within(0.01, 2, "of the longer side"), about("how wide")] = (
        Constant(0.3)
    )
    falloff: Annotated[Distribution, Within(0.5, 8), about("exponent; 2 is Gaussian")] = Constant(
        2.0
    )
    warmth_ev: Annotated[
        Distribution,
        Within(-6, 6, "EV"),
        about("red over blue: 0 for white, 2 or so for a bulb under daylight balance"),
    ] = ZERO


class SceneSection(Section):
    """The photograph's own light and dark, once more."""

    strength: Annotated[
        Distribution,
        Within(-2, 4),
        about("a of a * (log2 of smoothed luminance, less its mean): what was dark gets darker"),
    ] = ZERO


class Vignette(Section):
    """Loss in the corners."""

    ev: Annotated[
        Distribution, Within(0, 6, "EV"), about("loss in the corners, by the cos^4 law")
    ] = ZERO


class Gradient(Section):
    """Light from one side."""

    ev: Annotated[
        Distribution,
        Within(-12, 12, "EV"),
        about("difference between two opposite sides, in a random direction"),
    ] = ZERO


class GridSection(Section):
    """Random light by place and luminance: normal numbers at nodes, linear between."""

    sigma_ev: Annotated[
        Distribution, Within(0, 6, "EV"), about("standard deviation of the grid's numbers")
    ] = ZERO
    cells: Annotated[
        Distribution, Within(1, MAX_GRID, whole=True), about("of the grid along each side")
    ] = Constant(4.0)
    levels: Annotated[
        Distribution,
        Within(1, GUIDES, whole=True),
        about("of the grid along luminance; 1 for light that knows places alone"),
    ] = Constant(2.0)


class Pools(Section):
    """Light that falls off from what shines in the photograph, and stops at edges.

    It takes darkness away, and makes nothing brighter than the photograph.
    """

    repeated = True
    count: Annotated[Distribution, Within(0, MAX_LIGHTS, whole=True), about("how many")] = ZERO
    ev: Annotated[Distribution, Within(0, 12, "EV"), about("at their middle")] = ZERO
    radius: Annotated[Distribution, Within(0.01, 2, "of the longer side"), about("how wide")] = (
        Constant(0.2)
    )
    falloff: Annotated[Distribution, Within(0.5, 8), about("exponent; 2 is Gaussian")] = Constant(
        1.0
    )
    edges: Annotated[
        Distribution,
        Within(0, 8),
        about("how sharply they stop at what is darker than white: the power of its lightness"),
    ] = Constant(2.0)


class SceneLight(Section):
    """Light by place and by the photograph's own luminance: a bilateral grid (Chen et al. 2007).

    No light is above that of the photograph then.
    """

    undone: Annotated[
        Distribution,
        Within(-16, 16, "EV"),
        Each(GUIDES),
        about(
            "what fusing and tone mapping took out of the scene's own light, put back: stops at"
            " eight lightnesses, from black to white (the last is what the photograph cut off)"
        ),
    ] = ZERO
    grid: GridSection = GridSection()
    ambient: Annotated[
        Distribution, Within(0, 1), about("share of the light that is even, whatever shines")
    ] = ZERO
    pools: Pools = Pools()


class Illumination(Section):
    """The field: EV over the image, a sum of parts, zero mean.

    `lights` and `lamps` are two sorts of the same thing, such as pools of light on a street and the
    lamps that make them. They know no edges; `scene_light` does.
    """

    probability: Annotated[
        Distribution, Within(0, 1), Chance(), about("share of the images that have a field")
    ] = Constant(1.0)
    smooth: Smooth = Smooth()
    lights: LightsSection = LightsSection()
    lamps: LightsSection = LightsSection()
    scene: SceneSection = SceneSection()
    vignette: Vignette = Vignette()
    gradient: Gradient = Gradient()
    scene_light: Annotated[SceneLight, Added()] = SceneLight()


class Camera(Section):
    """The sensor.

    own: calibrations besides gloam's, by name, in the form of `synth/camera/sensors.yaml`. They are
    part of the recipe, so that a set can be made again without any other file; `file` in a recipe,
    or `camera.file=FILE`, takes them from a YAML file when it is read (`recipes.named_files`).
    """

    name: Annotated[
        Distribution,
        OneOf(camera_names(), more=True),
        about("camera of the camera file; see gloam cameras"),
    ] = Constant("sony-a7s2")
    iso: Annotated[
        Distribution,
        Within(1, 1_000_000, "ISO"),
        about("nearest calibrated one; nominal for cameras calibrated by gain"),
    ] = Constant(800.0)
    read_noise: Annotated[
        Distribution,
        OneOf((TUKEY, GAUSSIAN)),
        about("form of the read noise; gaussian for cameras without a Tukey fit"),
    ] = Constant(TUKEY)
    matrix: Annotated[
        Distribution,
        OneOf(("random", "none")),
        about("random mixes the colours of four cameras, none sees sRGB"),
    ] = Constant("none")
    levels: Annotated[
        Distribution,
        Within(0, MAX_LEVELS, whole=True),
        about("steps of the converter from black to white; 0 for the sensor's own"),
    ] = ZERO
    own: Annotated[dict[str, Calibration], Added()] = Field(
        default={}, description="calibrations of one's own, by name"
    )

    @model_validator(mode="after")
    def _calibrated(self) -> Camera:
        known = (*camera_names(), *self.own)
        for name in map(str, self.name.extremes()):
            if name not in known:
                raise InvalidValue(
                    "name", name, f"unknown name {name!r}; allowed: {', '.join(known)}"
                )
            low, high = iso_range(name, self.own)
            for iso in self.iso.extremes():
                if not low <= float(iso) <= high:
                    raise InvalidValue(
                        "iso", float(iso), f"{name} is calibrated from {low:g} to {high:g}"
                    )
        return self


class WhiteBalance(Section):
    """Gains of red and blue over green, and how the camera misjudges them."""

    red: Annotated[Distribution, Within(0.2, 8), about("gain of red over green")] = Constant(1.0)
    blue: Annotated[Distribution, Within(0.2, 8), about("gain of blue over green")] = Constant(1.0)
    error_ev: Annotated[
        Distribution,
        Within(-3, 3, "EV"),
        Each(2),
        about("the camera's error, drawn for red and for blue"),
    ] = ZERO


class ChromaNoiseReduction(Section):
    """Smoothing of colour differences, as cameras do it."""

    strength: Annotated[
        Distribution, Within(0, 1), about("share of the way to their Gaussian blur")
    ] = ZERO
    sigma: Annotated[
        Distribution, Within(0.3, 5, "pixels"), about("standard deviation of that blur")
    ] = Constant(1.0)


class Isp(Section):
    """From raw to picture.

    demosaic: `binned` gives each pixel a quad of sites of its own, as in a picture that was shrunk;
    `bilinear` and `malvar` one site, for noise at native resolution; `none` a sample of each
    channel a pixel, as code that works on RGB assumes (no real sensor).
    """

    digital_gain_ev: Annotated[
        Distribution, Within(-2, 14, "EV"), about("brightening after the sensor")
    ] = ZERO
    contrast: Annotated[Distribution, Within(0.2, 4), about("exponent in linear light")] = Constant(
        1.0
    )
    demosaic: Annotated[
        Distribution,
        OneOf(tuple(METHODS)),
        about("binned: a quad of sites a pixel; bilinear, malvar: one; none: three samples"),
    ] = Constant("binned")
    chroma: ChromaNoiseReduction = ChromaNoiseReduction()


class Video(Section):
    """Change of exposure from frame to frame of a clip; the first frame is like a still."""

    fps: Annotated[
        Distribution, Within(1, 1000), about("frames a second that a clip was taken with")
    ] = Constant(25.0)
    drift_ev: Annotated[
        Distribution, Within(-4, 4, "EV"), about("stops that it gets darker in a second")
    ] = ZERO
    flicker_ev: Annotated[
        Distribution, Within(0, 2, "EV"), about("amplitude of the lamps' flicker, a sine")
    ] = ZERO
    flicker_hz: Annotated[
        Distribution,
        Within(1, 1000, "Hz"),
        about("its frequency: twice that of the mains; beats with fps"),
    ] = Constant(100.0)


class CameraRecipe(Section):
    """A recipe of the camera model.

    name and about are for people; every other part is documented at its class.
    """

    name: str = "custom"
    about: str = ""
    model: Literal["camera"] = "camera"
    exposure: ExposureSection = ExposureSection()
    highlights: Highlights = Highlights()
    tone: Tone = Tone()
    illumination: Illumination = Illumination()
    camera: Camera = Camera()
    white_balance: WhiteBalance = WhiteBalance()
    isp: Isp = Isp()
    degradations: Annotated[Degradations, Added()] = Degradations()
    noise: Annotated[NoiseSection, Added()] = NoiseSection()
    emitters: Annotated[Emitters, Added()] = Emitters()
    video: Annotated[Video, Added()] = Video()
    together: Annotated[dict[str, Together], Added()] = Field(
        default={}, description="parameters that are drawn together, in place of their own"
    )

    @field_validator("together")
    @classmethod
    def _in_order(cls, groups: dict[str, Together]) -> dict[str, Together]:
        """Sort them: a set's JSON does, and equal recipes are to have equal bytes."""
        return dict(sorted(groups.items()))

    @property
    def has_own_noise(self) -> bool:
        """True if noise is of section `noise`: a sensor's, by its name and ISO, is not used."""
        together = (path for group in self.together.values() for path in group.columns)
        return self.noise != NoiseSection() or any(path.startswith("noise.") for path in together)

    @model_validator(mode="after")
    def _drawn_once(self) -> CameraRecipe:
        known: set[str] = set()
        for name, group in self.together.items():
            group.check(type(self), name, known)
        return self
