"""Camera calibrations: system gain and noise of real sensors by ISO, from `sensors.yaml`.

Their sources stand there.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...errors import ConfigError
from ...manifests.config import load_yaml
from ..kernels.arrays import FloatArray
from .calibration import Calibration, GainFit, Relation

GAUSSIAN, TUKEY = "gaussian", "tukey"
MAX_LEVELS = 1 << 20
"""Most steps of a converter that a recipe may ask for."""
_NOMINAL_ISO = 100.0
_SPAN_BLACK, _SPAN_WHITE = 1024, 16383
_SRGB_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


class Arithmetic(NamedTuple):
    """Functions of a number, or of an array of numbers: sensors may be one, or many as columns."""

    exp: Any
    log: Any
    root: Any
    lesser: Any


PLAIN = Arithmetic(math.exp, math.log, math.sqrt, min)


@dataclass(frozen=True)
class CameraSensor:
    """A sensor at one ISO.

    tukey_scale, tukey_shape: of a Tukey-lambda fit to it; DN, and lambda. The scale is 0 where
    there is none.
    """

    camera: str
    iso: float  # the calibrated ISO
    gain: float  # system gain K, DN per electron
    gaussian_sigma: float  # standard deviation of a Gaussian fit to the read noise, DN
    tukey_scale: float
    tukey_shape: float
    row_sigma: float  # standard deviation of row noise, DN
    black: int  # black level and largest value, DN
    white: int  # black level and largest value, DN


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    with resources.as_file(resources.files(__package__) / "sensors.yaml") as path:
        return load_yaml(Path(path))


@lru_cache(maxsize=1)
def shipped_cameras() -> dict[str, Calibration]:
    """Return gloam's own calibrations, by name."""
    return {name: Calibration.model_validate(entry) for name, entry in _file()["cameras"].items()}


@lru_cache(maxsize=1)
def camera_names() -> tuple[str, ...]:
    """Return the cameras that every recipe can name."""
    return tuple(shipped_cameras())


def _entry(camera: str, own: Mapping[str, Calibration]) -> Calibration:
    """Return the calibration of a camera."""
    return own[camera] if camera in own else shipped_cameras()[camera]


def is_fitted(camera: str, own: Mapping[str, Calibration] = MappingProxyType({})) -> bool:
    """Return whether a camera's noise scatters about a regression line, and so needs spreads."""
    return not _entry(camera, own).rows


def calibrated_isos(
    camera: str, own: Mapping[str, Calibration] = MappingProxyType({})
) -> tuple[float, ...]:
    """Return the ISOs that a camera which is not fitted has."""
    return tuple(row[0] for row in _entry(camera, own).rows)


def iso_range(
    camera: str, own: Mapping[str, Calibration] = MappingProxyType({})
) -> tuple[float, float]:
    """Return the smallest and the largest ISO at which a camera is calibrated.

    Cameras that are calibrated by gain have a nominal ISO: 100 at the lowest gain of the
    calibration and proportional to it. For the four of ELD (Wei et al., CVPR 2020), whose gains
    span a factor of 64, that is ISO 100 to 6400.
    """
    entry = _entry(camera, own)
    if entry.relation is not None:
        return _NOMINAL_ISO, float(
            round(_NOMINAL_ISO * entry.relation.shot_max / entry.relation.shot_min)
        )
    if entry.by_gain is not None:
        return _NOMINAL_ISO, float(
            round(_NOMINAL_ISO * math.exp(entry.by_gain.ln_k_max - entry.by_gain.ln_k_min))
        )
    return entry.rows[0][0], entry.rows[-1][0]


def sensor_at(
    camera: str, iso: float, own: Mapping[str, Calibration] = MappingProxyType({})
) -> CameraSensor:
    """Return the calibration of a camera at an ISO.

    A camera with a table of ISOs is taken at the one nearest to `iso`, in stops. Rows are not
    interpolated: cameras have those ISOs and no others, and a dual-gain sensor drops its read noise
    between two of them.

    iso: within `iso_range`.
    own: mapping of name to Calibration: further cameras, which go before gloam's of the same name.

    Raises ConfigError when the camera is unknown or the ISO lies outside its calibration.
    """
    if camera not in camera_names() and camera not in own:
        raise ConfigError(
            f"camera.name = {camera}: unknown; calibrated are {', '.join((*camera_names(), *own))}"
        )
    low, high = iso_range(camera, own)
    if not low <= iso <= high:
        raise ConfigError(f"camera.iso = {iso:g}: {camera} is calibrated from {low:g} to {high:g}")
    if is_fitted(camera, own):
        return fitted_sensor(camera, iso, (0.0, 0.0, 0.0), own)
    entry = _entry(camera, own)
    above = bisect_left(entry.rows, iso, key=itemgetter(0))
    near = entry.rows[max(above - 1, 0) : above + 1]
    own_iso, *row = min(near, key=lambda row: abs(math.log(row[0] / iso)))
    if entry.by_iso:
        gain, gaussian_sigma, tukey_scale, tukey_shape, row_sigma = row
        return CameraSensor(
            camera,
            own_iso,
            gain,
            gaussian_sigma,
            tukey_scale,
            tukey_shape,
            row_sigma,
            entry.black,
            entry.white,
        )
    shot, read = row
    return _heteroscedastic(camera, own_iso, shot, read)


