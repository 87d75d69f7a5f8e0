"""Columns of the table of all that is measured: what of a pair, its name, and its unit.

Built-in ones are measured together, as they share what takes long. Another is one function:

    @statistic("EV", bank="tone")
    def blue_cast(low, normal):
        "Blue over green, low over normal."
        return ...

From then on `gloam.stats`, `report`, `realism`, `fit` and `judge` have a column `blue_cast`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..kernels.arrays import FloatArray, Pixels
from .noise_and_tone import (
    NOISE_LABELS,
    TONE_LABELS,
    noise_statistics,
    smooth_places,
    tone_statistics,
)
from .pair_statistics import (
    LABELS,
    SIDE,
    Scene,
    flattest,
    low_statistics,
    middle,
    noise,
    pair_statistics,
    scene_of,
)

Statistic = Callable[[Pixels, Pixels | None], float]
Rows = Sequence[dict[str, float]]
_REGISTRATION = ("shift", "detail")
_NOISE = (*NOISE_LABELS, "correlation_rg", "correlation_gb", "zeros")
_TONE = (
    *("mean", "exposure_ev", "field_ev", "low_grid_ev", "normal_grid_ev", "scale", "exponent"),
    *(name for name in TONE_LABELS if name not in _REGISTRATION),
)
ALL_LABELS = LABELS | NOISE_LABELS | TONE_LABELS
"""Every column, and what it is called in print, with its unit."""
BANKS = {
    "noise": _NOISE,
    "tone": _TONE,
    "noise and tone": _NOISE + _TONE,
    "registration": _REGISTRATION,
}
"""The columns of each bank of features that a classifier tells lows by."""
ADDED: dict[str, Statistic] = {}
"""The functions of columns that are not built in, by name."""


def statistic(unit: str = "", *, bank: str = "tone") -> Callable[[Statistic], Statistic]:
    """Add a function as a column: its name is the column's, its docstring what is printed.

    It takes a low and its normal, uint8 arrays (H, W, 3), RGB (None of a low alone), and returns a
    number, or NaN. Jobs take it along to workers, so that it has to be a function of a module.

    unit: as it is printed. bank: "noise", "tone" or "registration", see `BANKS`.

    Examples
    --------
    >>> @statistic("of 255")
    ... def brightest(low, normal):
    ...     "Largest sample of the low."
    ...     return float(low.max())
    >>> ALL_LABELS["brightest"], "brightest" in all_statistics(np.zeros((60, 60, 3), np.uint8))
    ('Largest sample of the low, of 255', True)
    """

    def add(function: Statistic) -> Statistic:
        name = function.__name__
        said = (function.__doc__ or name).strip().splitlines()[0].rstrip(".")
        ALL_LABELS[name] = f"{said}, {unit}" if unit else said
        for own in (bank, "noise and tone") if bank != "registration" else (bank,):
            BANKS[own] = (*(one for one in BANKS[own] if one != name), name)
        ADDED[name] = function
        return function

    return add


def all_statistics(low: Pixels, normal: Pixels | Scene | None = None) -> dict[str, float]:
    """Measure all columns of a pair, or of a low alone.

    low, normal: uint8 arrays (H, W, 3), RGB; or the normal's `Scene`, of several lows.

    Returns a dict by the names of `ALL_LABELS`; NaN where an image is too small or too black for
    one. Raises ValueError when the sizes differ.
    """
    scene = None if normal is None else scene_of(normal)
    pixels = None if scene is None else scene.pixels
    added = {name: float(function(low, pixels)) for name, function in ADDED.items()}
    part = middle(low, SIDE)
    if scene is None:
        found = low_statistics(low) | noise(low, flattest(low))
        return found | noise_statistics(part, smooth_places(part, None)) | added
    found = pair_statistics(low, scene) | noise_statistics(part, scene.middle.smooth)
    return found | tone_statistics(part, scene.middle.pixels) | added


def columns(rows: Rows, names: Iterable[str]) -> FloatArray:
    """Return some columns of images as an array (images, names), NaN where one has none."""
    names = list(names)
    found = [[row.get(name, np.nan) for name in names] for row in rows]
    return np.array(found, np.float64).reshape(len(found), len(names))


def statistic_rows(
    tables: Sequence[Mapping[str, Any]],
    names: Iterable[str],
    cell: Callable[[Any], str],
    own: int = 1,
) -> list[tuple[str, list[str]]]:
    """Return the rows of a view: the label of each column, and its cell in each table.

    tables: each with values by columns' names, as `summary` returns them. names: columns, of which
    those are left out that none of the first `own` tables has. cell: writes a value, or None.
    """
    return [
        (ALL_LABELS[name], [cell(table.get(name)) for table in tables])
        for name in names
        if any(name in table for table in tables[:own])
    ]
