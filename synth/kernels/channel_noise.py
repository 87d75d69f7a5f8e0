"""Noise of developed light, channel by channel: that of a camera known by its pictures alone.

Without a calibration of a sensor, noise is what pictures show after demosaicing, white
balance and colour matrix: of each channel its own. Added to linear light before it is encoded.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import f32, i32, u16, u32
from .compiling.compile import inlined_in_row, row_kernel, scalar
from .develop import developed_light, encoding_cell
from .numbers.random_bits import (
    CHANNEL,
    CHANNEL_PATCH,
    CHANNEL_ROW,
    CHANNEL_TAIL,
    CHANNEL_WIDTH,
    PixelSeed,
    channel_sample,
    random_word,
    row_sample,
    sample_state,
)
from .numbers.shot_and_read_noise import octaves_of, symmetric_quantile

_NEPERS = f32(math.log(2))
MOST_SWING = f32(0.983)  # that the narrower width's variance is below 1
_LEAST = f32(1e-20)  # variance that is still divided by
NODES = 12
"""Lights, at most, between which a factor on noise is drawn as a line."""
GRAIN = 4
"""Weights of neighbours in a row, and in a column, where a sample's own is 1; a factor on their sum
that keeps the deviation 1, or leaves room for patches; weight of patches."""
FACTORS = 256
"""Lights that have a factor: their roots are evenly spaced from black to white."""
_LAST = f32(FACTORS - 1)


class OneChannel(NamedTuple):
    """Noise of a channel, in linear light where white is 1, of float32."""

    offset: np.float32  # that the black level is off by
    shot: np.float32  # variance for each unit of light
    read: np.float32  # standard deviation of the read noise without its tail
    tail_share: np.uint32  # of the samples that the tail adds to, of 2^32
    tail: np.float32  # mean of what it adds to those, exponentially distributed
    tail_mean: np.float32  # of what it adds to all, which is taken off
    rows: np.float32  # standard deviation of what rows share, of a sample's own


class Mixing(NamedTuple):
    """Cholesky factor of the channels' correlations, of float32: `gr` is what green has of red."""

    gr: np.float32
    gg: np.float32
    br: np.float32
    bg: np.float32
    bb: np.float32


class ChannelNoise(NamedTuple):
    """Noise of developed light."""

    there: bool  # whether there is any; the rest is unused else
    red: OneChannel
    green: OneChannel
    blue: OneChannel
    mixing: Mixing
    wide: np.float32  # factor on Gaussian noise, of some samples: its kurtosis
    narrow: np.float32  # factor on that of the others
    wide_from: np.uint32  # random words that are wide, from here to 2^32
    wide_odds: np.float32  # samples that are wide, for each that is not
    grainy: np.int32  # 0: pixels share nothing; 1: neighbours do; else pixels of a patch's side
    grains: npt.NDArray[np.float32]  # (N, 3, GRAIN), of the numbers that are mixed, of all draws
    number: np.uint32  # of the draw in them
    seed: PixelSeed
    gaussian: npt.NDArray[np.float32]  # (10) of `sensor.Noise`
    curves: npt.NDArray[np.float32]  # (C, 9, FACTORS), of all draws; see `factor_and_bend`
    curve: np.uint32  # the draw's own
    form: np.int32  # 0: it has none; 1: a factor on noise; 2: skewness, too; 3: kurtosis, too


@scalar
def row_noise(y, channel, pixels, noise):
    """Draw what row `y` shares of a channel, standard normal, in a picture of so many pixels."""
    index = row_sample(u32(3) * u32(y) + u32(channel), u32(3) * u32(pixels))
    word = random_word(sample_state(index, noise.seed), CHANNEL_ROW)
    return symmetric_quantile(word, noise.gaussian)


@scalar
def factor_at(light, curve):
    """Return the factor on the noise of light, between the two nearest ones of a curve (FACTORS).

    It is that of black, or of white, where light is beyond them.
    """
    place = np.sqrt(min(max(light, f32(0)), f32(1))) * _LAST
    cell = u32(min(max(i32(place), i32(0)), i32(FACTORS - 2)))  # also of what is no number
    below = curve[cell]
    return below + (curve[u32(cell + u32(1))] - below) * (place - f32(cell))


@scalar
def factor_and_bend(light, channel, form, noise):
    """Return the factor on noise of a light, and a sixth of its skewness beside Poisson's."""
    factor, bend = f32(1), f32(0)
    if form > 0:
        factor = factor_at(light, noise.curves[noise.curve, channel])
    if form > 1:
        bend = factor_at(light, noise.curves[noise.curve, 3 + channel])
    return factor, bend


