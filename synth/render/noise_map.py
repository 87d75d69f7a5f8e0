"""What a draw knows of a low: its noiseless picture, and the standard deviation of its noise.

From the model alone: no low is made. JPEG, and the pattern that hot sites and columns leave, are
left out.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ..camera.illumination import brightness_ev, cell_luminance, mean_of
from ..kernels.arrays import Pixels, Window, check_normal, check_window
from ..kernels.curves import encoding
from ..kernels.demosaic import BILINEAR
from ..kernels.moments import SiteNoise, expose_window, pixel_moments
from ..kernels.numbers.quantiles import CENTRE, OCTAVES, PER_HALF
from .kernel_args import KernelArgs
from .window import cut, scene_of, span_of

Floats = npt.NDArray[np.float32]
_NODES = 12
_ROUNDING = 1 / 12  # variance of rounding to whole numbers
_LUMA = np.array([0.299, 0.587, 0.114])


class NoiseMap(NamedTuple):
    """What is known of a window of a low; float32 arrays.

    Attributes
    ----------
    clean : (h, w, 3)
        The low without noise, in sRGB levels, 0 to 255, not rounded.
    linear : (h, w, 3)
        The same in linear light, 0 to 1.
    noise : (h, w, 3)
        Standard deviation of the noise in levels, rounding included; NaN where the model says none:
        of mosaics.
    noise_linear : (h, w, 3)
        The same in linear light.
    light : (h, w)
        Illumination field in EV: what falls on each pixel, against the exposure.
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

    Raises
    ------
    ValueError
        When the normal is not a uint8 array (H, W, 3), or the window does not lie within it.
    """
    check_normal(normal)
    normal = np.ascontiguousarray(normal)
    height, width = normal.shape[:2]
    window = Window(0, 0, height, width) if window is None else window
    check_window(window, height, width)
    blur, strength = args.development.blur, float(args.development.strength)
    span = span_of(window, height, width, blur)
    shape = span.height, span.width
    means, light = np.empty((3, *shape), np.float32), np.empty(shape, np.float32)
    scene = scene_of(normal, span, args, normal if lit_as is None else lit_as)
    expose_window(normal, span, scene, means, light)
    lights, light_variances, clean, variances, covariances = (
        np.empty((3, *shape), np.float32) for _ in range(5)
    )
    sensor, draw = args.sensor, args.field.draw
    levels = 255 * encoding(draw.isp_contrast, draw.tone, draw.gamma, draw.tone_toe)
    out = lights, light_variances, clean, variances, covariances
    camera = float(sensor.gain), _site_noise(args), args.development.colour
    pixel_moments(means, sensor.method, *camera, args.noise, (levels, *_quadrature()), out)
    before = np.maximum(variances, 1e-12)
    if len(blur):
        clean, variances = _smoothed(clean, variances, covariances, blur, strength)
        places = np.interp(clean, levels, np.arange(len(levels))) / (len(levels) - 1)
        lights = places * places
    variances = variances + _ROUNDING
    if sensor.method >= BILINEAR:
        variances = np.full_like(variances, np.nan)
    in_light = np.sqrt(light_variances * variances / before)
    exposure_ev = float(draw.exposure_ev)
    if draw.exposure_by_brightness:
        exposure_ev += brightness_ev(mean_of(cell_luminance(normal)), draw.exposure_by_brightness)
    field = np.log2(np.maximum(light, 1e-30)) + exposure_ev
    pictures = (
        np.moveaxis(np.asarray(one, np.float32), 0, 2)
        for one in (clean, lights, np.sqrt(variances), in_light)
    )
    return NoiseMap(*(cut(one, span, window) for one in (*pictures, field.astype(np.float32))))


def _smoothed(
    clean: Floats, variances: Floats, covariances: Floats, blur: Floats, strength: float
) -> tuple[Floats, Floats]:
    """Return levels (3, h, w) and their variances after chroma noise reduction.

    Each channel becomes the brightness and what is left of its difference to it: of its own pixel
    and, blurred, of its neighbours.
    """
    taps = np.concatenate([blur[:0:-1], blur]).astype(np.float64)
    squares = taps * taps
    luma = np.tensordot(_LUMA, clean, 1)
    pairs = ((0, 1), (1, 2), (0, 2))
    made, out = np.empty_like(clean), np.empty_like(variances)
    middle = float(blur[0]) ** 2

    def variance_of(factors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        total = np.tensordot(factors * factors, variances, 1)
        for (a, b), one in zip(pairs, covariances, strict=True):
            total = total + 2 * factors[a] * factors[b] * one
        return np.asarray(total)

    for c in range(3):
        difference = clean[c] - luma
        smooth = cv2.sepFilter2D(difference, -1, taps, taps, borderType=cv2.BORDER_REPLICATE)
        made[c] = luma + difference + strength * (smooth - difference)
        apart = np.eye(3)[c] - _LUMA
        around = variance_of(apart)
        blurred = cv2.sepFilter2D(around, -1, squares, squares, borderType=cv2.BORDER_REPLICATE)
        own = _LUMA + (1 - strength + strength * middle) * apart
        neighbours = strength**2 * np.maximum(blurred - middle**2 * around, 0)
        out[c] = variance_of(own) + neighbours
    return np.clip(made, 0, 255), out


def _site_noise(args: KernelArgs) -> SiteNoise:
    """Return the cumulants of what sites add to their electrons."""
    noise, row = args.sensor.noise, float(args.sensor.row_sigma) ** 2
    single, single4 = _cumulants(tuple(noise.read.tolist()))
    pair, pair4 = _cumulants(tuple(noise.read_pair.tolist()))
    return SiteNoise(single + row + _ROUNDING, single4, pair + 2 * (row + _ROUNDING), pair4)


@lru_cache(maxsize=1024)
def _cumulants(coefficients: tuple[float, ...]) -> tuple[float, float]:
    """Return the second and fourth cumulant of a symmetric distribution, by its quantiles."""
    depth = np.linspace(1, OCTAVES + 1, 4801)
    quantiles = np.polyval(coefficients[::-1], (np.sqrt(depth) - CENTRE) * PER_HALF)
    weights = 2.0 ** (1 - depth) * math.log(2) * (depth[1] - depth[0])
    weights[[0, -1]] /= 2
    second, fourth = (float(weights @ quantiles**power) for power in (2, 4))
    return second, fourth - 3 * second * second


@lru_cache(maxsize=1)
def _quadrature() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return nodes and weights of Gauss and Hermite's rule for a standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, weights / weights.sum()
