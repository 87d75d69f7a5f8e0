"""Noise on encoded values, or behind a mosaic, as published recipes have it: loops over samples."""

from __future__ import annotations

import numpy as np

from .compiling.compile import fma, kernel
from .demosaic import BILINEAR, BORDER, demosaic_row
from .develop import encoding_cell
from .numbers.noise import large_poisson, small_poisson, symmetric_quantile
from .numbers.poisson import POISSON_LIMIT
from .numbers.random_bits import READ, SHOT, SHOT_REST, random_word, sample_state

u32 = np.uint32
f32 = np.float32
u8 = np.uint8
_LIMIT = f32(POISSON_LIMIT)


@kernel
def add_noise(values, first, seed_low, seed_high, noise, normal, alias):
    """Add noise to samples (N) in [0, 1], in place; `first` is the index of the first, `noise` the
    peak, variance and deviation per light."""
    peak, constant, per_light = noise[0], noise[1], noise[2]
    per_photon = f32(1) / peak if peak > f32(0) else f32(0)
    for x in range(values.shape[0]):
        state = sample_state(u32(first + u32(x)), seed_low, seed_high)
        v = values[x]
        sigma = np.sqrt(fma(per_light * v, per_light * v, constant))
        if peak > f32(0):
            word = random_word(state, SHOT)
            mean = v * peak
            few = small_poisson(mean, word, random_word(state, SHOT_REST), alias)
            many = large_poisson(mean, symmetric_quantile(word, normal))
            v = min((few if mean < _LIMIT else many) * per_photon, f32(1))
        z = symmetric_quantile(random_word(state, READ), normal)
        values[x] = fma(sigma, z, v)


@kernel
def round_levels(values, low):
    for x in range(values.shape[0]):
        low[x] = u8(np.rint(min(max(values[x], f32(0)), f32(1)) * f32(255)))


@kernel
def through_mosaic(rgb, light, seed_low, seed_high, noise, normal, alias, table, low):
    height, width = rgb.shape[0], rgb.shape[1]
    mosaic = np.empty((height + 2 * BORDER, width + 2 * BORDER), np.float32)
    sites = mosaic.shape[1]
    for row in range(mosaic.shape[0]):
        y = min(max(row - BORDER, 0), height - 1)
        for site in range(sites):
            x = min(max(site - BORDER, 0), width - 1)
            channel = (row & 1) + (site & 1)  # RGGB
            mosaic[row, site] = light[rgb[y, x, channel]]
        add_noise(
            mosaic[row], u32(u32(row) * u32(sites)), seed_low, seed_high, noise, normal, alias
        )
    red, greens, blue = (
        np.empty(width, np.float32),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
    )
    for y in range(height):
        demosaic_row(mosaic, y, BILINEAR, red, greens, blue)
        for x in range(width):
            low[y, x, 0] = table[encoding_cell(red[x])]
            low[y, x, 1] = table[encoding_cell(greens[x] * f32(0.5))]
            low[y, x, 2] = table[encoding_cell(blue[x])]
