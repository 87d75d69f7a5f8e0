"""Camera calibrations: system gain and noise of real sensors by ISO; the schema of camera files.

gloam's own stand in `sensors.yaml`, with their sources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from ...errors import ConfigError
from ...manifests.config import Frozen, Numbers, validate
from ...storage.yaml_files import load_shipped, load_yaml
from ..kernels.arrays import FloatArray
from ..kernels.numbers.library import exp, log

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


def _number(value: Any) -> Any:
    """Refuse `true` and `false`, and texts, which pydantic takes for numbers."""
    if isinstance(value, bool | str):
        raise ValueError("must be a number")
    return value


# Wide around what sensors have: electrons of thousandths of a DN to hundreds of DN, noise of up to
# the whole range, the least ISO 1 and the largest 4,560,000 so far.
_NUMBER = BeforeValidator(_number)
_Iso = Annotated[float, _NUMBER, Field(ge=1, le=1e7)]
_Gain = Annotated[float, _NUMBER, Field(ge=1e-5, le=1e5)]
_Sigma = Annotated[float, _NUMBER, Field(ge=0, le=1e5)]
_Shape = Annotated[float, _NUMBER, Field(ge=-1, le=2)]
_Shot = Annotated[float, _NUMBER, Field(ge=1e-9, le=10)]
_Read = Annotated[float, _NUMBER, Field(ge=0, le=10)]
_Slope = Annotated[float, _NUMBER, Field(ge=-10, le=10)]
_Bias = Annotated[float, _NUMBER, Field(ge=-30, le=30)]
_Spread = Annotated[float, _NUMBER, Field(ge=0, le=3)]
_LogGain = Annotated[float, _NUMBER, Field(ge=-12, le=12)]
_Level = Annotated[int, _NUMBER, Field(ge=0, lt=1 << 24)]
_MOST_ROWS = 1000


class GainFit(Frozen):
    """ln(sigma) = slope ln(K) + bias + N(0, spread)."""

    slope: _Slope
    bias: _Bias
    spread: _Spread


class ByGain(Frozen):
    """Noise as a function of the system gain K.

    The logarithm of K goes from `ln_k_min` to `ln_k_max`.
    """

    model_config = ConfigDict(populate_by_name=True)

    ln_k_min: _LogGain
    ln_k_max: _LogGain
    shape: _Shape = Field(alias="lambda")
    read: GainFit
    tukey: GainFit
    row: GainFit

    @model_validator(mode="after")
    def _rising(self) -> ByGain:
        if self.ln_k_min > self.ln_k_max:
            raise ValueError(f"ln_k_max = {self.ln_k_max}: is below ln_k_min = {self.ln_k_min}")
        return self


class Relation(Frozen):
    """ln(read) = slope ln(shot) + bias + N(0, spread).

    These are the variances of a heteroscedastic model.
    """

    shot_min: _Shot
    shot_max: _Shot
    slope: _Slope
    bias: _Bias
    spread: _Spread

    @model_validator(mode="after")
    def _rising(self) -> Relation:
        if self.shot_min > self.shot_max:
            raise ValueError(f"shot_max = {self.shot_max}: is below shot_min = {self.shot_min}")
        return self


class Calibration(Numbers):
    """A camera of a camera file, in one of its four forms.

    The head of `sensors.yaml` says what each number is.

    by_iso: rows of ISO, K, sigma_read, sigma_tukey, lambda, sigma_row. heteroscedastic: rows of
    ISO, shot, read. At most 1,000 of either.
    """

    # Camera files may say more of a camera than what noise is made of: a sensor's name, links.
    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str = ""
    black: _Level = 0
    white: _Level = 0
    by_iso: tuple[tuple[_Iso, _Gain, _Sigma, _Sigma, _Shape, _Sigma], ...] = Field(
        default=(), max_length=_MOST_ROWS
    )
    heteroscedastic: tuple[tuple[_Iso, _Shot, _Read], ...] = Field(
        default=(), max_length=_MOST_ROWS
    )
    by_gain: ByGain | None = None
    relation: Relation | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Calibration:
        forms = [
            name
            for name in ("by_iso", "heteroscedastic", "by_gain", "relation")
            if getattr(self, name)
        ]
        if len(forms) != 1:
            raise ValueError(
                "must have one of by_iso, heteroscedastic, by_gain, relation; it has"
                f" {', '.join(forms) or 'none'}"
            )
        if forms[0] in ("by_iso", "by_gain") and not self.black < self.white:
            raise ValueError(f"white = {self.white}: must be above black = {self.black}")
        isos = [row[0] for row in self.rows]
        if isos != sorted(set(isos)):
            raise ValueError(f"{forms[0]}: ISOs must rise from row to row")
        return self

    @property
    def rows(self) -> tuple[tuple[float, ...], ...]:
        """One for each calibrated ISO, where there are such."""
        return self.by_iso or self.heteroscedastic

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        if self.by_gain is not None:
            values["by_gain"] = self.by_gain.model_dump(mode="json", by_alias=True)
        return {name: value for name, value in values.items() if value}


def read_cameras(path: Path) -> dict[str, Any]:
    """Read the calibrations of a camera file of one's own, as it holds them.

    Raises ConfigError when it cannot be read, or has no `cameras`.
    """
    cameras = load_yaml(path).get("cameras")
    if not isinstance(cameras, dict) or not cameras:
        raise ConfigError.at(
            path, "has no cameras; write them as in gloam's own camera file, below the key cameras"
        )
    return {
        str(name): validate(Calibration, entry, f"{path}: {name}").model_dump(mode="json")
        for name, entry in cameras.items()
    }


class Sensors(NamedTuple):
    """Sensors of one camera: arrays (N), or numbers where all are alike.

    tukey_scale, tukey_shape: of a Tukey-lambda fit to the read noise; DN, and lambda. The scale is
    0 where there is none.
    """

    iso: Any  # the calibrated ISO
    gain: Any  # system gain K, DN per electron
    gaussian_sigma: Any  # standard deviation of a Gaussian fit to the read noise, DN
    tukey_scale: Any
    tukey_shape: Any
    row_sigma: Any  # standard deviation of row noise, DN
    black: Any  # black level, DN
    white: Any  # largest value, DN


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    return load_shipped(__package__, "sensors.yaml")


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


def is_fitted(camera: str, own: Mapping[str, Calibration]) -> bool:
    """Return whether a camera's noise scatters about a regression line, and so needs spreads."""
    return not _entry(camera, own).rows