@scalar
def width_of_noise(light, channel, form, wide, noise):
    """Return the factor on Gaussian noise of a light, of samples that are wide or are not."""
    width = noise.wide if wide else noise.narrow
    if form > 2:
        swing = noise.wide * noise.wide - f32(1)
        swing *= factor_at(light, noise.curves[noise.curve, 6 + channel])
        less = min(swing * noise.wide_odds, MOST_SWING)
        width = np.sqrt(f32(1) + (less / noise.wide_odds if wide else -less))
    return width


@scalar
def noisy_channel(light, z, state, of_row, own, form, noise):
    """Return a channel's light with its noise.

    z: standard normal, correlated with the other channels'. state: of its sample. of_row: what its
    row shares. own: its `OneChannel`. form: of `ChannelNoise`, and the channel's number. Shot noise
    has the skewness of Poisson's, by the first term of Cornish and Fisher's expansion.
    """
    light = light + own.offset
    factor, bend = factor_and_bend(light, form[1], form[0], noise)
    word = random_word(state, CHANNEL_WIDTH)
    # Its last bit counts most: alone it tells halves.
    wide = u32(word >> u32(1) | word << u32(31)) >= noise.wide_from
    z = z * width_of_noise(light, form[1], form[0], wide, noise)
    shot = own.shot * max(light, f32(0))
    variance = max(own.read * own.read + shot, _LEAST)
    skewed = own.shot * shot / (f32(6) * variance) * (z * z - f32(1))
    if form[0] > 1:
        skewed += np.sqrt(variance) * bend * (z * z - f32(1))
    spread = np.sqrt(variance) * (z + own.rows * of_row) + skewed
    value = light + spread * factor - own.tail_mean * factor
    word = random_word(state, CHANNEL_TAIL)
    if word < own.tail_share:
        value += own.tail * (_NEPERS * (octaves_of(word) - octaves_of(own.tail_share))) * factor
    return value


@scalar
def _gaussian(channel, pixel, pixels, noise):
    state = sample_state(channel_sample(channel, pixel, pixels), noise.seed)
    return symmetric_quantile(random_word(state, CHANNEL), noise.gaussian)


@scalar
def gaussian_at(channel, pixel, step, pixels, noise):
    """Draw the normal number of the pixel a step further.

    From the picture's end on that is of those at its beginning.
    """
    at = u32(pixel + step)
    at = u32(at - pixels) if at >= pixels else at
    at = u32(at - pixels) if at >= pixels else at
    at = u32(at - pixels) if at >= pixels else at
    return _gaussian(channel, at, pixels, noise)


@scalar
def _add_row(total, end, middle, three):
    """Add three neighbours of a row: weights of its ends, and of its middle."""
    total = total + end * three[0]
    total = total + middle * three[1]
    return total + end * three[2]


@scalar
def _shared(near, grain):
    """Return noise that a pixel shares with its neighbours, standard normal.

    near: the normal numbers of the rows above, of the pixel and below, three of each.
    """
    row, column = grain[0], grain[1]
    total = _add_row(f32(0), column * row, column, near[0])
    total = _add_row(total, row, f32(1), near[1])
    return _add_row(total, column * row, column, near[2]) * grain[2]


@scalar
def patch_node(place, size):
    """Return the patch before a row or column, and what of that and the next one it takes."""
    position = (f32(place) + f32(0.5)) / f32(size) + f32(0.5)
    node = u32(position)
    after = position - f32(node)
    before = f32(1) - after
    scale = np.sqrt(before * before + after * after)
    return node, before / scale, after / scale


