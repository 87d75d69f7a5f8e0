"""A whole photograph taken in the dark, from 8-bit normal to 8-bit low, a few rows at a time so
that buffers stay in cache."""

from __future__ import annotations

import numpy as np

from .chroma import reduce_chroma, split
from .compiling.compile import kernel
from .demosaic import BILINEAR, BINNED, BORDER, demosaic_row
from .develop import develop, encode
from .exposure import BLACK, CHROMA, GAIN, ROW_SIGMA, WHITE, expose, linearise, tint
from .sensor import count_electrons, draw_rounding, draw_words, read_out, read_out_pair, row_noise

u32 = np.uint32
i32 = np.int32
f32 = np.float32

_BAND = 8192  # pixels


@kernel
def _expose_row(y, height, illumination, cast, p, red, green, blue):
    """Turn the light of row `y` of a picture, three rows (W), into mean electrons."""
    rows = illumination.shape[0]
    position = (f32(y) + f32(0.5)) * (f32(rows) / f32(height)) - f32(0.5)
    position = min(max(position, f32(0)), f32(rows - 1))
    j = min(i32(position), i32(rows - 2))
    share = position - f32(j)
    if cast.shape[0]:
        tint(red, green, blue, cast[j], cast[j + 1], share)
    expose(red, green, blue, illumination[j], illumination[j + 1], share, p)


@kernel
def _sense_mosaic(
    rgb, linear, illumination, cast, p, seed_low, seed_high, read, normal, alias, raw
):
    """Fill a mosaic (H + 4, W + 4) with the DN of its sites. What lies beyond the picture sees its
    edge repeated."""
    height, width = rgb.shape[0], rgb.shape[1]
    sites = raw.shape[1]
    red, green, blue = (
        np.empty(width, np.float32),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
    )
    means, counts, offsets = (
        np.empty(sites, np.float32),
        np.empty(sites, np.float32),
        np.empty(sites, np.float32),
    )
    states, shot, words = (
        np.empty(sites, np.uint32),
        np.empty(sites, np.uint32),
        np.empty(sites, np.uint32),
    )
    total = u32(raw.shape[0] * sites)
    for row in range(raw.shape[0]):
        y = min(max(row - BORDER, 0), height - 1)
        linearise(rgb[y], linear, red, green, blue)
        _expose_row(y, height, illumination, cast, p, red, green, blue)
        odd = row & 1
        for site in range(sites):
            x = min(max(site - BORDER, 0), width - 1)
            at_green = ((site + odd) & 1) == 1
            means[site] = green[x] if at_green else (blue[x] if odd else red[x])
        offsets[:] = p[BLACK] + row_noise(
            u32(row), total, seed_low, seed_high, p[ROW_SIGMA], normal
        )
        first = u32(u32(row) * u32(sites))
        draw_words(first, seed_low, seed_high, states, shot, words)
        count_electrons(means, counts, states, shot, normal, alias)
        read_out(counts, raw[row], offsets, words, p[GAIN], p[WHITE], read)


