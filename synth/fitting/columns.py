"""The parameters that are fitted to each pair, as columns of an array, and as a recipe's values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..camera.recipe import CameraRecipe
from ..kernels.arrays import FloatArray
from ..kernels.curves import CURVE_LEVELS
from ..kernels.exposure import GUIDES
from ..parameters.schema import within_of

CHANNELS = "red", "green", "blue"
PAIRS = "red_green", "green_blue", "red_blue"

COLUMNS = (
    "exposure.ev",
    "highlights.sigma_ev",
    "white_balance.error_ev.0",
    "white_balance.error_ev.1",
    "tone.exponent",
    *(f"tone.curve.{channel}.{k}" for channel in CHANNELS for k in range(len(CURVE_LEVELS))),
    *(
        f"noise.{part}.{channel}"
        for part in ("offset", "read", "shot", "tail", "rows")
        for channel in CHANNELS
    ),
    *(f"noise.correlation.{pair}" for pair in PAIRS),
    *(f"noise.grain.{channel}.{axis}" for channel in CHANNELS for axis in ("across", "down")),
    "noise.kurtosis",
    "illumination.smooth.sigma_ev",
    "degradations.shift.length",
    "degradations.jpeg.quality",
    *(f"illumination.scene_light.undone.{k}" for k in range(GUIDES)),
    "illumination.scene.strength",
    "illumination.scene_light.grid.sigma_ev",
)
GRID_CELLS = 3
"""Of the grid of light, along each side, whose spread is fitted."""
NODES = 0.0, 1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 14.0, 25.0, 45.0, 90.0, 180.0
"""Of the curve of noise: light, in levels of the straight part."""
NEUTRAL = np.array([float(name == "tone.exponent") for name in COLUMNS])
"""Parameters that change nothing."""
_PLACES = {name: place for place, name in enumerate(COLUMNS)}


def column_indices(*names: str) -> list[int]:
    """Return the indices of columns; `noise.read` means its three channels."""
    return [
        place
        for name in names
        for path, place in _PLACES.items()
        if path == name or path.startswith(f"{name}.")
    ]


def clip_to_bounds(values: FloatArray) -> FloatArray:
    """Return values (N, C) cut to the bounds of recipes."""
    bounds = [within_of(CameraRecipe, path) for path in COLUMNS]
    return np.clip(values, [b.low for b in bounds if b], [b.high for b in bounds if b])


@dataclass(frozen=True)
class Shared:
    """Parameters that all pairs share.

    toe: of the lows' curve. curve: float array (3, 12), the log of noise at `NODES` of light, over
    that of read and shot noise. share: float array (3), of the samples that have a tail.
    skewness, kurtosis: like `curve`; what is added to one, and the log of the other's factor.
    """

    toe: float
    curve: FloatArray = field(default_factory=lambda: np.zeros((3, len(NODES))))
    share: FloatArray = field(default_factory=lambda: np.full(3, 0.1))
    skewness: FloatArray = field(default_factory=lambda: np.zeros((3, len(NODES))))
    kurtosis: FloatArray = field(default_factory=lambda: np.zeros((3, len(NODES))))


def recipe_values(shared: Shared, *, uneven: bool = False) -> dict[str, Any]:
    """Return the values common to all pairs, nested as in a recipe.

    uneven: whether their light depends on place and lightness.
    """
    made: dict[str, Any] = {
        "tone": {"toe": shared.toe},
        "noise": {
            "tail_share": dict(zip(CHANNELS, np.round(shared.share, 4).tolist(), strict=True))
        },
    }
    if shared.curve.any():
        curve, skewness, kurtosis = (
            {name: np.round(one, 4).tolist() for name, one in zip(CHANNELS, many, strict=True)}
            for many in (shared.curve, shared.skewness, shared.kurtosis)
        )
        made["noise"]["curve"] = {"light": list(NODES)} | curve
        if shared.skewness.any():
            made["noise"]["curve"] |= {"skewness": skewness, "kurtosis": kurtosis}
    if uneven:
        made["illumination"] = {"scene_light": {"grid": {"cells": GRID_CELLS, "levels": 2}}}
    return made


def recipe_of_columns(values: FloatArray, shared: Shared) -> CameraRecipe:
    """Return the recipe that has constants (C) for parameters."""
    some = fitted(values)
    row = {"columns": [COLUMNS[i] for i in some], "rows": [values[some].tolist()]}
    made = recipe_values(shared, uneven=is_uneven(values)) | {"together": {"pair": row}}
    return CameraRecipe.model_validate(made)


def fitted(values: FloatArray) -> list[int]:
    """Return the exposure's and all columns of values (..., C) that some pair has.

    Others are free to be changed.
    """
    some = (values.reshape(-1, len(COLUMNS)) != NEUTRAL).any(axis=0)
    return sorted({*column_indices("exposure.ev"), *np.flatnonzero(some).tolist()})


def is_uneven(values: FloatArray) -> bool:
    """Return whether parameters (..., C) have light by lightness."""
    return bool(values[..., column_indices("illumination.scene_light")].any())
