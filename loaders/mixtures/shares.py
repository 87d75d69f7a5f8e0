"""Shares of a mixture's components: which component each sample is of, as its number says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

SPAN = 1000
"""Consecutive samples among which every share is right to within one."""

_UNITS = 1 << 20  # of a sample: what parts of samples are rounded to
_GOLDEN = (math.sqrt(5) - 1) / 2

Whole = npt.NDArray[np.int64]


class Shares:
    """Spread samples over components by their weights.

    Any 1,000 consecutive samples hold the floor or the ceiling of 1,000 times each share. They
    repeat one pattern, with the whole samples that each component has among 1,000, each time at
    the same places. What is left of 1,000 places goes to components in turns: the parts of samples
    that they have a right to lie on a circle, one after the other, which is gone around in steps
    of little more than one sample, so that none is met twice before the pattern repeats.

    weights: at least 0, not all of them 0.
    exact: list of Fraction, the shares.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        exact = [Fraction(str(weight)) for weight in weights]
        self.exact = [weight / sum(exact) for weight in exact]
        shares = [SPAN * weight / sum(exact) for weight in exact]
        self._whole = np.array([int(share) for share in shares], np.int64)
        parts = [share - int(share) for share in shares]
        self._turns = int(sum(parts))  # places of the pattern that are taken in turns
        self._pattern = _spread([*self._whole.tolist(), self._turns])
        in_turn = self._pattern == len(weights)
        self._turn = np.cumsum(in_turn) - in_turn  # how many such are before each place
        self._ends = np.cumsum([round(part * _UNITS) for part in parts], dtype=np.int64)
        self._ends[max(np.flatnonzero(np.array(parts, float)), default=0) :] = self._turns * _UNITS
        room = (1 - float(max(parts))) / max(self._turns - 1, 1)
        self._step = _UNITS + math.floor(_GOLDEN * room * _UNITS) * (self._turns > 1)
        if self._turns == 1:
            self._step = round(_GOLDEN * _UNITS)
        self._known = 0, np.zeros(len(weights), np.int64)  # a place, and what is before it

    def components(self, first: int, count: int) -> Whole:
        """Return the components (count) of the samples from number `first` on."""
        rounds, places = np.divmod(np.arange(first, first + count), SPAN)
        found = self._pattern[places]
        shared = np.flatnonzero(found == len(self._whole))
        turns = rounds[shared] * self._turns + self._turn[places[shared]]
        at = turns % (self._turns * _UNITS or 1) * self._step % (self._turns * _UNITS or 1)
        found[shared] = np.searchsorted(self._ends, at, side="right")
        return found

    def before(self, place: int) -> Whole:
        """Return how many samples of each component are before a place."""
        at, counts = self._known
        if not at <= place <= at + SPAN:
            at, counts = place - place % SPAN, self._before_round(place // SPAN)
        found = self.components(at, place - at)
        self._known = place, counts + np.bincount(found, minlength=len(counts))
        return self._known[1]

    def _before_round(self, rounds: int) -> Whole:
        """Return how many samples of each component are in so many rounds."""
        if not self._turns:
            return rounds * self._whole
        whole, turns = self._turns * _UNITS, rounds * self._turns
        # Turn n is before an end where floor(n step / whole) - floor((n step - end) / whole) is 1.
        steps = _floors(turns, whole, self._step, 0)
        ends = [steps - _floors(turns, whole, self._step, -end) for end in self._ends.tolist()]
        return rounds * self._whole + np.diff(ends, prepend=0)


def _floors(count: int, divisor: int, factor: int, add: int) -> int:
    """Return the sum of floor((factor n + add) / divisor) over n from 0 to count - 1.

    By Euclid's algorithm, as in Graham, Knuth, Patashnik: Concrete Mathematics, 3.5.
    """
    total = 0
    while count:
        total += count * (count - 1) // 2 * (factor // divisor) + count * (add // divisor)
        factor, add = factor % divisor, add % divisor
        count, add = divmod(factor * count + add, divisor)
        factor, divisor = divisor, factor
    return total


def _spread(counts: Sequence[int]) -> Whole:
    """Spread so many of each kind evenly: always that kind comes which is most behind its share."""
    total, wanted = sum(counts), np.array(counts, np.int64)
    made, out = np.zeros(len(counts), np.int64), np.empty(total, np.int64)
    for place in range(total):
        kind = int(np.argmax((place + 1) * wanted - made * total))
        out[place] = kind
        made[kind] += 1
    return out
