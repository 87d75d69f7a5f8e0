"""Statistics of low/normal pairs: how dark, how uneven and how noisy they are.

`gloam stats` prints them beside those of real sets.

Every function measures one pair of 8-bit images; `summary` turns many into percentiles. Those of
real pairs and lows stand in `reference_statistics.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ...storage.yaml_files import load_shipped
from ..kernels.arrays import FloatArray, FloatImage, Mask, Pixels
from ..kernels.curves import LEVEL_LIGHT, LUMINANCE

PERCENTILES = (5, 50, 95)
GRID = 4
_BLOCK = 50  # pixels, of the power law fit
_FAINTEST = 2.0**-20  # keeps the logarithm of a black cell finite, far below one grey level
_FLATTEST, SMOOTHEST = 0.2, 0.4  # of the pixels: enough that most levels of a picture have some
_SATURATED = 250  # from here on a normal hides structure that its low has
SIDE = 1024
"""Pixels: of larger images noise and tone are measured of the middle, which has enough of both."""
_STRIP = 2**22  # pixels of a large image that are measured at a time
_REACH = 8  # pixels, of a blur of sigma 2
_LUMINANCE = LEVEL_LIGHT * LUMINANCE[:, None]  # of each channel's levels

LABELS = {
    "mean": "mean of the low, sRGB 0-1",
    "exposure_ev": "exposure, normal over low, EV",
    "field_ev": "field: std over 4x4 of log2(low / normal), EV",
    "low_grid_ev": "std over 4x4 of log2 luminance, low, EV",
    "normal_grid_ev": "the same of the normal, EV",
    "noise_r": "noise R, of 255",
    "noise_g": "noise G, of 255",
    "noise_b": "noise B, of 255",
    "correlation_rg": "correlation of noise, R-G",
    "correlation_gb": "correlation of noise, G-B",
    "autocorrelation": "lag-1 autocorrelation of noise",
    "zeros": "samples of the low that are 0",
    "scale": "power law low = a normal^b: a",
    "exponent": "power law low = a normal^b: b",
    "flicker_ev": "flicker: std over a clip's frames of its exposure, EV",
    "temporal_correlation": "correlation of noise from frame to frame",
}
"""Statistics at a glance, and what they are called in print; the last two are of clips.

