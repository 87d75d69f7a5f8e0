"""The camera model's inner loops: 8-bit normal in, 8-bit low out, a few rows at a time so that all buffers stay in cache.

Each loop does one thing and is plain enough for the compiler to vectorise. What an image needs besides its
pixels is small: a vector of float32 parameters (named below), the illumination as a few rows, a table that linearises, one
that encodes, the quantiles of its read noise, and a 64-bit seed.
"""

from __future__ import annotations

import numpy as np

from .compiling import fma, kernel, scalar
from .hashing import READ, READ_SECOND, ROUNDING, ROW, SHOT, SHOT_REST, random_word, sample_state
from .noise import large_poisson, small_poisson, symmetric_quantile
from .tables import POISSON_LIMIT

u16 = np.uint16
u32 = np.uint32
i32 = np.int32
f32 = np.float32

# Places of the parameter vector.
TO_CAMERA = 0
"""3 x 3, row by row: linear sRGB to camera RGB, divided by the white balance gains."""
TO_SRGB = 9
"""3 x 3, row by row: camera RGB, white balanced, to linear sRGB."""
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
DEVELOP_GAINS = 24
"""Of red, green and blue: the camera's own, erring white balance and digital gain."""
PARAMETERS = 27

ENCODE_CELLS = 1 << 14
"""Cells of the encoding table, evenly spaced in the square root of linear light."""
_LIMIT = f32(POISSON_LIMIT)
_STRETCH = 512
_BAND = 2048  # pixels
_KNEE = f32(0.9)
_PER_KNEE = f32(10.0)


@kernel
def linearise(rgb, linear, red, green, blue):  # type: ignore[no-untyped-def]
    """Fill three rows (N) with the linear light of 8-bit pixels (N, 3), by a table of 256."""
    for x in range(red.shape[0]):
        red[x] = linear[rgb[x, 0]]
        green[x] = linear[rgb[x, 1]]
        blue[x] = linear[rgb[x, 2]]


@kernel
def expose(red, green, blue, upper, lower, t, p):  # type: ignore[no-untyped-def]
    """Turn the light of a row of pixels, three rows (W), into the mean electrons of red, green and blue sites, in place.

    The illumination lies the share `t` below its row `upper` on the way to `lower`. Light whose largest channel is over 0.9
    was cut off by the camera that took the photograph: it is brightened smoothly, by the factor 1 + p[HIGHLIGHTS] at 1,
    equally in all channels, so that lamps stay both bright and neutral in the dark.
    """
    scale, boost = p[ELECTRONS], p[HIGHLIGHTS]
    rr, rg, rb, gr, gg, gb, br, bg, bb = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]
    for x in range(red.shape[0]):
        r, g, b = red[x], green[x], blue[x]
        over = max(max(r, max(g, b)) - _KNEE, f32(0)) * _PER_KNEE
        e = (upper[x] + (lower[x] - upper[x]) * t) * (scale + scale * boost * over * over)
        red[x] = max(rr * r + rg * g + rb * b, f32(0)) * e
        green[x] = max(gr * r + gg * g + gb * b, f32(0)) * e
        blue[x] = max(br * r + bg * g + bb * b, f32(0)) * e


@kernel
def _count_few(means, counts, first, seed_low, seed_high, alias_table):  # type: ignore[no-untyped-def]
    for x in range(counts.shape[0]):
        state = sample_state(u32(first + u32(x)), seed_low, seed_high)
        counts[x] = small_poisson(means[x], random_word(state, SHOT), random_word(state, SHOT_REST), alias_table)


@kernel
def _count_many(means, counts, first, seed_low, seed_high, normal, normal_units):  # type: ignore[no-untyped-def]
    value, fall = normal_units[0], normal_units[1]
    for x in range(counts.shape[0]):
        state = sample_state(u32(first + u32(x)), seed_low, seed_high)
        counts[x] = large_poisson(means[x], symmetric_quantile(random_word(state, SHOT), normal, value, fall))


@kernel
def _count_mixed(means, counts, first, seed_low, seed_high, normal, normal_units, alias_table):  # type: ignore[no-untyped-def]
    value, fall = normal_units[0], normal_units[1]
    for x in range(counts.shape[0]):
        state = sample_state(u32(first + u32(x)), seed_low, seed_high)
        word = random_word(state, SHOT)
        few = small_poisson(means[x], word, random_word(state, SHOT_REST), alias_table)
        many = large_poisson(means[x], symmetric_quantile(word, normal, value, fall))
        counts[x] = few if means[x] < _LIMIT else many


