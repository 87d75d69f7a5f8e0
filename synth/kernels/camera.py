"""A whole photograph taken in the dark, from 8-bit normal to 8-bit low, on the CPU.

    rgb -> light_of_pixels -> expose_row -> mean electrons
        -> draw_words, count_electrons, read_out -> DN (a mosaic, or planes)
        -> demosaic_row -> develop -> encode -> low
                                   -> split -> planes -> reduce_chroma -> low

A few rows at a time, so that buffers stay in cache. The same steps on a GPU: `batch`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .args import bands_of, colour_of, encoded_of, exposure_of, noise_of, pattern_of, sensor_of
from .arrays import f32
from .channel_noise import develop_noisily, draw_normals
from .chroma import UNIT, reduce_chroma, split
from .compiling.compile import inlined_in_row, kernel, row_kernel
from .curves import rounded
from .degradations.pattern import PatternScratch, add_pixel_pattern, add_site_pattern, fill_columns
from .demosaic import BILINEAR, BINNED, BORDER, demosaic_row
from .develop import ENCODE_CELLS, Development, develop, encode
from .exposure import Scene, expose_row, light_of_pixels
from .numbers.random_bits import channel_sample, mosaic_sample
from .sensor import Noise, count_electrons, draw_rounding, draw_words, read_out, row_offset

_BAND = 8192  # pixels


@kernel
def _pattern_scratch(count):
    singles = np.empty((2, count), np.float32)
    words, found = np.empty(count, np.uint32), np.empty(count, np.int32)
    return PatternScratch(singles[0], singles[1], words, found)


@inlined_in_row
def _planes(flat, n, first, end):
    """Return part of three planes of n pixels, which follow one another."""
    return flat[first:end], flat[n + first : n + end], flat[2 * n + first : 2 * n + end]


@kernel
def _sense_mosaic(rgb, scene, sensor, pattern, window, raw):
    """Fill a window's mosaic (h + 4, w + 4) with the DN of its sites; edges are repeated."""
    height, columns = rgb.shape[0], rgb.shape[1]
    flat = rgb.reshape(height * columns, 3)
    sites, across = raw.shape[1], columns + 2 * BORDER
    samples = (height + 2 * BORDER) * across
    first, last = max(window.left - BORDER, 0), min(window.left + window.width + BORDER, columns)
    width = last - first
    light, singles = np.empty((3, width), np.float32), np.empty((3, sites), np.float32)
    bits = np.empty((3, sites), np.uint32)
    red, green, blue = rows = light[0], light[1], light[2]
    means, counts, offsets = singles[0], singles[1], singles[2]
    states, shot, words = bits[0], bits[1], bits[2]
    own_columns = np.empty(across if pattern.there else 0, np.float32)
    fill_columns(pattern, 0, 1, own_columns)
    pattern_scratch = _pattern_scratch(sites if pattern.there else 0)
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
            add_site_pattern(
                offsets, row, window.left, across, pattern, own_columns, pattern_scratch
            )
        draw_words(mosaic_sample(row, window.left, across), sensor.seed, states, shot)
        count_electrons(means, counts, states, shot, sensor.noise)
        read_out(counts, raw[i], offsets, states, words, None, sensor)


class _Scratch(NamedTuple):
    """Memory for a band of pixels (N): flat, as slices of it stay contiguous to a compiler.

    column_offsets: float32 array (2, W) of the pattern: what the left and right column of each
      quad, or pixel, adds.
    mosaic: float32 array (h + 4, w + 4), DN of a window's sites, where they are demosaiced.
    planes: three int16 arrays (h w), brightness and colour differences of the window, where these
      are smoothed.
    """

    singles: tuple[npt.NDArray[np.float32], ...]  # (N), light of three channels, electrons
    bits: tuple[npt.NDArray[np.uint32], ...]  # (N), states of samples, their words
    offsets: npt.NDArray[np.float32]  # (3 N)
    raw: npt.NDArray[np.float32]  # (3 N)
    cells: npt.NDArray[np.uint16]  # (3 N)
    normals: npt.NDArray[np.float32]  # of a band and of what is around it, for noise of channels
    column_offsets: npt.NDArray[np.float32]
    pattern: PatternScratch  # of a row
    mosaic: npt.NDArray[np.float32]
    planes: tuple[npt.NDArray[np.int16], npt.NDArray[np.int16], npt.NDArray[np.int16]]


