"""Camera files: the schema of calibrations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from ...errors import ConfigError
from ...manifests.config import Frozen, Numbers, load_yaml, validate


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
