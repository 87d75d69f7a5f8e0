"""One image's own parameters for the camera model, drawn from a recipe: with the normal's pixels
all that a low depends on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from ..parameters.distributions import Constant, Distribution
from ..parameters.randomness import Source
from .recipe import CameraRecipe, Lights
from .sensors import GAUSSIAN, sensor_at, sensor_colour_matrices, with_levels


class CameraDraw(BaseModel):
    """Parameters of one low. Stored with the pair, so that anyone can make the low again without
    the recipe.

    Attributes
    ----------
    model : str
    pixel_seed : int
        63 bits that key the noise of all samples (so that readers of JSON take it for a signed
        64-bit number).
    exposure_ev, highlights_ev, tone, gamma : float
        See `camera_recipe.Exposure`, `Highlights`, `Tone`; gamma is 0 where the transfer is sRGB's.
    tone_applied : str
        "both" or "in".
    smooth_cells : int
        Cells a side of the smooth field, 0 for none.
    smooth_ev : tuple of float
        Its cells * cells values in EV, row by row.
    light_places : tuple of float
        One number in (0, 1) a light: its place among all places, ordered and weighted by the
        photograph's own light.
    light_evs, light_radii, light_falloffs, light_warmths : tuples of float
        One a light; lamps after lights.
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
    demosaic : str
        See `camera_recipe.Isp`.
    chroma_strength, chroma_sigma : float
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Literal["camera"] = "camera"
    pixel_seed: int
    exposure_ev: float
    highlights_ev: float
    tone: float
    gamma: float = 0.0
    tone_applied: Literal["both", "in"] = "both"
    smooth_cells: int
    smooth_ev: tuple[float, ...]
    light_places: tuple[float, ...]
    light_evs: tuple[float, ...]
    light_radii: tuple[float, ...]
    light_falloffs: tuple[float, ...]
    light_warmths: tuple[float, ...]
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
    demosaic: Literal["binned", "none", "bilinear", "malvar"] = "binned"
    chroma_strength: float = 0.0
    chroma_sigma: float = 1.0


def draw_camera(recipe: CameraRecipe, source: Source) -> CameraDraw:
    """Draw one image's parameters.

    Every parameter has a random number of its own, keyed by (seed, key, the parameter's path in the
    recipe), so that changing one distribution of a recipe leaves all other parameters as they were.

    Parameters
    ----------
    recipe : CameraRecipe
    source : Source
        The image's random numbers.
    """

    def number(distribution: Distribution, purpose: str, index: int = 0) -> float:
        if type(distribution) is Constant:
            return float(distribution.value)
        return float(distribution.quantile(source.uniform(purpose, index)))

    def name(
        distribution: Distribution, purpose: str
    ) -> Any:  # one of the names that its field allows
        if type(distribution) is Constant:
            return distribution.value
        return distribution.quantile(source.uniform(purpose))

    field = recipe.illumination
    lit = source.uniform("illumination.probability") < number(
        field.probability, "illumination.probability.value"
    )
    sigma = number(field.smooth.sigma_ev, "illumination.smooth.sigma_ev") if lit else 0.0
    cells = int(number(field.smooth.cells, "illumination.smooth.cells")) if sigma else 0
    lights = [
        light
        for sort in ("lights", "lamps")
        for light in _lights(getattr(field, sort), f"illumination.{sort}", number, source)
    ]
    lights = lights if lit else []
    places, evs, radii, falloffs, warmths = zip(*lights, strict=True) if lights else ((),) * 5
    spreads = (
        source.normal("camera.spread", 0),
        source.normal("camera.spread", 1),
        source.normal("camera.spread", 2),
    )
    sensor = sensor_at(
        name(recipe.camera.name, "camera.name"),
        number(recipe.camera.iso, "camera.iso"),
        spreads,
        recipe.camera.own,
    )
    sensor = with_levels(sensor, int(number(recipe.camera.levels, "camera.levels")))
    gaussian = (
        name(recipe.camera.read_noise, "camera.read_noise") == GAUSSIAN or not sensor.tukey_scale
    )
    matrix = (
        _random_matrix(source)
        if name(recipe.camera.matrix, "camera.matrix") == "random"
        else np.eye(3)
    )
    balance = recipe.white_balance
    return CameraDraw(
        pixel_seed=source.bits("pixels") >> 1,
        exposure_ev=number(recipe.exposure.ev, "exposure.ev"),
        highlights_ev=number(recipe.highlights.ev, "highlights.ev"),
        tone=number(recipe.tone.strength, "tone.strength"),
        gamma=(
            number(recipe.tone.gamma, "tone.gamma")
            if name(recipe.tone.transfer, "tone.transfer") == "gamma"
            else 0.0
        ),
        tone_applied=name(recipe.tone.applied, "tone.applied"),
        smooth_cells=cells,
        smooth_ev=tuple(
            sigma * source.normal("illumination.smooth", i) for i in range(cells * cells)
        ),
        light_places=places,
        light_evs=evs,
        light_radii=radii,
        light_falloffs=falloffs,
        light_warmths=warmths,
        scene_strength=number(field.scene.strength, "illumination.scene.strength") if lit else 0.0,
        vignette_ev=number(field.vignette.ev, "illumination.vignette.ev") if lit else 0.0,
        gradient_ev=number(field.gradient.ev, "illumination.gradient.ev") if lit else 0.0,
        gradient_angle=(
            2 * math.pi * source.uniform("illumination.gradient.angle")
            if field.gradient.ev != Constant(0.0)
            else 0.0
        ),
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
        demosaic=name(recipe.isp.demosaic, "isp.demosaic"),
        chroma_strength=number(recipe.isp.chroma.strength, "isp.chroma.strength"),
        chroma_sigma=number(recipe.isp.chroma.sigma, "isp.chroma.sigma"),
    )


def _lights(
    sort: Lights, path: str, number: Callable[[Distribution, str, int], float], source: Source
) -> list[tuple[float, float, float, float, float]]:
    """Place, EV, radius, falloff and warmth of each light of one sort."""
    return [
        (
            source.uniform(f"{path}.place", i),
            number(sort.ev, f"{path}.ev", i),
            number(sort.radius, f"{path}.radius", i),
            number(sort.falloff, f"{path}.falloff", i),
            number(sort.warmth_ev, f"{path}.warmth_ev", i),
        )
        for i in range(int(number(sort.count, f"{path}.count", 0)))
    ]


def _random_matrix(source: Source) -> npt.NDArray[np.float64]:
    """A random convex combination of the cameras' matrices, all combinations equally likely (flat
    Dirichlet)."""
    matrices = sensor_colour_matrices()
    weights = np.array(
        [-math.log(source.uniform("camera.matrix.weight", i)) for i in range(len(matrices))]
    )
    # Summed in order: a matrix library's last bits depend on the machine.
    combined: npt.NDArray[np.float64] = sum(
        (w * m for w, m in zip(weights / math.fsum(weights), matrices, strict=True)),
        np.zeros((3, 3)),
    )
    return combined
