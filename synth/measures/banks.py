"""Banks of features for the classifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels.arrays import FloatArray
from .all_statistics import TONE_LABELS
from .noise_statistics import NOISE_LABELS

_REGISTRATION = ("shift", "detail")
_NOISE = (*NOISE_LABELS, "correlation_rg", "correlation_gb", "zeros")
_TONE = (
    "mean",
    "exposure_ev",
    "field_ev",
    "low_grid_ev",
    "normal_grid_ev",
    "scale",
    "exponent",
    *(name for name in TONE_LABELS if name not in _REGISTRATION),
)
BANKS = {
    "noise": _NOISE,
    "tone": _TONE,
    "noise and tone": _NOISE + _TONE,
    "registration": _REGISTRATION,
}
"""The statistics of each bank, by its name; those of one's own filters are no statistics."""


def columns(rows: Sequence[dict[str, float]], names: Sequence[str]) -> FloatArray:
    """Return some statistics of images as an array (images, names), NaN where one has none."""
    return np.array([[row.get(name, np.nan) for name in names] for row in rows], np.float64)
