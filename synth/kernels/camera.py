"""A whole photograph taken in the dark, from 8-bit normal to 8-bit low, on the CPU.

    rgb -> linearise -> expose_row -> mean electrons
        -> draw_words, count_electrons, read_out -> DN (a mosaic, or planes)
        -> demosaic_row -> develop -> encode -> low
                                   -> split -> planes -> reduce_chroma -> low

A few rows at a time, so that buffers stay in cache. The same steps on a GPU: `batch.pixels`.
"""

from __future__ import annotations

import numpy as np

from .chroma import reduce_chroma, split
from .compiling.compile import kernel
from .demosaic import BILINEAR, BINNED, BORDER, demosaic_row
from .develop import develop, encode
from .exposure import expose_row, linearise
from .numbers.random_bits import channel_sample, mosaic_sample
from .sensor import (
    count_electrons,
    draw_rounding,
    draw_words,
    read_out,
    read_out_pair,
    row_offset,
)

u32 = np.uint32
f32 = np.float32

_BAND = 8192  # pixels


@kernel
def _sense_mosaic(rgb, scene, sensor, raw):
    """Fill a mosaic (H + 4, W + 4) with the DN of its sites.

    What lies beyond the picture sees its edge repeated.
    """
    height, width = rgb.shape[0], rgb.shape[1]
    sites = raw.shape[1]
    rows = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    red, green, blue = rows
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
    for row in range(raw.shape[0]):
        y = min(max(row - BORDER, 0), height - 1)
        linearise(rgb[y], scene.linear, red, green, blue)
        expose_row(y, height, scene, rows)
        odd = row & 1
        for site in range(sites):
            x = min(max(site - BORDER, 0), width - 1)
            at_green = ((site + odd) & 1) == 1
            means[site] = green[x] if at_green else (blue[x] if odd else red[x])
        offsets[:] = row_offset(row, raw.shape[0] * sites, sensor)
        draw_words(mosaic_sample(row, 0, sites), sensor.seed, states, shot, words)
        count_electrons(means, counts, states, shot, sensor.noise)
        read_out(counts, raw[row], offsets, words, sensor)


@kernel
def expose_and_develop(rgb, low, scene, sensor, development):
    """Fill `low` (H, W, 3) uint8 with the darkened `rgb` of the same form.

    Parameters
    ----------
    scene : Scene
        Of `exposure`.
    sensor : Sensor
        Of `sensor`.
    development : Development
        Of `develop`.
    """
    method, blur = sensor.method, development.blur
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
        _sense_mosaic(rgb, scene, sensor, mosaic)
    pixels = height * width
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
                    (raw[a:b], raw[n + a : n + b], raw[2 * n + a : 2 * n + b]),
                )
        else:
            rows = rgb[top : top + count].reshape(n, 3)
            linearise(rows, scene.linear, red[:n], green[:n], blue[:n])
            for i in range(count):
                y = top + i
                a, b = i * width, (i + 1) * width
                expose_row(y, height, scene, (red[a:b], green[a:b], blue[a:b]))
                upper = row_offset(2 * y, 3 * pixels, sensor)
                lower = row_offset(2 * y + 1, 3 * pixels, sensor)
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
                first = channel_sample(channel, top * width, pixels)
                dn, offset = (
                    raw[channel * n : (channel + 1) * n],
                    offsets[channel * n : (channel + 1) * n],
                )
                draw_words(first, sensor.seed, states[:n], shot[:n], words[:n])
                count_electrons(means[:n], counts[:n], states[:n], shot[:n], sensor.noise)
                if channel == 1 and method == BINNED:
                    rounding = shot[:n]  # whose words nobody needs any more
                    draw_rounding(states[:n], rounding)
                    read_out_pair(counts[:n], dn, offset, words[:n], rounding, sensor)
                else:
                    read_out(counts[:n], dn, offset, words[:n], sensor)
            if method != BINNED:
                for x in range(n, 2 * n):
                    raw[x] *= f32(2)
        places = cells[:n], cells[n : 2 * n], cells[2 * n : 3 * n]
        develop((raw[:n], raw[n : 2 * n], raw[2 * n : 3 * n]), development.colour, places)
        if smooth:
            part = slice(top * width, top * width + n)
            split(
                places,
                development.fine_table,
                (bright[part], red_difference[part], blue_difference[part]),
            )
        else:
            encode(places, development.table, low[top : top + count].reshape(n, 3))
    if smooth:
        reduce_chroma(planes, blur, development.strength, low)
