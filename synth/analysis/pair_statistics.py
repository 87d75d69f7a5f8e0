"""Statistics of low/normal pairs: how dark, how uneven and how noisy they are.

`gloam stats` prints them beside those of real sets.

Every function measures one pair of 8-bit images; `summary` turns many into percentiles. Definitions
follow the measurements of LOL v1 (Wei et al., BMVC 2018) and DICM (Lee, Lee and Kim, 2012) that
stand in `data/reference_statistics.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ...manifests.config import load_yaml
from ..kernels.curves import LEVEL_LIGHT, LUMINANCE

Pixels = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]

PERCENTILES = (5, 50, 95)
GRID = 4
_BLOCK = 50  # pixels, of the power law fit
_FAINTEST = 2.0**-20  # keeps the logarithm of a black cell finite, far below one grey level
_FLATTEST = 0.2

LABELS = {
    "mean": "mean of the low, sRGB 0-1",
    "exposure_ev": "exposure, normal over low, EV",
    "field_ev": "field: std over 4x4 of log2(low / normal), EV",
    "low_grid_ev": "std over 4x4 of log2 luminance, low, EV",
    "normal_grid_ev": "the same of the normal, EV",
    "noise_r": "noise R, of 255",
    "noise_g": "noise G, of 255",
    "noise_b": "noise B, of 255",
    "correlation_rg": "correlation of noise, R-G",
    "correlation_gb": "correlation of noise, G-B",
    "autocorrelation": "lag-1 autocorrelation of noise",
    "zeros": "samples of the low that are 0",
    "scale": "power law low = a normal^b: a",
    "exponent": "power law low = a normal^b: b",
    "flicker_ev": "flicker: std over a clip's frames of its exposure, EV",
    "temporal_correlation": "correlation of noise from frame to frame",
}
"""Every statistic, and what it is called in print; the last two are of clips."""


def pair_statistics(low: Pixels, normal: Pixels) -> dict[str, float]:
    """Measure the statistics of one pair.

    Parameters
    ----------
    low, normal : uint8 arrays (H, W, 3)
        RGB, of equal size.

    Returns
    -------
    dict
        By the names of `LABELS`; NaN where an image is too small or too black for one.

    Raises
    ------
    ValueError
        When the sizes differ.
    """
    if low.shape != normal.shape:
        raise ValueError(
            f"low is {low.shape[1]} x {low.shape[0]}, normal {normal.shape[1]} x {normal.shape[0]}"
        )
    low_light, normal_light = luminance(low), luminance(normal)
    low_grid, normal_grid = log_grid(low_light), log_grid(normal_light)
    ratio = max(float(normal_light.mean()), _FAINTEST) / max(float(low_light.mean()), _FAINTEST)
    values = {
        "mean": float(low.mean()) / 255,
        "exposure_ev": float(np.log2(ratio)),
        "field_ev": float(np.std(low_grid - normal_grid)),
        "low_grid_ev": float(np.std(low_grid)),
        "normal_grid_ev": float(np.std(normal_grid)),
        "zeros": float(np.mean(low == 0)),
    }
    return values | _noise(low, normal) | _power_law(low, normal)


def low_statistics(low: Pixels) -> dict[str, float]:
    """Measure what needs no normal: for folders of real low-light photographs."""
    return {
        "mean": float(low.mean()) / 255,
        "low_grid_ev": float(np.std(log_grid(luminance(low)))),
        "zeros": float(np.mean(low == 0)),
    }


def luminance(pixels: Pixels) -> FloatArray:
    """Return the linear luminance (H, W) in [0, 1] of sRGB pixels (IEC 61966-2-1)."""
    light: FloatArray = LEVEL_LIGHT[pixels] @ LUMINANCE
    return light


def log_grid(light: FloatArray) -> FloatArray:
    """Return log2 of the mean luminance of 4 x 4 parts of an image."""
    height, width = light.shape
    rows = np.linspace(0, height, GRID + 1).astype(int)
    columns = np.linspace(0, width, GRID + 1).astype(int)
    means = [
        [light[a : max(b, a + 1), c : max(d, c + 1)].mean() for c, d in pairwise(columns)]
        for a, b in pairwise(rows)
    ]
    return np.log2(np.maximum(np.array(means), _FAINTEST))


def _noise(low: Pixels, normal: Pixels) -> dict[str, float]:
    """Measure the residual of the low to its own blur (sigma 2), where the normal is flattest.

    That is a fifth of the image.
    """
    values = low.astype(np.float32)
    residual = values - cv2.GaussianBlur(values, (0, 0), 2)
    green = normal[:, :, 1].astype(np.float32)
    mean = cv2.GaussianBlur(green, (0, 0), 2)
    texture = cv2.GaussianBlur(green * green, (0, 0), 2) - mean * mean
    flat = texture <= np.quantile(texture, _FLATTEST)
    noise = residual[flat].astype(np.float64)
    spread = noise.std(axis=0)
    pairs = flat[:, :-1] & flat[:, 1:]
    left, right = residual[:, :-1, 1][pairs], residual[:, 1:, 1][pairs]
    return {
        "noise_r": float(spread[0]),
        "noise_g": float(spread[1]),
        "noise_b": float(spread[2]),
        "correlation_rg": correlation(noise[:, 0], noise[:, 1]),
        "correlation_gb": correlation(noise[:, 1], noise[:, 2]),
        "autocorrelation": correlation(left, right),
    }


def correlation(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Return Pearson's correlation, NaN where one of the two is constant or there are too few."""
    if len(a) < 3:
        return float("nan")
    a, b = a - a.mean(dtype=np.float64), b - b.mean(dtype=np.float64)
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / scale) if scale > 0 else float("nan")


def _power_law(low: Pixels, normal: Pixels) -> dict[str, float]:
    """Fit log low = log a + b log normal by least squares.

    The values are means of 50-pixel blocks of grey, sRGB-encoded.
    """
    height, width = low.shape[0] // _BLOCK, low.shape[1] // _BLOCK
    if height * width < 4:
        return {"scale": float("nan"), "exponent": float("nan")}
    means = []
    for image in (low, normal):
        cut = image[: height * _BLOCK, : width * _BLOCK].mean(axis=2)
        means.append(cut.reshape(height, _BLOCK, width, _BLOCK).mean(axis=(1, 3)).ravel() / 255)
    usable = (means[0] > 0) & (means[1] > 0)
    x, y = np.log(means[1][usable]), np.log(means[0][usable])
    if len(x) < 4 or np.ptp(x) < 1e-6:
        return {"scale": float("nan"), "exponent": float("nan")}
    exponent, scale = np.polyfit(x, y, 1)
    return {"scale": float(np.exp(scale)), "exponent": float(exponent)}


def summary(measured: Iterable[dict[str, float]]) -> dict[str, tuple[float, ...]]:
    """Return percentiles 5, 50 and 95 of every statistic over many pairs, NaNs left out.

    A statistic that nobody has is left out.
    """
    rows = list(measured)
    table = {}
    for name in LABELS:
        values = np.array([row[name] for row in rows if name in row and np.isfinite(row[name])])
        if len(values):
            table[name] = tuple(float(v) for v in np.percentile(values, PERCENTILES))
    return table


@lru_cache(maxsize=1)
def reference_statistics() -> dict[str, dict[str, Any]]:
    """Return published columns to compare with, by the set's name.

    A column has for every known statistic its percentiles or its median alone.
    """
    with resources.as_file(resources.files(__package__) / "reference_statistics.yaml") as path:
        return dict(load_yaml(Path(path)))