@kernel
def count_electrons(means, counts, first, seed_low, seed_high, normal, normal_units, alias_table):  # type: ignore[no-untyped-def]
    """Fill `counts` (N) with the electrons, Poisson distributed, of sites exposed to `means` (N).

    `first` is the index of the first sample. Stretches whose means all lie on one side of the Poisson limit skip the other
    side's arithmetic; what a sample draws does not depend on it.
    """
    for start in range(0, means.shape[0], _STRETCH):
        # Loops over slices: with a start of its own a loop's index might be negative to the compiler, and would not vectorise.
        part, out = means[start : start + _STRETCH], counts[start : start + _STRETCH]
        begin = u32(first + u32(start))
        bright = i32(0)
        for x in range(part.shape[0]):
            bright += i32(part[x] >= _LIMIT)
        if bright == 0:
            _count_few(part, out, begin, seed_low, seed_high, alias_table)
        elif bright == part.shape[0]:
            _count_many(part, out, begin, seed_low, seed_high, normal, normal_units)
        else:
            _count_mixed(part, out, begin, seed_low, seed_high, normal, normal_units, alias_table)


@kernel
def read_out(counts, raw, offsets, first, seed_low, seed_high, gain, white, read, read_units):  # type: ignore[no-untyped-def]
    """Fill `raw` (N) with whole DN in [0, white], black still in, of sites that counted so many electrons.

    `offsets` (N) are the black level plus the noise of each site's row in DN.
    """
    value, fall = read_units[0], read_units[1]
    for x in range(raw.shape[0]):
        state = sample_state(u32(first + u32(x)), seed_low, seed_high)
        noise = symmetric_quantile(random_word(state, READ), read, value, fall)
        raw[x] = min(max(np.rint(fma(gain, counts[x], noise + offsets[x])), f32(0)), white)


@kernel
def read_out_pair(counts, raw, offsets, first, seed_low, seed_high, gain, white, read, read_units):  # type: ignore[no-untyped-def]
    """As `read_out` for two sites under equal light at once: `raw` is the sum of their DN, within [0, 2 white].

    `counts` are the electrons of both, which are Poisson distributed with the sum of their means; `offsets` the sum of theirs.
    Each site has read noise of its own. Each is also rounded on its own: the sum is rounded once, after adding a number that
    is uniform in [-1/2, 1/2), which gives the sum of two roundings its distribution.
    """
    value, fall = read_units[0], read_units[1]
    top = f32(2) * white
    for x in range(raw.shape[0]):
        state = sample_state(u32(first + u32(x)), seed_low, seed_high)
        noise = symmetric_quantile(random_word(state, READ), read, value, fall)
        second = symmetric_quantile(random_word(state, READ_SECOND), read, value, fall)
        rounding = f32(i32(random_word(state, ROUNDING))) * f32(2.0**-32)
        raw[x] = min(max(np.rint(fma(gain, counts[x], noise + second) + (offsets[x] + rounding)), f32(0)), top)


@kernel
def develop(r_raw, gg_raw, b_raw, p, red, green, blue):  # type: ignore[no-untyped-def]
    """Turn quads, rows (N) of red, of the sum of both greens and of blue, into encoding table places: black, binning, white
    balance, colour.

    White balanced values are cut at white, as cameras do, or else clipped light would turn magenta in the colour matrix. Values
    below black live on and are cut only where the tone curve needs light.
    """
    black = p[BLACK]
    unit = f32(1) / (p[WHITE] - black)
    r_unit, g_unit, b_unit = p[DEVELOP_GAINS] * unit, p[DEVELOP_GAINS + 1] * unit, p[DEVELOP_GAINS + 2] * unit
    top = f32(ENCODE_CELLS - 1)
    rr, rg, rb, gr, gg, gb, br, bg, bb = p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17]
    for x in range(red.shape[0]):
        r = min((r_raw[x] - black) * r_unit, f32(1))
        g = min((gg_raw[x] * f32(0.5) - black) * g_unit, f32(1))
        b = min((b_raw[x] - black) * b_unit, f32(1))
        red[x] = u16(i32(np.sqrt(min(max(rr * r + rg * g + rb * b, f32(0)), f32(1))) * top + f32(0.5)))
        green[x] = u16(i32(np.sqrt(min(max(gr * r + gg * g + gb * b, f32(0)), f32(1))) * top + f32(0.5)))
        blue[x] = u16(i32(np.sqrt(min(max(br * r + bg * g + bb * b, f32(0)), f32(1))) * top + f32(0.5)))


