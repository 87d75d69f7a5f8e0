"""The camera model's steps for a CUDA GPU, a thread a pixel, from the scalar functions that the CPU
calls. Needs numba-cuda."""

from __future__ import annotations

import numpy as np
from numba import cuda

from . import chroma, demosaic, develop, exposure, sensor
from .compiling.cuda import device, device_function, fma, kernel
from .demosaic import BINNED, BORDER, MALVAR
from .exposure import BLACK, DEVELOP_GAINS, ELECTRONS, GAIN, HIGHLIGHTS, ROW_SIGMA, TO_SRGB, WHITE
from .numbers import noise, random_bits
from .numbers.poisson import POISSON_LIMIT

u32 = np.uint32
i32 = np.int32
f32 = np.float32
i16 = np.int16
_LIMIT = f32(POISSON_LIMIT)

sample_state, random_word = device(random_bits.sample_state), device(random_bits.random_word)
symmetric_quantile = device(noise.symmetric_quantile)
small_poisson, large_poisson = device(noise.small_poisson), device(noise.large_poisson)
single_site, both_greens, row_noise = (
    device(sensor.single_site),
    device(sensor.both_greens),
    device(sensor.row_noise),
)
light_factor, weighted, between = (
    device(exposure.light_factor),
    device(exposure.weighted),
    device(exposure.between),
)
balanced, encoding_cell = device(develop.balanced), device(develop.encoding_cell)
cross, along, opposite = device(demosaic.cross), device(demosaic.along), device(demosaic.opposite)
luma, grey_level, green_from = (
    device(chroma.luma),
    device(chroma.grey_level),
    device(chroma.green_from),
)


@device_function
def _means(rgb, y, x, height, linear, illumination, cast, p):
    """Mean electrons of red, green and blue sites under a pixel."""
    rows = illumination.shape[0]
    position = (f32(y) + f32(0.5)) * (f32(rows) / f32(height)) - f32(0.5)
    position = min(max(position, f32(0)), f32(rows - 1))
    j = min(i32(position), i32(rows - 2))
    share = position - f32(j)
    r, g, b = linear[rgb[y, x, 0]], linear[rgb[y, x, 1]], linear[rgb[y, x, 2]]
    if cast.shape[0]:
        r = r * between(cast[j, 0, x], cast[j + 1, 0, x], share)
        g = g * between(cast[j, 1, x], cast[j + 1, 1, x], share)
        b = b * between(cast[j, 2, x], cast[j + 1, 2, x], share)
    e = light_factor(
        r,
        g,
        b,
        between(illumination[j, x], illumination[j + 1, x], share),
        p[ELECTRONS],
        p[HIGHLIGHTS],
    )
    red = max(weighted(p[0], p[1], p[2], r, g, b), f32(0)) * e
    green = max(weighted(p[3], p[4], p[5], r, g, b), f32(0)) * e
    blue = max(weighted(p[6], p[7], p[8], r, g, b), f32(0)) * e
    return red, green, blue


@device_function
def _electrons(mean, state, normal, alias):
    word = random_word(state, random_bits.SHOT)
    if mean < _LIMIT:
        return small_poisson(mean, word, random_word(state, random_bits.SHOT_REST), alias)
    return large_poisson(mean, symmetric_quantile(word, normal))


@device_function
def _read_one(mean, index, offset, seed, p, read, normal, alias):
    state = sample_state(index, seed[0], seed[1])
    electrons = _electrons(mean, state, normal, alias)
    drawn = symmetric_quantile(random_word(state, random_bits.READ), read)
    return single_site(electrons, drawn, offset, p[GAIN], p[WHITE])


@device_function
def _read_greens(mean, index, offset, seed, p, read_pair, normal, alias):
    state = sample_state(index, seed[0], seed[1])
    electrons = _electrons(f32(2) * mean, state, normal, alias)
    drawn = symmetric_quantile(random_word(state, random_bits.READ), read_pair)
    word = random_word(state, random_bits.ROUNDING)
    return both_greens(electrons, drawn, offset, word, p[GAIN], f32(2) * p[WHITE])


@kernel
def sense_quads(
    rgb, linear, illumination, cast, p, seed, read, read_pair, normal, alias, method, raw
):
    """Fill planes (3, H, W) with the DN of red, of the sum of two greens, and of blue."""
    i = cuda.grid(1)
    height, width = rgb.shape[0], rgb.shape[1]
    if i >= height * width:
        return
    y, x = i // width, i % width
    total = u32(height * width)
    red, green, blue = _means(rgb, y, x, height, linear, illumination, cast, p)
    upper = p[BLACK] + row_noise(
        u32(2 * y), u32(u32(3) * total), seed[0], seed[1], p[ROW_SIGMA], normal
    )
    first, second, third = u32(i), u32(total + u32(i)), u32(u32(2) * total + u32(i))
    if method == BINNED:
        lower = p[BLACK] + row_noise(
            u32(2 * y + 1), u32(u32(3) * total), seed[0], seed[1], p[ROW_SIGMA], normal
        )
        raw[0, y, x] = _read_one(red, first, upper, seed, p, read, normal, alias)
        raw[1, y, x] = _read_greens(green, second, upper + lower, seed, p, read_pair, normal, alias)
        raw[2, y, x] = _read_one(blue, third, lower, seed, p, read, normal, alias)
    else:
        raw[0, y, x] = _read_one(red, first, upper, seed, p, read, normal, alias)
        raw[1, y, x] = f32(2) * _read_one(green, second, upper, seed, p, read, normal, alias)
        raw[2, y, x] = _read_one(blue, third, upper, seed, p, read, normal, alias)


