"""Maps of a low by its draw: its noiseless picture, and the standard deviation of its noise.

From the model alone: no low is made. JPEG is left out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ..camera.illumination import exposure_of
from ..draws.table import DrawTable
from ..kernels.arrays import Pixels, Window, grown, read_only, window_of
from ..kernels.curves import LUMA, encoding
from ..kernels.degradations.pattern import Pattern
from ..kernels.demosaic import BILINEAR, BORDER
from ..kernels.exposure import Scene
from ..kernels.level_moments import LIGHTS, fill_channel_levels
from ..kernels.mean_electrons import add_hot_sites, expose_window
from ..kernels.moments import ROUNDING, SiteNoise, pixel_moments
from ..kernels.sensor import Sensor
from ..kernels.smoothed_moments import smoothed_variances
from .kernel_args import kernel_args
from .mosaic_noise import demosaic_weights, demosaiced, scatter_weights
from .site_noise import ALIKE, site_noise
from .window import cut, scene_of, span_of

Floats = npt.NDArray[np.float32]
# Of photographs' deviations, 1 in 100 is off by .5 % with 24 nodes, by .2 % with 40.
_NODES, _FAR, _TAIL_NODES = 24, 4.5, 6


class NoiseMap(NamedTuple):
    """Maps of a window of a low; float32 arrays.

    clean: (h, w, 3); the low without noise, in sRGB levels, 0 to 255, not rounded.
    linear: (h, w, 3); the same in linear light, 0 to 1.
    noise: (h, w, 3); standard deviation of the noise in levels, rounding included.
    noise_linear: (h, w, 3); the same in linear light.
    light: (h, w); illumination field in EV: what falls on each pixel, against the exposure.
    """

    clean: Floats
    linear: Floats
    noise: Floats
    noise_linear: Floats
    light: Floats


def noise_map(
    normal: Pixels,
    table: DrawTable,
    number: int,
    window: Window | None = None,
    lit_as: Pixels | None = None,
) -> NoiseMap:
    """Return what a draw of a table knows of a low, or a window of it; see `window.render_window`.

    Raises ValueError when the normal is not a uint8 array (H, W, 3), or the window does not lie
    within it.
    """
    window, normal = window_of(normal, window), read_only(normal)
    height, width = normal.shape[:2]
    args = kernel_args(table, number)
    blur, strength = args.development.blur, float(args.development.strength)
    span = span_of(window, height, width, blur)
    shape = span.height, span.width
    lit_as = normal if lit_as is None else lit_as
    scene = scene_of(normal, span, args, lit_as)
    means, counts, light = _exposed(normal, span, scene, args.sensor, args.pattern)
    lights, light_variances, clean, variances, rests, covariances, slopes = (
        np.empty((3, *shape), np.float32) for _ in range(7)
    )
    draw, colour = args.field.draw, args.development.colour
    levels = 255 * encoding(draw.isp_contrast, draw.tone, draw.gamma, draw.tone_toe)
    levels = levels if len(blur) else as_rounded(levels)
    curve = levels.astype(np.float32), *quadrature()
    channel_levels = np.zeros((3, 3, LIGHTS), np.float32)
    if args.noise.there:
        fill_channel_levels(args.noise, curve, tail_quadrature(), channel_levels)
    sites, of_blur = site_noise(table, [number])
    site, taken = SiteNoise(*(one[0] for one in sites)), of_blur[0]
    out = lights, light_variances, clean, variances, rests, covariances, slopes
    pixel_moments(means, counts, site, colour, (args.noise, channel_levels), curve, out)
    before = variances
    if len(blur):
        if args.noise.there:
            site = site._replace(gain=np.float32(0), shared=ALIKE)
        parts = np.empty((3, 3, *shape), np.float32)
        smoothed_variances(counts, site, out[4:], taken, np.float32(strength), parts)
        clean, variances = _smoothed(clean, parts, blur, strength, (span, height, width))
        places: Any = np.interp(clean, levels, np.arange(len(levels))) / (len(levels) - 1)
        lights = places * places
    variances = variances + ROUNDING
    steps = lights_of_levels(levels)[np.rint(clean).astype(np.uint8)]
    in_light = light_variances + ROUNDING * steps * steps
    in_light = np.sqrt(in_light * variances / (before + ROUNDING))
    field = np.log2(np.maximum(light, 1e-30)) + exposure_of(lit_as, draw)
    pictures = (
        np.moveaxis(np.asarray(one, np.float32), 0, 2)
        for one in (clean, lights, np.sqrt(variances), in_light)
    )
    return NoiseMap(*(cut(one, span, window) for one in (*pictures, field.astype(np.float32))))


def lights_of_levels(levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the light (256) that a level is wide."""
    edges = np.interp(np.arange(257) - 0.5, levels, np.linspace(0, 1, len(levels)) ** 2)
    return np.maximum(np.diff(edges), 1e-9)


