"""Maps of a low by its draw: its noiseless picture, and the standard deviation of its noise.

From the model alone: no low is made. JPEG, and the pattern that hot sites and columns leave, are
left out.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ..camera.illumination import exposure_of
from ..kernels.arrays import Pixels, Window, check_normal, check_window
from ..kernels.curves import LUMA, encoding
from ..kernels.demosaic import BILINEAR, BINNED, BORDER
from ..kernels.exposure import Scene
from ..kernels.moments import (
    LIGHTS,
    ROUNDING,
    SiteNoise,
    expose_window,
    fill_channel_levels,
    pixel_moments,
    read_cumulants,
)
from ..kernels.numbers.quantiles import OCTAVES
from .kernel_args import KernelArgs
from .mosaic_noise import demosaic_weights, demosaiced, mosaic_variances
from .window import cut, scene_of, span_of

Floats = npt.NDArray[np.float32]
_NODES, _TAIL_NODES, _DEPTHS = 24, 6, 48
_ROWS_OF_QUADS = np.array([[1, 0.5, 0], [0, 0.5, 1]])
_ROWS_OF_PIXELS = np.array([[1.0, 1, 1]])
"""What red, green and blue take of the noise of each row of a sensor, whose quads are RGGB."""


class NoiseMap(NamedTuple):
    """Maps of a window of a low; float32 arrays.

    clean: (h, w, 3); the low without noise, in sRGB levels, 0 to 255, not rounded.
    linear: (h, w, 3); the same in linear light, 0 to 1.
    noise: (h, w, 3); standard deviation of the noise in levels, rounding included; NaN where noise
      of channels stands behind a demosaic.
    noise_linear: (h, w, 3); the same in linear light.
    light: (h, w); illumination field in EV: what falls on each pixel, against the exposure.
    """

    clean: Floats
    linear: Floats
    noise: Floats
    noise_linear: Floats
    light: Floats


def noise_map(
    normal: Pixels, args: KernelArgs, window: Window | None = None, lit_as: Pixels | None = None
) -> NoiseMap:
    """Return what a draw knows of a low, or a window of it; see `window.render_window`.

    Raises ValueError when the normal is not a uint8 array (H, W, 3), or the window does not lie
    within it.
    """
    check_normal(normal)
    normal = np.ascontiguousarray(normal)
    height, width = normal.shape[:2]
    window = Window(0, 0, height, width) if window is None else window
    check_window(window, height, width)
    blur, strength = args.development.blur, float(args.development.strength)
    span = span_of(window, height, width, blur)
    shape = span.height, span.width
    lit_as = normal if lit_as is None else lit_as
    scene = scene_of(normal, span, args, lit_as)
    means, light = _exposed(normal, span, scene, args.sensor.method)
    lights: Any
    variances: Any
    lights, light_variances, clean, variances, covariances = (
        np.empty((3, *shape), np.float32) for _ in range(5)
    )
    sensor, draw = args.sensor, args.field.draw
    levels = 255 * encoding(draw.isp_contrast, draw.tone, draw.gamma, draw.tone_toe)
    levels = levels if len(blur) else _as_rounded(levels)
    out = lights, light_variances, clean, variances, covariances
    site, colour = _site_noise(args), args.development.colour
    mosaic = sensor.method >= BILINEAR
    kept = (demosaic_weights(sensor.method) ** 2).sum((3, 4)).mean((0, 1)) if mosaic else np.ones(3)
    camera = sensor.method, float(sensor.gain), site, kept
    curve = levels, *quadrature()
    made = np.zeros((3, 2, LIGHTS))
    if args.noise.there:
        fill_channel_levels(args.noise, curve, tail_quadrature(), made)
    pixel_moments(means, camera, colour, args.noise, made, curve, out)
    before = np.maximum(variances, 1e-12)
    slopes = np.sqrt(before / np.maximum(light_variances, 1e-30))
    units = np.array([colour.red_gain, colour.green_gain, colour.blue_gain])
    to_light = np.reshape(colour.to_srgb, (3, 3)) * units / (colour.white - colour.black)
    row = float(sensor.row_sigma)
    of_rows: npt.NDArray[Any] = np.zeros((0, 3, *shape))
    if mosaic:
        sites = sensor.gain**2 * np.maximum(means, 0) + site.single
        chroma = blur, strength
        of_sites = mosaic_variances(sites, row**2, slopes, to_light, sensor.method, chroma)
    elif row:
        shares = _ROWS_OF_QUADS if sensor.method == BINNED else _ROWS_OF_PIXELS
        of_rows = row * (shares @ to_light.T)[..., None, None] * slopes
    if len(blur):
        clean, variances = _smoothed(clean, variances, covariances, of_rows, blur, strength)
        places: Any = np.interp(clean, levels, np.arange(len(levels))) / (len(levels) - 1)
        lights = places * places
    else:
        variances += (of_rows**2).sum(0)
    variances = (of_sites if mosaic else variances) + ROUNDING
    if mosaic and args.noise.there:
        variances = np.full_like(variances, np.nan)
    in_light = np.sqrt(variances) / slopes
    field = np.log2(np.maximum(light, 1e-30)) + exposure_of(lit_as, draw)
    pictures = (
        np.moveaxis(np.asarray(one, np.float32), 0, 2)
        for one in (clean, lights, np.sqrt(variances), in_light)
    )
    return NoiseMap(*(cut(one, span, window) for one in (*pictures, field.astype(np.float32))))


def _as_rounded(levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return levels of the encoding table whose rounding is at the very light where the low's is.

    Its 8 bits step from cell to cell: where a level is a dozen cells wide, its variance is off by
    some percent else. Chroma noise reduction takes finer levels, and rounds after it.
    """
    table = np.rint(levels)
    steps = np.flatnonzero(np.diff(table))
    places = [0, *(steps + 0.5), len(levels) - 1]
    between = (table[steps] + table[steps + 1]) / 2
    return np.interp(np.arange(len(levels)), places, [levels[0], *between, levels[-1]])


