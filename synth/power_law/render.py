"""From a normal and a draw of the power_law model to the low."""

from __future__ import annotations

import numpy as np

from ..degradations.draw import HALVED, JpegSetting, jpeg
from ..kernels.arrays import FloatArray, Pixels, Window, check_normal, check_window, read_only
from ..kernels.curves import encode_table, srgb_to_linear
from ..kernels.numbers.poisson_table import poisson_alias_table
from ..kernels.numbers.quantiles import normal_quantile, scaled
from ..kernels.numbers.random_bits import pixel_seed
from ..kernels.power_law import EncodedNoise, add_noise, round_levels, through_mosaic
from .draw import PowerLawDraw


def render_power_law(
    normal: Pixels, draw: PowerLawDraw, window: Window | None = None, lit_as: Pixels | None = None
) -> Pixels:
    """Make the low of a pair, or a window of it: a pure function.

    normal: uint8 array (H, W, 3), RGB, the stored normal as decoded.
    window: what of the low is returned; all of it is made.
    lit_as: uint8 array (H, W, 3), the image that is stretched to its range, instead of the normal:
      the first frame of its clip.

    Returns uint8 array (H, W, 3), or the window's height and width, RGB. Raises ValueError when the
    normal is not a uint8 array (H, W, 3), or the window does not lie within it.
    """
    check_normal(normal)
    height, width = normal.shape[:2]
    window = window or Window(0, 0, height, width)
    check_window(window, height, width)
    low = _darkened(normal, draw, curve_table(normal if lit_as is None else lit_as, draw))
    if (last := draw.degradations) is not None:
        low = jpeg(low, JpegSetting(last.jpeg.quality, last.jpeg.chroma == HALVED))
    top, left = window.top, window.left
    return low[top : top + window.height, left : left + window.width]


def _darkened(normal: Pixels, draw: PowerLawDraw, curve: FloatArray) -> Pixels:
    height, width = normal.shape[:2]
    if draw.noise.silent:
        plain: Pixels = np.rint(255 * curve).astype(np.uint8)[normal]
        return plain
    noise = EncodedNoise(
        np.float32(draw.noise.peak),
        np.float32(draw.noise.variance + draw.noise.deviation**2),
        np.float32(draw.noise.deviation_per_light),
        scaled(normal_quantile(), 1.0),
        poisson_alias_table(),
        pixel_seed(draw.pixel_seed),
    )
    low = np.empty((height, width, 3), np.uint8)
    if draw.noise.space == "srgb":
        values = curve.astype(np.float32)[normal.ravel()]
        add_noise(values, np.uint32(0), noise)
        round_levels(values, low.reshape(-1))
    else:
        light = srgb_to_linear(curve).astype(np.float32)
        through_mosaic(read_only(normal), light, noise, encode_table(1.0, 0.0), low)
    return low


def curve_table(normal: Pixels, draw: PowerLawDraw) -> FloatArray:
    """Return the darkened values in [0, 1] of the 256 levels of a photograph."""
    x = np.arange(256) / 255
    if draw.curve.stretch == "range":
        least, most = int(normal.min()) / 255, int(normal.max()) / 255
        x = np.clip((x - least) / ((most - least) or 1.0), 0, 1)
    curve = draw.curve
    return np.clip(curve.beta * (curve.alpha * x) ** curve.gamma, 0, 1)