@kernel
def photograph(
    rgb,
    low,
    linear,
    illumination,
    cast,
    p,
    seed,
    read,
    read_pair,
    normal,
    alias,
    table,
    fine_table,
    blur,
    method,
):
    """Fill `low` (H, W, 3) uint8 with the darkened `rgb` of the same form.

    Parameters
    ----------
    illumination : float32 array (rows, W)
        Factor on scene light at the centres of evenly spaced rows, already interpolated to every
        column.
    cast : float32 array (rows, 3, W) or (0, 3, W)
        Further factors on red, green and blue, where the light has a colour.
    linear, table, fine_table : arrays
        The tables of `transfer`.
    p : float32 array
        The parameters that `pixels` names.
    seed : uint32 array (2)
        Lower and upper half of the pixel seed.
    read, read_pair, normal : float32 arrays (10)
        Quantile polynomials of a site's read noise and of the sum of two, in DN, and of the
        standard normal distribution.
    alias : uint32 array
        Of `tables.poisson_alias_table`.
    blur : float32 array (n)
        Weights of the chroma noise reduction, or none.
    method : int
        Of `demosaic`.
    """
    seed_low, seed_high = seed[0], seed[1]
    height, width = rgb.shape[0], rgb.shape[1]
    band = max(1, min(height, _BAND // width))
    size = band * width
    # One array a plane: slices of one dimension stay contiguous to the compiler.
    red, green, blue = (
        np.empty(size, np.float32),
        np.empty(size, np.float32),
        np.empty(size, np.float32),
    )
    offsets = np.empty(3 * size, np.float32)
    counts = np.empty(size, np.float32)
    states, shot, words = (
        np.empty(size, np.uint32),
        np.empty(size, np.uint32),
        np.empty(size, np.uint32),
    )
    raw = np.empty(3 * size, np.float32)
    cells = np.empty(3 * size, np.uint16)
    smooth = blur.shape[0] > 0
    planes = np.empty((3, height if smooth else 0, width), np.int16)
    bright, red_difference, blue_difference = (
        planes[0].reshape(-1),
        planes[1].reshape(-1),
        planes[2].reshape(-1),
    )
    mosaic = np.empty(
        (height + 2 * BORDER if method >= BILINEAR else 0, width + 2 * BORDER), np.float32
    )
    if method >= BILINEAR:
        _sense_mosaic(
            rgb, linear, illumination, cast, p, seed_low, seed_high, read, normal, alias, mosaic
        )
    sites = u32(height * width)
    for top in range(0, height, band):
        count = min(band, height - top)
        n = count * width
        if method >= BILINEAR:
            for i in range(count):
                a, b = i * width, (i + 1) * width
                demosaic_row(
                    mosaic,
                    top + i,
                    method,
                    raw[a:b],
                    raw[n + a : n + b],
                    raw[2 * n + a : 2 * n + b],
                )
        else:
            linearise(rgb[top : top + count].reshape(n, 3), linear, red[:n], green[:n], blue[:n])
            for i in range(count):
                y = top + i
                a, b = i * width, (i + 1) * width
                _expose_row(y, height, illumination, cast, p, red[a:b], green[a:b], blue[a:b])
                upper = p[BLACK] + row_noise(
                    u32(2 * y), u32(3) * sites, seed_low, seed_high, p[ROW_SIGMA], normal
                )
                lower = p[BLACK] + row_noise(
                    u32(2 * y + 1), u32(3) * sites, seed_low, seed_high, p[ROW_SIGMA], normal
                )
                offsets[a:b] = upper
                offsets[n + a : n + b] = upper + lower if method == BINNED else upper
                offsets[2 * n + a : 2 * n + b] = lower if method == BINNED else upper
            if method == BINNED:
                # The greens of a quad, one in either row, are under equal light: their electrons
                # are counted together.
                for x in range(n):
                    green[x] *= f32(2)
            for channel in range(3):
                means = red if channel == 0 else (green if channel == 1 else blue)
                first = u32(u32(channel) * sites + u32(top) * u32(width))
                dn, offset = (
                    raw[channel * n : (channel + 1) * n],
                    offsets[channel * n : (channel + 1) * n],
                )
                draw_words(first, seed_low, seed_high, states[:n], shot[:n], words[:n])
                count_electrons(means[:n], counts[:n], states[:n], shot[:n], normal, alias)
                if channel == 1 and method == BINNED:
                    rounding = shot[:n]  # whose words nobody needs any more
                    draw_rounding(states[:n], rounding)
                    read_out_pair(
                        counts[:n], dn, offset, words[:n], rounding, p[GAIN], p[WHITE], read_pair
                    )
                else:
                    read_out(counts[:n], dn, offset, words[:n], p[GAIN], p[WHITE], read)
            if method != BINNED:
                for x in range(n, 2 * n):
                    raw[x] *= f32(2)
        r, g, b = cells[:n], cells[n : 2 * n], cells[2 * n : 3 * n]
        develop(raw[:n], raw[n : 2 * n], raw[2 * n : 3 * n], p, r, g, b)
        if smooth:
            rows = slice(top * width, top * width + n)
            split(r, g, b, fine_table, bright[rows], red_difference[rows], blue_difference[rows])
        else:
            encode(r, g, b, table, low[top : top + count].reshape(n, 3))
    if smooth:
        reduce_chroma(planes, blur, p[CHROMA], low)
