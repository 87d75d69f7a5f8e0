"""The sensor's sites: loops from mean electrons to whole DN. Each does one thing and is plain
enough for the compiler to vectorise; the arithmetic of one site stands in scalar functions, which a
GPU compiles from the same source.
"""

from __future__ import annotations

import numpy as np

from .compiling.compile import fma, kernel, scalar
from .numbers.noise import large_poisson, small_poisson, symmetric_quantile
from .numbers.poisson import POISSON_LIMIT
from .numbers.random_bits import READ, ROUNDING, ROW, SHOT, SHOT_REST, random_word, sample_state

u32 = np.uint32
u64 = np.uint64
i32 = np.int32
f32 = np.float32

_LIMIT = f32(POISSON_LIMIT)
_BLOCK = 64


@scalar
def single_site(electrons, noise, offset, gain, white):
    """Whole DN in [0, white], black still in, of a site; `offset` is the black level plus its row's
    noise."""
    return min(max(np.rint(fma(gain, electrons, noise + offset)), f32(0)), white)


@scalar
def both_greens(electrons, noise, offset, word, gain, top):
    """The sum of the DN of two sites; see `read_out_pair`. `top` is twice the white level."""
    rounding = f32(i32(word)) * f32(2.0**-32)
    return min(max(np.rint(fma(gain, electrons, noise) + (offset + rounding)), f32(0)), top)


@kernel
def draw_words(first, seed_low, seed_high, states, shot, read):
    """Fill rows (N) of the states (uint32) of the samples from index `first` on, and of words for
    shot and read noise.

    A loop of its own: together with the arithmetic that uses them they would not fit into a CPU's
    registers.
    """
    for x in range(shot.shape[0]):
        state = sample_state(u32(first + u32(x)), seed_low, seed_high)
        states[x], shot[x], read[x] = state, random_word(state, SHOT), random_word(state, READ)


@kernel
def draw_rounding(states, rounding):
    """Fill a row (N) of random words of samples that are the sum of two sites: for that sum's
    rounding."""
    for x in range(rounding.shape[0]):
        rounding[x] = random_word(states[x], ROUNDING)


@kernel
def count_electrons(means, counts, states, shot, normal, alias_table):
    """Fill `counts` (N) with the electrons, Poisson distributed, of sites exposed to `means` (N).

    Blocks whose means all lie on one side of the Poisson limit skip the other side's arithmetic;
    what a sample draws does not depend on it.
    """
    blocks = means.shape[0] // _BLOCK
    for block in range(blocks):
        # Unsigned, or an index might count from the end to the compiler; and of a fixed number of
        # turns. Else the loops would not become whole vectors. Several of them: what does not fit
        # into a CPU's registers is slower than another pass.
        start = u64(block) * u64(_BLOCK)
        bright = i32(0)
        for x in range(_BLOCK):
            bright += i32(means[start + u64(x)] >= _LIMIT)
        if bright > 0:
            for x in range(_BLOCK):
                counts[start + u64(x)] = symmetric_quantile(shot[start + u64(x)], normal)
            for x in range(_BLOCK):
                counts[start + u64(x)] = large_poisson(
                    means[start + u64(x)], counts[start + u64(x)]
                )
        if bright < _BLOCK:
            for x in range(_BLOCK):
                i = start + u64(x)
                few = small_poisson(
                    means[i], shot[i], random_word(states[i], SHOT_REST), alias_table
                )
                counts[i] = few if means[i] < _LIMIT else counts[i]
    for x in range(blocks * _BLOCK, means.shape[0]):
        if means[x] < _LIMIT:
            counts[x] = small_poisson(
                means[x], shot[x], random_word(states[x], SHOT_REST), alias_table
            )
        else:
            counts[x] = large_poisson(means[x], symmetric_quantile(shot[x], normal))


@kernel
def read_out(counts, raw, offsets, words, gain, white, read):
    """Fill `raw` (N) with whole DN in [0, white], black still in, of sites that counted so many
    electrons.

    `offsets` (N) are the black level plus the noise of each site's row in DN; `words` are those for
    read noise.
    """
    for x in range(raw.shape[0]):
        raw[x] = single_site(counts[x], symmetric_quantile(words[x], read), offsets[x], gain, white)


@kernel
def read_out_pair(counts, raw, offsets, words, rounding, gain, white, read_pair):
    """As `read_out` for two sites under equal light at once: `raw` is the sum of their DN, within
    [0, 2 white].

    `counts` are the electrons of both, which are Poisson distributed with the sum of their means;
    `offsets` the sum of theirs, `read_pair` the distribution of the sum of two read noises. Each
    site is rounded on its own: the sum is rounded once, after adding a number that is uniform in
    [-1/2, 1/2), which gives the sum of two roundings its distribution.
    """
    top = f32(2) * white
    for x in range(raw.shape[0]):
        noise = symmetric_quantile(words[x], read_pair)
        raw[x] = both_greens(counts[x], noise, offsets[x], rounding[x], gain, top)


@scalar
def row_noise(row, sites, seed_low, seed_high, sigma, normal):
    """The noise in DN of a sensor row, whose sample comes after those of all `sites`."""
    word = random_word(sample_state(u32(sites + row), seed_low, seed_high), ROW)
    return sigma * symmetric_quantile(word, normal)
