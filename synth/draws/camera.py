"""Drawing the parameters of many images of the camera model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..camera.calibrated_sensors import (
    GAUSSIAN,
    TUKEY,
    Sensors,
    is_fitted,
    sensor_colour_matrices,
    sensors_at,
    with_levels,
)
from ..camera.recipe import CameraRecipe
from ..degradations.draw import finish_degradations
from ..kernels.numbers.elementary import rounded_sums
from ..kernels.numbers.library import log
from ..parameters.distributions import STANDARD, UNIT, Constant
from ..parameters.drawing import draw_section
from ..parameters.keyed_random import Columns, KeyedRandom, Ragged

_FIELD = "illumination"
_SCENE_LIGHT = f"{_FIELD}.scene_light"
_SEVERAL = {
    f"{_FIELD}.lights": ("ev", "radius", "falloff", "warmth_ev"),
    f"{_FIELD}.lamps": ("ev", "radius", "falloff", "warmth_ev"),
    f"{_SCENE_LIGHT}.pools": ("ev", "radius", "falloff", "edges"),
}
"""Parts of the field that are there several times, and what of each is drawn by then."""
_STRENGTHS = (
    *("smooth.sigma_ev", "scene.strength", "vignette.ev", "gradient.ev"),
    *("scene_light.grid.sigma_ev", "scene_light.ambient"),
)
"""Numbers of the field that are 0 where a part of it does nothing."""
_IDENTITY = np.eye(3).reshape(9)
_SILENT = 2.0**-10, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0**20
"""The `Sensors` from the gain on of a sensor that rounds and counts so finely that nothing
shows."""


def draw_camera(recipe: CameraRecipe, random: KeyedRandom) -> Columns:
    """Draw the parameters of many images, by their random numbers, as columns of `CameraDraw`."""
    together = recipe.together
    also = [path for group in together.values() for path in group.columns]
    columns = draw_section(recipe, random, also=also)
    for name, group in together.items():
        group.fill(columns, random, name, type(recipe))
    finish_degradations(columns, random)
    _finish_field(columns, recipe, random)
    if "emitters.count" in columns:
        places = {"emitters.place": UNIT, "emitters.within": UNIT}
        columns |= random.several(places, columns["emitters.count"])
        columns["emitters.streaks.angle"] = math.pi * random.uniform("emitters.streaks.angle")
    columns["camera.matrix"] = _matrices(columns["camera.matrix"] == "random", random)
    _draw_sensors(columns, random, recipe)
    if "highlights.sigma_ev" in columns:
        columns["highlights.place"] = random.uniform("highlights.place")
    if "video.fps" in columns:
        columns["video.phase"] = random.uniform("video.phase")
    columns["pixel_seed"] = random.bits(["pixels"])[0] >> np.uint64(1)
    return columns


def _finish_field(columns: Columns, recipe: CameraRecipe, random: KeyedRandom) -> None:
    """Switch the field off in images that have none, and draw what is drawn as often as it says."""
    lit = columns.pop(f"{_FIELD}.probability")
    if not lit.all():
        _switch_off(columns, lit)
    for sort in (f"{_FIELD}.lights", f"{_FIELD}.lamps"):
        columns |= random.several({f"{sort}.place": UNIT}, columns[f"{sort}.count"])
    smooth = f"{_FIELD}.smooth"
    sigma = columns[f"{smooth}.sigma_ev"]
    columns[f"{smooth}.cells"] = cells = np.where(sigma != 0, columns[f"{smooth}.cells"], 0)
    nodes = random.several({smooth: STANDARD}, cells * cells)[smooth]
    columns[f"{smooth}.values"] = Ragged(sigma[:, None] * nodes.table, nodes.counts)
    angle = np.zeros(len(random))
    if recipe.illumination.gradient.ev != Constant(0.0):
        angle = 2 * math.pi * random.uniform(f"{_FIELD}.gradient.angle")
    columns[f"{_FIELD}.gradient.angle"] = angle
    if f"{_SCENE_LIGHT}.ambient" in columns:
        _finish_scene_light(columns, random)


def _finish_scene_light(columns: Columns, random: KeyedRandom) -> None:
    """Draw the bilateral grid and where pools are."""
    grid, pools = f"{_SCENE_LIGHT}.grid", f"{_SCENE_LIGHT}.pools"
    sigma = columns[f"{grid}.sigma_ev"]
    for name in ("cells", "levels"):
        columns[f"{grid}.{name}"] = np.where(sigma != 0, columns[f"{grid}.{name}"], 0)
    counts = columns[f"{grid}.cells"] ** 2 * columns[f"{grid}.levels"]
    nodes = random.several({grid: STANDARD}, counts)[grid]
    columns[f"{grid}.values"] = Ragged(sigma[:, None] * nodes.table, counts)
    columns |= random.several({f"{pools}.place": UNIT}, columns[f"{pools}.count"])


def _switch_off(columns: Columns, lit: Any) -> None:
    """Switch the field off in images that are not lit (N)."""
    for sort, names in _SEVERAL.items():
        if f"{sort}.count" in columns:
            columns[f"{sort}.count"] = counts = np.where(lit, columns[f"{sort}.count"], 0)
            for path in (f"{sort}.{name}" for name in names):
                columns[path] = columns[path].first(counts)
    for path in (f"{_FIELD}.{strength}" for strength in _STRENGTHS):
        if path in columns:
            columns[path] = np.where(lit, columns[path], 0.0)
    undone = columns.get(f"{_SCENE_LIGHT}.undone")
    if undone is not None:
        table = np.where(lit[:, None], undone.table, 0.0)
        columns[f"{_SCENE_LIGHT}.undone"] = undone._replace(table=table)


def _matrices(mixing: Any, random: KeyedRandom) -> Ragged:
    """Return linear sRGB to camera RGB, row by row: of some images (N) a random mixture.

    It is a convex combination of the cameras' matrices; all are equally likely (flat Dirichlet).
    """
    table = np.empty((len(random), 9))
    table[:] = _IDENTITY
    if mixing.any():
        matrices = sensor_colour_matrices().reshape(-1, 9)
        drawn = random.uniforms(["camera.matrix.weight"], len(matrices))
        weights: Any = -log(drawn.ravel()).reshape(drawn.shape)
        weights /= rounded_sums(weights.T)
        # Summed in order: a matrix library's last bits depend on the machine.
        mixed = np.zeros_like(table)
        for weight, matrix in zip(weights, matrices, strict=True):
            mixed += weight[:, None] * matrix
        table = np.where(mixing[:, None], mixed, table)
    return Ragged(table, np.full(len(random), 9))


def _draw_sensors(columns: Columns, random: KeyedRandom, recipe: CameraRecipe) -> None:
    """Fill in the body and the sensor of each image, of a camera's name, ISO and levels."""
    names = columns["camera.name"].astype(str)
    isos, levels = columns["camera.iso"], columns.pop("camera.levels")
    known, own = sorted({*zip(names.tolist(), levels.tolist(), strict=True)}), recipe.camera.own
    spreads = np.zeros((3, len(random)))
    if any(is_fitted(name, own) for name, _ in known):
        spreads = random.gaussians("camera.spread", 3)
    sensors = Sensors(*np.zeros((len(Sensors._fields), len(random))))
    for name, own_levels in known:
        alone = len(known) == 1
        chosen = slice(None) if alone else (names == name) & (levels == own_levels)
        some = sensors_at(name, isos[chosen], spreads[:, chosen], own)
        for column, part in zip(sensors, with_levels(some, own_levels), strict=True):
            column[chosen] = part
    if "noise.kurtosis" in columns:  # noise of channels takes the place of the sensor's
        sensors = Sensors(sensors.iso, *(np.full(len(random), number) for number in _SILENT))
    gaussian = (columns.pop("camera.read_noise") == GAUSSIAN) | (sensors.tukey_scale == 0)
    scale = np.where(gaussian, sensors.gaussian_sigma, sensors.tukey_scale)
    columns["camera.name"], columns["camera.iso"] = names, sensors.iso
    columns |= {
        "camera.sensor.gain": sensors.gain,
        "camera.sensor.row_sigma": sensors.row_sigma,
        "camera.sensor.read_noise": np.where(gaussian, GAUSSIAN, TUKEY),
        "camera.sensor.read_scale": scale,
        "camera.sensor.read_shape": np.where(gaussian, 0.0, sensors.tukey_shape),
        "camera.sensor.black": sensors.black.astype(np.int64),
        "camera.sensor.white": sensors.white.astype(np.int64),
    }


def forget_unused(columns: Columns) -> None:
    """Take out name and ISO of sensors whose noise is not the lows', as it is the recipe's own.

    columns: of draws; None and NaN take their places.
    """
    if "noise.kurtosis" in columns:
        count = len(columns["pixel_seed"])
        columns |= {"camera.name": np.full(count, None), "camera.iso": np.full(count, np.nan)}
