"""Transfer curves between 8-bit values and scene-linear light, as tables: computed in float64,
rounded once."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .chroma import UNIT
from .compiling.compile import kernel
from .develop import ENCODE_CELLS
from .numbers.elementary import exp2, log2

FloatArray = npt.NDArray[np.float64]

_LOG2_TOE = math.log2(0.0031308)  # below it the transfer function of sRGB is a straight line


def srgb_to_linear(encoded: FloatArray) -> FloatArray:
    """Inverse transfer function of sRGB (IEC 61966-2-1), [0, 1] to [0, 1]."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
"""Of linear sRGB (IEC 61966-2-1)."""
LEVEL_LIGHT = srgb_to_linear(np.arange(256) / 255)
"""Linear light of the 256 levels of sRGB."""


def linear_to_srgb(linear: FloatArray) -> FloatArray:
    """Transfer function of sRGB (IEC 61966-2-1), [0, 1] to [0, 1]."""
    return np.where(
        linear <= 0.0031308,
        linear * 12.92,
        1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055,
    )


def tone_curve(encoded: FloatArray, strength: float) -> FloatArray:
    """(1-t) x + t (3x^2 - 2x^3): nothing for strength 0, the smoothstep of Brooks et al. (CVPR
    2019) for 1."""
    return (1 - strength) * encoded + strength * (3 - 2 * encoded) * encoded**2


def inverse_tone_curve(shown: FloatArray, strength: float) -> FloatArray:
    """The x in [0, 1] whose `tone_curve` is `shown`, by bisection to the last bit of the float64
    interval."""
    low, high = np.zeros_like(shown), np.ones_like(shown)
    for _ in range(60):
        middle = (low + high) / 2
        above = tone_curve(middle, strength) > shown
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


@lru_cache(maxsize=64)
def linear_table(tone: float, gamma: float = 0.0) -> npt.NDArray[np.float32]:
    """Scene-linear light of the 256 levels of a photograph: inverse tone curve, then inverse sRGB
    transfer (or a plain gamma)."""
    encoded = np.arange(256) / 255
    encoded = inverse_tone_curve(encoded, tone) if tone else encoded
    table = (encoded**gamma if gamma else srgb_to_linear(encoded)).astype(np.float32)
    table.flags.writeable = False
    return table


@kernel
def _log_squares(logs):
    """Fill `logs` (N) with log2 of (i / N)^2, i from 1 on."""
    for i in range(logs.shape[0]):
        logs[i] = 2.0 * log2((i + 1.0) / logs.shape[0])


@lru_cache(maxsize=1)
def _log_light() -> FloatArray:
    """log2 of the linear light of the encoding table's places after the first, which is dark."""
    logs = np.empty(ENCODE_CELLS - 1)
    _log_squares(logs)
    return logs


@kernel
def _encode(log_light, contrast, gamma, encoded):
    """Fill `encoded` (N) with the sRGB transfer (or a plain gamma) of light whose log2 is
    `contrast` times `log_light` (N)."""
    slope = 1.0 / (gamma if gamma != 0.0 else 2.4)
    for i in range(encoded.shape[0]):
        light = contrast * log_light[i]
        toe = gamma == 0.0 and light <= _LOG2_TOE
        power = exp2(light if toe else light * slope)
        curve = power if gamma != 0.0 else 1.055 * power - 0.055
        encoded[i] = 12.92 * power if toe else curve


def encoding(contrast: float, tone: float, gamma: float = 0.0) -> FloatArray:
    """Encoded values in [0, 1] of linear light (i / (ENCODE_CELLS - 1))^2: contrast exponent, sRGB
    transfer (or a plain gamma), tone curve.
    """
    encoded = np.zeros(ENCODE_CELLS)
    _encode(_log_light(), float(contrast), float(gamma), encoded[1:])
    return tone_curve(encoded, tone) if tone else encoded


def encode_table(contrast: float, tone: float, gamma: float = 0.0) -> npt.NDArray[np.uint8]:
    """`encoding` as 8-bit levels."""
    return np.rint(255 * encoding(contrast, tone, gamma)).astype(np.uint8)


def fine_table(contrast: float, tone: float, gamma: float = 0.0) -> npt.NDArray[np.int16]:
    """`encoding` in the UNITs of `chroma`."""
    return np.rint(UNIT * encoding(contrast, tone, gamma)).astype(np.int16)
