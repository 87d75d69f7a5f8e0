"""Which pairs a camera took at one setting: the noise of most pictures is that of a few."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..kernels.arrays import FloatArray, IntArray

_GAP = 0.08  # of log deviation: settings differ by more; pictures of one by .03
_WIDEST = 0.5
_FEWEST = 5  # pairs that show a setting's noise at every level


def settings(noise: FloatArray) -> IntArray:
    """Return the number of each pair's setting, the quietest first.

    noise: float array (N); log of the noise's deviation, of what one noise of all would have at the
      same levels; NaN where a pair shows none. Settings are what gaps lie between; where there are
      none, as of a camera that chooses any ISO, they are cut into parts that differ little.
    """
    known = np.isfinite(noise)
    order = np.flatnonzero(known)[np.argsort(noise[known], kind="stable")]
    values = noise[order]
    cuts = [0, *(np.flatnonzero(np.diff(values) > _GAP) + 1).tolist(), len(values)]
    parts: list[tuple[int, int]] = []
    for begin, end in pairwise(cuts):
        parts += _narrow(values, begin, end)
    parts = [part for part in parts if part[1] > part[0]]
    while len(parts) > 1:
        sizes = [end - begin for begin, end in parts]
        small = int(np.argmin(sizes))
        if sizes[small] >= _FEWEST:
            break
        apart = [values[parts[i + 1][0]] - values[parts[i][1] - 1] for i in range(len(parts) - 1)]
        below = small == len(apart) or (small > 0 and apart[small - 1] <= apart[small])
        first = small - below
        parts[first : first + 2] = [(parts[first][0], parts[first + 1][1])]
    groups = np.zeros(len(noise), np.int64)
    for number, (begin, end) in enumerate(parts):
        groups[order[begin:end]] = number
    if parts:  # pairs that show nothing are of the commonest one
        groups[~known] = max(range(len(parts)), key=lambda i: parts[i][1] - parts[i][0])
    return groups


def _narrow(values: FloatArray, begin: int, end: int) -> list[tuple[int, int]]:
    if end - begin < 2 * _FEWEST or values[end - 1] - values[begin] <= _WIDEST:
        return [(begin, end)]
    inner = np.diff(values[begin + _FEWEST - 1 : end - _FEWEST + 1])
    cut = begin + _FEWEST + int(inner.argmax())
    return _narrow(values, begin, cut) + _narrow(values, cut, end)
