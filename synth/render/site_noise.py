"""The noise of a draw's sites, and what pixels take of it, as kernels of maps are given it."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..kernels.channel_noise import ChannelNoise
from ..kernels.demosaic import BINNED, FULL
from ..kernels.moments import ROUNDING, SiteNoise
from ..kernels.numbers.quantiles import CENTRE, OCTAVES, PER_HALF
from .kernel_args import KernelArgs
from .mosaic_noise import Floats, products, site_weights, smoothed_products

ALIKE = np.array([1.0, 1, 1, 0, 0])
"""`SiteNoise.shared` of noise of channels, in its own deviations."""


def site_noise(args: KernelArgs) -> tuple[SiteNoise, Floats]:
    """Return the noise of a draw's sites, and what levels and their blur take of it.

    The latter is that of `smoothed_products`, of noise of channels where there is any; zeros where
    chroma is not smoothed.
    """
    sensor, pattern, colour = args.sensor, args.pattern, args.development.colour
    method = FULL if args.noise.there else int(sensor.method)
    weights = site_weights(method)
    units = np.array([colour.red_gain, colour.green_gain, colour.blue_gain])
    to_light = np.reshape(colour.to_srgb, (3, 3)) * units / (colour.white - colour.black)
    of_light = np.einsum("jc,pqcayx->pqjayx", to_light, weights)
    read, fourth = _cumulants(tuple(sensor.noise.read.tolist()))
    read += ROUNDING
    columns = float(pattern.columns) ** 2 if pattern.there else 0.0
    site = SiteNoise(
        float(sensor.gain),
        np.array([read, read, read, float(sensor.row_sigma) ** 2, columns]),
        fourth,
        np.ascontiguousarray(np.moveaxis(products(weights, weights), 2, -1)),
        np.ascontiguousarray(np.stack([(of_light**n).sum((-1, -2)) for n in (3, 4)], 2)),
    )
    blur = args.development.blur.astype(np.float64)
    if not len(blur):
        return site, np.zeros((2, 2, 3, 6, 3, 3))
    if args.noise.there:
        of_light = _grain_weights(args.noise)
    return site, smoothed_products(of_light, 2 if method == BINNED else 1, blur)


def _grain_weights(noise: ChannelNoise) -> npt.NDArray[np.float64]:
    """Return what noise of channels takes of independent numbers; see `site_weights`."""
    mixing, grain = noise.mixing, noise.grain
    mixed = np.array([[1, 0, 0], [mixing.gr, mixing.gg, 0], [mixing.br, mixing.bg, mixing.bb]])
    down, across = (np.array([one, 1.0, one]) for one in (grain.down, grain.across))
    weights = mixed[..., None, None] * float(grain.scale) * np.outer(down, across)
    return np.broadcast_to(weights, (2, 2, *weights.shape))


@lru_cache(maxsize=1024)
def _cumulants(coefficients: tuple[float, ...]) -> tuple[float, float]:
    """Return the second and fourth cumulant of a symmetric distribution, by its quantiles.

    The fourth is that whose expansion has the distribution's mean deviation: far tails, which are
    most of a heavy one's own, do not tell of its shape.
    """
    depth = np.linspace(1, OCTAVES + 1, 4801)
    quantiles = np.polyval(coefficients[::-1], (np.sqrt(depth) - CENTRE) * PER_HALF)
    weights = 2.0 ** (1 - depth) * math.log(2) * (depth[1] - depth[0])
    weights[[0, -1]] /= 2
    second = float(weights @ quantiles**2)
    if second == 0:
        return 0.0, 0.0
    excess = np.linspace(4, -1, 501)
    mean = (1 - excess / 24) * math.sqrt(2 / math.pi) / np.sqrt(1 + excess * excess / 96)
    return second, second**2 * float(np.interp(weights @ quantiles / second**0.5, mean, excess))
