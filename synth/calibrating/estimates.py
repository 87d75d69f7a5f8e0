"""Estimates from mosaics: the system gain from flats, the noise of the dark from darks.

All are of one ISO, in DN. Errors are standard errors. And the faults of flats: light that flickers,
clips, falls off, or is not flat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ..kernels.arrays import FloatArray, Mask

Mosaic = npt.NDArray[np.uint16]
_PATCH = 32  # sites of a channel along each side, of flats
_SHADING = 65  # sites over which the black level varies smoothly
_HOT = 8.0  # deviations of the mean of darks above which a site is hot
_BLOCKS = 8  # parts that errors are estimated from
_UNCLIPPED = 0.8  # of white, for means of frames
_ROUNDING = 1 / 12  # variance of a converter's rounding, DN^2


class Estimate(NamedTuple):
    """A number and its standard error."""

    value: float
    error: float


class Dark(NamedTuple):
    """Noise of the dark: of `Sensors`, and the black level."""

    read: Estimate
    tukey: Estimate
    shape: Estimate
    row: Estimate
    black: Estimate


class Transfer(NamedTuple):
    """Points of a photon transfer curve: signal over black, and variance, of patches of flats."""

    signal: FloatArray
    variance: FloatArray


class Level(NamedTuple):
    """A frame's mean, DN, and the variance of its sites between neighbours of a channel, DN^2."""

    mean: float
    variance: float


def channels(mosaic: npt.NDArray[Any]) -> list[FloatArray]:
    """Return the four planes of a mosaic's 2 x 2 sites, float64."""
    height, width = (side & ~1 for side in mosaic.shape)
    return [mosaic[i:height:2, j:width:2].astype(np.float64) for i in (0, 1) for j in (0, 1)]


