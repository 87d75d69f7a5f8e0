"""Fixed-pattern noise: what a sensor adds to every picture alike.

Columns have offsets, normally distributed, as their amplifiers differ; some sites are hot: they
collect electrons in the dark, exponentially distributed among them. A pattern is keyed by a seed of
its own, so that all frames of a clip share it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import f32, f64, u32
from ..compiling.compile import inlined_in_row, row_kernel, scalar
from ..demosaic import BINNED
from ..numbers.elementary import log2
from ..numbers.random_bits import (
    COLUMN,
    HOT,
    HOT_BELOW,
    PixelSeed,
    channel_sample,
    mosaic_sample,
    random_word,
    sample_state,
)
from ..numbers.shot_and_read_noise import symmetric_quantile

_NEPERS = -math.log(2)


class Pattern(NamedTuple):
    """A sensor's fixed pattern."""

    there: bool  # whether it has one; the rest is unused else
    columns: np.float32  # standard deviation of its columns' offsets, DN
    share: np.uint32  # of the sites that are hot, of 2^32
    hot: np.float32  # mean of what those add, DN
    most: np.float32  # that one adds, DN: what fills it
    seed: PixelSeed
    gaussian: npt.NDArray[np.float32]  # (10) of `sensor.Noise`


@scalar
def column_offset(column, pattern):
    """Return what a column of sites adds, DN."""
    word = random_word(sample_state(u32(column), pattern.seed), COLUMN)
    return pattern.columns * symmetric_quantile(word, pattern.gaussian)


@scalar
def hot_offset(index, purpose, pattern):
    """Return what the site of a sample adds, DN: mostly nothing.

    purpose: HOT, or HOT_BELOW for the lower one of two sites that are one sample.
    """
    word = random_word(sample_state(index, pattern.seed), purpose)
    if word < pattern.share:
        rank = (f64(word) + 0.5) / f64(pattern.share)
        return min(pattern.hot * f32(log2(rank) * _NEPERS), pattern.most)
    return f32(0)


@scalar
def pixel_pattern(method, y, x, picture, pattern):
    """Return what sites of a pixel add, DN: red, greens, blue; picture: height and width."""
    pixel, pixels = u32(y * picture[1] + x), u32(picture[0] * picture[1])
    first, second, third = (
        channel_sample(0, pixel, pixels),
        channel_sample(1, pixel, pixels),
        channel_sample(2, pixel, pixels),
    )
    if method == BINNED:  # a quad: red and green above, green and blue below
        left, right = column_offset(2 * x, pattern), column_offset(2 * x + 1, pattern)
        greens = hot_offset(second, HOT, pattern) + hot_offset(second, HOT_BELOW, pattern)
        return (
            left + hot_offset(first, HOT, pattern),
            (left + right) + greens,
            right + hot_offset(third, HOT, pattern),
        )
    own = column_offset(x, pattern)
    return (
        own + hot_offset(first, HOT, pattern),
        own + hot_offset(second, HOT, pattern),
        own + hot_offset(third, HOT, pattern),
    )


@scalar
def site_pattern(row, column, sites, pattern):
    """Return what a site of a mosaic with so many `sites` a row adds, DN."""
    index = mosaic_sample(row, column, sites)
    return column_offset(column, pattern) + hot_offset(index, HOT, pattern)


class PatternScratch(NamedTuple):
    """Memory to work for the pattern of a row (N)."""

    own: npt.NDArray[np.float32]  # (N)
    more: npt.NDArray[np.float32]  # (N)
    words: npt.NDArray[np.uint32]  # (N)
    found: npt.NDArray[np.int32]  # (N)


@row_kernel
def fill_columns(pattern, first, step, columns):
    """Fill a row with what columns of sites add: the first one, and each so many further."""
    for x in range(columns.shape[0]):
        columns[x] = column_offset(first + step * x, pattern)


@row_kernel
def _hot_words(first, purpose, seed, words):
    for x in range(words.shape[0]):
        words[x] = random_word(sample_state(u32(first + u32(x)), seed), purpose)


@row_kernel
def _find_below(words, limit, found):
    """Fill `found` with the places of words below a limit; returns how many there are."""
    count = 0
    for x in range(words.shape[0]):
        found[count] = x
        count += 1 if words[x] < limit else 0
    return count


@inlined_in_row
def _add_hot(own, first, purpose, pattern, scratch):
    """Add to a row (N) what those of its sites add that are hot, whose first sample is given."""
    words, found = scratch.words[: own.shape[0]], scratch.found
    _hot_words(u32(first), purpose, pattern.seed, words)
    for i in range(_find_below(words, pattern.share, found)):
        x = found[i]
        own[x] += hot_offset(u32(u32(first) + u32(x)), purpose, pattern)


@row_kernel
def _add_row(own, other):
    for x in range(own.shape[0]):
        own[x] += other[x]


@row_kernel
def _copy_row(own, other):
    for x in range(own.shape[0]):
        own[x] = other[x]


@row_kernel
def add_pixel_pattern(offsets, method, place, picture, pattern, columns, scratch):
    """Add the pattern to the offsets of a row's pixels: red, green, blue rows (N).

    place: row of the picture, and the column that the first pixel lies in. columns: what the left
    and the right column of a quad adds (2, picture's width), or that of each pixel, twice. scratch:
    `PatternScratch`.
    """
    count = offsets[0].shape[0]
    own, more = scratch.own[:count], scratch.more[:count]
    pixels, pixel = picture[0] * picture[1], place[0] * picture[1] + place[1]
    here = slice(place[1], place[1] + count)
    for channel in range(3):
        first = channel_sample(channel, pixel, pixels)
        _copy_row(own, columns[1 if channel == 2 else 0, here])
        if method == BINNED and channel == 1:
            _add_row(own, columns[1, here])
            more[:] = f32(0)
            _add_hot(more, first, HOT, pattern, scratch)
            _add_hot(more, first, HOT_BELOW, pattern, scratch)
            _add_row(own, more)
        else:
            _add_hot(own, first, HOT, pattern, scratch)
        _add_row(offsets[0] if channel == 0 else (offsets[1] if channel == 1 else offsets[2]), own)


@row_kernel
def add_site_pattern(offsets, row, column, sites, pattern, columns, scratch):
    """Add the pattern to the offsets of a row's sites (N), from a column on."""
    count = offsets.shape[0]
    own = scratch.own[:count]
    _copy_row(own, columns[column : column + count])
    _add_hot(own, mosaic_sample(row, column, sites), HOT, pattern, scratch)
    _add_row(offsets, own)
