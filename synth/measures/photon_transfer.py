"""The photon transfer curve of finished lows: noise against level.

It is taken as measured, and as the camera file has it.

A set holds each low's draw, and `render.maps` its noise-free picture and the noise that should
have arrived: from gain, read and row noise through white balance, colour matrix, encoding and
chroma smoothing. The difference of low and picture is the noise that did.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..draws.record import CameraDraw
from ..kernels.arrays import Pixels, Window
from ..models import LowMaker
from ..render.on_cpu import cut

EDGES = (2, 3, 4, 6, 8, 11, 15, 21, 29, 40, 56, 78, 109, 152, 212)
"""Bins of the noise-free level of green."""
_SAMPLES = 20_000  # of a pair, in rows of its middle
_GREEN = 1
_CLEAR = 3.0  # standard deviations from black or white at which clipping no longer counts


@dataclass(frozen=True)
class TransferPoint:
    """Noise of green in one bin of levels, over pixels of equal camera and ISO."""

    camera: str
    iso: float
    level: float  # mean noise-free level, of 255
    measured: float  # variance in levels^2
    expected: float  # variance in levels^2
    pixels: int


def transfer_points(low: Pixels, normal: Pixels, draw: CameraDraw) -> list[TransferPoint]:
    """Measure the points of one pair.

    There are none of a demosaiced one, whose noise is not white, where noise is known by pictures
    and not the sensor's, and where a fixed pattern or JPEG changed it.

    low, normal: uint8 arrays (H, W, 3). draw: of the pair.
    """
    if draw.isp.demosaic not in ("binned", "none") or draw.noise is not None:
        return []
    degraded = draw.degradations
    if degraded is not None and (
        degraded.jpeg.quality or degraded.fixed_pattern.columns or degraded.fixed_pattern.hot_share
    ):
        return []
    height, width = low.shape[:2]
    rows = min(height, max(2, _SAMPLES // width))
    window = Window((height - rows) // 4 * 2, 0, rows, width)  # even, for a mosaic's sake
    known = LowMaker([draw]).maps(0, normal, ("clean", "noise"), window)
    clean = known["clean"].reshape(-1, 3)
    level = clean[:, _GREEN].astype(np.float64)
    noise = cut(low, Window(0, 0, height, width), window).reshape(-1, 3)[:, _GREEN] - level
    expected = known["noise"].reshape(-1, 3)[:, _GREEN].astype(np.float64) ** 2
    reach = _CLEAR * np.sqrt(expected)
    usable = (
        (clean.min(axis=1) >= 0.5)
        & (clean.max(axis=1) < 254.5)
        & (level > reach)
        & (level + reach < 255)
    )
    points = []
    for a, b in pairwise(EDGES):
        here = usable & (level >= a) & (level < b)
        count = int(here.sum())
        if count:
            mean, measured, wanted = (
                float(values[here].mean()) for values in (level, noise**2, expected)
            )
            own = draw.camera.name or "", draw.camera.iso or 0.0
            points.append(TransferPoint(*own, mean, measured, wanted, count))
    return points


def pool_points(points: Iterable[TransferPoint]) -> list[TransferPoint]:
    """Join the points of many pairs by camera, ISO and bin."""
    groups: dict[tuple[str, float, int], list[TransferPoint]] = {}
    for point in points:
        bin_number = int(np.searchsorted(EDGES, point.level, side="right"))
        groups.setdefault((point.camera, point.iso, bin_number), []).append(point)
    joined = []
    for (camera, iso, _), group in sorted(groups.items()):
        weights = np.array([point.pixels for point in group], dtype=np.float64)
        table = np.array([[point.level, point.measured, point.expected] for point in group])
        level, measured, expected = (weights @ table / weights.sum()).tolist()
        joined.append(TransferPoint(camera, iso, level, measured, expected, int(weights.sum())))
    return joined


def by_sensor(points: list[TransferPoint]) -> dict[tuple[str, float], list[TransferPoint]]:
    """Group points by camera and ISO, those with the most pixels first, six at most."""
    groups: dict[tuple[str, float], list[TransferPoint]] = {}
    for point in points:
        groups.setdefault((point.camera, point.iso), []).append(point)
    order = sorted(groups, key=lambda sensor: -sum(point.pixels for point in groups[sensor]))
    return {sensor: groups[sensor] for sensor in sorted(order[:6])}


def transfer_ratio(points: list[TransferPoint]) -> float:
    """Return measured over expected noise variance, over all pixels."""
    weight = sum(point.pixels for point in points)
    return sum(point.measured / point.expected * point.pixels for point in points) / weight