@kernel
def _fill_encoding(draw_of, log_light, scale, table):
    """Fill an encoding table with whole steps, `scale` of which are 1."""
    draw = draw_of[0][draw_of[1]]
    for place in range(table.shape[0]):
        table[place] = rounded(encoded_of(draw, place, log_light), scale)


class Tables(NamedTuple):
    """Tables that kernels look into."""

    read: npt.NDArray[np.float32]  # of `batch.arrays.GIVEN`
    grains: npt.NDArray[np.float32]  # of `batch.arrays.GIVEN`
    curves: npt.NDArray[np.float32]  # of `batch.arrays.GIVEN`
    gaussian: npt.NDArray[np.float32]  # of `sensor.Noise`
    alias: npt.NDArray[np.uint32]  # of `sensor.Noise`
    log_light: npt.NDArray[np.float64]  # of `curves`
    blur: npt.NDArray[np.float32]  # of `Development`


@kernel
def expose_and_develop(rgb, low, window, light, draw_of, tables):
    """Fill `low` (h, w, 3) uint8 with a window of the darkened `rgb` (H, W, 3).

    Near edges of the window that are none of the picture's, chroma noise reduction misses what lies
    beyond: as far as the blur reaches, samples are others than those of the whole.

    window: Window of even top and left, for a mosaic's sake.
    light: of `exposure.Scene`: linear, illumination, cast, lit.
    draw_of: array of DRAW, and the number of the draw in it.
    """
    (linear, illumination, cast, lit), (draws, number) = light, draw_of
    draw, gaussian = draws[number], tables.gaussian
    exposure = exposure_of(draw, f32(0) if lit.shape[1] > 0 else draw.highlights)
    scene = Scene(linear, illumination, cast, exposure, bands_of(draw), lit)
    read = tables.read[number]
    sensor = sensor_of(draw, Noise(read[0], read[1], gaussian, tables.alias))
    pattern = pattern_of(draw, gaussian)
    smooth = tables.blur.shape[0] > 0
    levels = np.empty(0 if smooth else ENCODE_CELLS, np.uint8)
    fine = np.empty(ENCODE_CELLS if smooth else 0, np.int16)
    _fill_encoding(draw_of, tables.log_light, 255.0, levels)
    _fill_encoding(draw_of, tables.log_light, float(UNIT), fine)
    encoding = levels, fine, tables.blur
    development = Development(colour_of(draw), *encoding, draw.isp_chroma_strength)
    noise = noise_of(draw, gaussian, number, tables.grains, tables.curves)
    developing = development, noise
    method, blur = sensor.method, development.blur
    height, width, columns = window.height, window.width, rgb.shape[1]
    size = max(1, min(height, _BAND // width)) * width
    planes = np.empty((3, height if blur.shape[0] else 0, width), np.int16)
    singles, bits = np.empty((4, size), np.float32), np.empty((3, size), np.uint32)
    scratch = _Scratch(
        (singles[0], singles[1], singles[2], singles[3]),
        (bits[0], bits[1], bits[2]),
        np.empty(3 * size, np.float32),
        np.empty(3 * size, np.float32),
        np.empty(3 * size, np.uint16),
        np.empty(3 * (size // width + 2) * (width + 2) if noise.there else 0, np.float32),
        np.empty((2, columns if pattern.there else 0), np.float32),
        _pattern_scratch(width if pattern.there else 0),
        np.empty(
            (height + 2 * BORDER if method >= BILINEAR else 0, width + 2 * BORDER), np.float32
        ),
        (planes[0].reshape(-1), planes[1].reshape(-1), planes[2].reshape(-1)),
    )
    if method >= BILINEAR:
        _sense_mosaic(rgb, scene, sensor, pattern, window, scratch.mosaic)
    each = 2 if method == BINNED else 1  # a quad has two columns
    fill_columns(pattern, 0, each, scratch.column_offsets[0])
    fill_columns(pattern, each - 1, each, scratch.column_offsets[1])
    _fill_bands(rgb, low, window, scene, (sensor, pattern, developing), scratch)
    if blur.shape[0]:
        reduce_chroma(planes, blur, development.strength, low)


@row_kernel
def _fill_bands(rgb, low, window, scene, camera, scratch):
    """Fill `low`, or the planes that chroma noise reduction makes it of, band after band."""
    sensor, pattern, (development, noise) = camera
    method = sensor.method
    height, width = window.height, window.width
    picture, columns = rgb.shape[0], rgb.shape[1]
    pixels = picture * columns
    flat, made = rgb.reshape(pixels, 3), low.reshape(height * width, 3)
    (red, green, blue, counts), (states, shot, words) = scratch.singles, scratch.bits
    offsets, raw, cells, planes = scratch.offsets, scratch.raw, scratch.cells, scratch.planes
    band = red.shape[0] // width
    for top in range(0, height, band):
        count = min(band, height - top)
        n = count * width
        run = n if width == columns else width  # pixels that follow each other in the picture too
        if method >= BILINEAR:
            for i in range(count):
                rows = _planes(raw, n, i * width, (i + 1) * width)
                demosaic_row(scratch.mosaic, top + i, method, rows)
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
                    own = _planes(offsets, n, a, b)
                    at, size = (y, window.left), (picture, columns)
                    add_pixel_pattern(
                        own, method, at, size, pattern, scratch.column_offsets, scratch.pattern
                    )
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
                    draw_words(first, sensor.seed, states[a:b], shot[a:b])
                dn, offset = (
                    raw[channel * n : (channel + 1) * n],
                    offsets[channel * n : (channel + 1) * n],
                )
                count_electrons(means[:n], counts[:n], states[:n], shot[:n], sensor.noise)
                if channel == 1 and method == BINNED:
                    rounding = shot[:n]  # whose words nobody needs any more
                    draw_rounding(states[:n], rounding)
                    read_out(counts[:n], dn, offset, states[:n], words[:n], rounding, sensor)
                else:
                    read_out(counts[:n], dn, offset, states[:n], words[:n], None, sensor)
            if method != BINNED:
                for x in range(n, 2 * n):
                    raw[x] *= f32(2)
        places = _planes(cells, n, 0, n)
        if noise.there:
            across = width + 2
            each = (count + 2) * across  # of a channel
            normals = scratch.normals[: 3 * each]
            at = window.top + top, window.left, columns, pixels
            if noise.grainy:
                draw_normals(at, count, noise, normals)
            for i in range(count):
                a, b = i * width, (i + 1) * width
                place = window.top + top + i, window.left, columns, pixels
                into = _planes(cells, n, a, b)
                near = (
                    *_planes(normals, across, i * across, (i + 1) * across),
                    *_planes(normals[each:], across, i * across, (i + 1) * across),
                    *_planes(normals[2 * each :], across, i * across, (i + 1) * across),
                )
                rows = _planes(raw, n, a, b)
                develop_noisily(rows, development.colour, noise, place, near, into)
        else:
            develop(_planes(raw, n, 0, n), development.colour, places)
        part = slice(top * width, top * width + n)
        if development.blur.shape[0]:
            of_part = planes[0][part], planes[1][part], planes[2][part]
            split(places, development.fine_table, of_part)
        else:
            encode(places, development.table, made[part])
