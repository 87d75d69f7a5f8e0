"""The sensors of many images at once: `sensors.sensor_at` and `with_levels`, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...kernels.numbers.library import exp, log
from ...parameters.columns import Floats, KeyedColumns
from ..calibration import Calibration
from ..recipe import CameraRecipe
from ..render import read_forms
from ..sensors import (
    GAUSSIAN,
    Arithmetic,
    Sensor,
    calibrated_isos,
    fitted_sensor,
    is_fitted,
    sensor_at,
    with_levels,
)

_OF_ARRAYS = Arithmetic(exp, log, np.sqrt, np.minimum)


class Sensors(NamedTuple):
    """The sensors of N images, as columns (N).

    Attributes
    ----------
    gain, row_sigma, black, white : float64 arrays
        DN (of the gain: per electron).
    read : float32 array (N, 2, 10)
        Quantile polynomials of read noise of a site, and of the sum of two.
    """

    gain: Floats
    row_sigma: Floats
    black: Floats
    white: Floats
    read: npt.NDArray[np.float32]


class _Columns(NamedTuple):
    """As of `sensors.Sensor`: numbers, or arrays (N)."""

    gain: Any
    gaussian_sigma: Any
    tukey_scale: Any
    tukey_shape: Any
    row_sigma: Any
    black: Any
    white: Any


def draw_sensors(random: KeyedColumns, recipe: CameraRecipe) -> Sensors:
    """Draw the sensor of each image."""
    camera = recipe.camera
    names = random.values(camera.name, "camera.name").astype(str)
    isos = random.numbers(camera.iso, "camera.iso")
    levels = random.numbers(camera.levels, "camera.levels").astype(np.int64)
    noises = random.values(camera.read_noise, "camera.read_noise")
    known = sorted(set(names.tolist()))
    spreads = [np.zeros(len(random))] * 3
    if any(is_fitted(name, camera.own) for name in known):
        spreads = [random.gaussian("camera.spread", i) for i in range(3)]
    columns = _Columns(*np.zeros((len(_Columns._fields), len(random))))
    for name in known:
        for own_levels in sorted(set(levels[names == name].tolist())):
            chosen = (names == name) & (levels == own_levels)
            some = _sensors(
                name, isos[chosen], [one[chosen] for one in spreads], own_levels, camera.own
            )
            for column, part in zip(columns, some, strict=True):
                column[chosen] = part
    gaussian = (noises == GAUSSIAN) | (columns.tukey_scale == 0)
    scale = np.where(gaussian, columns.gaussian_sigma, columns.tukey_scale)
    shapes, place = np.unique(np.where(gaussian, np.inf, columns.tukey_shape), return_inverse=True)
    forms = np.array([np.stack(read_forms(shape == np.inf, shape)) for shape in shapes.tolist()])
    read = (forms[place.reshape(-1)] * scale[:, None, None]).astype(np.float32)
    return Sensors(columns.gain, columns.row_sigma, columns.black, columns.white, read)


def _sensors(
    name: str,
    isos: Floats,
    spreads: list[Floats],
    levels: int,
    own: Mapping[str, Calibration],
) -> _Columns:
    """Return the sensors of one camera at N ISOs."""
    for iso in (isos.min(), isos.max()):
        sensor_at(name, float(iso), own=own)  # refuses what lies outside
    if is_fitted(name, own):
        return _columns(with_levels(fitted_sensor(name, isos, spreads, own, _OF_ARRAYS), levels))
    known = np.array(calibrated_isos(name, own))
    above = np.searchsorted(known, isos)
    lower, upper = np.maximum(above - 1, 0), np.minimum(above, len(known) - 1)
    distances = [np.abs(log(known[near] / isos)) for near in (lower, upper)]
    nearest, place = np.unique(
        np.where(distances[0] <= distances[1], lower, upper), return_inverse=True
    )
    rows = [with_levels(sensor_at(name, known[near], own=own), levels) for near in nearest]
    return _Columns(*(column[place] for column in np.array([_columns(row) for row in rows]).T))


def _columns(sensor: Sensor) -> _Columns:
    return _Columns(*(getattr(sensor, name) for name in _Columns._fields))