def fitted_sensor(
    camera: str,
    iso: Any,
    spreads: Sequence[Any],
    own: Mapping[str, Calibration] = MappingProxyType({}),
    arithmetic: Arithmetic = PLAIN,
) -> CameraSensor:
    """Return a camera whose noise is a function of its gain; see `sensor_at`.

    iso, spreads: numbers, or arrays (N) with `arithmetic` for such; so are the sensor's. Spreads
      are standard normal: how far the read noise (Gaussian and Tukey fit) and the row noise are off
      their regression line, as from shot to shot.
    """
    entry, (exp, log, _, lesser) = _entry(camera, own), arithmetic
    if entry.relation is not None:
        return _related(camera, entry.relation, iso, spreads[0], arithmetic)
    fit = entry.by_gain
    assert fit is not None
    log_gain = lesser(fit.ln_k_min + log(iso / _NOMINAL_ISO), fit.ln_k_max)

    def sigma(line: GainFit, spread: Any) -> Any:
        return exp(line.slope * log_gain + line.bias + line.spread * spread)

    return CameraSensor(
        camera,
        iso,
        exp(log_gain),
        sigma(fit.read, spreads[0]),
        sigma(fit.tukey, spreads[1]),
        fit.shape,
        sigma(fit.row, spreads[2]),
        entry.black,
        entry.white,
    )


def _heteroscedastic(camera: str, iso: float, shot: float, read: float) -> CameraSensor:
    """Make a sensor whose variance is shot x + read, of x in [0, 1].

    K = shot (white - black), sigma = sqrt(read) (white - black).

    Such a calibration has no DN of its own. Fourteen bits over a pedestal keep rounding and
    clipping out of its noise.
    """
    span = _SPAN_WHITE - _SPAN_BLACK
    return CameraSensor(
        camera, iso, shot * span, math.sqrt(read) * span, 0.0, 0.0, 0.0, _SPAN_BLACK, _SPAN_WHITE
    )


def _related(
    camera: str, relation: Relation, iso: Any, spread: Any, arithmetic: Arithmetic
) -> CameraSensor:
    """Make a sensor of a heteroscedastic model whose read noise follows its shot noise.

    Samples below black are kept whole by a pedestal as wide as the range itself, as code without a
    pedestal keeps them.
    """
    shot = relation.shot_min * iso / _NOMINAL_ISO
    exp, log, root, _ = arithmetic
    read = exp(relation.slope * log(shot) + relation.bias + relation.spread * spread)
    span = _SPAN_WHITE
    return CameraSensor(camera, iso, shot * span, root(read) * span, 0.0, 0.0, 0.0, span, 2 * span)


def with_levels(sensor: CameraSensor, levels: int) -> CameraSensor:
    """Put a sensor behind a converter of `levels` steps from black to white; 0 keeps its own."""
    if not levels:
        return sensor
    share = levels / (sensor.white - sensor.black)
    black = max(1, round(sensor.black * share)) if sensor.black else 0
    return replace(
        sensor,
        gain=sensor.gain * share,
        gaussian_sigma=sensor.gaussian_sigma * share,
        tukey_scale=sensor.tukey_scale * share,
        row_sigma=sensor.row_sigma * share,
        black=black,
        white=black + levels,
    )


@lru_cache(maxsize=1)
def sensor_colour_matrices() -> FloatArray:
    """Return the matrices from linear sRGB to camera RGB of four cameras.

    Their rows sum to 1, so that grey stays grey.

    XYZ to camera times sRGB to XYZ (IEC 61966-2-1), as in Brooks et al. (CVPR 2019). A sensor
    cannot count negative light: the few negative coefficients, which come from the matrices' linear
    fits, are cut to zero, so that every colour can be taken to the camera and back.

    Returns float64 array (4, 3, 3).
    """
    matrices = np.array(
        [
            [
                [
                    math.fsum(a * b for a, b in zip(row, column, strict=True))
                    for column in _SRGB_TO_XYZ.T
                ]
                for row in matrix
            ]
            for matrix in _file()["xyz_to_camera"]
        ]
    )
    matrices = np.maximum(matrices / matrices.sum(axis=2, keepdims=True), 0)
    return matrices / matrices.sum(axis=2, keepdims=True)
