"""The parameters that are fitted to each pair, as columns of an array, and as a recipe's values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..camera.recipe import CameraRecipe
from ..kernels.arrays import FloatArray
from ..kernels.exposure import GUIDES
from ..parameters.schema import within_of

CHANNELS = "red", "green", "blue"
PAIRS = "red_green", "green_blue", "red_blue"

COLUMNS = (
    "exposure.ev",
    "white_balance.error_ev.0",
    "white_balance.error_ev.1",
    "tone.exponent",
    "tone.shoulder",
    *(
        f"noise.{part}.{channel}"
        for part in ("offset", "read", "shot", "tail", "rows")
        for channel in CHANNELS
    ),
    *(f"noise.correlation.{pair}" for pair in PAIRS),
    "noise.grain.across",
    "noise.grain.down",
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
TAIL_SHARE = 0.1
"""Of the samples: with its mean, skewness alone does not tell it."""
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


def recipe_values(toe: float, *, uneven: bool = False) -> dict[str, Any]:
    """Return the values common to all pairs, nested as in a recipe.

    uneven: whether their light depends on place and lightness.
    """
    made: dict[str, Any] = {
        "tone": {"toe": toe},
        "noise": {"tail_share": dict.fromkeys(CHANNELS, TAIL_SHARE)},
    }
    if uneven:
        made["illumination"] = {"scene_light": {"grid": {"cells": GRID_CELLS, "levels": 2}}}
    return made


def recipe_of_columns(values: FloatArray, toe: float) -> CameraRecipe:
    """Return the recipe that has constants (C) for parameters."""
    row = {"columns": COLUMNS, "rows": [values.tolist()]}
    made = recipe_values(toe, uneven=is_uneven(values)) | {"together": {"pair": row}}
    return CameraRecipe.model_validate(made)


def is_uneven(values: FloatArray) -> bool:
    """Return whether parameters (..., C) have light by lightness."""
    return bool(values[..., column_indices("illumination.scene_light")].any())
