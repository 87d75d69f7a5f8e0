"""The sensor's sites: loops from mean electrons to whole DN. Each does one thing and is plain enough for the compiler to
vectorise; the arithmetic of one site stands in scalar functions, which a GPU compiles from the same source.
"""

from __future__ import annotations

import numpy as np

from .compiling import fma, kernel, scalar
from .hashing import READ, ROUNDING, ROW, SHOT, SHOT_REST, random_word, sample_state
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
def both_greens(electrons, noise, offset, word, gain, top):  # type: ignore[no-untyped-def]
    """The sum of the DN of two sites; see `read_out_pair`. `top` is twice the white level."""
    rounding = f32(i32(word)) * f32(2.0**-32)
    return min(max(np.rint(fma(gain, electrons, noise) + (offset + rounding)), f32(0)), top)


@kernel
def draw_words(first, seed_low, seed_high, shot, rest, read):  # type: ignore[no-untyped-def]
    """Fill rows (N) of random words (uint32) of the samples from index `first` on: for shot noise, its remainder, read noise.

    A loop of its own: together with the arithmetic that uses them they would not fit into a CPU's registers.
    """
    for x in range(shot.shape[0]):
        state = sample_state(u32(first + u32(x)), seed_low, seed_high)
        shot[x], rest[x], read[x] = random_word(state, SHOT), random_word(state, SHOT_REST), random_word(state, READ)


@kernel
def draw_rounding(first, seed_low, seed_high, rounding):  # type: ignore[no-untyped-def]
    """Fill a row (N) of random words of samples that are the sum of two sites: for that sum's rounding."""
    for x in range(rounding.shape[0]):
        rounding[x] = random_word(sample_state(u32(first + u32(x)), seed_low, seed_high), ROUNDING)


@kernel
def _draw_normal(words, normal, out):  # type: ignore[no-untyped-def]
    for x in range(out.shape[0]):
        out[x] = symmetric_quantile(words[x], normal)


@kernel
def _count_many(means, counts):  # type: ignore[no-untyped-def]
    """Turn normal draws into counts, in place; those of faint sites mean nothing."""
    for x in range(counts.shape[0]):
        counts[x] = large_poisson(means[x], counts[x])


@kernel
def _count_few(means, counts, shot, rest, alias_table):  # type: ignore[no-untyped-def]
    """Replace the counts of faint sites."""
    for x in range(counts.shape[0]):
        few = small_poisson(means[x], shot[x], rest[x], alias_table)
        counts[x] = few if means[x] < _LIMIT else counts[x]


@kernel
def count_electrons(means, counts, shot, rest, normal, alias_table):  # type: ignore[no-untyped-def]
    """Fill `counts` (N) with the electrons, Poisson distributed, of sites exposed to `means` (N), from their random words.

    Stretches whose means all lie on one side of the Poisson limit skip the other side's arithmetic; what a sample draws does
    not depend on it.
    """
    for start in range(0, means.shape[0], _STRETCH):
        # Loops over slices: with a start of its own a loop's index might be negative to the compiler, and would not vectorise.
        # Many short ones: what does not fit into a CPU's registers at once is slower than another pass.
        part, out = means[start : start + _STRETCH], counts[start : start + _STRETCH]
        word, second = shot[start : start + _STRETCH], rest[start : start + _STRETCH]
        bright = i32(0)
        for x in range(part.shape[0]):
            bright += i32(part[x] >= _LIMIT)
        if bright > 0:
            _draw_normal(word, normal, out)
            _count_many(part, out)
        if bright < part.shape[0]:
            _count_few(part, out, word, second, alias_table)


@kernel
def read_out(counts, raw, offsets, words, gain, white, read):  # type: ignore[no-untyped-def]
    """Fill `raw` (N) with whole DN in [0, white], black still in, of sites that counted so many electrons.

    `offsets` (N) are the black level plus the noise of each site's row in DN; `words` are those for read noise.
    """
    for x in range(raw.shape[0]):
        raw[x] = single_site(counts[x], symmetric_quantile(words[x], read), offsets[x], gain, white)


@kernel
def read_out_pair(counts, raw, offsets, words, rounding, gain, white, read_pair):  # type: ignore[no-untyped-def]
    """As `read_out` for two sites under equal light at once: `raw` is the sum of their DN, within [0, 2 white].

    `counts` are the electrons of both, which are Poisson distributed with the sum of their means; `offsets` the sum of theirs,
    `read_pair` the distribution of the sum of two read noises. Each site is rounded on its own: the sum is rounded once, after
    adding a number that is uniform in [-1/2, 1/2), which gives the sum of two roundings its distribution.
    """
    top = f32(2) * white
    for x in range(raw.shape[0]):
        noise = symmetric_quantile(words[x], read_pair)
        raw[x] = both_greens(counts[x], noise, offsets[x], rounding[x], gain, top)


@scalar
def row_noise(row, sites, seed_low, seed_high, sigma, normal):  # type: ignore[no-untyped-def]
    """The noise in DN of a sensor row, whose sample comes after those of all `sites`."""
    word = random_word(sample_state(u32(sites + row), seed_low, seed_high), ROW)
    return sigma * symmetric_quantile(word, normal)
