"""The sensors of many images at once: `sensors.sensor_at` and `with_levels`, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..camera.calibration import Calibration
from ..camera.recipe import CameraRecipe
from ..camera.sensors import (
    GAUSSIAN,
    TUKEY,
    Arithmetic,
    CameraSensor,
    calibrated_isos,
    fitted_sensor,
    is_fitted,
    sensor_at,
    shipped_cameras,
    with_levels,
)
from ..kernels.numbers.library import exp, log
from ..parameters.columns import Columns, Floats, KeyedColumns

_OF_ARRAYS = Arithmetic(exp, log, np.sqrt, np.minimum)


_SILENT = 2.0**-10, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0**20
"""The `_Columns` from the gain on of a sensor that rounds and counts so finely that nothing
shows."""


class _Columns(NamedTuple):
    """Columns of `sensors.CameraSensor`: numbers, or arrays (N)."""

    iso: Any
    gain: Any
    gaussian_sigma: Any
    tukey_scale: Any
    tukey_shape: Any
    row_sigma: Any
    black: Any
    white: Any


def draw_sensors(columns: Columns, random: KeyedColumns, recipe: CameraRecipe) -> None:
    """Fill in the body and the sensor of each image, of a camera's name, ISO and levels."""
    names = columns["camera.name"].astype(str)
    isos, levels = columns["camera.iso"], columns.pop("camera.levels")
    known, own = sorted(set(names.tolist())), recipe.camera.own
    spreads = [np.zeros(len(random))] * 3
    if any(is_fitted(name, own) for name in known):
        spreads = [random.gaussian("camera.spread", i) for i in range(3)]
    sensors = _Columns(*np.zeros((len(_Columns._fields), len(random))))
    for name in known:
        for own_levels in sorted(set(levels[names == name].tolist())):
            chosen = (names == name) & (levels == own_levels)
            some = _sensors(name, isos[chosen], [one[chosen] for one in spreads], own_levels, own)
            for column, part in zip(sensors, some, strict=True):
                column[chosen] = part
    if "noise.kurtosis" in columns:  # noise of channels takes the place of the sensor's
        sensors = _Columns(sensors.iso, *(np.full(len(random), number) for number in _SILENT))
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


def _sensors(
    name: str, isos: Floats, spreads: list[Floats], levels: int, own: Mapping[str, Calibration]
) -> _Columns:
    """Return the sensors of one camera at N ISOs."""
    if is_fitted(name, own):
        return _columns(with_levels(fitted_sensor(name, isos, spreads, own, _OF_ARRAYS), levels))
    rows = _rows(name, own[name] if name in own else shipped_cameras()[name], levels)
    known = rows[0]
    above = np.searchsorted(known, isos)
    lower, upper = np.maximum(above - 1, 0), np.minimum(above, len(known) - 1)
    distances = [np.abs(log(known[near] / isos)) for near in (lower, upper)]
    return _Columns(*rows[:, np.where(distances[0] <= distances[1], lower, upper)])


@lru_cache(maxsize=64)
def _rows(name: str, entry: Calibration, levels: int) -> Floats:
    """Return the columns of a camera at each ISO that it is calibrated at."""
    own = {name: entry}
    sensors = [sensor_at(name, iso, own=own) for iso in calibrated_isos(name, own)]
    return np.array([_columns(with_levels(sensor, levels)) for sensor in sensors]).T


def _columns(sensor: CameraSensor) -> _Columns:
    return _Columns(*(getattr(sensor, name) for name in _Columns._fields))
