"""Recipes of the camera model: the distributions that each image's parameters are drawn from.

Parts that a recipe leaves out are switched off (no field, no colour error, ...), so a short recipe
is a simple one. What each parameter is, and within which bounds, stands with it as data: `gloam
recipes show` prints it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, create_model, field_validator, model_validator

from ...manifests.config import InvalidValue
from ..degradations.recipe import ANGLE, Degradations
from ..kernels.channel_noise import NODES
from ..kernels.curves import CURVE_LEVELS, LEVEL_LIGHT
from ..kernels.demosaic import METHODS
from ..kernels.emitters import MOST_EMITTERS
from ..kernels.exposure import GUIDES
from ..kernels.illumination import MAX_LIGHTS
from ..parameters.distributions import Distribution, Listed
from ..parameters.drawing import Drawn
from ..parameters.schema import Added, Section, number, one_of
from ..parameters.together import Together
from .calibrated_sensors import (
    GAUSSIAN,
    MAX_LEVELS,
    TUKEY,
    Calibration,
    camera_names,
    iso_range,
)
from .illumination import DAYLIGHT

Floats = tuple[float, ...]
MAX_CELLS = 16
MAX_GRID = 8
MOST_LINES = 4


class ExposureSection(Section):
    """Underexposure: the reduction of light on the sensor."""

    ev: Distribution = number((-4, 16, "EV"), "stops under the exposure of the normal")
    by_brightness: Distribution = number(
        (-2, 2),
        (
            "further stops for each stop that the normal's mean light lies above .18 of white;"
            " at least 2 EV of `ev` are left"
        ),
        added=True,
    )


class Highlights(Section):
    """Light that the photograph cut off."""

    # In (0, 1), keys how it differs from place to place.
    beside: ClassVar = {"place": (float, 0.0)}
    ev: Distribution = number(
        (0, 8, "EV"), "stops by which white is brightened; what comes near white, less"
    )
    sigma_ev: Distribution = number(
        (0, 3, "EV"), "standard deviation of the light of white from place to place", added=True
    )


_LIGHTS = number(
    (0, 256),
    f"of levels {', '.join(map(str, CURVE_LEVELS))}",
    default=Listed(tuple(round(float(LEVEL_LIGHT[level]), 6) for level in CURVE_LEVELS)),
    each=len(CURVE_LEVELS),
)


class ToneCurve(Section):
    """Scene light of the normal's levels by channel, where a plain camera's white is 1.

    It takes the place of exponent, shoulder and the inverse of strength and transfer. Between nodes
    it is linear in encoded values (sRGB's), and never falls.
    """

    red: Distribution = _LIGHTS
    green: Distribution = _LIGHTS
    blue: Distribution = _LIGHTS


class Tone(Section):
    """The camera's tone curve, inverted for the normal and applied to the low."""

    strength: Distribution = number(
        (0, 1), "t of the tone curve y = (1-t) x + t (3x^2 - 2x^3) on encoded values"
    )
    transfer: Distribution = one_of(
        ("srgb", "gamma"),
        "srgb (IEC 61966-2-1), or a plain power law, of the exponent gamma",
        default="srgb",
    )
    gamma: Distribution = number((1, 5), "exponent of transfer: gamma", default=2.2)
    applied: Distribution = one_of(
        ("both", "in"),
        "both ways; or only in, as published code leaves the curve out on the way back",
        default="both",
    )
    exponent: Distribution = number(
        (0.7, 1.4),
        "g of y = x^g in linear light: contrast of the photograph's own camera, undone",
        default=1.0,
        added=True,
    )
    shoulder: Distribution = number(
        (0, 6), "h of y (1 + h y^2): the photograph's compressed highlights, undone", added=True
    )
    toe: Distribution = number(
        (0.01, 0.1),
        "a of (1 + a) x^(1/2.4) - a on the way out; .04 is straight to level 7, .055 sRGB",
        default=0.055,
        added=True,
    )
    curve: Annotated[ToneCurve, Added()] = ToneCurve()


class Smooth(Section):
    """A random smooth field: a grid of cells x cells normal numbers, bicubic between."""

    beside: ClassVar = {"values": (Floats, ...)}  # in EV, row by row; no cells where there are none
    sigma_ev: Distribution = number((0, 6, "EV"), "standard deviation of the grid's numbers")
    cells: Distribution = number((2, MAX_CELLS), "of the grid per side", default=4.0, whole=True)


class LightsSection(Section):
    """Pools of light, placed at random, preferably where the photograph is bright."""

    repeated = True
    # In (0, 1), among all places, ordered and weighted by the photograph's own light.
    beside: ClassVar = {"place": (Floats, ...)}
    count: Distribution = number((0, MAX_LIGHTS), "how many", whole=True)
    ev: Distribution = number((-8, 12, "EV"), "at their middle")
    radius: Distribution = number((0.01, 2, "of the longer side"), "how wide", default=0.3)
    falloff: Distribution = number((0.5, 8), "exponent; 2 is Gaussian", default=2.0)
    warmth_ev: Distribution = number(
        (-6, 6, "EV"), "red over blue: 0 for white, 2 or so for a bulb under daylight balance"
    )


class SceneSection(Section):
    """The photograph's own light and dark, once more."""

    strength: Distribution = number(
        (-2, 4), "a of a * (log2 of smoothed luminance, less its mean): what was dark gets darker"
    )


class Vignette(Section):
    """Loss in the corners."""

    ev: Distribution = number((0, 6, "EV"), "loss in the corners, by the cos^4 law")


class Gradient(Section):
    """Light from one side."""

    beside = ANGLE
    ev: Distribution = number(
        (-12, 12, "EV"), "difference between two opposite sides, in a random direction"
    )


class GridSection(Section):
    """Random light by place and luminance: normal numbers at nodes, linear between."""

    # In EV, level by level from black to white, row by row.
    beside: ClassVar = {"values": (Floats, ...)}
    sigma_ev: Distribution = number((0, 6, "EV"), "standard deviation of the grid's numbers")
    cells: Distribution = number((1, MAX_GRID), "of the grid per side", default=4.0, whole=True)
    levels: Distribution = number(
        (1, GUIDES),
        "of the grid along luminance; 1 for light that knows places alone",
        default=2.0,
        whole=True,
    )


class Pools(Section):
    """Light that falls off from what shines in the photograph, and stops at edges.

    It takes darkness away, and makes nothing brighter than the photograph.
    """

    repeated = True
    # In (0, 1), among all places, ordered and weighted by how the photograph shines there.
    beside: ClassVar = {"place": (Floats, ...)}
    count: Distribution = number((0, MAX_LIGHTS), "how many", whole=True)
    ev: Distribution = number((0, 12, "EV"), "at their middle")
    radius: Distribution = number((0.01, 2, "of the longer side"), "how wide", default=0.2)
    falloff: Distribution = number((0.5, 8), "exponent; 2 is Gaussian", default=1.0)
    edges: Distribution = number(
        (0, 8),
        "how sharply they stop at what is darker than white: the power of its lightness",
        default=2.0,
    )


class SceneLight(Section):
    """Light by place and by the photograph's own luminance: a bilateral grid (Chen et al. 2007).

    No light is above that of the photograph then.
    """

    undone: Distribution = number(
        (-16, 16, "EV"),
        (
            "what fusing and tone mapping took out of the scene's own light, put back: stops at"
            " eight lightnesses, from black to white (the last is what the photograph cut off)"
        ),
        each=GUIDES,
    )
    grid: GridSection = GridSection()
    ambient: Distribution = number((0, 1), "share of the light that is even, whatever shines")
    pools: Pools = Pools()


class Illumination(Section):
    """The field: EV over the image, a sum of parts, zero mean.

    `lights` and `lamps` are two sorts of the same thing, such as pools of light on a street and the
    lamps that make them. They know no edges; `scene_light` does.
    """

    probability: Distribution = number(
        (0, 1), "share of the images that have a field", default=1.0, chance=True
    )
    smooth: Smooth = Smooth()
    lights: LightsSection = LightsSection()
    lamps: LightsSection = LightsSection()
    scene: SceneSection = SceneSection()
    vignette: Vignette = Vignette()
    gradient: Gradient = Gradient()
    scene_light: Annotated[SceneLight, Added(none=True)] = SceneLight()


class SensorDraw(Drawn):
    """A sensor at its ISO.

    gain, row_sigma: K in DN per electron, and row noise in DN.
    read_noise: "tukey" or "gaussian".
    read_scale, read_shape: scale in DN, and lambda (0 and unused for Gaussian noise).
    black, white: black level and largest value, DN.
    """

    gain: float
    row_sigma: float
    read_noise: Literal["tukey", "gaussian"]
    read_scale: float
    read_shape: float
    black: int
    white: int


_NONE_FOR_NAN = BeforeValidator(lambda value: None if value != value else value)


class Camera(Section):
    """The sensor.

    own: calibrations besides gloam's, by name, in the form of `synth/camera/sensors.yaml`. They are
    part of the recipe, so that a set can be made again without any other file; `file` in a recipe,
    or `camera.file=FILE`, takes them from a YAML file when it is read (`recipes.named_files`).
    Draws have the sensor of the name at its ISO, and the matrix, linear sRGB to camera RGB, row by
    row. They have no name and ISO where noise is of the recipe's own; sets whose versions have no
    "draws" name a sensor there, too, which is not used.
    """

    beside: ClassVar = {
        "name": (str | None, ...),
        "iso": (Annotated[float | None, _NONE_FOR_NAN], ...),
        "matrix": (Floats, ...),
        "sensor": (SensorDraw, ...),
        **dict.fromkeys(("read_noise", "levels")),
    }
    name: Distribution = one_of(
        camera_names(),
        "camera of the camera file; see gloam cameras",
        default="sony-a7s2",
        more=True,
    )
    iso: Distribution = number(
        (1, 1_000_000, "ISO"),
        "nearest calibrated one; nominal for cameras calibrated by gain",
        default=800.0,
    )
    read_noise: Distribution = one_of(
        (TUKEY, GAUSSIAN),
        "form of the read noise; gaussian for cameras without a Tukey fit",
        default=TUKEY,
    )
    matrix: Distribution = one_of(
        ("random", "none"),
        "random mixes the colours of four cameras, none sees sRGB",
        default="none",
    )
    levels: Distribution = number(
        (0, MAX_LEVELS),
        "steps of the converter from black to white; 0 for the sensor's own",
        whole=True,
    )
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

    red: Distribution = number((0.2, 8), "gain of red over green", default=1.0)
    blue: Distribution = number((0.2, 8), "gain of blue over green", default=1.0)
    error_ev: Distribution = number(
        (-3, 3, "EV"), "the camera's error, drawn for red and for blue", each=2
    )


class ChromaNoiseReduction(Section):
    """Smoothing of colour differences, as cameras do it."""

    strength: Distribution = number((0, 1), "share of the way to their Gaussian blur")
    sigma: Distribution = number((0.3, 5, "pixels"), "standard deviation of that blur", default=1.0)


class Isp(Section):
    """From raw to picture.

    demosaic: `binned` gives each pixel a quad of sites of its own, as in a picture that was shrunk;
    `bilinear` and `malvar` one site, for noise at native resolution; `none` a sample of each
    channel a pixel, as code that works on RGB assumes (no real sensor).
    """

    digital_gain_ev: Distribution = number((-2, 14, "EV"), "brightening after the sensor")
    contrast: Distribution = number((0.2, 4), "exponent in linear light", default=1.0)
    demosaic: Distribution = one_of(
        tuple(METHODS),
        "binned: a quad of sites a pixel; bilinear, malvar: one; none: three samples",
        default="binned",
    )
    chroma: ChromaNoiseReduction = ChromaNoiseReduction()


class Video(Section):
    """Change of exposure from frame to frame of a clip; the first frame is like a still."""

    beside: ClassVar = {"phase": (float, ...)}  # of the flicker, in turns
    fps: Distribution = number((1, 1000), "frames a second that a clip was taken at", default=25.0)
    drift_ev: Distribution = number((-4, 4, "EV"), "stops that it gets darker in a second")
    flicker_ev: Distribution = number((0, 2, "EV"), "amplitude of the lamps' flicker, a sine")
    flicker_hz: Distribution = number(
        (1, 1000, "Hz"), "its frequency: twice that of the mains; beats with fps", default=100.0
    )


class Glow(Section):
    """Light that spreads far around each lamp."""

    share: Distribution = number((0, 0.6), "of a lamp's light")
    radius: Distribution = number(
        (0.001, 0.2, "of the longer side"),
        "a of (1 + (d / a)^2)^-3/2; half of the glow lies within 1.6 a",
        default=0.02,
    )


class Streaks(Section):
    """Lines of light through each lamp, at even angles; one turn for all of a picture."""

    beside = ANGLE  # of the first
    lines: Distribution = number(
        (0, MOST_LINES),
        "how many: half the blades of an aperture with an even number of them",
        whole=True,
    )
    share: Distribution = number((0, 0.3), "of a lamp's light", default=0.1)
    length: Distribution = number(
        (0.01, 1, "of the longer side"), "from a lamp to their ends", default=0.1
    )


class Emitters(Section):
    """Lamps that shine into the lens, where the photograph is brightest.

    Their light is added to the scene's, whatever the illumination, before the sensor. Around a lamp
    it glows: a lens and the air before it scatter a share of all light far beyond the picture of
    its source. The tail is Moffat's (1 + (d / a)^2)^-3/2 (A. F. J. Moffat, Astronomy and
    Astrophysics 3, 1969), which falls with the cube of the distance, as the wide part of measured
    glare does (G. Spencer et al., Physically-based glare effects for digital images, SIGGRAPH
    1995); it ends at 16 a. Streaks are what straight edges of an aperture diffract, a line at right
    angles to each.
    """

    repeated = True
    # In (0, 1), among the photograph's cells, and among a cell's pixels, in order and weighted by
    # their light.
    beside: ClassVar = {"place": (Floats, ...), "within": (Floats, ...)}
    count: Distribution = number((0, MOST_EMITTERS), "how many", whole=True)
    ev: Distribution = number(
        (-4, 16, "EV"), "above the photograph's white, of a lamp's disc", default=7.0
    )
    radius: Distribution = number(
        (0.0005, 0.1, "of the longer side"), "of the disc; at least 1.5 pixels", default=0.01
    )
    temperature: Distribution = number(
        (1000, 20000, "K"), "of a black body of that colour; 6500 is white", default=DAYLIGHT
    )
    glow: Glow = Glow()
    streaks: Streaks = Streaks()


_CORRELATION = number((-0.98, 0.98), "between their noise")


def _by_channel(name: str, about: str, each: Any) -> Any:
    """Return a section of the same parameter of each channel."""
    fields: Any = dict.fromkeys(("red", "green", "blue"), (Distribution, each))
    return create_model(name, __base__=Section, __module__=__name__, __doc__=about, **fields)


if TYPE_CHECKING:
    Offset = Section
    Shot = Section
    Read = Section
    TailShare = Section
    Tail = Section
    RowsSection = Section
else:
    _OFFSET = number((-8, 8, "levels"), "that black is off by")
    Offset = _by_channel("Offset", "Error of the black level.", _OFFSET)
    _SHOT = number((0, 64, "levels"), "gain K: variance for each level of light")
    Shot = _by_channel("Shot", "Shot noise, with the skewness of Poisson's.", _SHOT)
    _READ = number((0, 64, "levels"), "standard deviation, without the tail")
    Read = _by_channel("Read", "Read noise, Gaussian.", _READ)
    _SHARE = number((0, 0.5), "of the samples that have a tail")
    _OF_TAIL = "Share of samples with more read noise, from hot pixels and telegraph noise."
    TailShare = _by_channel("TailShare", _OF_TAIL, _SHARE)
    _TAIL = number((0, 8), "its mean, times the read noise")
    _POSITIVE = "Exponential tail of the read noise: positive, less its mean over all samples."
    Tail = _by_channel("Tail", _POSITIVE, _TAIL)
    _ROWS = number((0, 2), "times a sample's own deviation")
    RowsSection = _by_channel("RowsSection", "Noise that a row shares.", _ROWS)


_GRAIN = number((-0.3, 1), "weight of each neighbour's noise, of a sample's own")


class OwnGrain(Section):
    """Grain of one of the three noises that correlations mix.

    They are red's, what green has beside red's, and what blue has beside both: where channels
    correlate, the first is brightness and the others are colour.
    """

    across: Distribution = _GRAIN
    down: Distribution = _GRAIN
    coarse: Distribution = number((0, 1), "share of its variance that is in patches of `size`")


class GrainSection(Section):
    """Noise that neighbours share, as demosaicing and noise reduction of a camera's JPEGs leave it.

    Weights b give neighbours a correlation of 2 b / (1 + 2 b^2); below 0, as sharpening does. Those
    of a channel are added to those of all.
    """

    across: Distribution = _GRAIN
    down: Distribution = _GRAIN
    red: Annotated[OwnGrain, Added()] = OwnGrain()
    green: Annotated[OwnGrain, Added()] = OwnGrain()
    blue: Annotated[OwnGrain, Added()] = OwnGrain()
    size: Distribution = number(
        (2, 16, "pixels"), "of coarse patches", default=2.0, whole=True, added=True
    )


_CURVE = number((-3, 3), "log of the factor at each node", each=NODES, fewer=True)
_FORM = number(
    (-3, 3), "at each node: added skewness; log of a factor on kurtosis", each=NODES, fewer=True
)


class NoiseForm(Section):
    """Skewness beside that of shot noise and tail, or the log of a factor on `noise.kurtosis`."""

    red: Distribution = _FORM
    green: Distribution = _FORM
    blue: Distribution = _FORM


class NoiseCurve(Section):
    """A factor on all noise that goes with light: what shot and read noise miss of a camera.

    Between nodes its log is linear over light (with its offset), beyond them it is flat.
    """

    light: Distribution = number(
        (0, 4096, "levels"),
        "the nodes, from dark to bright",
        default=Listed((0.0, 1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 14.0, 25.0, 45.0, 90.0, 180.0)),
        each=NODES,
        fewer=True,
    )
    red: Distribution = _CURVE
    green: Distribution = _CURVE
    blue: Distribution = _CURVE
    skewness: Annotated[NoiseForm, Added()] = NoiseForm()
    kurtosis: Annotated[NoiseForm, Added()] = NoiseForm()


class Correlation(Section):
    """Correlations of the channels' noise, as white balance and colour matrix leave them."""

    red_green: Distribution = _CORRELATION
    green_blue: Distribution = _CORRELATION
    red_blue: Distribution = _CORRELATION


class NoiseSection(Section):
    """Noise of developed light by channel, in place of the sensor's own; off unless given.

    It is what pictures show after demosaicing, white balance and colour matrix, of a camera that is
    known by them alone. Its unit is one 8-bit level of the straight, darkest part of the curve
    (`tone.toe`), in linear light: of sRGB 1 / (255 x 12.92) of white.
    """

    offset: Offset = Offset()
    shot: Shot = Shot()
    read: Read = Read()
    tail_share: TailShare = TailShare()
    tail: Tail = Tail()
    rows: RowsSection = RowsSection()
    correlation: Correlation = Correlation()
    grain: Annotated[GrainSection, Added()] = GrainSection()
    curve: Annotated[NoiseCurve, Added()] = NoiseCurve()
    kurtosis: Distribution = number(
        (0, 2.9), "excess kurtosis of shot and read noise: each sample is of one of two widths"
    )
    wide_share: Distribution = number(
        (0.01, 0.5), "of the samples that are of the wider one", default=0.5, added=True
    )


class CameraRecipe(Section):
    """A recipe of the camera model.

    name and about are for people; every other part is documented at its class.
    """

    # 63 bits that key the noise of all samples: readers of JSON take it for a signed number of 64.
    beside: ClassVar = {"pixel_seed": (int, ...)}
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
    degradations: Annotated[Degradations, Added(none=True)] = Degradations()
    noise: Annotated[NoiseSection, Added(none=True)] = NoiseSection()
    emitters: Annotated[Emitters, Added(none=True)] = Emitters()
    video: Annotated[Video, Added(none=True)] = Video()
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
