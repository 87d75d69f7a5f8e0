"""Transfer curves of 8-bit values and scene-linear light, tables of float64 rounded once."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import f64, i32
from .compiling.compile import kernel, scalar
from .develop import ENCODE_CELLS
from .numbers.elementary import exp2, log2

FloatArray = npt.NDArray[np.float64]

DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`

SRGB_TOE = 0.055
"""a of sRGB's transfer function, 1.055 x^(1/2.4) - .055."""


class Toe(NamedTuple):
    """A transfer function's dark end, as sRGB's: a line, then (1 + a) x^(1/2.4) - a."""

    a: float
    slope: float  # of the line
    end: float  # log2 of the light at which it ends


def toe_of(a: float) -> Toe:
    """Return the toe whose line meets the curve as its tangent; sRGB's rounded numbers for its a.

    Examples
    --------
    >>> toe = toe_of(0.04)
    >>> round(255 * toe.slope * 2**toe.end, 1)  # the level at which the line ends
    7.3
    """
    if a == SRGB_TOE:
        return Toe(a, 12.92, math.log2(0.0031308))
    encoded_end = a / 1.4
    end = 2.4 * math.log2((encoded_end + a) / (1 + a))
    return Toe(a, encoded_end / 2**end, end)


def srgb_to_linear(encoded: FloatArray) -> FloatArray:
    """Apply the inverse transfer function of sRGB (IEC 61966-2-1), [0, 1] to [0, 1]."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
"""Weights of linear sRGB (IEC 61966-2-1)."""
LUMA = np.array([0.299, 0.587, 0.114])
"""Weights of encoded R, G, B (ITU-R BT.601)."""
LEVEL_LIGHT = srgb_to_linear(np.arange(256) / 255)
"""Linear light of the 256 levels of sRGB."""
CURVE_LEVELS = 0, 16, 32, 64, 128, 192, 236, 255
"""Levels of the normal whose light a curve says."""
# Of each level: between which of those it lies, and how far.
_SECTION = np.searchsorted(CURVE_LEVELS[1:-1], np.arange(256), side="right")
_PASSED = (np.arange(256) - np.take(CURVE_LEVELS, _SECTION)) / np.diff(CURVE_LEVELS)[_SECTION]
_AT_ONCE = 512  # tables


def linear_to_srgb(linear: FloatArray) -> FloatArray:
    """Apply the transfer function of sRGB (IEC 61966-2-1), [0, 1] to [0, 1]."""
    return np.where(
        linear <= 0.0031308,
        linear * 12.92,
        1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055,
    )


def tone_curve(encoded: FloatArray, strength: float) -> FloatArray:
    """Apply a tone curve: (1-t) x + t (3x^2 - 2x^3).

    It does nothing for strength 0, and is the smoothstep of Brooks et al. (CVPR 2019) for 1.
    """
    return (1 - strength) * encoded + strength * (3 - 2 * encoded) * encoded**2


def inverse_tone_curve(shown: FloatArray, strength: float) -> FloatArray:
    """Find the x in [0, 1] whose `tone_curve` is `shown`, by bisection to its last bit."""
    low, high = np.zeros_like(shown), np.ones_like(shown)
    for _ in range(60):
        middle = (low + high) / 2
        above = tone_curve(middle, strength) > shown
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


def linear_tables(
    tone: FloatArray, gamma: FloatArray, exponent: FloatArray, shoulder: FloatArray
) -> npt.NDArray[np.float32]:
    """Return the scene-linear light (N, 256) of the 256 levels of photographs, by arrays (N).

    The steps are inverse tone curve, then inverse sRGB transfer (or a plain gamma), and what the
    photograph's own camera did to light, undone: y (1 + shoulder y^2) of y = x^exponent.
    """
    tables = np.empty((len(tone), 256), np.float32)
    for first in range(0, len(tone), _AT_ONCE):
        rows = slice(first, first + _AT_ONCE)
        ways = zip(tone[rows].tolist(), gamma[rows].tolist(), strict=True)
        light = np.stack([_light_of_levels(*way) for way in ways])
        powers, bend = exponent[rows, None], shoulder[rows, None]
        # The inverse of black is found 2^-61 above it, and a power below 1 would make that visible.
        light = np.power(light, powers, out=light, where=(powers != 1) & (np.arange(256) > 0))
        tables[rows] = light * (1 + bend * light * light)
    return tables


def between_nodes(at: FloatArray, nodes: FloatArray, values: FloatArray) -> FloatArray:
    """Return what lies on lines between nodes, flat beyond them (..., N, M).

    at: array (M). nodes: array (N, K); of nodes that do not rise, the first counts. values: array
    (..., N, K).
    """
    widths = np.diff(nodes)
    rises = np.where(widths > 0, np.diff(values), 0.0)
    passed = (at - nodes[:, :-1, None]) / np.where(widths > 0, widths, 1.0)[:, :, None]
    passed = passed.clip(0.0, 1.0)
    made = np.repeat(values[..., :1], len(at), axis=-1)
    for k in range(widths.shape[1]):
        made += rises[..., k, None] * passed[:, k]
    return made


def curve_tables(lights: FloatArray) -> npt.NDArray[np.float32]:
    """Return the light (N, 256) of the 256 levels, of that at CURVE_LEVELS (N, 8)."""
    values = np.maximum.accumulate(linear_to_srgb(lights), axis=1)
    rises = np.diff(values)
    starts = np.cumsum(np.column_stack([values[:, :1], rises]), axis=1)
    tables = srgb_to_linear(starts[:, _SECTION] + rises[:, _SECTION] * _PASSED)
    return tables.astype(np.float32, order="C")


@lru_cache(maxsize=64)
def _light_of_levels(tone: float, gamma: float) -> FloatArray:
    encoded = np.arange(256) / 255
    encoded = inverse_tone_curve(encoded, tone) if tone else encoded
    return encoded**gamma if gamma else srgb_to_linear(encoded)


@kernel
def _log_squares(count):
    """Return log2 of (i / (count - 1))^2, i from 1 on; the first is nobody's."""
    logs = np.zeros(count)
    for i in range(1, count):
        logs[i] = 2.0 * log2(f64(i) / (count - 1))
    return logs


