"""The camera model's inner loops: 8-bit normal in, 8-bit low out, a row at a time so that all buffers stay in cache.

Each loop does one thing to one row and is plain enough for the compiler to vectorise. What an image needs besides its
pixels is small: a vector of float32 parameters (named below), the illumination as a few rows, a table that linearises, one
that encodes, the quantiles of its read noise, and a 64-bit seed.
"""

from __future__ import annotations

import numpy as np

from .compiling import kernel
from .hashing import READ, ROW, SHOT, SHOT_REST, random_word, sample_state
from .noise import large_poisson, small_poisson, symmetric_quantile
from .tables import POISSON_LIMIT

u32 = np.uint32
i32 = np.int32
f32 = np.float32

# Places of the parameter vector.
TO_CAMERA = 0
"""3 x 3, row by row: linear sRGB to camera RGB, divided by the white balance gains."""
TO_SRGB = 9
"""3 x 3, row by row: camera RGB to linear sRGB, times digital gain and the camera's own, erring white balance gains."""
ELECTRONS = 18
"""Electrons of a sample of linear value 1: (white - black) / K."""
GAIN = 19
"""System gain K, DN per electron."""
ROW_SIGMA = 20
"""Standard deviation of the row noise, DN."""
BLACK = 21
"""Black level, DN."""
WHITE = 22
"""Largest value of the sensor's bit depth, DN."""
HIGHLIGHTS = 23
"""By how much light at the clipping point is brightened, less 1: 2^ev - 1."""
PARAMETERS = 24

ENCODE_CELLS = 1 << 14
"""Cells of the encoding table, evenly spaced in the square root of linear light."""
SITES = 4
"""Sites of a quad in their order: red, green in red's row, green in blue's row, blue."""

_LIMIT = f32(POISSON_LIMIT)
_STRETCH = 128
_KNEE = f32(0.9)
_PER_KNEE = f32(10.0)


@kernel
def linearise_row(rgb, linear, light):  # type: ignore[no-untyped-def]
    """Fill `light` (3, W) with the linear light of a row of 8-bit pixels (W, 3) by a table of 256."""
    for x in range(rgb.shape[0]):
        light[0, x] = linear[rgb[x, 0]]
        light[1, x] = linear[rgb[x, 1]]
        light[2, x] = linear[rgb[x, 2]]


@kernel
def expose_row(light, upper, lower, t, p, means):  # type: ignore[no-untyped-def]
    """Fill `means` (3, W) with the mean electrons of red, green and blue sites under a row of light (3, W).

    The illumination lies the share `t` below its row `upper` on the way to `lower`. Light whose largest channel is over 0.9
    was cut off by the camera that took the photograph: it is brightened smoothly, by the factor 1 + p[HIGHLIGHTS] at 1,
    equally in all channels, so that lamps stay both bright and neutral in the dark.
    """
    scale, boost = p[ELECTRONS], p[HIGHLIGHTS]
    rr, rg, rb, gr, gg, gb, br, bg, bb = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]
    for x in range(upper.shape[0]):
        r, g, b = light[0, x], light[1, x], light[2, x]
        over = max(max(r, max(g, b)) - _KNEE, f32(0)) * _PER_KNEE
        e = (upper[x] + (lower[x] - upper[x]) * t) * (scale + scale * boost * over * over)
        means[0, x] = max(rr * r + rg * g + rb * b, f32(0)) * e
        means[1, x] = max(gr * r + gg * g + gb * b, f32(0)) * e
        means[2, x] = max(br * r + bg * g + bb * b, f32(0)) * e


