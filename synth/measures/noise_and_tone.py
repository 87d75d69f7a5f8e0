"""Statistics of a low's noise, and of its tone, colour and registration against its normal.

Noise is measured by level and channel, between neighbours, channels, rows, blocks. It is the
residual of a low to its own blur (sigma 2), as in `pair_statistics`, where the scene is smooth. A
blur so narrow takes 3 % of white noise's deviation along.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import cv2
import numpy as np

from ..kernels.arrays import FloatArray, FloatImage, Mask, Pixels
from ..kernels.compiling.compile import kernel
from ..kernels.curves import LEVEL_LIGHT, linear_to_srgb
from .pair_statistics import SMOOTHEST, Scene, block_means, correlation, scene_of

LEVELS = (0, 1, 2, 3, 4, 6, 10, 16, 32, 64, 128, 192, 256)
"""Bounds of the levels of the low, of 255, at which noise is measured."""
_LEVEL_BINS = np.searchsorted(LEVELS[1:-1], np.arange(256), side="right")
CHANNELS = "rgb"
_ENOUGH = 300  # pixels of a level
_BLUR = 2.0
_BLOCK = 8  # pixels, of JPEG
_WIDEST = 2  # columns that neighbours are apart
_FAR = 5.0  # deviations
_UNCUT = slice(LEVELS.index(4), LEVELS.index(64))
"""Levels whose noise black does not cut, and that show little structure."""
_NEIGHBOURS = {
    "row": ("along rows", [(0, 1)]),
    "column": ("along columns", [(1, 0)]),
    "diagonal": ("along diagonals", [(1, 1), (1, -1)]),
    "two": ("two pixels apart along rows", [(0, 2)]),
}
"""Places of neighbours: in words, and by how many rows and columns they are away."""

NOISE_LABELS = {
    "correlation_rb": "correlation of noise, R-B",
    **{
        f"lag_{name}_{channel}": f"correlation of neighbours {where}, {channel.upper()}"
        for name, (where, _) in _NEIGHBOURS.items()
        for channel in CHANNELS
    },
    **{
        f"{name}_{channel}": f"offsets of {name}, of the noise's deviation, {channel.upper()}"
        for name in ("rows", "columns")
        for channel in CHANNELS
    },
    "blocks": "steps at the edges of blocks of 8, over other steps",
    **{
        f"outliers_{channel}": f"samples beyond 5 deviations of noise, of 10,000, {channel.upper()}"
        for channel in CHANNELS
    },
    **{
        f"{name}_{channel}_{least}": (
            f"{what}, {channel.upper()}, level {least} to {most} of the low"
        )
        for name, what in (
            ("deviation", "deviation of noise, of 255"),
            ("skewness", "skewness of noise"),
            ("kurtosis", "excess kurtosis of noise"),
            ("black", "samples that are 0"),
        )
        for channel in CHANNELS
        for least, most in pairwise(LEVELS)
        if name != "black" or most <= 6
    },
}
"""Every statistic of noise, and what it is called in print."""
TONES = (0, 16, 32, 64, 112, 160, 192, 224, 250, 256)
"""Bounds of the levels of the normal, of 255, at which tone is measured."""
MIDDLE = (64, 160)
"""Levels of the normal, of 255, that tone is relative to."""
_TONE_BLOCK = 10  # pixels of a block
_ENOUGH_BLOCKS = 4
_LEAST = 1e-5  # of linear light: a thirtieth of the first level
_LEVEL_LIGHT = LEVEL_LIGHT.astype(np.float32)

TONE_LABELS = {
    "normal_mean": "mean of the normal, sRGB 0-1",
    "balance_red": "white balance: red gained on green, EV",
    "balance_blue": "white balance: blue gained on green, EV",
    "saturation": "saturation, low over normal",
    "shift": "shift of low against normal, pixels",
    "detail": "detail of the low, of the normal's",
    **{
        f"tone_{channel}_{least}": (
            f"tone {channel.upper()} at {least} to {most} of the normal, EV from its middle"
        )
        for channel in CHANNELS
        for least, most in pairwise(TONES)
    },
    **{
        f"spread_{least}": f"spread of the tone at {least} to {most} of the normal, EV"
        for least, most in pairwise(TONES)
    },
}
"""Every statistic of tone, and what it is called in print."""


def smooth_places(low: Pixels, normal: Pixels | Scene | None) -> Mask:
    """Return where a scene is smooth, bool (H, W): its normal, where that is not saturated.

    Without a normal it is the low that is smooth, by a blur that noise hardly passes.
    """
    if normal is not None:
        return scene_of(normal).smooth
    return Scene(np.asarray(cv2.GaussianBlur(low, (0, 0), 3), np.uint8)).flattest(SMOOTHEST)


def noise_statistics(low: Pixels, smooth: Mask) -> dict[str, float]:
    """Measure the noise of a low.

    low: uint8 array (H, W, 3), RGB. smooth: bool array (H, W), its `smooth_places`.

    Returns a dict by the names of `NOISE_LABELS`; NaN where there are too few pixels of a level.
    """
    values = low.astype(np.float32)
    blurred = cv2.GaussianBlur(values, (0, 0), _BLUR)
    residual = cv2.split(values - blurred)  # planes, as every third value is slow to get at
    places = np.flatnonzero(smooth)
    noise = [plane.ravel()[places] for plane in residual]
    levels, samples = (
        np.ascontiguousarray(image.reshape(-1, 3).take(places, 0).T) for image in (blurred, low)
    )
    measured = {"correlation_rb": correlation(noise[0], noise[2]), "blocks": _blocks(values)}
    height, width = smooth.shape
    planes = np.zeros((3, height, width + _WIDEST))
    planes[..., :width] = [np.where(smooth, plane, 0) for plane in residual]
    variances = [float(np.vdot(one, one)) / max(smooth.sum(), 1) for one in planes]
    lags = _lags(planes, variances, smooth)
    for number, channel in enumerate(CHANNELS):
        measured |= {f"lag_{name}_{channel}": found[number] for name, found in lags.items()}
        kept, variance = planes[number, :, :width], variances[number]
        measured[f"rows_{channel}"] = _offsets(kept, variance, smooth)
        measured[f"columns_{channel}"] = _offsets(kept.T, variance, smooth.T)
        measured |= _by_level(noise[number], levels[number], samples[number], channel)
    return measured


@kernel
def _add_moments(noise: Any, level: Any, sample: Any, bins: Any, sums: Any) -> None:
    """Fill sums (6, B) of the noise of each bin of levels, about its mean.

    Its number, square, cube and fourth power, how many are black, and how many are far off.
    """
    means = np.zeros(sums.shape[1])
    for i in range(len(noise)):
        k = bins[np.uint8(level[i])]
        sums[0, k] += 1
        means[k] += noise[i]
    means /= np.maximum(sums[0], 1)
    for i in range(len(noise)):
        k = bins[np.uint8(level[i])]
        apart = noise[i] - means[k]
        square = apart * apart
        sums[1, k] += square
        sums[2, k] += square * apart
        sums[3, k] += square * square
        sums[4, k] += sample[i] == 0
    for i in range(len(noise)):
        k = bins[np.uint8(level[i])]
        apart = noise[i] - means[k]
        sums[5, k] += apart * apart > _FAR * _FAR * sums[1, k] / sums[0, k]


def _by_level(noise: Any, level: FloatImage, sample: Pixels, channel: str) -> dict[str, float]:
    """Return moments of the noise of one channel, by its level."""
    sums = np.zeros((6, len(LEVELS) - 1))
    _add_moments(noise, level, sample, _LEVEL_BINS, sums)
    count, (second, third, fourth, black, far) = sums[0], sums[1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        second, third, fourth = second / count, third / count, fourth / count
        moments = {
            "deviation": np.sqrt(second),
            "skewness": third / second**1.5,
            "kurtosis": fourth / second**2 - 3,
            "black": black / count,
        }
    uncut = count[_UNCUT].sum()
    outliers = 10_000 * float(far[_UNCUT].sum() / uncut) if uncut >= _ENOUGH else float("nan")
    return {f"outliers_{channel}": outliers} | {
        f"{name}_{channel}_{LEVELS[i]}": float(found[i]) if count[i] >= _ENOUGH else float("nan")
        for name, found in moments.items()
        for i in range(len(count))
        if f"{name}_{channel}_{LEVELS[i]}" in NOISE_LABELS
    }


def _lags(noise: FloatArray, variances: list[float], smooth: Mask) -> dict[str, list[float]]:
    """Return the correlations (3) of neighbours where both are smooth; noise is 0 elsewhere.

    noise: float64 array (3, H, W + _WIDEST), so that what is one step on never is in another row.
    """
    (height, width), flat = smooth.shape, noise.reshape(3, -1)
    found = {}
    for name, (_, steps) in _NEIGHBOURS.items():
        products, count = np.zeros(3), 0
        for down, across in steps:
            here = (slice(0, height - down), slice(max(0, -across), width - max(0, across)))
            there = (slice(down, height), slice(max(0, across), width + min(0, across)))
            count += int(np.count_nonzero(smooth[here] & smooth[there]))
            on = down * noise.shape[2] + across
            products += [np.dot(one[: max(len(one) - on, 0)], one[on:]) for one in flat]
        with np.errstate(invalid="ignore", divide="ignore"):
            found[name] = (products / count / variances).tolist()
    return found


def _offsets(noise: FloatArray, variance: float, smooth: Mask) -> float:
    """Return the deviation of rows' own offsets over the noise's, negative below what chance gives.

    Chance gives means of rows a variance; that of offsets is what they have beyond it. The blur
    took 6 % of the variance of white noise along, and 26 % of that of rows.
    """
    count = smooth.sum(axis=1)
    rows = count >= 32
    if rows.sum() < 16 or not variance:
        return float("nan")
    means = noise.sum(axis=1)[rows] / count[rows]
    beyond = float(np.mean(means * means * (0.940 / variance) - 0.742 / count[rows])) / 0.742
    return float(np.sign(beyond) * np.sqrt(abs(beyond)))


def _blocks(values: FloatImage) -> float:
    """Return how much larger steps are at one of eight places of rows and columns than elsewhere.

    Wherever the blocks of a JPEG begin, as its picture may have been cut since.
    """
    found = []
    for image in (values[..., 1], values[..., 1].T):
        steps = np.abs(np.diff(image, axis=1)).mean(axis=0, dtype=np.float64)
        whole = len(steps) // _BLOCK * _BLOCK
        if whole < 4 * _BLOCK:
            return float("nan")
        phases = steps[:whole].reshape(-1, _BLOCK).mean(axis=0)
        others = (phases.sum() - phases.max()) / (_BLOCK - 1)
        found.append(float(phases.max() / others - 1) if others else float("nan"))
    return float(np.mean(found))


def tone_statistics(low: Pixels, normal: Pixels) -> dict[str, float]:
    """Measure the low's tone, colour and registration against its normal.

    low, normal: uint8 arrays (H, W, 3) of equal size, RGB.

    Returns a dict by the names of `TONE_LABELS`; NaN where a picture has too few blocks of a level.
    """
    light, lit = (block_means(cv2.LUT(image, _LEVEL_LIGHT), _TONE_BLOCK) for image in (low, normal))
    level = 255 * linear_to_srgb(np.minimum(lit, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = np.log2(np.maximum(light, _LEAST)) - np.log2(np.maximum(lit, _LEAST))
    measured = {"normal_mean": float(normal.mean()) / 255}
    middles = []
    for number, channel in enumerate(CHANNELS):
        own = level[:, number]
        middles.append(_mean(light, lit, number, (own >= MIDDLE[0]) & (own < MIDDLE[1])))
        for least, most in pairwise(TONES):
            here = (own >= least) & (own < most)
            measured[f"tone_{channel}_{least}"] = _mean(light, lit, number, here) - middles[-1]
            if channel == "g":
                enough = here.sum() >= 4 * _ENOUGH_BLOCKS
                measured[f"spread_{least}"] = float(gain[here, 1].std()) if enough else float("nan")
    measured["balance_red"] = middles[0] - middles[1]
    measured["balance_blue"] = middles[2] - middles[1]
    measured["saturation"] = _saturation(light, lit)
    return measured | _registration(low, normal)


def _mean(light: FloatArray, lit: FloatArray, channel: int, here: Mask) -> float:
    """Return by how many EV a channel's light changed at some blocks."""
    if here.sum() < _ENOUGH_BLOCKS:
        return float("nan")
    dark, bright = light[here, channel].mean(), lit[here, channel].mean()
    return float(np.log2(max(dark, _LEAST) / max(bright, _LEAST)))


