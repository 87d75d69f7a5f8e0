"""One image's own parameters for the camera model, drawn from a recipe and shaped like it.

With the normal's pixels they are all that a low depends on. They are stored with the pair, so that
anyone can make the low again without the recipe.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import SerializerFunctionWrapHandler, model_serializer

from ..degradations.draw import DegradationsDraw, draw_degradations
from ..parameters.distributions import Constant
from ..parameters.drawing import Drawn, draw_section
from ..parameters.randomness import KeyedRandom
from .recipe import CameraRecipe, Video
from .sensors import GAUSSIAN, sensor_at, sensor_colour_matrices, with_levels

Floats = tuple[float, ...]


class ExposureDraw(Drawn):
    """See `recipe.Exposure`."""

    ev: float


class HighlightsDraw(Drawn):
    """See `recipe.Highlights`."""

    ev: float


class ToneDraw(Drawn):
    """See `recipe.Tone`."""

    strength: float
    transfer: Literal["srgb", "gamma"]
    gamma: float
    applied: Literal["both", "in"]

    @property
    def exponent(self) -> float:
        """The exponent of the transfer; 0 where it is sRGB's."""
        return self.gamma if self.transfer == "gamma" else 0.0


class SmoothDraw(Drawn):
    """A smooth field.

    cells: along each side, 0 for none. values: in EV, row by row.
    """

    sigma_ev: float
    cells: int
    values: Floats


class LightsDraw(Drawn):
    """Pools of light, a number each in every tuple.

    place: in (0, 1), among all places, ordered and weighted by the photograph's own light.
    """

    count: int
    place: Floats
    ev: Floats
    radius: Floats
    falloff: Floats
    warmth_ev: Floats


class SceneDraw(Drawn):
    """See `recipe.Scene`."""

    strength: float


class VignetteDraw(Drawn):
    """See `recipe.Vignette`."""

    ev: float


class GradientDraw(Drawn):
    """A gradient. angle: of its direction, in radians."""

    ev: float
    angle: float


class IlluminationDraw(Drawn):
    """The field; all its parts are nothing in an image that has none."""

    smooth: SmoothDraw
    lights: LightsDraw
    lamps: LightsDraw
    scene: SceneDraw
    vignette: VignetteDraw
    gradient: GradientDraw


class SensorDraw(Drawn):
    """A sensor at its ISO.

    Attributes
    ----------
    gain, row_sigma : float
        K in DN per electron, and row noise in DN.
    read_noise : str
        "tukey" or "gaussian".
    read_scale, read_shape : float
        Scale in DN, and lambda (0 and unused for Gaussian noise).
    black, white : int
        Black level and largest value, DN.
    """

    gain: float
    row_sigma: float
    read_noise: Literal["tukey", "gaussian"]
    read_scale: float
    read_shape: float
    black: int
    white: int


class BodyDraw(Drawn):
    """A camera.

    Attributes
    ----------
    name : str
    iso : float
        The calibrated one.
    matrix : nine floats
        Linear sRGB to camera RGB, row by row; rows sum to 1.
    sensor : SensorDraw
    """

    name: str
    iso: float
    matrix: Floats
    sensor: SensorDraw


class WhiteBalanceDraw(Drawn):
    """Gains over green. error_ev: what the camera got wrong, of red and of blue."""

    red: float
    blue: float
    error_ev: tuple[float, float]


class ChromaDraw(Drawn):
    """See `recipe.ChromaNoiseReduction`."""

    strength: float
    sigma: float


class IspDraw(Drawn):
    """See `recipe.Isp`."""

    digital_gain_ev: float
    contrast: float
    demosaic: Literal["binned", "none", "bilinear", "malvar"]
    chroma: ChromaDraw


class VideoDraw(Drawn):
    """See `recipe.Video`. phase: of the flicker, in turns."""

    fps: float
    drift_ev: float
    flicker_ev: float
    flicker_hz: float
    phase: float

    def ev(self, frame: int) -> float:
        """Return by how many stops a frame is darker than the clip's first one."""
        rates = self.fps, self.drift_ev, self.flicker_ev, self.flicker_hz
        return frame_ev(*rates, self.phase, frame)


def frame_ev(
    fps: float, drift_ev: float, flicker_ev: float, flicker_hz: float, phase: float, frame: int
) -> float:
    """Return by how many stops a frame is darker than its clip's first one; see `VideoDraw`."""
    seconds = frame / fps
    first, now = (math.sin(2 * math.pi * (phase + turns)) for turns in (0, flicker_hz * seconds))
    return drift_ev * seconds + flicker_ev * (now - first)


