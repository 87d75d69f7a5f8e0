"""The camera model: a normal and a draw become a low.

See docs/architecture.md for the model, `kernels.camera` for its loops.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..degradations.draw import JpegDraw
from ..degradations.jpeg import jpeg, jpeg_span
from ..degradations.spread import Spread, spread_of
from ..kernels.arrays import Pixels, Window, check_normal, check_window
from ..kernels.camera import expose_and_develop
from ..kernels.chroma import blur_weights
from ..kernels.curves import encode_table, fine_table, linear_table
from ..kernels.degradations.blur import spread_light
from ..kernels.degradations.pattern import Pattern
from ..kernels.demosaic import BILINEAR, BORDER, METHODS
from ..kernels.develop import ENCODE_CELLS, Colour, Development
from ..kernels.exposure import Bands, Exposure, Matrix, Scene
from ..kernels.numbers.poisson_table import poisson_alias_table
from ..kernels.numbers.quantiles import (
    Coefficients,
    normal_pair_quantile,
    normal_quantile,
    scaled,
    tukey_lambda_pair_quantile,
    tukey_lambda_quantile,
)
from ..kernels.numbers.random_bits import pixel_seed
from ..kernels.sensor import Noise, Sensor
from .draw import CameraDraw, SensorDraw
from .illumination import Field, field_of, illumination_rows

_NO_TABLE, _NO_FINE_TABLE = np.zeros(ENCODE_CELLS, np.uint8), np.zeros(ENCODE_CELLS, np.int16)
_NO_BLUR = np.empty(0, np.float32)


N = TypeVar("N", bound=Any)


def render_camera(
    normal: Pixels,
    draw: CameraDraw,
    window: Window | None = None,
    lit_as: Pixels | None = None,
) -> Pixels:
    """Make the low of a pair, or a window of it: a pure function, the same bytes on every machine.

    Parameters
    ----------
    normal : uint8 array (H, W, 3)
        RGB, the stored normal as decoded; at least 1 x 1, below 2^30 pixels.
    draw : CameraDraw
    window : Window, optional
        What of the low is made; by default all of it. It costs about its share of the pixels.
    lit_as : uint8 array (H, W, 3), optional
        The image that lights and the scene's own light are placed by, instead of the normal: the
        first frame of its clip.

    Returns
    -------
    uint8 array (H, W, 3), or the window's height and width
        RGB.

    Raises
    ------
    ValueError
        When the normal is not a uint8 array (H, W, 3), or empty, or larger than the sample index
        counts; or the window does not lie within it.
    """
    return take(normal, shot_of(draw), window, lit_as)


class Shot(NamedTuple):
    """One image's parameters as kernels take them.

    Attributes
    ----------
    field : Field
    linear : float32 array (256)
        Light of each level.
    spread : Spread
    exposure : Exposure
    bands : Bands
    sensor : Sensor
    pattern : Pattern
    development : Development
    jpeg : JpegDraw, optional
    """

    field: Field
    linear: npt.NDArray[np.float32]
    spread: Spread
    exposure: Exposure
    bands: Bands
    sensor: Sensor
    pattern: Pattern
    development: Development
    jpeg: JpegDraw | None


def shot_of(draw: CameraDraw) -> Shot:
    """Return a draw as kernels take it."""
    exposure, colour = optics(draw)
    return Shot(
        field_of(draw),
        linear_table(draw.tone.strength, draw.tone.exponent),
        spread_of(draw.degradations),
        exposure,
        bands(draw),
        sensor(draw),
        pattern(draw),
        development(draw, colour),
        None if draw.degradations is None else draw.degradations.jpeg,
    )


def take(
    normal: Pixels, shot: Shot, window: Window | None = None, lit_as: Pixels | None = None
) -> Pixels:
    """Make the low of a pair, or a window of it; see `render_camera`."""
    check_normal(normal)
    normal = np.ascontiguousarray(normal)
    height, width = normal.shape[:2]
    if window is None:
        window = Window(0, 0, height, width)
    check_window(window, height, width)
    made = jpeg_span(window, height, width, shot.jpeg)
    span = _span_of(made, height, width, shot.development.blur)
    low = np.empty((span.height, span.width, 3), np.uint8)
    scene = _scene(normal, span, shot, normal if lit_as is None else lit_as)
    expose_and_develop(normal, low, span, scene, shot.sensor, shot.pattern, shot.development)
    return cut(jpeg(cut(low, span, made), shot.jpeg), made, window)


def cut(pixels: Pixels, own: Window, window: Window) -> Pixels:
    """Return a window of a picture, of which there is its `own` part, as a view."""
    top, left = window.top - own.top, window.left - own.left
    return pixels[top : top + window.height, left : left + window.width]


def _scene(normal: Pixels, span: Window, shot: Shot, lit_as: Pixels) -> Scene:
    """Return the light that a span of a photograph becomes."""
    height, width = normal.shape[:2]
    linear, spread, exposure = shot.linear, shot.spread, shot.exposure
    lit = np.empty((3, height * width if len(spread.weights) else 0), np.float32)
    if len(spread.weights):
        border = BORDER if shot.sensor.method >= BILINEAR else 0
        top, left = max(span.top - border, 0), max(span.left - border, 0)
        bottom = min(span.top + span.height + border, height)
        right = min(span.left + span.width + border, width)
        part = Window(top, left, bottom - top, right - left)
        spread_light(normal, linear, exposure.highlights, *spread, part, lit)
        exposure = exposure._replace(highlights=np.float32(0))
    return Scene(linear, *illumination_rows(lit_as, shot.field), exposure, shot.bands, lit)


def bands(draw: CameraDraw) -> Bands:
    """Return the bands of a picture as kernels take them."""
    own = None if draw.degradations is None else draw.degradations.banding
    if own is None:
        return Bands(np.float32(0), np.float32(0), np.float32(0))
    return Bands(np.float32(own.depth), np.float32(own.bands), np.float32(own.phase))


def pattern(draw: CameraDraw) -> Pattern:
    """Return a sensor's fixed pattern as kernels take it."""
    own = None if draw.degradations is None else draw.degradations.fixed_pattern
    if own is None:
        return Pattern(
            False,
            *(np.float32(0), np.uint32(0), np.float32(0), np.float32(0)),
            pixel_seed(0),
            unit_gaussian(),
        )
    gain = draw.camera.sensor.gain
    return Pattern(
        patterned(own.columns, own.hot_share),
        np.float32(gain * own.columns),
        np.uint32(own.hot_share * 2.0**32),
        np.float32(gain * own.hot),
        np.float32(draw.camera.sensor.white) - np.float32(draw.camera.sensor.black),
        pixel_seed(own.seed),
        unit_gaussian(),
    )


