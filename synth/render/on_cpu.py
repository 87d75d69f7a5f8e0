"""The camera model on the CPU: a normal and a draw become a low.

See docs/recipes.md for the model, `kernels.camera` for its loops.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..camera.illumination import CHANNEL_LIGHT, cell_luminance, exposure_of, illumination_rows
from ..degradations.draw import JpegSetting, jpeg, jpeg_span
from ..draws.table import DrawTable
from ..kernels.arrays import Pixels, Window, grown, read_only, window_of
from ..kernels.camera import Tables, expose_and_develop
from ..kernels.chroma import taken_at_once
from ..kernels.curves import log_light
from ..kernels.degradations.blur import find_lamps, spread_light
from ..kernels.demosaic import BILINEAR, BORDER
from ..kernels.emitters import LAMP
from ..kernels.illumination import CELLS
from ..kernels.numbers.quantiles import normal_quantile, scaled
from ..kernels.numbers.shot_and_read_noise import poisson_alias_table

_DARK = np.zeros((CELLS, CELLS))


def render_window(
    normal: Pixels,
    table: DrawTable,
    number: int,
    window: Window | None = None,
    lit_as: Pixels | None = None,
) -> Pixels:
    """Make the low of a pair, or a window of it: a pure function of pixels and draw.

    normal: uint8 array (H, W, 3), RGB, the stored normal as decoded; at least 1 x 1, below 2^30
      pixels.
    table, number: draws, and which of them.
    window: what of the low is made; by default all of it. It costs about its share of the pixels.
    lit_as: uint8 array (H, W, 3), the image that lights and the scene's own light are placed by,
      instead of the normal: the first frame of its clip.

    Returns uint8 array (H, W, 3), or the window's height and width, RGB. Raises ValueError when the
    normal is not a uint8 array (H, W, 3), or empty, or larger than the sample index counts; or the
    window does not lie within it.
    """
    window, normal = window_of(normal, window), read_only(normal)
    (height, width), draw = normal.shape[:2], table.draws[number]
    setting = JpegSetting(int(draw["degradations_jpeg_quality"]), bool(draw["halved"]))
    blur = table.blur[number, : taken_at_once(int(draw["taps"]))]
    made = jpeg_span(window, height, width, setting)
    span = span_of(made, height, width, len(blur))
    low = np.empty((span.height, span.width, 3), np.uint8)
    light = _light_of(normal, span, table, number, normal if lit_as is None else lit_as)
    noise = table.read, table.grains, table.curves, _unit_gaussian(), poisson_alias_table()
    tables = Tables(*noise, log_light(), blur)
    expose_and_develop(normal, low, span, light, (table.draws, number), tables)
    return cut(jpeg(cut(low, span, made), setting), made, window)


@lru_cache(maxsize=1)
def _unit_gaussian() -> npt.NDArray[np.float32]:
    """Return the quantile polynomial of the standard normal distribution."""
    return scaled(normal_quantile(), 1.0)


def _light_of(
    normal: Pixels, span: Window, table: DrawTable, number: int, lit_as: Pixels
) -> tuple[npt.NDArray[np.float32], ...]:
    """Return the light that a span becomes, as `kernels.camera.expose_and_develop` takes it."""
    (height, width), draw, draw_of = normal.shape[:2], table.draws[number], (table.draws, number)
    first, spread = draw["linear"], draw["spread"]
    linear = table.linear[first : first + 2 * draw["linear_apart"] + 1].reshape(-1)
    illumination, cast = illumination_rows(lit_as, table, number)
    lit = np.empty((3, height * width if spread else 0), np.float32)
    if spread:
        first, count = draw["first_emitter"], draw["emitters_count"]
        lamps = np.empty((count, LAMP), np.float32)
        if count:
            luminance = cell_luminance(lit_as) if draw["exposure_by_brightness"] else _DARK
            emitters, exposure_ev = (
                table.emitters[first : first + count],
                exposure_of(luminance, draw),
            )
            pixels = read_only(lit_as)
            find_lamps(pixels, CHANNEL_LIGHT, emitters, draw_of, exposure_ev, lamps)
        places = slice(draw["first_spread"], draw["first_spread"] + spread)
        own = table.spread_places[places], table.spread_weights[places]
        part = grown(span, BORDER if draw["method"] >= BILINEAR else 0, height, width)
        spread_light(normal, (linear, lamps, illumination, cast), draw_of, own, part, lit)
    return linear, illumination, cast, lit


def cut(pixels: Any, own: Window, window: Window) -> Any:
    """Return a window of a picture, of which there is its `own` part, as a view."""
    top, left = window.top - own.top, window.left - own.left
    return pixels[top : top + window.height, left : left + window.width]


def span_of(window: Window, height: int, width: int, taps: int) -> Window:
    """Return the area of a picture that a window of its low depends on.

    It is the window, what the chroma noise reduction sees around it, and an even top and left, at
    which a mosaic begins.
    """
    span = grown(window, max(taps - 1, 0), height, width)
    odd, beside = span.top & 1, span.left & 1
    return Window(span.top - odd, span.left - beside, span.height + odd, span.width + beside)
