"""One image's own parameters for the camera model, and the bounds on their numbers.

With the normal's pixels they are all that a low depends on. They are stored with the pair, so that
anyone can make the low again without the recipe. `Section.beside` says what they have besides a
recipe's parameters.
"""

from __future__ import annotations

import math
from typing import Any

from ..camera.recipe import MAX_CELLS, MAX_GRID, CameraRecipe, GridSection, Pools, SceneLight, Video
from ..kernels.channel_noise import NODES
from ..kernels.curves import CURVE_LEVELS
from ..kernels.exposure import GUIDES
from ..parameters.drawing import check_numbers, record_of

_PARAMETERS: Any = record_of(CameraRecipe)


class CameraDraw(_PARAMETERS):  # type: ignore[misc]
    """Parameters of one low, as `recipe.CameraRecipe` has distributions.

    degradations, noise, emitters: None where a recipe has none. video: None where all frames of a
    clip are exposed alike.
    """


SceneLightDraw, VideoDraw = record_of(SceneLight), record_of(Video)
GridDraw, PoolsDraw = record_of(GridSection), record_of(Pools)


def exposure_change(video: Any, frame: int) -> float:
    """Return by how many stops a frame of a clip is darker than its first one, by its `video`."""
    seconds = frame / video.fps
    turns = video.phase, video.phase + video.flicker_hz * seconds
    first, now = (math.sin(2 * math.pi * turn) for turn in turns)
    return float(video.drift_ev * seconds + video.flicker_ev * (now - first))


_DN = (0.0, 1e12)
_SCENE_LIGHT = "illumination.scene_light"
_GRID = f"{_SCENE_LIGHT}.grid"
_NUMBERS = {
    "illumination.smooth.cells": (0, MAX_CELLS),
    "illumination.smooth.values": (-64.0, 64.0),
    f"{_GRID}.cells": (0, MAX_GRID),
    f"{_GRID}.levels": (0, GUIDES),
    f"{_GRID}.values": (-64.0, 64.0),
    "camera.iso": (1.0, 1e7),
    "camera.matrix": (-8.0, 8.0),
    "camera.sensor.gain": (1e-15, 1e12),
    "camera.sensor.row_sigma": _DN,
    "camera.sensor.read_scale": _DN,
    "camera.sensor.read_shape": (-1.0, 2.0),
    "camera.sensor.black": (0, 1 << 26),
    "camera.sensor.white": (1, 1 << 26),
    "degradations.banding.bands": (0.0, 100.0),  # 0 where there are none
}
"""Bounds of what recipes do not say; a sensor's are wide around what calibrations may hold."""
_REPEATED = ("illumination.lights", "illumination.lamps", f"{_SCENE_LIGHT}.pools", "emitters")


def check_camera(drawn: CameraDraw) -> None:
    """Raise ValueError, with its path, for a number that no recipe can draw."""
    lengths = check_numbers(drawn, CameraRecipe, _NUMBERS)
    field, sensor = drawn.illumination, drawn.camera.sensor
    if drawn.noise is None and None in (drawn.camera.name, drawn.camera.iso):
        raise ValueError("camera: has a name and an ISO where noise is a sensor's")
    lamps, own = drawn.emitters.count if drawn.emitters else 0, field.scene_light
    pools = own.pools.count if own else 0
    numbers = field.lights.count, field.lamps.count, pools, lamps
    counts = dict(zip(_REPEATED, numbers, strict=True))
    expected = {path: NODES for path in lengths if path.startswith("noise.curve.")}
    expected |= {path: len(CURVE_LEVELS) for path in lengths if path.startswith("tone.curve.")}
    expected |= {
        "illumination.smooth.values": field.smooth.cells**2,
        f"{_SCENE_LIGHT}.undone": GUIDES,
        f"{_GRID}.values": own.grid.cells**2 * own.grid.levels if own else 0,
        "camera.matrix": 9,
        "white_balance.error_ev": 2,
    }
    for path, length in lengths.items():
        wanted = expected.get(path, counts.get(path.rpartition(".")[0]))
        if length != wanted and (length or ".curve." not in path):
            raise ValueError(f"{path}: has {length} numbers, not {wanted}")
    if sensor.white <= sensor.black:
        raise ValueError("camera.sensor.white: must be above black")