def patterned(columns: float, hot_share: float) -> bool:
    """Return whether a sensor has a fixed pattern."""
    return columns > 0 or hot_share > 0


@lru_cache(maxsize=1)
def unit_gaussian() -> npt.NDArray[np.float32]:
    """Return the quantile polynomial of the standard normal distribution."""
    return scaled(normal_quantile(), 1.0)


def _span_of(window: Window, height: int, width: int, blur: npt.NDArray[np.float32]) -> Window:
    """Return what has to be made of a picture so that a window of it is right.

    It is the window, what the chroma noise reduction sees around it, and an even top and left, at
    which a mosaic begins.
    """
    reach = max(len(blur) - 1, 0)
    top, left = (max(first - reach, 0) & ~1 for first in (window.top, window.left))
    bottom = min(window.top + window.height + reach, height)
    right = min(window.left + window.width + reach, width)
    return Window(top, left, bottom - top, right - left)


def sensor(draw: CameraDraw) -> Sensor:
    """Return the sensor as kernels take it."""
    body = draw.camera.sensor
    return Sensor(
        METHODS[draw.isp.demosaic],
        np.float32(body.gain),
        np.float32(body.black),
        np.float32(body.white),
        np.float32(body.row_sigma),
        pixel_seed(draw.pixel_seed),
        Noise(*read_noise(body), unit_gaussian(), poisson_alias_table()),
    )