@scalar
def _of_patches(channel, pixel, pixels, width, noise):
    """Return noise that coarse patches share, standard normal."""
    row = u32(pixel // width)
    node, above, below = patch_node(row, noise.grainy)
    across, left, right = patch_node(u32(pixel - row * width), noise.grainy)
    step = u32(width // u32(noise.grainy) + u32(2))
    total, at = f32(0), u32(node * step + across)
    for weight in (above, below):
        for share in (left, right):
            state = sample_state(channel_sample(channel, at, pixels), noise.seed)
            word = random_word(state, CHANNEL_PATCH)
            total += weight * share * symmetric_quantile(word, noise.gaussian)
            at = u32(at + u32(1))
        at = u32(at + step - u32(2))
    return total


@scalar
def steps_to_rows(pixels, width):
    """Return how far on in the picture the rows above, of a pixel and below begin, less one.

    Those of the first and last pixel of a row, and of a picture, lie at its other end.
    """
    above = u32(u32(2) * pixels - u32(width) - u32(1))  # not below 0 in a picture of one row
    return above, u32(above + width), u32(above + width + width)


@scalar
def with_noise(light, normals, form, place, rows, noise):
    """Return a pixel's light with the noise of its three standard normal numbers.

    place: number of the pixel in the picture, the picture's pixels, and its width. rows: what its
    row shares of each channel.
    """
    (red, green, blue), (a, b, c), (pixel, pixels, _) = light, normals, place
    first = sample_state(channel_sample(0, pixel, pixels), noise.seed)
    second = sample_state(channel_sample(1, pixel, pixels), noise.seed)
    third = sample_state(channel_sample(2, pixel, pixels), noise.seed)
    mixing = noise.mixing
    g = mixing.gr * a + mixing.gg * b
    d = mixing.br * a + mixing.bg * b + mixing.bb * c
    return (
        noisy_channel(red, a, first, rows[0], noise.red, (form, 0), noise),
        noisy_channel(green, g, second, rows[1], noise.green, (form, 1), noise),
        noisy_channel(blue, d, third, rows[2], noise.blue, (form, 2), noise),
    )


@row_kernel
def draw_normals(place, rows, noise, normals):
    """Draw the normal numbers of rows from one above `place` to one below: each once.

    place: first row and column of the picture's, its width, and its pixels. normals: float32 array
    (3 (rows + 2) (w + 2)) that is filled, channel by channel and row by row, from the column before
    the first one to that after the last.
    """
    y, left, width, pixels = place
    above, own, below = steps_to_rows(u32(pixels), width)
    across = normals.shape[0] // (3 * (rows + 2))
    for channel in range(3):
        for i in range(rows + 2):
            row = min(max(i - 1, 0), rows - 1)
            step = above if i == 0 else (below if i > rows else own)
            first = u32((y + row) * width + left)
            start = (channel * (rows + 2) + i) * across
            some = normals[start : start + across]
            for x in range(across):
                some[x] = gaussian_at(channel, u32(first + u32(x)), step, u32(pixels), noise)


@scalar
def _near(above, own, below, x):
    """Return the numbers around a column, of rows that begin one before it."""
    return (
        (above[x], above[x + 1], above[x + 2]),
        (own[x], own[x + 1], own[x + 2]),
        (below[x], below[x + 1], below[x + 2]),
    )


@scalar
def plain_normal(near, channel, at, noise):
    """Return noise of which neighbours share nothing, standard normal."""
    return _gaussian(channel, at[0], at[1], noise)


@scalar
def _grainy_of(near, channel, at, noise):
    return _shared(near, noise.grains[noise.number, channel])


@scalar
def patchy_normal(near, channel, at, noise):
    """Return noise that a pixel shares with its neighbours, and with its patch."""
    grain, (pixel, pixels, width) = noise.grains[noise.number, channel], at
    total = f32(0)
    if grain[3] > f32(0):
        total = grain[3] * _of_patches(channel, pixel, pixels, width, noise)
    return total + _shared(near, grain)


@inlined_in_row
def _develop(rows, cells, colour, noise, place, normal_of, form):
    """Do what `develop_noisily` does, with a function of normal numbers, and a form."""
    (red, greens, blue), normals = rows
    r_cells, g_cells, b_cells = cells
    y, left, width, pixels = place
    shared = (
        row_noise(y, 0, pixels, noise),
        row_noise(y, 1, pixels, noise),
        row_noise(y, 2, pixels, noise),
    )
    r_above, r_own, r_below, g_above, g_own, g_below, b_above, b_own, b_below = normals
    for x in range(red.shape[0]):
        at = u32(y * width + left + x), u32(pixels), u32(width)
        light = developed_light(red[x], greens[x], blue[x], colour)
        three = (
            normal_of(_near(r_above, r_own, r_below, x), 0, at, noise),
            normal_of(_near(g_above, g_own, g_below, x), 1, at, noise),
            normal_of(_near(b_above, b_own, b_below, x), 2, at, noise),
        )
        r, g, b = with_noise(light, three, form, at, shared, noise)
        r_cells[x], g_cells[x] = u16(encoding_cell(r)), u16(encoding_cell(g))
        b_cells[x] = u16(encoding_cell(b))


@row_kernel
def develop_noisily(raw, colour, noise, place, normals, cells):
    """Do what `develop` does, for part of a row, with noise of channels.

    place: row and first column of the picture's, its width, and its pixels. normals: with grain of
    each channel three rows of `draw_normals`: above, its own and below.
    """
    rows = raw, normals
    # Loops of their own: each works on as many pixels at once as it can.
    if noise.grainy > 1:
        _develop(rows, cells, colour, noise, place, patchy_normal, noise.form)
    elif noise.grainy and noise.form > 1:
        _develop(rows, cells, colour, noise, place, _grainy_of, noise.form)
    elif noise.grainy and noise.form > 0:
        _develop(rows, cells, colour, noise, place, _grainy_of, 1)
    elif noise.grainy:
        _develop(rows, cells, colour, noise, place, _grainy_of, 0)
    elif noise.form > 2:
        _develop(rows, cells, colour, noise, place, plain_normal, 3)
    elif noise.form > 1:
        _develop(rows, cells, colour, noise, place, plain_normal, 2)
    elif noise.form > 0:
        _develop(rows, cells, colour, noise, place, plain_normal, 1)
    else:
        _develop(rows, cells, colour, noise, place, plain_normal, 0)