@kernel
def sense_mosaic(rgb, linear, illumination, cast, p, seed, read, normal, alias, mosaic):
    """Fill a mosaic (H + 4, W + 4) with the DN of its sites."""
    i = cuda.grid(1)
    rows, columns = mosaic.shape[0], mosaic.shape[1]
    if i >= rows * columns:
        return
    row, site = i // columns, i % columns
    height, width = rgb.shape[0], rgb.shape[1]
    y, x = min(max(row - BORDER, 0), height - 1), min(max(site - BORDER, 0), width - 1)
    red, green, blue = _means(rgb, y, x, height, linear, illumination, cast, p)
    odd = row & 1
    mean = green if ((site + odd) & 1) == 1 else (blue if odd else red)
    total = u32(rows * columns)
    offset = p[BLACK] + row_noise(u32(row), total, seed[0], seed[1], p[ROW_SIGMA], normal)
    mosaic[row, site] = _read_one(mean, u32(i), offset, seed, p, read, normal, alias)


@kernel
def demosaic_planes(mosaic, method, raw):
    i = cuda.grid(1)
    height, width = raw.shape[1], raw.shape[2]
    if i >= height * width:
        return
    y, x = i // width, i % width
    sharp = f32(1) if method == MALVAR else f32(0)
    r, s = y + BORDER, x + BORDER
    c = mosaic[r, s]
    vertical, horizontal = mosaic[r - 1, s] + mosaic[r + 1, s], mosaic[r, s - 1] + mosaic[r, s + 1]
    vertical2, horizontal2 = (
        mosaic[r - 2, s] + mosaic[r + 2, s],
        mosaic[r, s - 2] + mosaic[r, s + 2],
    )
    diagonal = (mosaic[r - 1, s - 1] + mosaic[r - 1, s + 1]) + (
        mosaic[r + 1, s - 1] + mosaic[r + 1, s + 1]
    )
    odd = y & 1
    if ((x + odd) & 1) == 1:
        green = c
        in_row = along(c, horizontal, horizontal2, vertical2, diagonal, sharp)
        other = along(c, vertical, vertical2, horizontal2, diagonal, sharp)
    else:
        far = vertical2 + horizontal2
        green = cross(c, vertical + horizontal, far, sharp)
        in_row, other = c, opposite(c, diagonal, far, sharp)
    raw[0, y, x] = other if odd else in_row
    raw[1, y, x] = f32(2) * green
    raw[2, y, x] = in_row if odd else other


@kernel
def develop_planes(raw, p, smooth, table, fine, low, planes):
    """Fill 8-bit pixels (H, W, 3), or brightness and colour differences (3, H, W) where chroma is
    to be smoothed."""
    i = cuda.grid(1)
    height, width = raw.shape[1], raw.shape[2]
    if i >= height * width:
        return
    y, x = i // width, i % width
    black = p[BLACK]
    unit = f32(1) / (p[WHITE] - black)
    r = balanced(raw[0, y, x], black, p[DEVELOP_GAINS] * unit)
    g = balanced(raw[1, y, x] * f32(0.5), black, p[DEVELOP_GAINS + 1] * unit)
    b = balanced(raw[2, y, x], black, p[DEVELOP_GAINS + 2] * unit)
    red = encoding_cell(weighted(p[TO_SRGB], p[TO_SRGB + 1], p[TO_SRGB + 2], r, g, b))
    green = encoding_cell(weighted(p[TO_SRGB + 3], p[TO_SRGB + 4], p[TO_SRGB + 5], r, g, b))
    blue = encoding_cell(weighted(p[TO_SRGB + 6], p[TO_SRGB + 7], p[TO_SRGB + 8], r, g, b))
    if smooth:
        bright = luma(i32(fine[red]), i32(fine[green]), i32(fine[blue]))
        planes[0, y, x] = i16(bright)
        planes[1, y, x] = i16(i32(fine[red]) - bright)
        planes[2, y, x] = i16(i32(fine[blue]) - bright)
    else:
        low[y, x, 0], low[y, x, 1], low[y, x, 2] = table[red], table[green], table[blue]


@kernel
def blur_columns(planes, weights, columns):
    """Blur both colour differences along columns into float32 planes (2, H, W)."""
    i = cuda.grid(1)
    height, width = planes.shape[1], planes.shape[2]
    if i >= 2 * height * width:
        return
    plane, rest = i // (height * width), i % (height * width)
    y, x = rest // width, rest % width
    total = weights[0] * f32(planes[plane + 1, y, x])
    for d in range(1, weights.shape[0]):
        pair = i32(planes[plane + 1, max(y - d, 0), x]) + i32(
            planes[plane + 1, min(y + d, height - 1), x]
        )
        total = fma(weights[d], f32(pair), total)
    columns[plane, y, x] = total


@device_function
def _blurred(columns, plane, y, x, weights):
    width = columns.shape[2]
    total = weights[0] * columns[plane, y, x]
    for d in range(1, weights.shape[0]):
        pair = columns[plane, y, max(x - d, 0)] + columns[plane, y, min(x + d, width - 1)]
        total = fma(weights[d], pair, total)
    return total


@kernel
def merge_chroma(planes, columns, weights, strength, low):
    i = cuda.grid(1)
    height, width = planes.shape[1], planes.shape[2]
    if i >= height * width:
        return
    y, x = i // width, i % width
    bright, red, blue = f32(planes[0, y, x]), f32(planes[1, y, x]), f32(planes[2, y, x])
    r = fma(strength, _blurred(columns, 0, y, x, weights) - red, red)
    b = fma(strength, _blurred(columns, 1, y, x, weights) - blue, blue)
    low[y, x, 0], low[y, x, 1], low[y, x, 2] = (
        grey_level(bright + r),
        grey_level(green_from(bright, r, b)),
        grey_level(bright + b),
    )
