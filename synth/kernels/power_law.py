"""Noise on encoded values, or behind a mosaic, as published recipes have it: loops over samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import f32, u8, u32
from .compiling.compile import fma, kernel, scalar
from .demosaic import BILINEAR, BORDER, demosaic_row
from .develop import encoding_cell
from .numbers.random_bits import (
    READ,
    SHOT,
    SHOT_REST,
    PixelSeed,
    mosaic_sample,
    random_word,
    sample_state,
)
from .numbers.shot_and_read_noise import (
    POISSON_LIMIT,
    large_poisson,
    small_poisson,
    symmetric_quantile,
)

_LIMIT = f32(POISSON_LIMIT)


class EncodedNoise(NamedTuple):
    """Noise of samples in [0, 1].

    peak, variance, per_light: photons of white (0 for no Poisson noise), variance, and standard
    deviation per light, of float32.
    """

    peak: np.float32
    variance: np.float32
    per_light: np.float32
    gaussian: npt.NDArray[np.float32]  # arrays as of `sensor.Noise`
    alias: npt.NDArray[np.uint32]  # arrays as of `sensor.Noise`
    seed: PixelSeed


@scalar
def noisy(v, index, noise):
    """Return a sample with its noise."""
    state = sample_state(index, noise.seed)
    sigma = np.sqrt(fma(noise.per_light * v, noise.per_light * v, noise.variance))
    if noise.peak > f32(0):
        word = random_word(state, SHOT)
        mean = v * noise.peak
        few = small_poisson(mean, word, random_word(state, SHOT_REST), noise.alias)
        many = large_poisson(mean, symmetric_quantile(word, noise.gaussian))
        v = min((few if mean < _LIMIT else many) * (f32(1) / noise.peak), f32(1))
    z = symmetric_quantile(random_word(state, READ), noise.gaussian)
    return fma(sigma, z, v)


@scalar
def level(value):
    """Return the 8-bit level of a value, cut to [0, 1]."""
    return u8(np.rint(min(max(value, f32(0)), f32(1)) * f32(255)))


@kernel
def add_noise(values, first, noise):
    """Add noise to samples (N) in [0, 1], in place; `first` is the index of the first."""
    for x in range(values.shape[0]):
        values[x] = noisy(values[x], u32(first + u32(x)), noise)


@kernel
def round_levels(values, low):
    """Fill 8-bit levels (N) from values (N)."""
    for x in range(values.shape[0]):
        low[x] = level(values[x])


@kernel
def through_mosaic(rgb, light, noise, table, low):
    """Fill `low` (H, W, 3) from the noisy samples of an RGGB mosaic, bilinear.

    The samples are of the linear `light` (256) of `rgb`; `table` encodes them.
    """
    height, width = rgb.shape[0], rgb.shape[1]
    mosaic = np.empty((height + 2 * BORDER, width + 2 * BORDER), np.float32)
    sites = mosaic.shape[1]
    for row in range(mosaic.shape[0]):
        y = min(max(row - BORDER, 0), height - 1)
        for site in range(sites):
            x = min(max(site - BORDER, 0), width - 1)
            channel = (row & 1) + (site & 1)  # RGGB
            mosaic[row, site] = light[rgb[y, x, channel]]
        add_noise(mosaic[row], mosaic_sample(row, 0, sites), noise)
    rows = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    red, greens, blue = rows
    for y in range(height):
        demosaic_row(mosaic, y, BILINEAR, rows)
        for x in range(width):
            low[y, x, 0] = table[encoding_cell(red[x])]
            low[y, x, 1] = table[encoding_cell(greens[x] * f32(0.5))]
            low[y, x, 2] = table[encoding_cell(blue[x])]