def iso_range(
    camera: str, own: Mapping[str, Calibration] = MappingProxyType({})
) -> tuple[float, float]:
    """Return the smallest and the largest ISO at which a camera is calibrated.

    Cameras that are calibrated by gain have a nominal ISO: 100 at the lowest gain of the
    calibration and proportional to it. For the four of ELD (Wei et al., CVPR 2020), whose gains
    span a factor of 64, that is ISO 100 to 6400.
    """
    entry = _entry(camera, own)
    if entry.rows:
        return entry.rows[0][0], entry.rows[-1][0]
    if entry.relation is not None:
        most = _NOMINAL_ISO * entry.relation.shot_max / entry.relation.shot_min
    else:
        assert entry.by_gain is not None
        most = _NOMINAL_ISO * math.exp(entry.by_gain.ln_k_max - entry.by_gain.ln_k_min)
    return _NOMINAL_ISO, float(round(most))


@lru_cache(maxsize=256)
def _as_array(rows: tuple[tuple[float, ...], ...]) -> FloatArray:
    return np.array(rows)


def sensors_at(
    camera: str, isos: FloatArray, spreads: FloatArray, own: Mapping[str, Calibration]
) -> Sensors:
    """Return a camera at N ISOs.

    A camera with a table of ISOs is taken at the one nearest to each, in stops. Rows are not
    interpolated: cameras have those ISOs and no others, and a dual-gain sensor drops its read noise
    between two of them.

    isos: within `iso_range`.
    spreads: array (3, N), standard normal: how far the read noise (Gaussian and Tukey fit) and the
      row noise are off their regression line, as from shot to shot; of cameras that are fitted.
    own: mapping of name to Calibration: further cameras, which go before gloam's of the same name.
    """
    entry = _entry(camera, own)
    if entry.relation is not None:
        return _related(entry.relation, isos, spreads[0])
    if entry.by_gain is not None:
        fit = entry.by_gain
        log_gain = np.minimum(fit.ln_k_min + log(isos / _NOMINAL_ISO), fit.ln_k_max)
        read, tukey, row = (
            exp(line.slope * log_gain + line.bias + line.spread * spread)
            for line, spread in zip((fit.read, fit.tukey, fit.row), spreads, strict=True)
        )
        return Sensors(isos, exp(log_gain), read, tukey, fit.shape, row, entry.black, entry.white)
    table = _as_array(entry.rows)
    known = table[:, 0]
    above = np.searchsorted(known, isos)
    lower, upper = np.maximum(above - 1, 0), np.minimum(above, len(known) - 1)
    distances = [np.abs(log(known[near] / isos)) for near in (lower, upper)]
    columns = table[np.where(distances[0] <= distances[1], lower, upper)].T
    if entry.by_iso:
        iso, gain, gaussian, tukey, shape, row = columns
        return Sensors(iso, gain, gaussian, tukey, shape, row, entry.black, entry.white)
    # Variance shot x + read, of x in [0, 1]: K = shot (white - black), sigma = sqrt(read)
    # (white - black). Such a calibration has no DN of its own. Fourteen bits over a pedestal keep
    # rounding and clipping out of its noise.
    iso, shot, read = columns
    span = _SPAN_WHITE - _SPAN_BLACK
    noise = shot * span, np.sqrt(read) * span, 0.0, 0.0, 0.0
    return Sensors(iso, *noise, _SPAN_BLACK, _SPAN_WHITE)


def _related(relation: Relation, isos: FloatArray, spread: FloatArray) -> Sensors:
    """Return sensors of a heteroscedastic model whose read noise follows its shot noise.

    Samples below black are kept whole by a pedestal as wide as the range itself, as code without a
    pedestal keeps them.
    """
    shot = relation.shot_min * isos / _NOMINAL_ISO
    read = exp(relation.slope * log(shot) + relation.bias + relation.spread * spread)
    span = _SPAN_WHITE
    return Sensors(isos, shot * span, np.sqrt(read) * span, 0.0, 0.0, 0.0, span, 2 * span)


def with_levels(sensors: Sensors, levels: int) -> Sensors:
    """Put sensors behind a converter of `levels` steps from black to white; 0 keeps their own."""
    if not levels:
        return sensors
    share = levels / (sensors.white - sensors.black)
    black = max(1, round(sensors.black * share)) if sensors.black else 0
    return sensors._replace(
        gain=sensors.gain * share,
        gaussian_sigma=sensors.gaussian_sigma * share,
        tukey_scale=sensors.tukey_scale * share,
        row_sigma=sensors.row_sigma * share,
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