class CameraDraw(Drawn):
    """Parameters of one low, as `recipe.CameraRecipe` has distributions.

    pixel_seed: 63 bits that key the noise of all samples (so that readers of JSON take it for a
    signed 64-bit number). degradations: None where a recipe has none. video: None where all frames
    of a clip are exposed alike.
    """

    model: Literal["camera"] = "camera"
    pixel_seed: int
    exposure: ExposureDraw
    highlights: HighlightsDraw
    tone: ToneDraw
    illumination: IlluminationDraw
    camera: BodyDraw
    white_balance: WhiteBalanceDraw
    isp: IspDraw
    degradations: DegradationsDraw | None = None
    video: VideoDraw | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        for name in ("degradations", "video"):
            if getattr(self, name) is None:
                values.pop(name, None)
        return values


def draw_camera(recipe: CameraRecipe, random: KeyedRandom) -> CameraDraw:
    """Draw one image's parameters.

    Parameters
    ----------
    recipe : CameraRecipe
    random : KeyedRandom
        The image's random numbers.
    """
    values = draw_section(recipe, random)
    values["degradations"] = draw_degradations(recipe.degradations, random)
    values["illumination"] = _field(values["illumination"], recipe, random)
    values["camera"] = _body(values["camera"], recipe, random)
    if recipe.video == Video():
        del values["video"]
    else:
        values["video"]["phase"] = random.uniform("video.phase")
    named = {name: values[name] for name in CameraDraw.model_fields if name in values}
    return CameraDraw.model_validate({"pixel_seed": random.bits("pixels") >> 1, **named})


def _field(drawn: dict[str, Any], recipe: CameraRecipe, random: KeyedRandom) -> dict[str, Any]:
    """Return the field's parameters, with what is drawn as often as others say."""
    lit = drawn.pop("probability")
    for name in ("lights", "lamps"):
        sort = drawn[name]
        sort["count"] = sort["count"] if lit else 0
        for each in ("ev", "radius", "falloff", "warmth_ev"):
            sort[each] = sort[each] if lit else ()
        path = f"illumination.{name}.place"
        sort["place"] = tuple(random.uniform(path, i) for i in range(sort["count"]))
    smooth = drawn["smooth"]
    smooth["sigma_ev"] = sigma = smooth["sigma_ev"] if lit else 0.0
    smooth["cells"] = cells = smooth["cells"] if sigma else 0
    smooth["values"] = tuple(
        sigma * random.gaussian("illumination.smooth", i) for i in range(cells * cells)
    )
    for part, name in (("scene", "strength"), ("vignette", "ev"), ("gradient", "ev")):
        drawn[part][name] = drawn[part][name] if lit else 0.0
    slanted = recipe.illumination.gradient.ev != Constant(0.0)
    turn = random.uniform("illumination.gradient.angle") if slanted else 0.0
    drawn["gradient"]["angle"] = 2 * math.pi * turn
    return drawn


def _body(drawn: dict[str, Any], recipe: CameraRecipe, random: KeyedRandom) -> dict[str, Any]:
    """Return the camera of a name and an ISO, from its calibration."""
    spreads = (
        random.gaussian("camera.spread", 0),
        random.gaussian("camera.spread", 1),
        random.gaussian("camera.spread", 2),
    )
    sensor = sensor_at(drawn["name"], drawn["iso"], spreads, recipe.camera.own)
    sensor = with_levels(sensor, drawn["levels"])
    gaussian = drawn["read_noise"] == GAUSSIAN or not sensor.tukey_scale
    matrix = _random_matrix(random) if drawn["matrix"] == "random" else np.eye(3)
    return {
        "name": sensor.camera,
        "iso": sensor.iso,
        "matrix": tuple(matrix.ravel().tolist()),
        "sensor": {
            "gain": sensor.gain,
            "row_sigma": sensor.row_sigma,
            "read_noise": "gaussian" if gaussian else "tukey",
            "read_scale": sensor.gaussian_sigma if gaussian else sensor.tukey_scale,
            "read_shape": 0.0 if gaussian else sensor.tukey_shape,
            "black": sensor.black,
            "white": sensor.white,
        },
    }


def _random_matrix(random: KeyedRandom) -> npt.NDArray[np.float64]:
    """Draw a random convex combination of the cameras' matrices.

    All combinations are equally likely (flat Dirichlet).
    """
    matrices = sensor_colour_matrices()
    weights = np.array(
        [-math.log(random.uniform("camera.matrix.weight", i)) for i in range(len(matrices))]
    )
    # Summed in order: a matrix library's last bits depend on the machine.
    combined: npt.NDArray[np.float64] = sum(
        (w * m for w, m in zip(weights / math.fsum(weights), matrices, strict=True)),
        np.zeros((3, 3)),
    )
    return combined
