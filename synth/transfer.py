"""Transfer curves between 8-bit values and scene-linear light, as tables: computed in float64, rounded once."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .chroma import UNIT
from .pixels import ENCODE_CELLS

FloatArray = npt.NDArray[np.float64]


def srgb_to_linear(encoded: FloatArray) -> FloatArray:
    """Inverse transfer function of sRGB (IEC 61966-2-1), [0, 1] to [0, 1]."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
"""Of linear sRGB (IEC 61966-2-1)."""
LEVEL_LIGHT = srgb_to_linear(np.arange(256) / 255)
"""Linear light of the 256 levels of sRGB."""


def linear_to_srgb(linear: FloatArray) -> FloatArray:
    """Transfer function of sRGB (IEC 61966-2-1), [0, 1] to [0, 1]."""
    return np.where(linear <= 0.0031308, linear * 12.92, 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055)


def tone_curve(encoded: FloatArray, strength: float) -> FloatArray:
    """(1-t) x + t (3x^2 - 2x^3): nothing for strength 0, the smoothstep of Brooks et al. (CVPR 2019) for 1."""
    return (1 - strength) * encoded + strength * (3 - 2 * encoded) * encoded**2


def inverse_tone_curve(shown: FloatArray, strength: float) -> FloatArray:
    """The x in [0, 1] whose `tone_curve` is `shown`, by bisection to the last bit of the float64 interval."""
    low, high = np.zeros_like(shown), np.ones_like(shown)
    for _ in range(60):
        middle = (low + high) / 2
        above = tone_curve(middle, strength) > shown
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


@lru_cache(maxsize=64)
def linear_table(tone: float, gamma: float = 0.0) -> npt.NDArray[np.float32]:
    """Scene-linear light of the 256 levels of a photograph: inverse tone curve, then inverse sRGB transfer (or a plain gamma)."""
    encoded = np.arange(256) / 255
    encoded = inverse_tone_curve(encoded, tone) if tone else encoded
    table = (encoded**gamma if gamma else srgb_to_linear(encoded)).astype(np.float32)
    table.flags.writeable = False
    return table


@lru_cache(maxsize=1)
def _log_light() -> FloatArray:
    """log2 of the linear light of the encoding table's places after the first, which is dark."""
    return 2 * np.log2(np.arange(1, ENCODE_CELLS) / (ENCODE_CELLS - 1))


def encoding(contrast: float, tone: float, gamma: float = 0.0) -> FloatArray:
    """Encoded values in [0, 1] of linear light (i / (ENCODE_CELLS - 1))^2: contrast exponent, sRGB transfer (or a plain gamma),
    tone curve.
    """
    log_light = contrast * _log_light()
    encoded = np.zeros(ENCODE_CELLS)
    if gamma:
        encoded[1:] = np.exp2(log_light / gamma)
    else:
        encoded[1:] = 1.055 * np.exp2(log_light / 2.4) - 0.055  # one exponential instead of two powers
        toe = 1 + int(np.searchsorted(log_light, math.log2(0.0031308), side="right"))
        encoded[1:toe] = 12.92 * np.exp2(log_light[: toe - 1])
    return tone_curve(encoded, tone) if tone else encoded


def encode_table(contrast: float, tone: float, gamma: float = 0.0) -> npt.NDArray[np.uint8]:
    """`encoding` as 8-bit levels."""
    return np.rint(255 * encoding(contrast, tone, gamma)).astype(np.uint8)


def fine_table(contrast: float, tone: float, gamma: float = 0.0) -> npt.NDArray[np.int16]:
    """`encoding` in the UNITs of `chroma`."""
    return np.rint(UNIT * encoding(contrast, tone, gamma)).astype(np.int16)
