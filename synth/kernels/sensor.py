"""The sensor's sites: loops from mean electrons to whole DN, plain enough to become vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import f32, i32, u32, u64
from .compiling.compile import fma, row_kernel, scalar
from .numbers.random_bits import (
    READ,
    ROUNDING,
    ROW,
    SHOT,
    SHOT_REST,
    PixelSeed,
    random_word,
    row_sample,
    sample_state,
)
from .numbers.shot_and_read_noise import (
    POISSON_LIMIT,
    large_poisson,
    quantile_at,
    small_poisson,
    symmetric_quantile,
    tail_place,
)

_LIMIT = f32(POISSON_LIMIT)
# Loops are over so many sites, of a fixed number of turns and with unsigned places, as an index
# might count from the end to the compiler: else they would not become whole vectors. Each does a
# part of the arithmetic: in a long chain of it a CPU has too few sites at once under way to be busy
# while it waits for results, nor do all its numbers fit into registers.
_BLOCK, _PART = 256, 64


class Noise(NamedTuple):
    """Distributions of a sensor's noise.

    read, read_pair: float32 arrays (10), quantile polynomials of a site's read noise and of the sum
    of two, DN.
    """

    read: npt.NDArray[np.float32]
    read_pair: npt.NDArray[np.float32]
    gaussian: npt.NDArray[np.float32]  # (10), the same of the standard normal distribution
    alias: npt.NDArray[np.uint32]  # uint32 array of `poisson.poisson_alias_table`


class Sensor(NamedTuple):
    """A sensor and the photograph's own random bits."""

    method: int  # of `demosaic`: how its sites lie
    gain: np.float32  # system gain K, DN per electron
    black: np.float32  # black level and largest value of its bit depth, DN
    white: np.float32  # black level and largest value of its bit depth, DN
    row_sigma: np.float32  # standard deviation of the row noise, DN
    seed: PixelSeed
    noise: Noise


@scalar
def electrons_of(mean, state, word, noise):
    """Draw a site's electrons (float32, whole), Poisson distributed; word: of shot noise."""
    if mean < _LIMIT:
        return small_poisson(mean, word, random_word(state, SHOT_REST), noise.alias)
    return large_poisson(mean, symmetric_quantile(word, noise.gaussian))


@scalar
def single_site(electrons, drawn, offset, sensor):
    """Return whole DN in [0, white], black still in, of a site.

    `offset` is the black level plus its row's noise, `drawn` its read noise.
    """
    return min(max(np.rint(fma(sensor.gain, electrons, drawn + offset)), f32(0)), sensor.white)


@scalar
def both_greens(electrons, drawn, offset, word, sensor):
    """Return the sum of the DN of two sites under equal light, within [0, 2 white].

    `electrons` are those of both, Poisson distributed with the sum of their means; `offset` the sum
    of theirs, `drawn` of the distribution of the sum of two read noises. Each site is rounded on
    its own: the sum is rounded once, after adding a number that is uniform in [-1/2, 1/2), by
    `word`, which gives the sum of two roundings its distribution.
    """
    rounding = f32(i32(word)) * f32(2.0**-32)
    value = np.rint(fma(sensor.gain, electrons, drawn) + (offset + rounding))
    return min(max(value, f32(0)), f32(2) * sensor.white)


@scalar
def row_offset(row, samples, sensor):
    """Return the black level plus the noise in DN of a sensor row."""
    word = random_word(sample_state(row_sample(row, samples), sensor.seed), ROW)
    return sensor.black + sensor.row_sigma * symmetric_quantile(word, sensor.noise.gaussian)


@scalar
def sense_site(mean, index, offset, sensor):
    """Return the DN of the site whose sample is `index`, from mean electrons to read-out."""
    state = sample_state(index, sensor.seed)
    electrons = electrons_of(mean, state, random_word(state, SHOT), sensor.noise)
    drawn = symmetric_quantile(random_word(state, READ), sensor.noise.read)
    return single_site(electrons, drawn, offset, sensor)