`all_statistics` has more, of noise and of tone.
"""


@dataclass(frozen=True)
class Scene:
    """A normal, uint8 array (H, W, 3), RGB, and what statistics look at of it, found once."""

    pixels: Pixels

    def __getstate__(self) -> dict[str, Any]:
        """Return what processes hand over: all but what the places are found by."""
        return {name: one for name, one in self.__dict__.items() if name != "textures"}

    @cached_property
    def middle(self) -> Scene:
        """Its middle, at most `SIDE` high and wide, that noise and tone are measured of."""
        part = middle(self.pixels, SIDE)
        return self if part.shape == self.pixels.shape else Scene(part)

    @cached_property
    def textures(self) -> FloatImage:
        """Its `texture`."""
        return texture(self.pixels)

    @cached_property
    def flat(self) -> Mask:
        """The places that are flattest, bool (H, W)."""
        return self.flattest(_FLATTEST)

    @cached_property
    def smooth(self) -> Mask:
        """The places that are smooth and not saturated, bool (H, W)."""
        lit = cv2.inRange(self.pixels, (0,) * 3, (_SATURATED - 1,) * 3) > 0
        return self.flattest(SMOOTHEST) & lit

    @cached_property
    def sums(self) -> FloatArray:
        """Its `luminance_sums`."""
        return luminance_sums(self.pixels)

    def flattest(self, share: float) -> Mask:
        """Return where it has the least texture, bool (H, W): a share of its pixels."""
        return flattest(self.pixels, share, self.textures)


def scene_of(normal: Pixels | Scene) -> Scene:
    """Return a normal as a `Scene`."""
    return normal if isinstance(normal, Scene) else Scene(normal)


def middle(image: Pixels, side: int) -> Pixels:
    """Return the middle of an image, at most so many pixels high and wide.

    It begins at multiples of 8, where the blocks of JPEG do.
    """
    top, left = (max(0, (length - side) // 2) // 8 * 8 for length in image.shape[:2])
    return np.ascontiguousarray(image[top : top + side, left : left + side])


def pair_statistics(low: Pixels, normal: Pixels | Scene) -> dict[str, float]:
    """Measure the statistics of one pair.

    low, normal: uint8 arrays (H, W, 3), RGB; or the normal's `Scene`.

    Returns a dict by the names of `LABELS`; NaN where an image is too small or too black for one.
    Raises ValueError when the sizes differ.
    """
    scene = scene_of(normal)
    normal = scene.pixels
    if low.shape != normal.shape:
        raise ValueError(
            f"low is {low.shape[1]} x {low.shape[0]}, normal {normal.shape[1]} x {normal.shape[0]}"
        )
    sums, lit_sums = luminance_sums(low), scene.sums
    grid, lit_grid = log_grid(sums), log_grid(lit_sums)
    found = {
        "exposure_ev": _exposure(sums, lit_sums),
        "field_ev": float(np.std(grid - lit_grid)),
        "normal_grid_ev": float(np.std(lit_grid)),
    }
    found |= low_statistics(low, grid) | noise(low, scene.flat) | _power_law(low, normal)
    return {name: found[name] for name in LABELS if name in found}


def low_statistics(low: Pixels, grid: FloatArray | None = None) -> dict[str, float]:
    """Measure statistics that need no normal, for folders of real lows; grid: its `log_grid`."""
    return {
        "mean": float(np.mean(cv2.mean(low)[:3])) / 255,
        "low_grid_ev": float(np.std(log_grid(luminance_sums(low)) if grid is None else grid)),
        "zeros": 1 - np.count_nonzero(low) / low.size,
    }


def exposure_ev(low: Pixels, normal: Pixels) -> float:
    """Return by how many stops a low's luminance is below its normal's, on average."""
    return _exposure(luminance_sums(low), luminance_sums(normal))


def _exposure(low: FloatArray, normal: FloatArray) -> float:
    dark, bright = (max(one[0].sum() / one[1].sum(), _FAINTEST) for one in (low, normal))
    return float(np.log2(bright / dark))


def luminance_sums(pixels: Pixels) -> FloatArray:
    """Return the linear luminance of 4 x 4 parts of an image, summed, and their pixels (2, 4, 4).

    pixels: uint8 array (H, W, 3), sRGB (IEC 61966-2-1), whose white is 1.
    """
    rows, columns = (np.linspace(0, side, GRID + 1).astype(int) for side in pixels.shape[:2])
    sums = np.zeros((2, GRID, GRID))
    for i, (a, b) in enumerate(pairwise(rows)):
        for j, (c, d) in enumerate(pairwise(columns)):
            part = pixels[a : max(b, a + 1), c : max(d, c + 1)]
            counts = [cv2.calcHist([part], [k], None, [256], [0, 256]).ravel() for k in range(3)]
            sums[:, i, j] = (counts * _LUMINANCE).sum(), part.shape[0] * part.shape[1]
    return sums


def log_grid(sums: FloatArray) -> FloatArray:
    """Return log2 of the mean luminance of parts of an image, of their `luminance_sums`."""
    return np.log2(np.maximum(sums[0] / sums[1], _FAINTEST))


def _strips(shape: tuple[int, ...], around: int = 0) -> Iterator[tuple[slice, slice, slice]]:
    """Yield strips of a large image, so that what is made of one needs no gigabytes.

    Each is three slices: its rows, its rows with so many around them, and where the former lie in
    the latter.
    """
    height, width = shape[:2]
    step = max(_STRIP // max(width, 1), 4 * around, 1)
    for first in range(0, height, step):
        last, above = min(first + step, height), max(first - around, 0)
        yield (
            slice(first, last),
            slice(above, last + around),
            slice(first - above, last - above),
        )


def texture(normal: Pixels) -> FloatImage:
    """Return the texture (H, W) of a normal: the variance of its green near each pixel."""
    found = np.empty(normal.shape[:2], np.float32)
    for rows, wider, own in _strips(found.shape, _REACH):
        green = normal[wider, :, 1].astype(np.float32)
        mean = cv2.GaussianBlur(green, (0, 0), 2)
        found[rows] = (cv2.GaussianBlur(green * green, (0, 0), 2) - mean * mean)[own]
    return found


def flattest(normal: Pixels, share: float = _FLATTEST, textures: FloatImage | None = None) -> Mask:
    """Return where a normal has the least texture: a share of its pixels, by default a fifth.

    textures: `texture` of the normal, where it is known.
    """
    own = texture(normal) if textures is None else textures
    return own <= np.quantile(own, share)


def noise(low: Pixels, flat: Mask) -> dict[str, float]:
    """Measure the residual of the low to its own blur (sigma 2), where the normal is flattest."""
    colours, neighbours = _Moments(3), _Moments(2)
    for rows, wider, own in _strips(flat.shape, _REACH):
        rest, here = residual(low[wider].astype(np.float32))[own], flat[rows]
        colours.add(rest[here].T)
        both = here[:, :-1] & here[:, 1:]
        neighbours.add(np.stack([rest[:, :-1, 1][both], rest[:, 1:, 1][both]]))
    red, green, blue = colours.deviations()
    return {
        "noise_r": red,
        "noise_g": green,
        "noise_b": blue,
        "correlation_rg": colours.correlation(0, 1),
        "correlation_gb": colours.correlation(1, 2),
        "autocorrelation": neighbours.correlation(0, 1),
    }


class _Moments:
    """Sums of samples that come in parts, and what follows of them."""

    def __init__(self, columns: int) -> None:
        self._count, self._sum = 0, np.zeros(columns)
        self._products = np.zeros((columns, columns))

    def add(self, samples: FloatImage) -> None:
        """Add samples (columns, N)."""
        values = np.ascontiguousarray(samples, np.float64)
        self._count += values.shape[1]
        self._sum += values.sum(axis=1)
        self._products += values @ values.T

    def _covariance(self) -> FloatArray:
        """Return it (columns, columns); what is no more than rounding is 0."""
        mean = self._sum / max(self._count, 1)
        products = self._products / max(self._count, 1)
        found = products - np.outer(mean, mean)
        return np.where(np.abs(found) > 1e-12 * np.abs(products), found, 0)

    def deviations(self) -> list[float]:
        return [float(one) for one in np.sqrt(np.diag(self._covariance()).clip(0))]

    def correlation(self, one: int, other: int) -> float:
        """Return Pearson's correlation of two columns, NaN as `correlation` does."""
        found = self._covariance()
        scale = float(np.sqrt(found[one, one] * found[other, other]))
        known = self._count >= 3 and scale > 0
        return float(found[one, other]) / scale if known else float("nan")


