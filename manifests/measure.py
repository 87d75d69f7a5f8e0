"""What is measured of a candidate, on a small copy of it."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from .decoding import Pixels
from .images import decode_small, read_header
from .superpixels import bright_share

SIDE = 120
"""Longer side, in pixels, of the copy that is measured: a quarter of 500, which JPEG decoders reduce by at no cost."""
_CLIPPED = 250
_DARK = 26  # 0.1 of 255
_HASH_SIDE = 32


@dataclass(frozen=True)
class Measures:
    """Measurements of one photograph, of its copy with a longer side of `SIDE` (never enlarged).

    Attributes
    ----------
    width, height : int
        Pixels of the photograph as stored.
    mean : float
        Mean luma (Rec. 601, sRGB-encoded), 0 to 1.
    clipped : float
        Share of pixels whose luma is at least 250 of 255.
    dark : float
        Share of pixels whose luma is below 0.1.
    bright : float
        Share of superpixels (SLIC) whose mean luma is at least 0.25.
    laplacian : float
        Variance of the 4-neighbour Laplacian of 8-bit luma; low when blurred.
    colourfulness : float
        Hasler and Suesstrunk, "Measuring colourfulness in natural images", SPIE 5007 (2003): 0 grey, 109 extremely colourful.
    perceptual_hash : int
        64 bits: signs of the lowest 8 x 8 DCT coefficients of the 32 x 32 luma against their median.
    """

    width: int
    height: int
    mean: float
    clipped: float
    dark: float
    bright: float
    laplacian: float
    colourfulness: float
    perceptual_hash: int

    def values(self) -> tuple[float | int, ...]:
        """The measurements in the order of `FIELDS`."""
        return astuple(self)


FIELDS = tuple(field.name for field in fields(Measures))


def measure(data: bytes, max_pixels: int) -> Measures:
    """Measure a photograph.

    Parameters
    ----------
    data : bytes
        A JPEG, PNG, TIFF, BMP or WebP file.
    max_pixels : int
        Refuse images with more.

    Raises
    ------
    gloam.manifests.errors.ImageRefused
        When it cannot be decoded.
    """
    header = read_header(data, max_pixels)
    small = _reduce(decode_small(data, header, SIDE))
    luma: Any = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)
    count = luma.size
    histogram = np.bincount(luma.ravel(), minlength=256)
    levels = np.arange(256)
    return Measures(
        width=header.width,
        height=header.height,
        mean=float(histogram @ levels) / (255 * count),
        clipped=float(histogram[_CLIPPED:].sum()) / count,
        dark=float(histogram[:_DARK].sum()) / count,
        bright=bright_share(small, luma),
        laplacian=_variance(luma),
        colourfulness=_colourfulness(small),
        perceptual_hash=_perceptual_hash(luma),
    )


def _reduce(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    share = SIDE / max(height, width)
    if share >= 1:
        return pixels
    size = (max(1, round(width * share)), max(1, round(height * share)))
    return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)  # type: ignore[return-value]


def _variance(luma: Pixels) -> float:
    _, deviation = cv2.meanStdDev(cv2.Laplacian(luma, cv2.CV_16S))
    return float(deviation[0, 0]) ** 2


def _colourfulness(rgb: Pixels) -> float:
    red, green, blue = cv2.split(rgb)
    red_green = cv2.subtract(red, green, dtype=cv2.CV_16S)
    # 2 (yellow - blue), kept whole: red + green - 2 blue.
    twice_yellow_blue = cv2.subtract(cv2.add(red, green, dtype=cv2.CV_16S), cv2.add(blue, blue, dtype=cv2.CV_16S))
    mean_rg, std_rg = (float(v[0, 0]) for v in cv2.meanStdDev(red_green))
    mean_yb, std_yb = (float(v[0, 0]) / 2 for v in cv2.meanStdDev(twice_yellow_blue))
    return float(np.hypot(std_rg, std_yb) + 0.3 * np.hypot(mean_rg, mean_yb))


def _perceptual_hash(luma: npt.NDArray[np.uint8]) -> int:
    small = cv2.resize(luma, (_HASH_SIDE, _HASH_SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
    low = cv2.dct(small)[:8, :8].ravel()[1:]  # without the mean
    bits = np.concatenate([[False], low > np.median(low)])
    return int.from_bytes(np.packbits(bits).tobytes(), "big")
