"""From a normal and a draw of the power_law model to the low."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..kernels.arrays import Pixels, check_normal
from ..kernels.curves import encode_table, srgb_to_linear
from ..kernels.numbers.poisson import poisson_alias_table
from ..kernels.numbers.quantiles import normal_quantile, scaled
from ..kernels.power_law import add_noise, round_levels, through_mosaic
from .draw import PowerLawDraw

_U32 = 0xFFFFFFFF


def render_power_law(normal: Pixels, draw: PowerLawDraw) -> Pixels:
    """Make the low of a pair: a pure function.

    Parameters
    ----------
    normal : uint8 array (H, W, 3)
        RGB, the stored normal as decoded.
    draw : PowerLawDraw

    Returns
    -------
    uint8 array (H, W, 3)
        RGB.
    """
    check_normal(normal)
    height, width = normal.shape[:2]
    curve = curve_table(normal, draw)
    if not (draw.peak or draw.variance or draw.deviation or draw.deviation_per_light):
        plain: Pixels = np.rint(255 * curve).astype(np.uint8)[normal]
        return plain
    noise = np.array(
        [draw.peak, draw.variance + draw.deviation**2, draw.deviation_per_light], dtype=np.float32
    )
    seeds = np.uint32(draw.pixel_seed & _U32), np.uint32(draw.pixel_seed >> 32)
    tables = scaled(normal_quantile(), 1.0), poisson_alias_table()
    low = np.empty((height, width, 3), np.uint8)
    if draw.space == "srgb":
        values = curve.astype(np.float32)[normal.ravel()]
        add_noise(values, np.uint32(0), *seeds, noise, *tables)
        round_levels(values, low.reshape(-1))
    else:
        light = srgb_to_linear(curve).astype(np.float32)
        through_mosaic(
            np.ascontiguousarray(normal), light, *seeds, noise, *tables, encode_table(1.0, 0.0), low
        )
    return low


def curve_table(normal: Pixels, draw: PowerLawDraw) -> npt.NDArray[np.float64]:
    """Darkened values in [0, 1] of the 256 levels of a photograph."""
    x = np.arange(256) / 255
    if draw.stretch == "range":
        least, most = int(normal.min()) / 255, int(normal.max()) / 255
        x = np.clip((x - least) / ((most - least) or 1.0), 0, 1)
    table: npt.NDArray[np.float64] = np.clip(draw.beta * (draw.alpha * x) ** draw.gamma, 0, 1)
    return table