@scalar
def sense_greens(mean, index, offset, sensor):
    """Return the sum of the DN of the two greens of a quad, each under `mean` electrons."""
    state = sample_state(index, sensor.seed)
    electrons = electrons_of(f32(2) * mean, state, random_word(state, SHOT), sensor.noise)
    drawn = symmetric_quantile(random_word(state, READ), sensor.noise.read_pair)
    return both_greens(electrons, drawn, offset, random_word(state, ROUNDING), sensor)


@row_kernel
def draw_words(first, seed, states, shot):
    """Fill rows (N) of states (uint32) of the samples from index `first` on, and of their words.

    The words are for shot noise.

    A loop of its own: together with the arithmetic that uses them they would not fit into a CPU's
    registers.
    """
    for x in range(shot.shape[0]):
        state = sample_state(u32(first + u32(x)), seed)
        states[x], shot[x] = state, random_word(state, SHOT)


@row_kernel
def draw_rounding(states, rounding):
    """Fill a row (N) of random words that round samples which are the sum of two sites."""
    for x in range(rounding.shape[0]):
        rounding[x] = random_word(states[x], ROUNDING)


@row_kernel
def count_electrons(means, counts, states, shot, noise):
    """Fill `counts` (N) with the electrons, Poisson distributed, of sites exposed to `means` (N).

    Parts whose means all lie on one side of the Poisson limit skip the other side's arithmetic;
    what a sample draws does not depend on it.
    """
    parts = means.shape[0] // _PART
    for part in range(parts):
        first, bright = u64(part) * u64(_PART), i32(0)
        for x in range(_PART):
            bright += i32(means[first + u64(x)] >= _LIMIT)
        if bright > 0:
            for x in range(_PART):
                counts[first + u64(x)] = tail_place(shot[first + u64(x)])
            for x in range(_PART):
                i = first + u64(x)
                counts[i] = quantile_at(counts[i], shot[i], noise.gaussian)
            for x in range(_PART):
                i = first + u64(x)
                counts[i] = large_poisson(means[i], counts[i])
        if bright < _PART:
            for x in range(_PART):
                i = first + u64(x)
                few = small_poisson(
                    means[i], shot[i], random_word(states[i], SHOT_REST), noise.alias
                )
                counts[i] = few if means[i] < _LIMIT else counts[i]
    for x in range(parts * _PART, means.shape[0]):
        counts[x] = electrons_of(means[x], states[x], shot[x], noise)


@row_kernel
def read_out(counts, raw, offsets, states, words, rounding, sensor):
    """Fill `raw` (N) with whole DN in [0, white], black still in, of sites.

    Or, where there are words for `rounding` (N), with the sum of two sites each: `both_greens`.

    `counts` (N) are the electrons that they counted.

    `offsets` (N) are the black level plus the noise of each site's row in DN, `states` of their
    samples; `words` (N) is memory for those of read noise.
    """
    # `rounding` is None else, by which the compiler chooses.
    quantiles = sensor.noise.read if rounding is None else sensor.noise.read_pair
    noisy = False  # the sensor beneath noise of channels has none of its own
    for coefficient in quantiles:
        noisy |= coefficient != f32(0)
    blocks = raw.shape[0] // _BLOCK
    for block in range(blocks):
        start = u64(block) * u64(_BLOCK)
        if noisy:
            for x in range(_BLOCK):
                words[start + u64(x)] = random_word(states[start + u64(x)], READ)
            for x in range(_BLOCK):
                raw[start + u64(x)] = tail_place(words[start + u64(x)])
            for x in range(_BLOCK):
                i = start + u64(x)
                raw[i] = quantile_at(raw[i], words[i], quantiles)
        else:
            for x in range(_BLOCK):
                raw[start + u64(x)] = f32(0)
        for x in range(_BLOCK):
            i = start + u64(x)
            if rounding is None:
                raw[i] = single_site(counts[i], raw[i], offsets[i], sensor)
            else:
                raw[i] = both_greens(counts[i], raw[i], offsets[i], rounding[i], sensor)
    for x in range(blocks * _BLOCK, raw.shape[0]):
        drawn = symmetric_quantile(random_word(states[x], READ), quantiles)
        if rounding is None:
            raw[x] = single_site(counts[x], drawn, offsets[x], sensor)
        else:
            raw[x] = both_greens(counts[x], drawn, offsets[x], rounding[x], sensor)