@lru_cache(maxsize=1)
def log_light() -> FloatArray:
    """Return log2 of the light of the encoding table's places; 0 for the first, which is dark."""
    logs: FloatArray = _log_squares(ENCODE_CELLS)
    logs.flags.writeable = False
    return logs


@scalar
def encoded(log_light, contrast, tone, gamma, toe):
    """Return the encoded value of light, given as log2.

    The steps are contrast exponent, sRGB transfer with such a toe (or a plain gamma), tone curve.
    """
    light = contrast * log_light
    straight = gamma == 0.0 and light <= toe.end
    power = exp2(light if straight else light * (1.0 / (gamma if gamma != 0.0 else 2.4)))
    curve = power if gamma != 0.0 else (1.0 + toe.a) * power - toe.a
    x = toe.slope * power if straight else curve
    return (1.0 - tone) * x + tone * (3.0 - 2.0 * x) * (x * x)


@scalar
def rounded(value, scale):
    """Round to a whole number of steps, `scale` of which are 1."""
    return i32(np.rint(scale * value))


@kernel
def _encode(log_light, contrast, tone, toe):
    """Return encoded light whose log2 is `log_light` (N); the first is dark."""
    values = np.zeros(log_light.shape[0])
    for i in range(1, values.shape[0]):
        values[i] = encoded(log_light[i], contrast, tone, 0.0, toe)
    return values


def encoding(contrast: float = 1.0, tone: float = 0.0) -> FloatArray:
    """Return sRGB values in [0, 1] of linear light (i / (ENCODE_CELLS - 1))^2; see `encoded`."""
    return _encode(log_light(), float(contrast), float(tone), toe_of(SRGB_TOE))


def encode_table(contrast: float = 1.0, tone: float = 0.0) -> npt.NDArray[np.uint8]:
    """Return `encoding` as 8-bit levels."""
    return np.rint(255 * encoding(contrast, tone)).astype(np.uint8)
