"""One image's own parameters, drawn from a recipe by (seed, key). With the normal's pixels they are all that a low depends on."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from .cameras import GAUSSIAN, sensor_at, sensor_colour_matrices
from .distributions import Distribution
from .randomness import Source
from .recipe import Recipe


class Draw(BaseModel):
    """Parameters of one low. Stored with the pair, so that anyone can make the low again without the recipe.

    Attributes
    ----------
    model : str
    pixel_seed : int
        63 bits that key the noise of all samples (so that readers of JSON take it for a signed 64-bit number).
    exposure_ev, highlights_ev, tone : float
        See `recipe.Exposure`, `Highlights`, `Tone`.
    smooth_cells : int
        Cells a side of the smooth field, 0 for none.
    smooth_ev : tuple of float
        Its cells * cells values in EV, row by row.
    light_places : tuple of float
        One number in (0, 1) a light: its place among all places, ordered and weighted by the photograph's own light.
    light_evs, light_radii, light_falloffs : tuples of float
        One a light.
    scene_strength, vignette_ev, gradient_ev, gradient_angle : float
        The angle is in radians.
    camera : str
    iso, gain, row_sigma : float
        The calibrated ISO, K in DN per electron, and row noise in DN.
    read_noise : str
        "tukey" or "gaussian".
    read_scale, read_shape : float
        Scale in DN, and lambda (0 and unused for Gaussian noise).
    black, white : int
        Black level and largest value, DN.
    matrix : nine floats
        Linear sRGB to camera RGB, row by row; rows sum to 1.
    red_gain, blue_gain : float
        White balance gains over green.
    red_error_ev, blue_error_ev : float
        What the camera's white balance got wrong.
    digital_gain_ev, contrast : float
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Literal["camera"] = "camera"
    pixel_seed: int
    exposure_ev: float
    highlights_ev: float
    tone: float
    smooth_cells: int
    smooth_ev: tuple[float, ...]
    light_places: tuple[float, ...]
    light_evs: tuple[float, ...]
    light_radii: tuple[float, ...]
    light_falloffs: tuple[float, ...]
    scene_strength: float
    vignette_ev: float
    gradient_ev: float
    gradient_angle: float
    camera: str
    iso: float
    gain: float
    row_sigma: float
    read_noise: Literal["tukey", "gaussian"]
    read_scale: float
    read_shape: float
    black: int
    white: int
    matrix: tuple[float, ...]
    red_gain: float
    blue_gain: float
    red_error_ev: float
    blue_error_ev: float
    digital_gain_ev: float
    contrast: float


def draw(recipe: Recipe, seed: int, key: str) -> Draw:
    """Draw one image's parameters.

    Every parameter has a random number of its own, keyed by (seed, key, the parameter's path in the recipe), so that
    changing one distribution of a recipe leaves all other parameters as they were.

    Parameters
    ----------
    recipe : Recipe
    seed : int
        Of the set.
    key : str
        Of the pair.
    """
    source = Source(seed, key)

    def number(distribution: Distribution, purpose: str, index: int = 0) -> float:
        return float(distribution.quantile(source.uniform(purpose, index)))

    def name(distribution: Distribution, purpose: str) -> str:
        return str(distribution.quantile(source.uniform(purpose)))

    field = recipe.illumination
    lit = source.uniform("illumination.probability") < number(field.probability, "illumination.probability.value")
    sigma = number(field.smooth.sigma_ev, "illumination.smooth.sigma_ev") if lit else 0.0
    cells = int(number(field.smooth.cells, "illumination.smooth.cells")) if sigma else 0
    lights = int(number(field.lights.count, "illumination.lights.count")) if lit else 0

    def each_light(distribution: Distribution, purpose: str) -> tuple[float, ...]:
        return tuple(number(distribution, f"illumination.lights.{purpose}", i) for i in range(lights))

    spreads = (source.normal("camera.spread", 0), source.normal("camera.spread", 1), source.normal("camera.spread", 2))
    sensor = sensor_at(name(recipe.camera.name, "camera.name"), number(recipe.camera.iso, "camera.iso"), spreads)
    gaussian = name(recipe.camera.read_noise, "camera.read_noise") == GAUSSIAN or not sensor.tukey_scale
    matrix = _random_matrix(source) if name(recipe.camera.matrix, "camera.matrix") == "random" else np.eye(3)
    balance = recipe.white_balance
    return Draw(
        pixel_seed=source.bits("pixels") >> 1,
        exposure_ev=number(recipe.exposure.ev, "exposure.ev"),
        highlights_ev=number(recipe.highlights.ev, "highlights.ev"),
        tone=number(recipe.tone.strength, "tone.strength"),
        smooth_cells=cells,
        smooth_ev=tuple(sigma * source.normal("illumination.smooth", i) for i in range(cells * cells)),
        light_places=tuple(source.uniform("illumination.lights.place", i) for i in range(lights)),
        light_evs=each_light(field.lights.ev, "ev"),
        light_radii=each_light(field.lights.radius, "radius"),
        light_falloffs=each_light(field.lights.falloff, "falloff"),
        scene_strength=number(field.scene.strength, "illumination.scene.strength") if lit else 0.0,
        vignette_ev=number(field.vignette.ev, "illumination.vignette.ev") if lit else 0.0,
        gradient_ev=number(field.gradient.ev, "illumination.gradient.ev") if lit else 0.0,
        gradient_angle=2 * math.pi * source.uniform("illumination.gradient.angle"),
        camera=sensor.camera,
        iso=sensor.iso,
        gain=sensor.gain,
        row_sigma=sensor.row_sigma,
        read_noise="gaussian" if gaussian else "tukey",
        read_scale=sensor.gaussian_sigma if gaussian else sensor.tukey_scale,
        read_shape=0.0 if gaussian else sensor.tukey_shape,
        black=sensor.black,
        white=sensor.white,
        matrix=tuple(matrix.ravel().tolist()),
        red_gain=number(balance.red, "white_balance.red"),
        blue_gain=number(balance.blue, "white_balance.blue"),
        red_error_ev=number(balance.error_ev, "white_balance.error_ev", 0),
        blue_error_ev=number(balance.error_ev, "white_balance.error_ev", 1),
        digital_gain_ev=number(recipe.isp.digital_gain_ev, "isp.digital_gain_ev"),
        contrast=number(recipe.isp.contrast, "isp.contrast"),
    )


def _random_matrix(source: Source) -> npt.NDArray[np.float64]:
    """A random convex combination of the cameras' matrices, all combinations equally likely (flat Dirichlet)."""
    matrices = sensor_colour_matrices()
    weights = np.array([-math.log(source.uniform("camera.matrix.weight", i)) for i in range(len(matrices))])
    combined: npt.NDArray[np.float64] = np.tensordot(weights / weights.sum(), matrices, axes=1)
    return combined