def _exposed(normal: Pixels, span: Window, scene: Scene, method: int) -> tuple[Floats, Floats]:
    """Return mean electrons (3, h, w) of the pixels of a span, and the factors on their light."""
    height, width = normal.shape[:2]
    border = BORDER if method >= BILINEAR else 0
    top, left = max(span.top - border, 0), max(span.left - border, 0)
    bottom = min(span.top + span.height + border, height)
    right = min(span.left + span.width + border, width)
    part = Window(top, left, bottom - top, right - left)
    means = np.empty((3, part.height, part.width), np.float32)
    light = np.empty((part.height, part.width), np.float32)
    expose_window(normal, part, scene, means, light)
    light = cut(light, part, span)
    if border:
        before = border - (span.top - top), border - (span.left - left)
        after = (
            border - (bottom - span.top - span.height),
            border - (right - span.left - span.width),
        )
        means = np.pad(means, ((0, 0), *zip(before, after, strict=True)), "edge")
        means = demosaiced(means, method)
    return means, light


def _smoothed(
    clean: Floats,
    variances: Floats,
    covariances: Floats,
    of_rows: npt.NDArray[Any],
    blur: Floats,
    strength: float,
) -> tuple[Floats, Floats]:
    """Return levels (3, h, w) and their variances after chroma noise reduction.

    Each channel becomes the brightness and what is left of its difference to it: of its own pixel
    and, blurred, of its neighbours. of_rows: levels that noise of rows is worth (rows, 3, h, w),
    which is the same all along them.
    """
    taps = np.concatenate([blur[:0:-1], blur]).astype(np.float64)
    squares = taps * taps
    luma = np.tensordot(LUMA, clean, 1)
    pairs = ((0, 1), (1, 2), (0, 2))
    made, out = np.empty_like(clean), np.empty_like(variances)
    middle = float(blur[0]) ** 2

    def variance_of(factors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        total = np.tensordot(factors * factors, variances, 1)
        for (a, b), one in zip(pairs, covariances, strict=True):
            total = total + 2 * factors[a] * factors[b] * one
        return np.maximum(total, 0.0)

    for c in range(3):
        difference = clean[c] - luma
        smooth = cv2.sepFilter2D(difference, -1, taps, taps, borderType=cv2.BORDER_REPLICATE)
        made[c] = luma + difference + strength * (smooth - difference)
        apart = np.eye(3)[c] - LUMA
        around = variance_of(apart)
        blurred = cv2.sepFilter2D(around, -1, squares, squares, borderType=cv2.BORDER_REPLICATE)
        own = LUMA + (1 - strength + strength * middle) * apart
        neighbours = strength**2 * np.maximum(blurred - middle**2 * around, 0)
        out[c] = variance_of(own) + neighbours
        own = LUMA + (1 - strength + strength * float(blur[0])) * apart
        others = strength**2 * (squares.sum() - middle)
        for one in of_rows:
            out[c] += np.tensordot(own, one, 1) ** 2 + others * np.tensordot(apart, one, 1) ** 2
    return np.clip(made, 0, 255), out


def _site_noise(args: KernelArgs) -> SiteNoise:
    """Return the cumulants of what sites add to their electrons, but for noise of rows."""
    noise = args.sensor.noise
    single, single4 = read_cumulants(noise.read, *depth_quadrature())
    pair, pair4 = read_cumulants(noise.read_pair, *depth_quadrature())
    return SiteNoise(single + ROUNDING, single4, pair + 2 * ROUNDING, pair4)


@lru_cache(maxsize=1)
def depth_quadrature() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return roots of the depths of a distribution's quantiles, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_DEPTHS)
    end = math.sqrt(OCTAVES + 1)
    roots = 1 + (nodes + 1) * (end - 1) / 2
    return roots, weights * (end - 1) * math.log(2) * roots * 2.0 ** (1 - roots * roots)


@lru_cache(maxsize=1)
def quadrature() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return nodes and weights of Gauss and Hermite's rule for a standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, weights / weights.sum()


@lru_cache(maxsize=1)
def tail_quadrature() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return nodes and weights of Gauss and Laguerre's rule for an exponential of mean 1."""
    nodes, weights = np.polynomial.laguerre.laggauss(_TAIL_NODES)
    return nodes, weights
