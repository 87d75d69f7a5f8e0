"""Camera calibrations: system gain and noise of real sensors by ISO, from `data/cameras.yaml` (its sources stand there)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..manifests.errors import ConfigError
from ..manifests.yamlfiles import load_yaml

GAUSSIAN, TUKEY = "gaussian", "tukey"


@dataclass(frozen=True)
class Sensor:
    """A sensor at one ISO.

    Attributes
    ----------
    camera : str
    iso : float
        The calibrated ISO.
    gain : float
        System gain K, DN per electron.
    gaussian_sigma : float
        Standard deviation of a Gaussian fit to the read noise, DN.
    tukey_scale, tukey_shape : float
        Of a Tukey-lambda fit to it; DN, and lambda.
    row_sigma : float
        Standard deviation of row noise, DN.
    black, white : int
        Black level and largest value, DN.
    """

    camera: str
    iso: float
    gain: float
    gaussian_sigma: float
    tukey_scale: float
    tukey_shape: float
    row_sigma: float
    black: int
    white: int


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    with resources.as_file(resources.files(__package__) / "data" / "cameras.yaml") as path:
        return load_yaml(Path(path))


@lru_cache(maxsize=1)
def camera_names() -> tuple[str, ...]:
    """The cameras that a recipe can name."""
    return tuple(name for name, camera in _file()["cameras"].items() if "by_iso" in camera)


def iso_range(camera: str) -> tuple[float, float]:
    """The smallest and the largest calibrated ISO of a camera."""
    rows = _file()["cameras"][camera]["by_iso"]
    return float(rows[0][0]), float(rows[-1][0])


@lru_cache(maxsize=1024)
def sensor_at(camera: str, iso: float) -> Sensor:
    """The calibration of a camera at the calibrated ISO nearest to `iso`, in stops.

    Rows are not interpolated: cameras have those ISOs and no others, and a dual-gain sensor drops its read noise between
    two of them.

    Raises
    ------
    ConfigError
        When the camera is unknown or the ISO lies outside its calibration.
    """
    if camera not in camera_names():
        raise ConfigError(f"camera.name = {camera}: unknown; calibrated are {', '.join(camera_names())}")
    low, high = iso_range(camera)
    if not low <= iso <= high:
        raise ConfigError(f"camera.iso = {iso:g}: {camera} is calibrated from {low:g} to {high:g}")
    entry = _file()["cameras"][camera]
    row = min(entry["by_iso"], key=lambda row: abs(math.log(row[0] / iso)))
    nearest, gain, gaussian_sigma, tukey_scale, tukey_shape, row_sigma = (float(value) for value in row)
    return Sensor(camera, nearest, gain, gaussian_sigma, tukey_scale, tukey_shape, row_sigma, entry["black"], entry["white"])
