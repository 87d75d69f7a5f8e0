"""The sensors of many images at once."""

from __future__ import annotations

import numpy as np

from ..camera.calibrated_sensors import GAUSSIAN, TUKEY, Sensors, is_fitted, sensors_at, with_levels
from ..camera.recipe import CameraRecipe
from ..parameters.keyed_columns import Columns, KeyedColumns

_SILENT = 2.0**-10, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0**20
"""The `Sensors` from the gain on of a sensor that rounds and counts so finely that nothing
shows."""


def draw_sensors(columns: Columns, random: KeyedColumns, recipe: CameraRecipe) -> None:
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
