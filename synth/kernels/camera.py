"""A whole photograph taken in the dark, from 8-bit normal to 8-bit low, on the CPU.

    rgb -> light_of_pixels -> expose_row -> mean electrons
        -> draw_words, count_electrons, read_out -> DN (a mosaic, or planes)
        -> demosaic_row -> develop -> encode -> low
                                   -> split -> planes -> reduce_chroma -> low

A few rows at a time, so that buffers stay in cache. The same steps on a GPU: `batch.pixels`.
"""

from __future__ import annotations

import numpy as np

from .chroma import reduce_chroma, split
from .compiling.compile import kernel
from .degradations.pattern import add_pixel_pattern, add_site_pattern, fill_columns
from .demosaic import BILINEAR, BINNED, BORDER, demosaic_row
from .develop import develop, encode
from .exposure import expose_row, light_of_pixels
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
def _sense_mosaic(rgb, scene, sensor, pattern, window, raw):
    """Fill the mosaic (h + 4, w + 4) of a window with the DN of its sites.

    What lies beyond the picture sees its edge repeated.
    """
    height, columns = rgb.shape[0], rgb.shape[1]
    flat = rgb.reshape(height * columns, 3)
    sites, across = raw.shape[1], columns + 2 * BORDER
    samples = (height + 2 * BORDER) * across
    first, last = max(window.left - BORDER, 0), min(window.left + window.width + BORDER, columns)
    width = last - first
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
    own_columns = np.empty(across if pattern.there else 0, np.float32)
    fill_columns(pattern, 0, 1, own_columns)
    for i in range(raw.shape[0]):
        row = window.top + i
        y = min(max(row - BORDER, 0), height - 1)
        start = y * columns
        light_of_pixels(flat, start + first, scene, red, green, blue)
        expose_row(y, first, height, scene, rows)
        odd = row & 1
        for site in range(sites):
            x = min(max(window.left + site - BORDER - first, 0), width - 1)
            at_green = ((site + odd) & 1) == 1
            means[site] = green[x] if at_green else (blue[x] if odd else red[x])
        offsets[:] = row_offset(row, samples, sensor)
        if pattern.there:
            add_site_pattern(offsets, row, window.left, across, pattern, own_columns)
        draw_words(mosaic_sample(row, window.left, across), sensor.seed, states, shot, words)
        count_electrons(means, counts, states, shot, sensor.noise)
        read_out(counts, raw[i], offsets, words, sensor)


@kernel
def expose_and_develop(rgb, low, window, scene, sensor, pattern, development):
    """Fill `low` (h, w, 3) uint8 with a window of the darkened `rgb` (H, W, 3).

    Near edges of the window that are none of the picture's, chroma noise reduction misses what lies
    beyond: as far as the blur reaches, samples are others than those of the whole.

    Parameters
    ----------
    window : Window
        Of even top and left, for a mosaic's sake.
    scene : Scene
        Of `exposure`.
    sensor : Sensor
        Of `sensor`.
    pattern : Pattern
        Of `degradations.pattern`.
    development : Development
        Of `develop`.
    """
    method, blur = sensor.method, development.blur
    height, width = window.height, window.width
    picture, columns = rgb.shape[0], rgb.shape[1]
    pixels = picture * columns
    flat = rgb.reshape(pixels, 3)
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
        _sense_mosaic(rgb, scene, sensor, pattern, window, mosaic)
    column_offsets = np.empty((2, columns if pattern.there else 0), np.float32)
    each = 2 if method == BINNED else 1  # a quad has two columns
    fill_columns(pattern, 0, each, column_offsets[0])
    fill_columns(pattern, each - 1, each, column_offsets[1])
    for top in range(0, height, band):
        count = min(band, height - top)
        n = count * width
        run = n if width == columns else width  # pixels that follow each other in the picture too
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
            start = (window.top + top) * columns + window.left
            for a in range(0, n, run):
                first, b = start + a // width * columns, a + run
                light_of_pixels(flat, first, scene, red[a:b], green[a:b], blue[a:b])
            for i in range(count):
                y = window.top + top + i
                a, b = i * width, (i + 1) * width
                rows = red[a:b], green[a:b], blue[a:b]
                expose_row(y, window.left, picture, scene, rows)
                upper = row_offset(2 * y, 3 * pixels, sensor)
                lower = row_offset(2 * y + 1, 3 * pixels, sensor)
                offsets[a:b] = upper
                offsets[n + a : n + b] = upper + lower if method == BINNED else upper
                offsets[2 * n + a : 2 * n + b] = lower if method == BINNED else upper
                if pattern.there:
                    own = (
                        offsets[a:b],
                        offsets[n + a : n + b],
                        offsets[2 * n + a : 2 * n + b],
                    )
                    at = y, window.left
                    add_pixel_pattern(own, method, at, (picture, columns), pattern, column_offsets)
            if method == BINNED:
                # The greens of a quad, one in either row, are under equal light: their electrons
                # are counted together.
                for x in range(n):
                    green[x] *= f32(2)
            for channel in range(3):
                means = red if channel == 0 else (green if channel == 1 else blue)
                for a in range(0, n, run):
                    first = channel_sample(channel, start + a // width * columns, pixels)
                    b = a + run
                    draw_words(first, sensor.seed, states[a:b], shot[a:b], words[a:b])
                dn, offset = (
                    raw[channel * n : (channel + 1) * n],
                    offsets[channel * n : (channel + 1) * n],
                )
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
