"""The photon transfer curve of finished lows: noise against level.

It is taken as measured, and as the camera file has it.

A set holds each low's draw, so its noise-free twin can be made. The difference of the two is the
noise that arrived in the low; what should have arrived follows from gain, read and row noise
through white balance, colour matrix, encoding and chroma smoothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..draws.record import CameraDraw, SensorDraw
from ..draws.table import table_of_records
from ..kernels.args import draw_row
from ..kernels.arrays import Pixels
from ..kernels.chroma import blur_weights
from ..kernels.curves import LUMA, encoding
from ..kernels.develop import ENCODE_CELLS
from ..kernels.exposure import Matrix
from ..models import render

FloatArray = npt.NDArray[np.float64]

EDGES = (2, 3, 4, 6, 8, 11, 15, 21, 29, 40, 56, 78, 109, 152, 212)
"""Bins of the noise-free level of green."""
_SAMPLES = 20_000
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
    quiet = {
        "camera.sensor.gain": 1e-4,
        "camera.sensor.read_scale": 0.0,
        "camera.sensor.row_sigma": 0.0,
        "camera.sensor.black": 0,
        "camera.sensor.white": 2**22 - 1,
        "isp.demosaic": "none",
    }
    clean = render(normal, draw.changed(quiet)).reshape(-1, 3)
    step = max(1, len(clean) // _SAMPLES)
    clean = clean[::step]
    noise = low.reshape(-1, 3)[::step, _GREEN].astype(np.float64) - clean[:, _GREEN]
    expected = expected_variance(clean, draw)
    level = clean[:, _GREEN].astype(np.float64)
    reach = _CLEAR * np.sqrt(expected)
    usable = (
        (clean.min(axis=1) > 0)
        & (clean.max(axis=1) < 255)
        & (level > reach)
        & (level + reach < 255)
    )
    points = []
    for a, b in pairwise(EDGES):
        here = usable & (level >= a) & (level < b)
        count = int(here.sum())
        if count:
            points.append(
                TransferPoint(
                    draw.camera.name,
                    draw.camera.iso,
                    float(level[here].mean()),
                    float((noise[here] ** 2).mean()),
                    float(expected[here].mean()),
                    count,
                )
            )
    return points


def expected_variance(clean: Pixels, draw: CameraDraw) -> FloatArray:
    """Return the variance of green that the draw's sensor gives noise-free pixels (N, 3).

    It is in levels^2, both roundings to levels included.
    """
    row = draw_row(table_of_records([draw]).draws[0])
    curve = encoding(row.isp_contrast, row.tone, row.gamma) * 255
    light_of_cell = (np.arange(ENCODE_CELLS) / (ENCODE_CELLS - 1)) ** 2
    light = np.interp(np.arange(256), curve, light_of_cell)
    slope = 1 / np.gradient(light)  # levels per linear light
    to_srgb = np.array([getattr(row, f"srgb_{name}") for name in Matrix._fields], np.float64)
    to_srgb = to_srgb.reshape(3, 3)
    gains = np.array([row.red_gain, row.green_gain, row.blue_gain], dtype=np.float64)
    sensor = draw.camera.sensor
    span = sensor.white - sensor.black
    signal = np.maximum(light[clean] @ np.linalg.inv(to_srgb).T / gains * span, 0)  # DN
    read = sensor.read_scale**2 * _read_variance(sensor)
    variance = (sensor.gain * signal + read + sensor.row_sigma**2 + 1 / 12) * (gains / span) ** 2
    if draw.isp.demosaic == "binned":
        variance[:, _GREEN] /= 2
    mixed = slope[clean][:, :, None] * to_srgb  # (N, 3, 3): level of channel i per camera channel j
    luma = LUMA @ mixed  # (N, 3)
    chroma = mixed[:, _GREEN] - luma
    once, twice = _kept(draw)
    total: FloatArray = ((luma**2 + 2 * once * luma * chroma + twice * chroma**2) * variance).sum(
        axis=1
    ) + 1 / 6
    return total


def _kept(draw: CameraDraw) -> tuple[float, float]:
    """Return what stays of white chroma noise at its own pixel, and what stays of its variance."""
    strength = draw.isp.chroma.strength
    if not strength:
        return 1.0, 1.0
    half = blur_weights(draw.isp.chroma.sigma).astype(np.float64)
    line = np.concatenate([half[:0:-1], half])
    centre, square = half[0] ** 2, float((line**2).sum()) ** 2
    return (
        1 - strength + strength * centre,
        (1 - strength) ** 2 + 2 * (1 - strength) * strength * centre + strength**2 * square,
    )


def _read_variance(sensor: SensorDraw) -> float:
    """Return the variance of the read noise's distribution at scale 1.

    The Tukey-lambda one's is found by its quantile function on a fine grid.
    """
    if sensor.read_noise == "gaussian":
        return 1.0
    u = (np.arange(200_000) + 0.5) / 200_000
    shape = sensor.read_shape
    quantile = np.log(u / (1 - u)) if shape == 0 else (u**shape - (1 - u) ** shape) / shape
    return float((quantile**2).mean())


def pooled(points: Iterable[TransferPoint]) -> list[TransferPoint]:
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
    """Return how much noise was measured over what was expected, in variance, over all pixels."""
    weight = sum(point.pixels for point in points)
    return sum(point.measured / point.expected * point.pixels for point in points) / weight