def read_noise(sensor: SensorDraw) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return quantile polynomials of a site's read noise, and of the sum of two."""
    one, pair = read_forms(sensor.read_noise == "gaussian", sensor.read_shape)
    return scaled(one, sensor.read_scale), scaled(pair, sensor.read_scale)


def read_forms(gaussian: bool, shape: float) -> tuple[Coefficients, Coefficients]:
    """Return the same for a form of read noise at scale 1."""
    if gaussian:
        return normal_quantile(), normal_pair_quantile()
    return tukey_lambda_quantile(shape), tukey_lambda_pair_quantile(shape)


def development(draw: CameraDraw, colour: Colour) -> Development:
    """Return what becomes of samples, as kernels take it."""
    chroma = draw.isp.chroma
    curve = draw.isp.contrast, shown_tone(draw), draw.tone.exponent
    blur = blur_weights(chroma.sigma) if chroma.strength > 0 else _NO_BLUR
    return developed(colour, curve, blur, chroma.strength)


def developed(
    colour: Colour,
    curve: tuple[float, float, float],
    blur: npt.NDArray[np.float32],
    strength: float,
) -> Development:
    """Return the same of contrast, tone and exponent, and of the chroma noise reduction's blur."""
    smooth = len(blur) > 0
    return Development(
        colour,
        _NO_TABLE if smooth else encode_table(*curve),
        fine_table(*curve) if smooth else _NO_FINE_TABLE,
        blur,
        np.float32(strength),
    )


def shown_tone(draw: CameraDraw) -> float:
    """Return the strength of the tone curve on the way out."""
    return draw.tone.strength if draw.tone.applied == "both" else 0.0


def optics(draw: CameraDraw) -> tuple[Exposure, Colour]:
    """Return how the camera sees light and makes colours: computed in float64, rounded once.

    In plain numbers: a LAPACK's last bits depend on the machine.
    """
    balance, matrix, body = draw.white_balance, draw.camera.matrix, draw.camera.sensor
    gains = balance.red, 1.0, balance.blue
    errors = 2.0 ** balance.error_ev[0], 1.0, 2.0 ** balance.error_ev[1]
    # Plain division keeps highlights neutral here. Brooks et al. divide clipped light by less,
    # which holds its colour only when it is clipped again on the way out; in the dark it would turn
    # magenta. `highlights.ev` brightens it instead.
    to_camera = [matrix[i] / gains[i // 3] for i in range(9)]
    # A gain below 1 would lift white above what the sensor holds; its exposure is such that the
    # brightest colour just fits.
    a, b, c, d, e, f, g, h, i = (max(value, 0.0) for value in to_camera)
    headroom = max(1.0, a + b + c, d + e + f, g + h + i)
    exposure = Exposure(
        Matrix(*(np.float32(value / headroom) for value in to_camera)),
        np.float32((body.white - body.black) / body.gain),
        np.float32(2**draw.highlights.ev - 1),
    )
    red, green, blue = (
        np.float32(gain * error * headroom * 2**draw.isp.digital_gain_ev)
        for gain, error in zip(gains, errors, strict=True)
    )
    colour = Colour(
        np.float32(body.black),
        np.float32(body.white),
        red,
        green,
        blue,
        Matrix(*map(np.float32, inverse(matrix))),
    )
    return exposure, colour


def inverse(matrix: Iterable[N]) -> list[N]:
    """Return the inverse of a 3 x 3 matrix, row by row, by its adjugate.

    Its nine entries are numbers, or arrays of those of many matrices.
    """
    a, b, c, d, e, f, g, h, i = matrix
    cofactors = e * i - f * h, f * g - d * i, d * h - e * g
    scale = 1 / (a * cofactors[0] + b * cofactors[1] + c * cofactors[2])
    rows = (
        (cofactors[0], c * h - b * i, b * f - c * e),
        (cofactors[1], a * i - c * g, c * d - a * f),
        (cofactors[2], b * g - a * h, a * e - b * d),
    )
    return [scale * value for row in rows for value in row]
