"""Real pairs to fit to; lows without normals get a brightened, denoised stand-in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from ...errors import SourceError
from ...manifests.images.decode import read_rgb
from ...manifests.images.jpeg import jpeg_quality
from ...manifests.sources.folders import image_pairs
from ...storage.untrusted import read_regular
from ..analysis.all_statistics import middle
from ..kernels.arrays import Pixels
from ..kernels.curves import LEVEL_LIGHT, LUMINANCE, linear_to_srgb

MOST = 200
"""Pairs that are read."""
SIDE = 512
"""Pixels: of larger images the middle is taken."""
_LEAST = 64
_GREY = 0.18
_BRIGHT = 0.35  # median mean of lows, sRGB, from which on they are no lows
_BLUR = 2.0


@dataclass(frozen=True)
class Pair:
    """A real pair: uint8 arrays (H, W, 3), and its name.

    Without a real normal, `normal` is the low as a smooth and bright picture, and `known` false.
    quality: of a low that is a JPEG, 1 to 100 of libjpeg's scale; 0 of others.
    """

    key: str
    low: Pixels
    normal: Pixels
    known: bool = True
    quality: int = 0


def read_pairs(lows: Path, normals: Path | None) -> list[Pair]:
    """Read at most 200 pairs of two folders, evenly spread.

    Raises
    ------
    SourceError
        When images are missing, damaged, too small, of unlike sizes or have no partner; when the
        lows are brighter than their normals, or without normals as bright as daylight.
    """
    pairs, paths = [], []
    for key, low_path, normal_path in image_pairs(lows, normals, MOST):
        low, quality = _read(low_path), jpeg_quality(read_regular(low_path))
        paths.append(low_path)
        if normal_path is None:
            pairs.append(Pair(key, low, as_normal(low), known=False, quality=quality))
            continue
        normal = _read(normal_path)
        if low.shape != normal.shape:
            raise SourceError(f"{low_path}: its normal has another size", path=low_path)
        pairs.append(Pair(key, low, normal, quality=quality))
    means = [(pair.low.mean() / 255, pair.normal.mean() / 255) for pair in pairs]
    low_mean, normal_mean = np.median(means, axis=0)
    if normals is None and low_mean > _BRIGHT:
        raise SourceError(
            f"{lows}: its images have a mean of {low_mean:.2f} of white: daylight. Noise of the"
            " dark cannot be known from them; name dark ones, or their normals too",
            path=lows,
        )
    if normals is not None and low_mean > 1.2 * normal_mean:
        raise SourceError(
            f"{lows}: its images are brighter than those of {normals}: name the lows first",
            path=lows,
        )
    for pair, path in zip(pairs, paths, strict=True):
        if (least := min(pair.low.shape[:2])) < _LEAST:  # of the middle of larger images
            raise SourceError.at(
                path, f"its shorter side has {least} pixels; {_LEAST} are the least"
            )
    if max(float(pair.low.std(axis=(0, 1)).max()) for pair in pairs) < 0.3:
        raise SourceError(
            f"{lows}: its images have one value each, or nearly so: there is nothing to fit",
            path=lows,
        )
    return pairs


def as_normal(low: Pixels) -> Pixels:
    """Return a low without its noise, brightened to a mean of middle grey."""
    light = cv2.GaussianBlur(LEVEL_LIGHT[low], (0, 0), _BLUR)
    mean = max(float((light @ LUMINANCE).mean()), 1e-5)
    shown: Pixels = np.rint(255 * linear_to_srgb(np.minimum(light * _GREY / mean, 1))).astype(
        np.uint8
    )
    return shown


def _read(path: Path) -> Pixels:
    return middle(read_rgb(path), SIDE)
