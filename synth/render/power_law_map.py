"""Maps of a low of the power_law model by its draw: see `noise_map`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels.arrays import Pixels, Window, window_of
from ..kernels.curves import encoding, srgb_to_linear
from ..kernels.demosaic import BILINEAR, BORDER
from ..kernels.level_moments import fill_encoded
from ..kernels.moments import ROUNDING
from ..power_law_model import PowerLawDraw, curve_table
from .mosaic_noise import demosaic_weights, demosaiced
from .noise_map import NoiseMap, as_rounded, lights_of_levels, quadrature
from .window import cut


def power_law_map(
    normal: Pixels, draw: PowerLawDraw, window: Window | None = None, lit_as: Pixels | None = None
) -> NoiseMap:
    """Return what a draw knows of a low, or a window of it; see `render_power_law`.

    There is no field of light: NaN. Raises ValueError as `render_power_law` does.
    """
    window = window_of(normal, window)
    table = curve_table(normal if lit_as is None else lit_as, draw)
    levels, noise = 255 * encoding(1.0, 0.0), draw.noise
    clean: npt.NDArray[Any]
    variances: npt.NDArray[Any]
    raw = noise.space == "raw" and not noise.silent
    values = srgb_to_linear(table) if raw else table
    scattered = noise.variance + noise.deviation**2 + (noise.deviation_per_light * values) ** 2
    scattered += values / noise.peak if noise.peak else 0.0
    if raw:
        levels = as_rounded(levels)
        wide = np.pad(normal, ((BORDER, BORDER), (BORDER, BORDER), (0, 0)), "edge")
        wide = np.moveaxis(wide, 2, 0)
        weights = demosaic_weights(BILINEAR)
        raw_light = demosaiced(values.astype(np.float32)[wide], weights)
        of_light = demosaiced(scattered.astype(np.float32)[wide], weights**2)
        clean, variances = np.empty_like(of_light), np.empty_like(of_light)
        curve = levels.astype(np.float32), *quadrature()
        fill_encoded(raw_light, of_light, curve, clean, variances)
        clean, variances, light = (np.moveaxis(one, 0, 2) for one in (clean, variances, raw_light))
    else:
        clean, variances = (255 * values)[normal], (255 * 255 * scattered)[normal]
        light = srgb_to_linear(table)[normal]
    variances = variances + ROUNDING
    in_light = np.sqrt(variances) * lights_of_levels(levels)[np.rint(clean).astype(np.uint8)]
    whole = Window(0, 0, *normal.shape[:2])
    maps = clean, light, np.sqrt(variances), in_light, np.full(normal.shape[:2], np.nan)
    return NoiseMap(*(np.asarray(cut(one, whole, window), np.float32) for one in maps))