def residual(values: FloatImage) -> FloatImage:
    """Return an image less its own blur (sigma 2): its noise, where the scene is flat."""
    return values - cv2.GaussianBlur(values, (0, 0), 2)


def correlation(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Return Pearson's correlation, NaN where one of the two is constant or there are too few."""
    if len(a) < 3:
        return float("nan")
    a, b = a - a.mean(dtype=np.float64), b - b.mean(dtype=np.float64)
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / scale) if scale > 0 else float("nan")


def block_means(image: npt.NDArray[Any], side: int) -> FloatArray:
    """Return the means (N, 3) of the whole blocks of an image, `side` pixels high and wide."""
    height, width = (max(1, length // side) for length in image.shape[:2])
    means = np.empty((height, width, 3), np.float32)
    for rows, _, _ in _strips((height, side * side * width)):
        cut = image[rows.start * side : rows.stop * side, : width * side]
        size = width, rows.stop - rows.start
        means[rows] = cv2.resize(cut.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    return means.reshape(-1, 3).astype(np.float64)


def _power_law(low: Pixels, normal: Pixels) -> dict[str, float]:
    """Fit log low = log a + b log normal by least squares, of blocks' mean grey, sRGB-encoded."""
    dark, bright = (block_means(image, _BLOCK).mean(axis=1) / 255 for image in (low, normal))
    usable = (dark > 0) & (bright > 0)
    x, y = np.log(bright[usable]), np.log(dark[usable])
    if min(low.shape[:2]) < _BLOCK or len(x) < 4 or np.ptp(x) < 1e-6:
        return {"scale": float("nan"), "exponent": float("nan")}
    exponent, scale = np.polyfit(x, y, 1)
    return {"scale": float(np.exp(scale)), "exponent": float(exponent)}


def summary(measured: Iterable[dict[str, float]]) -> dict[str, tuple[float, ...]]:
    """Return percentiles 5, 50 and 95 of each statistic that pairs have, NaNs left out."""
    rows = list(measured)
    table = {}
    for name in dict.fromkeys(chain(LABELS, *rows)):
        values = np.array([row[name] for row in rows if name in row and np.isfinite(row[name])])
        if len(values):
            table[name] = tuple(float(v) for v in np.percentile(values, PERCENTILES))
    return table


def percentile_text(values: Any) -> str:
    """Write percentiles, or a median alone; "" where there are none."""
    numbers = [values] if isinstance(values, int | float) else values or ()
    return " / ".join(f"{number:.3g}" for number in numbers)


@lru_cache(maxsize=1)
def reference_statistics() -> dict[str, dict[str, Any]]:
    """Return columns to compare with, by the real set's name: percentiles of each statistic."""
    return load_shipped(__package__, "reference_statistics.yaml")


_MOVED = 2  # levels by which a normal's pixel may differ between frames and count as still


def clip_statistics(lows: Sequence[Pixels], normals: Sequence[Pixels]) -> dict[str, float]:
    """Measure a clip.

    lows, normals: sequences of uint8 arrays (H, W, 3), the frames.

    Returns `flicker_ev`, the standard deviation over frames of the exposure (normal over low), and
    `temporal_correlation`, that of the noise of green in frames that follow each other, where the
    scene is flat and stands still; NaN where it is nowhere.
    """
    exposures = [exposure_ev(*pair) for pair in zip(lows, normals, strict=True)]
    found = [np.empty((2, 0), np.float32)]
    residuals = (residual(low[..., 1].astype(np.float32)) for low in lows)
    for (own, normal), (after, other) in pairwise(zip(residuals, normals, strict=True)):
        moved = cv2.absdiff(normal[..., 1], other[..., 1])
        still = flattest(normal) & (moved <= _MOVED)
        found.append(np.stack([own[still], after[still]]))
    temporal = correlation(*np.concatenate(found, axis=1))
    return {"flicker_ev": float(np.std(exposures)), "temporal_correlation": temporal}
