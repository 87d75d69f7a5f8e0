"""Camera files: what a calibration holds, checked when it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from ...errors import ConfigError
from ...manifests.config import load_yaml, validated


class GainFit(BaseModel):
    """ln(sigma) = slope ln(K) + bias + N(0, spread)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slope: float
    bias: float
    spread: float = Field(ge=0)


class ByGain(BaseModel):
    """Noise as a function of the system gain K.

    The logarithm of K goes from `ln_k_min` to `ln_k_max`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    ln_k_min: float
    ln_k_max: float
    shape: float = Field(alias="lambda")
    read: GainFit
    tukey: GainFit
    row: GainFit


class Relation(BaseModel):
    """ln(read) = slope ln(shot) + bias + N(0, spread).

    These are the variances of a heteroscedastic model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    shot_min: float = Field(gt=0)
    shot_max: float = Field(gt=0)
    slope: float
    bias: float
    spread: float = Field(ge=0)


class Calibration(BaseModel):
    """A camera of a camera file, in one of its four forms.

    The head of `sensors.yaml` says what each number is.

    by_iso: rows of ISO, K, sigma_read, sigma_tukey, lambda, sigma_row. heteroscedastic: rows of
    ISO, shot, read.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str = ""
    black: int = Field(default=0, ge=0)
    white: int = Field(default=0, ge=0)
    by_iso: tuple[tuple[float, float, float, float, float, float], ...] = ()
    heteroscedastic: tuple[tuple[float, float, float], ...] = ()
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
        if (
            isos != sorted(set(isos))
            or any(row[1] <= 0 for row in self.rows)
            or (isos and isos[0] <= 0)
        ):
            raise ValueError(
                f"{forms[0]}: ISOs must be above 0 and rise from row to row, gains must be above 0"
            )
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

    Raises
    ------
    ConfigError
        When it cannot be read, or has no `cameras`.
    """
    cameras = load_yaml(path).get("cameras")
    if not isinstance(cameras, dict) or not cameras:
        raise ConfigError(
            f"{path}: has no cameras; write them as in gloam's own camera file, below the key"
            " cameras",
            path=path,
        )
    return {
        str(name): validated(Calibration, entry, f"{path}: {name}").model_dump(mode="json")
        for name, entry in cameras.items()
    }