@kernel
def encode(red, green, blue, table, low):  # type: ignore[no-untyped-def]
    """Fill 8-bit pixels (N, 3) from encoding table places, three rows (N)."""
    for x in range(low.shape[0]):
        low[x, 0] = table[red[x]]
        low[x, 1] = table[green[x]]
        low[x, 2] = table[blue[x]]


@kernel
def photograph(  # type: ignore[no-untyped-def]
    rgb, low, linear, illumination, p, seed_low, seed_high, read, read_units, normal, normal_units, alias_table, table
):
    """Fill `low` (H, W, 3) uint8 with the darkened `rgb` of the same form.

    `illumination` (rows, W) float32 is the factor on scene light at the centres of evenly spaced rows, already interpolated
    to every column; `linear` and `table` are the tables of `transfer`; `read` are the packed quantiles of the read noise, with
    their units in DN. Rows are taken a few at a time, so that the loops are long enough for vectors and all buffers stay in
    cache.
    """
    height, width = rgb.shape[0], rgb.shape[1]
    band = max(1, min(height, _BAND // width))
    size = band * width
    # One array a plane: slices of one dimension stay contiguous to the compiler.
    red, green, blue = np.empty(size, np.float32), np.empty(size, np.float32), np.empty(size, np.float32)
    offsets = np.empty(3 * size, np.float32)
    counts = np.empty(size, np.float32)
    raw = np.empty(3 * size, np.float32)
    cells = np.empty(3 * size, np.uint16)
    rows = illumination.shape[0]
    plane = u32(height * width)
    for top in range(0, height, band):
        count = min(band, height - top)
        n = count * width
        for i in range(count):
            y = top + i
            a, b = i * width, (i + 1) * width
            position = (f32(y) + f32(0.5)) * (f32(rows) / f32(height)) - f32(0.5)
            position = min(max(position, f32(0)), f32(rows - 1))
            j = min(i32(position), i32(rows - 2))
            linearise(rgb[y], linear, red[a:b], green[a:b], blue[a:b])
            expose(red[a:b], green[a:b], blue[a:b], illumination[j], illumination[j + 1], position - f32(j), p)
            upper = p[BLACK] + _row_noise(u32(2 * y), plane, seed_low, seed_high, p, normal, normal_units)
            lower = p[BLACK] + _row_noise(u32(2 * y + 1), plane, seed_low, seed_high, p, normal, normal_units)
            offsets[a:b] = upper
            offsets[n + a : n + b] = upper + lower
            offsets[2 * n + a : 2 * n + b] = lower
        # The greens of a quad, one in either row, are under equal light: their electrons are counted together.
        for x in range(n):
            green[x] *= f32(2)
        for channel in range(3):
            means = red if channel == 0 else (green if channel == 1 else blue)
            first = u32(u32(channel) * plane + u32(top) * u32(width))
            dn, offset = raw[channel * n : (channel + 1) * n], offsets[channel * n : (channel + 1) * n]
            count_electrons(means[:n], counts[:n], first, seed_low, seed_high, normal, normal_units, alias_table)
            if channel == 1:
                read_out_pair(counts[:n], dn, offset, first, seed_low, seed_high, p[GAIN], p[WHITE], read, read_units)
            else:
                read_out(counts[:n], dn, offset, first, seed_low, seed_high, p[GAIN], p[WHITE], read, read_units)
        r, g, b = cells[:n], cells[n : 2 * n], cells[2 * n : 3 * n]
        develop(raw[:n], raw[n : 2 * n], raw[2 * n : 3 * n], p, r, g, b)
        encode(r, g, b, table, low[top : top + count].reshape(n, 3))


@scalar
def _row_noise(row, plane, seed_low, seed_high, p, normal, normal_units):  # type: ignore[no-untyped-def]
    """The noise in DN of a sensor row, whose sample comes after those of all pixels."""
    word = random_word(sample_state(u32(u32(3) * plane + row), seed_low, seed_high), ROW)
    return p[ROW_SIGMA] * symmetric_quantile(word, normal, normal_units[0], normal_units[1])