def _saturation(light: FloatArray, lit: FloatArray) -> float:
    """Return the slope of the low's differences of red and blue from green on the normal's."""
    dark, bright = light / max(light.mean(), _LEAST), lit / max(lit.mean(), _LEAST)
    # Of each picture's own grey, so that white balance is none of it.
    dark, bright = (
        dark / np.maximum(dark.mean(axis=0), _LEAST),
        bright / np.maximum(bright.mean(axis=0), _LEAST),
    )
    apart = [(one - one[:, 1:2])[:, ::2].ravel() for one in (dark, bright)]
    square = float(apart[1] @ apart[1])
    return float(apart[0] @ apart[1]) / square if square > 1e-9 else float("nan")


def _registration(low: Pixels, normal: Pixels) -> dict[str, float]:
    """Return how far a low is shifted against its normal, and how much of its detail it has.

    The low as it would be without noise, by the mean of its green at each level of the normal's, is
    compared by least squares with its gradients and its fine structure (Lucas and Kanade, 1981).
    """
    dark, bright = (np.ascontiguousarray(image[..., 1]) for image in (low, normal))
    count = np.bincount(bright.ravel(), minlength=256)
    total = np.bincount(bright.ravel(), dark.ravel(), 256)
    known = np.flatnonzero(count >= 20)
    none = {"shift": float("nan"), "detail": float("nan")}
    if len(known) < 16:
        return none
    curve = np.interp(np.arange(256), known, total[known] / count[known]).astype(np.float32)
    shown: Any = cv2.LUT(bright, curve)
    expected, found = (_band(image) for image in (shown, dark.astype(np.float32)))
    products = np.zeros((3, 4))
    _add_products(expected, found, products)
    if min(np.diag(products)) < 1e-3 * expected.size:
        return none
    right, below, detail = np.linalg.solve(products[:, :3], products[:, 3])
    return {"shift": float(np.hypot(right, below)), "detail": float(detail)}


@kernel
def _add_products(expected: Any, found: Any, products: Any) -> None:
    """Fill products (3, 4) of gradients across and down, and of an image, by these and another."""
    height, width = expected.shape
    for y in range(height):
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        for x in range(width):
            left, right = max(x - 1, 0), min(x + 1, width - 1)
            across = np.float64(expected[y, right] - expected[y, left]) / (right - left)
            down = np.float64(expected[below, x] - expected[above, x]) / (below - above)
            own, other = np.float64(expected[y, x]), np.float64(found[y, x])
            products[0, 0] += across * across
            products[0, 1] += across * down
            products[0, 2] += across * own
            products[0, 3] += across * other
            products[1, 1] += down * down
            products[1, 2] += down * own
            products[1, 3] += down * other
            products[2, 2] += own * own
            products[2, 3] += own * other
    products[1, 0], products[2, 0], products[2, 1] = products[0, 1], products[0, 2], products[1, 2]


def _band(image: FloatImage) -> FloatImage:
    """Return structure of some pixels' size."""
    fine = cv2.GaussianBlur(image, (0, 0), 1)
    return fine - cv2.GaussianBlur(image, (0, 0), 4)