@kernel
def sense_row(  # type: ignore[no-untyped-def]
    means, raw, first, seed_low, seed_high, p, row_offset, read, read_units, normal, normal_units, alias_table
):
    """Fill `raw` (W) with whole DN in [0, white], black still in, of sites exposed to `means` electrons.

    `first` is the index of the row's first sample, `row_offset` its row noise in DN. Stretches whose means all lie on one
    side of the Poisson limit skip the other side's arithmetic; what a sample draws does not depend on it.
    """
    gain, white = p[GAIN], p[WHITE]
    offset = p[BLACK] + row_offset
    read_value, read_fall = read_units[0], read_units[1]
    z_value, z_fall = normal_units[0], normal_units[1]
    width = means.shape[0]
    for start in range(0, width, _STRETCH):
        stop = min(start + _STRETCH, width)
        bright = i32(0)
        for x in range(start, stop):
            bright += i32(means[x] >= _LIMIT)
        if bright == 0:
            for x in range(start, stop):
                state = sample_state(u32(first + u32(x)), seed_low, seed_high)
                n = small_poisson(means[x], random_word(state, SHOT), random_word(state, SHOT_REST), alias_table)
                noise = symmetric_quantile(random_word(state, READ), read, read_value, read_fall)
                raw[x] = min(max(np.rint(gain * n + noise + offset), f32(0)), white)
        elif bright == stop - start:
            for x in range(start, stop):
                state = sample_state(u32(first + u32(x)), seed_low, seed_high)
                n = large_poisson(means[x], symmetric_quantile(random_word(state, SHOT), normal, z_value, z_fall))
                noise = symmetric_quantile(random_word(state, READ), read, read_value, read_fall)
                raw[x] = min(max(np.rint(gain * n + noise + offset), f32(0)), white)
        else:
            for x in range(start, stop):
                state = sample_state(u32(first + u32(x)), seed_low, seed_high)
                word = random_word(state, SHOT)
                few = small_poisson(means[x], word, random_word(state, SHOT_REST), alias_table)
                many = large_poisson(means[x], symmetric_quantile(word, normal, z_value, z_fall))
                n = few if means[x] < _LIMIT else many
                noise = symmetric_quantile(random_word(state, READ), read, read_value, read_fall)
                raw[x] = min(max(np.rint(gain * n + noise + offset), f32(0)), white)


@kernel
def develop_row(raw, p, cells):  # type: ignore[no-untyped-def]
    """Fill `cells` (3, W) with encoding table places from a row of quads (4, W): black, binning, white balance, colour.

    Values below black live on until the colour matrix and are cut only where the tone curve needs light.
    """
    black = p[BLACK]
    unit = f32(1) / (p[WHITE] - black)
    top = f32(ENCODE_CELLS - 1)
    rr, rg, rb, gr, gg, gb, br, bg, bb = p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17]
    for x in range(raw.shape[1]):
        r = (raw[0, x] - black) * unit
        g = ((raw[1, x] + raw[2, x]) * f32(0.5) - black) * unit
        b = (raw[3, x] - black) * unit
        cells[0, x] = i32(np.sqrt(min(max(rr * r + rg * g + rb * b, f32(0)), f32(1))) * top + f32(0.5))
        cells[1, x] = i32(np.sqrt(min(max(gr * r + gg * g + gb * b, f32(0)), f32(1))) * top + f32(0.5))
        cells[2, x] = i32(np.sqrt(min(max(br * r + bg * g + bb * b, f32(0)), f32(1))) * top + f32(0.5))


@kernel
def encode_row(cells, encode, low):  # type: ignore[no-untyped-def]
    """Fill a row of 8-bit pixels (W, 3) from encoding table places (3, W)."""
    for x in range(low.shape[0]):
        low[x, 0] = encode[cells[0, x]]
        low[x, 1] = encode[cells[1, x]]
        low[x, 2] = encode[cells[2, x]]


@kernel
def photograph(  # type: ignore[no-untyped-def]
    rgb, low, linear, illumination, p, seed_low, seed_high, read, read_units, normal, normal_units, alias_table, encode
):
    """Fill `low` (H, W, 3) uint8 with the darkened `rgb` of the same form.

    `illumination` (rows, W) float32 is the factor on scene light at the centres of evenly spaced rows, already interpolated
    to every column; `linear` and `encode` are the tables of `transfer`.
    """
    height, width = rgb.shape[0], rgb.shape[1]
    light = np.empty((3, width), np.float32)
    means = np.empty((3, width), np.float32)
    raw = np.empty((SITES, width), np.float32)
    cells = np.empty((3, width), np.int32)
    rows = illumination.shape[0]
    after_sites = u32(SITES * height * width)
    for y in range(height):
        position = (f32(y) + f32(0.5)) * (f32(rows) / f32(height)) - f32(0.5)
        position = min(max(position, f32(0)), f32(rows - 1))
        j = min(i32(position), i32(rows - 2))
        linearise_row(rgb[y], linear, light)
        expose_row(light, illumination[j], illumination[j + 1], position - f32(j), p, means)
        for site in range(SITES):
            state = sample_state(u32(after_sites + u32(2 * y + site // 2)), seed_low, seed_high)
            row_noise = p[ROW_SIGMA] * symmetric_quantile(random_word(state, ROW), normal, normal_units[0], normal_units[1])
            first = u32(u32(SITES * y + site) * u32(width))
            channel = (site + 1) // 2
            sense_row(
                means[channel], raw[site], first, seed_low, seed_high, p, row_noise,
                read, read_units, normal, normal_units, alias_table,
            )  # fmt: skip
        develop_row(raw, p, cells)
        encode_row(cells, encode, low[y])