def as_rounded(levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return levels of the encoding table whose rounding is at the very light where the low's is.

    Its 8 bits step from cell to cell: where a level is a dozen cells wide, its variance is off by
    some percent else. Chroma noise reduction takes finer levels, and rounds after it.
    """
    table = np.rint(levels)
    steps = np.flatnonzero(np.diff(table))
    places = [0, *(steps + 0.5), len(levels) - 1]
    between = (table[steps] + table[steps + 1]) / 2
    return np.interp(np.arange(len(levels)), places, [levels[0], *between, levels[-1]])


def _exposed(
    normal: Pixels, span: Window, scene: Scene, sensor: Sensor, pattern: Pattern
) -> tuple[Floats, Floats, Floats]:
    """Return mean electrons (3, h, w) of the pixels of a span, and of the sites that they are of.

    And the factors on their light.
    """
    height, width = normal.shape[:2]
    method = sensor.method
    border = BORDER if method >= BILINEAR else 0
    part = grown(span, border, height, width)
    means = np.empty((3, part.height, part.width), np.float32)
    light = np.empty((part.height, part.width), np.float32)
    expose_window(normal, part, scene, means, light)
    light, counts = cut(light, part, span), means
    if border:
        down, across = border - (span.top - part.top), border - (span.left - part.left)
        rows, columns = (span[i] + 2 * border - part[i] for i in (2, 3))  # that the picture lacks
        beyond = (down, rows - down), (across, columns - across)
        means = np.pad(means, ((0, 0), *beyond), "edge")
        full = np.float32((sensor.white - sensor.black) / sensor.gain)
        counts, means = np.where(means < full, means, 0), np.minimum(means, full)
        span = Window(span.top, span.left, *means.shape[1:])
    if pattern.there:
        counts = counts.copy()
        add_hot_sites(method, span, (height, width), pattern, sensor.gain, counts)
    if border:
        counts = demosaiced(counts, scatter_weights(method))
        means = demosaiced(means, demosaic_weights(method))
    return means, counts, light


def _smoothed(
    clean: Floats,
    parts: Floats,
    blur: Floats,
    strength: float,
    where: tuple[Window, int, int],
) -> tuple[Floats, Floats]:
    """Return levels (3, h, w) and their variances after chroma noise reduction.

    Each channel becomes the brightness and what is left of its difference to it: of its own pixel
    and, blurred, of its neighbours. parts: see `smoothed_variances`. where: window of a picture,
    and its height and width, beyond which its edge is repeated.
    """
    taps = np.concatenate([blur[:0:-1], blur]).astype(np.float64)
    squares = taps * taps / (taps @ taps)
    luma = np.tensordot(LUMA, clean, 1)
    window, height, width = where
    own_rows, rows = _at_edges(taps, window.top, window.height, height)
    own_columns, columns = _at_edges(taps, window.left, window.width, width)
    levels, variances = np.empty_like(clean), parts[0] + parts[1] * np.outer(own_rows, own_columns)

    def blurred(one: Any, taps: npt.NDArray[np.float64]) -> Any:
        return cv2.sepFilter2D(one, -1, taps, taps, borderType=cv2.BORDER_REPLICATE)

    for c in range(3):
        difference = clean[c] - luma
        levels[c] = clean[c] + strength * (blurred(difference, taps) - difference)
        variances[c] += blurred(parts[2, c], squares) * np.outer(rows, columns)
    return np.clip(levels, 0, 255), np.maximum(variances, 0)


def _at_edges(
    taps: npt.NDArray[np.float64], first: int, count: int, size: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return a pixel's own weight in its blur, and the sum of squares, of those far from edges.

    The pixels are `count` of a line of that size, from the first on.
    """
    reach, own = len(taps) // 2, np.arange(first, first + count)[:, None]
    found = np.clip(own + np.arange(-reach, reach + 1), 0, size - 1) - own + reach
    weights = np.zeros(found.shape)
    np.add.at(weights, (own - first, found), taps)
    return weights[:, reach] / taps[reach], (weights**2).sum(1) / (taps @ taps)


@lru_cache(maxsize=1)
def quadrature() -> tuple[Floats, Floats]:
    """Return nodes and weights for a standard normal distribution.

    Evenly spaced: a curve that ends at black has a corner, which Gauss and Hermite's miss.
    """
    nodes = np.linspace(-_FAR, _FAR, _NODES)
    weights = np.exp(-nodes * nodes / 2)
    return nodes.astype(np.float32), (weights / weights.sum()).astype(np.float32)


@lru_cache(maxsize=1)
def tail_quadrature() -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss and Laguerre's rule for an exponential of mean 1."""
    nodes, weights = np.polynomial.laguerre.laggauss(_TAIL_NODES)
    return nodes.astype(np.float32), weights.astype(np.float32)