def _cells(plane: FloatArray, side: int) -> FloatArray:
    """Return the whole cells, so many sites wide, of a plane: (rows, side, columns, side)."""
    down, across = (length // side for length in plane.shape)
    return plane[: down * side, : across * side].reshape(down, side, across, side)


def transfer(first: Mosaic, second: Mosaic, black: float, white: float) -> Transfer:
    """Return the points of two flats of one exposure: a patch of a channel each.

    The variance is half of that of their difference, in which what does not change (shading, dust,
    the sensor's pattern) goes away; a difference of their exposures is taken out. Patches that come
    near white are left out.
    """
    points = []
    for one, other in zip(channels(first), channels(second), strict=True):
        patches = [
            _cells(plane, _PATCH).swapaxes(1, 2).reshape(-1, _PATCH * _PATCH)
            for plane in (one, other)
        ]
        share = (patches[0].mean() - black) / max(patches[1].mean() - black, 1e-9)
        apart = patches[0] - black - share * (patches[1] - black)
        signal = (patches[0] - black).mean(axis=1)
        variance = apart.var(axis=1, ddof=1) / (1 + share * share)
        kept = np.maximum(patches[0].max(axis=1), patches[1].max(axis=1)) < 0.97 * white
        points.append(Transfer(signal[kept], variance[kept]))
    return join_points(points)


def level_of(mosaic: Mosaic) -> Level:
    """Measure a frame's mean and noise."""
    squares = [np.mean(np.diff(plane, axis=1) ** 2) for plane in channels(mosaic)]
    return Level(float(mosaic.mean()), float(np.mean(squares)) / 2)


def black_of(levels: Sequence[Level], told: float, white: float) -> float:
    """Return the black level that separates the frames of one ISO into darks and flats.

    It is the one that files tell. Where it is 0, as of files that do not tell it, the darkest
    frame may be a dark: its noise is then less than half of the shot noise that its level over 0
    would have, by the gain that the brightest frame gives.

    told, white: DN.
    """
    bright = [level for level in levels if level.mean < _UNCLIPPED * white]
    if told or len(bright) < 2:
        return told
    darkest, brightest = min(bright), max(bright)
    apart = max(brightest.mean - darkest.mean, 1e-9)
    gain = (brightest.variance - darkest.variance) / apart
    return darkest.mean if darkest.variance < gain * darkest.mean / 2 else told


def join_points(parts: Sequence[Transfer]) -> Transfer:
    """Return the points of several pairs of flats as one."""
    return Transfer(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def fit_gain(points: Transfer) -> Estimate:
    """Fit variance = K signal + intercept by weighted least squares; return K, DN per electron.

    A variance of n samples has a relative deviation of sqrt(2 / (n - 1)); weights are taken from
    the line itself, some times over.

    Raises ValueError when the points span less than a factor of two of signal.
    """
    signal, variance = points
    if len(signal) < 8 or np.percentile(signal, 98) < 2 * max(np.percentile(signal, 2), 1.0):
        raise ValueError("flats of at least two exposures, a factor of two apart, are needed")
    fitted = np.maximum(variance, 1e-6)
    for _ in range(4):
        weight = (_PATCH**2 - 1) / 2 / fitted**2
        total = weight.sum()
        middle = (weight * signal).sum() / total
        spread = (weight * (signal - middle) ** 2).sum()
        slope = (weight * (signal - middle) * variance).sum() / spread
        intercept = (weight * variance).sum() / total - slope * middle
        fitted = np.maximum(slope * signal + intercept, 1e-6)
    return Estimate(float(slope), 1 / math.sqrt(spread))


def dark_of(mosaics: Sequence[Mosaic]) -> Dark:
    """Estimate the noise of the dark from frames of one ISO and exposure.

    The smooth shading of the mean frame is taken out, and its hot sites are left out. Row noise is
    what the variance of row means has beyond that of the sites; the rest is read noise, less the
    converter's rounding. Its Tukey-lambda shape is that of its L-moments: the ratio tau_4 =
    (l - 1)(l - 2) / ((l + 3)(l + 4)) and L-scale 2 s / ((l + 1)(l + 2)) (Hosking, "L-moments",
    JRSS B 52 (1990); Karvanen and Nuutinen, "Characterizing the generalized lambda distribution by
    L-moments", 2008).
    """
    # Summed one by one: frames of 50 megapixels as float64 would not fit together.
    total = np.zeros(mosaics[0].shape, np.float64)
    for mosaic in mosaics:
        total += mosaic
    mean = total / len(mosaics)
    shading, hot = _shading(mean, len(mosaics))
    parts = [_parts_of(mosaic, shading, hot) for mosaic in mosaics]
    rows = np.array([part[0] for part in parts])  # variances of row means
    sites = np.array([part[1] for part in parts])
    widths = mean.shape[1]
    row_variance = np.maximum(rows - sites / widths, 0.0)
    read_variance = np.maximum(sites - _ROUNDING, 1e-6)
    shrink = math.sqrt(float(read_variance.mean() / sites.mean()))
    shapes, scales = np.array([part[2] for part in parts]).reshape(-1, 2).T
    frames = [float(mosaic.mean()) for mosaic in mosaics]
    return Dark(
        _root(read_variance),
        _mean(scales * shrink),
        _mean(shapes),
        _root(row_variance),
        Estimate(float(np.mean(frames)), float(np.std(frames) / math.sqrt(len(frames)))),
    )


def _parts_of(
    mosaic: Mosaic, shading: FloatArray, hot: Mask
) -> tuple[float, float, list[tuple[float, float]]]:
    """Return the variance of row means, that of sites, and shape and scale of some blocks."""
    rest = np.where(hot, np.nan, mosaic - shading)
    means = np.nanmean(rest, axis=1)
    own = rest - means[:, None]
    width = rest.shape[1]
    values = own[np.isfinite(own)]
    blocks = np.array_split(values, max(1, min(_BLOCKS, len(values) // 20_000)))
    return (
        float(np.var(means, ddof=1)),
        float(np.var(values) * width / (width - 1)),
        [tukey_of(block) for block in blocks],
    )


def tukey_of(values: FloatArray) -> tuple[float, float]:
    """Return shape and scale of the Tukey-lambda distribution of values, by their L-moments."""
    ordered = np.sort(values - values.mean())
    count = len(ordered)
    place = (np.arange(count) + 0.5) / count
    second = float((ordered * (2 * place - 1)).mean())
    fourth = float((ordered * (20 * place**3 - 30 * place**2 + 12 * place - 1)).mean())
    ratio = fourth / second
    # (l - 1)(l - 2) = ratio (l + 3)(l + 4): the root on the side of heavy tails.
    a, b, c = 1 - ratio, -3 - 7 * ratio, 2 - 12 * ratio
    shape = (-b - math.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    return shape, second * (shape + 1) * (shape + 2) / 2


def _shading(mean: FloatArray, frames: int) -> tuple[FloatArray, Mask]:
    """Return the smooth part of the mean of darks, channel by channel, and its hot sites."""
    shading, hot = np.empty_like(mean), np.zeros(mean.shape, bool)
    size = tuple(min(_SHADING, side // 2 * 2 - 1 if side > 2 else 1) for side in mean.shape)
    for row in (0, 1):
        for column in (0, 1):
            plane = np.ascontiguousarray(mean[row::2, column::2])
            middle = float(np.median(plane))
            spread = 1.4826 * float(np.median(np.abs(plane - middle))) + 0.5 / math.sqrt(frames)
            odd = np.abs(plane - middle) > _HOT * spread
            calm = np.where(odd, middle, plane)
            shading[row::2, column::2] = cv2.blur(calm, size, borderType=cv2.BORDER_REFLECT)
            hot[row::2, column::2] = odd
    return shading, hot


def _mean(values: FloatArray) -> Estimate:
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    return Estimate(float(np.mean(values)), error)


def _root(variances: FloatArray) -> Estimate:
    """Return the root of the mean of variances, with its error."""
    found = _mean(variances)
    root = math.sqrt(found.value)
    return Estimate(root, found.error / (2 * root) if root else 0.0)


_CLIPPED = 0.001  # share of the sites at white
_FLICKER = 0.01  # difference of two exposures that were to be equal
_CORNERS = 0.7  # of the middle
_STRUCTURE = 0.02  # of the mean, beyond noise and shading
_BANDS = 2.0  # deviations of row means over those that noise gives
_COARSE = 16
_CUT = 0.001  # share of the sites of darks at the lowest level
_NEAR = 3  # deviations from the mean of darks to that level
_COUNTED = 0.5  # DN, deviation above which levels under the black one would be seen


def check_flat(mosaic: Mosaic, black: float, white: float) -> list[str]:
    """Return the faults of a flat field; black, white: levels, DN."""
    found = []
    clipped = float(np.mean(mosaic >= white))
    if clipped > _CLIPPED:
        found.append(f"clips: {clipped:.1%} of its sites are at white; expose it less")
    light = np.mean([_coarse(plane) for plane in channels(mosaic)], axis=0) - black
    half = _COARSE // 2
    middle = float(light[half - 2 : half + 2, half - 2 : half + 2].mean())
    corners = float(light[[0, 0, -1, -1], [0, -1, 0, -1]].mean()) / max(middle, 1e-9)
    if corners < _CORNERS:
        found.append(
            f"vignettes: its corners have {corners:.0%} of the light in the middle; stop down, or"
            " light it evenly"
        )
    return found


def clipped_share(darks: Sequence[Mosaic], black: float) -> float:
    """Return the share of the sites of darks at their lowest level, if they are cut off there.

    Cameras that take black off themselves lose what is below it, and with it half of the noise.
    Darks are cut off where more than a thousandth of their sites are at the lowest level, that is
    within three deviations of the mean, and is 0 or not below the black level.

    darks: sequence of arrays (H, W). black: the black level that the file tells, DN.

    Returns 0 where they are not cut off.
    """
    lowest = min(int(dark.min()) for dark in darks)
    share = float(np.mean([np.mean(dark == lowest) for dark in darks]))
    mean = float(np.mean([dark.mean() for dark in darks]))
    deviation = float(np.mean([dark.std() for dark in darks]))
    at_black = lowest == 0 or (lowest >= black and deviation >= _COUNTED)
    return share if at_black and share > _CUT and mean - lowest <= _NEAR * deviation else 0.0


def check_flat_pair(first: Mosaic, second: Mosaic, black: float, gain: float) -> list[str]:
    """Return the faults of two flats that should be equal.

    first, second: arrays (H, W). gain: about the system gain, DN per electron: for the noise that
    there has to be.
    """
    found = []
    levels = [float(one.mean()) - black for one in (first, second)]
    apart = abs(levels[0] / max(levels[1], 1e-9) - 1)
    if apart > _FLICKER:
        found.append(
            f"flicker: two of one exposure differ by {apart:.1%}; use light that does not, or"
            " exposures of many of its periods"
        )
    noise = math.sqrt(max(gain * levels[0], 0.0) + 1.0)
    share = levels[0] / max(levels[1], 1e-9)
    rows = [plane.mean(axis=1) for plane in channels(first - share * second.astype(np.float64))]
    expected = noise * math.sqrt(1 + share * share) / math.sqrt(first.shape[1] / 2)
    bands = float(np.mean([np.std(one) for one in rows])) / expected
    if bands > _BANDS:
        found.append(
            f"flicker in bands: rows differ {bands:.1f} times as much as noise lets them; expose"
            " for many periods of the light"
        )
    both = (first.astype(np.float64) + second) / 2 - black
    structure = _structure(both, noise / math.sqrt(2)) / max(levels[0], 1e-9)
    if structure > _STRUCTURE:
        found.append(
            f"is not flat: structure of {structure:.1%} of its light; defocus, and put a diffuser"
            " before the lens"
        )
    return found


def _structure(light: FloatArray, noise: float) -> float:
    """Return the deviation of what is neither smooth nor noise, DN."""
    squares = []
    for plane in channels(light):
        means = _cells(plane, 8).mean(axis=(1, 3))
        # Second differences: what is smooth over three cells goes away.
        bent = means[:, :-2] - 2 * means[:, 1:-1] + means[:, 2:]
        squares.append(float(np.mean(bent**2)) - 6 * noise * noise / 64)
    return math.sqrt(max(float(np.mean(squares)), 0.0) / 6)


def _coarse(plane: FloatArray) -> FloatArray:
    down, across = (side // _COARSE for side in plane.shape)
    cut = plane[: down * _COARSE, : across * _COARSE]
    return cut.reshape(_COARSE, down, _COARSE, across).mean(axis=(1, 3))
