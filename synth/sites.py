"""The sensor's sites: loops from mean electrons to whole DN. Each does one thing and is plain enough for the compiler to
vectorise; the arithmetic of one site stands in scalar functions, which a GPU compiles from the same source.
"""

from __future__ import annotations

import numpy as np

from .compiling import fma, kernel, scalar
from .hashing import READ, READ_SECOND, ROUNDING, ROW, SHOT, SHOT_REST, random_word, sample_state
from .noise import large_poisson, small_poisson, symmetric_quantile
from .tables import POISSON_LIMIT

u32 = np.uint32
i32 = np.int32
f32 = np.float32

_LIMIT = f32(POISSON_LIMIT)
_STRETCH = 512


@scalar
def single_site(electrons, noise, offset, gain, white):  # type: ignore[no-untyped-def]
    """Whole DN in [0, white], black still in, of a site; `offset` is the black level plus its row's noise."""
    return min(max(np.rint(fma(gain, electrons, noise + offset)), f32(0)), white)


@scalar
def both_greens(electrons, noise, second, offset, word, gain, top):  # type: ignore[no-untyped-def]
    """The sum of the DN of two sites; see `read_out_pair`. `top` is twice the white level."""
    rounding = f32(i32(word)) * f32(2.0**-32)
    return min(max(np.rint(fma(gain, electrons, noise + second) + (offset + rounding)), f32(0)), top)


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
        raw[x] = single_site(counts[x], noise, offsets[x], gain, white)


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
        raw[x] = both_greens(counts[x], noise, second, offsets[x], random_word(state, ROUNDING), gain, top)


@scalar
def row_noise(row, sites, seed_low, seed_high, sigma, normal, normal_units):  # type: ignore[no-untyped-def]
    """The noise in DN of a sensor row, whose sample comes after those of all `sites`."""
    word = random_word(sample_state(u32(sites + row), seed_low, seed_high), ROW)
    return sigma * symmetric_quantile(word, normal, normal_units[0], normal_units[1])
