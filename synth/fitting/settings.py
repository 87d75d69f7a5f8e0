"""Which pairs a camera took at one setting: the noise of most pictures is that of a few."""

from __future__ import annotations

import numpy as np

from ..kernels.arrays import FloatArray, IntArray

_GAP = 0.08  # of log deviation: settings differ by more; pictures of one by .03
_WIDEST = 0.5
_FEWEST = 5  # pairs that show a setting's noise at every level


def settings(noise: FloatArray) -> IntArray:
    """Return the number of each pair's setting, the quietest first.

    noise: float array (N, 3); log of the noise's deviation in each channel, of what one noise of
      all would have at the same levels; NaN where a pair shows none. Settings are what a gap lies
      between in some channel; where there is none, as of a camera that chooses any ISO, they are
      cut into parts that differ little.
    """
    noise = noise[:, np.isfinite(noise).any(axis=0)]  # of channels that show any
    known = np.flatnonzero(np.isfinite(noise).all(axis=1))
    if not noise.size or not len(known):
        return np.zeros(len(noise), np.int64)
    parts = sorted(_parts(noise, known), key=lambda part: float(np.median(noise[part])))
    groups = np.full(len(noise), np.argmax([len(part) for part in parts]))
    for number, part in enumerate(parts):
        groups[part] = number
    return groups  # pairs that show nothing are of the commonest one


def _parts(noise: FloatArray, here: IntArray) -> list[IntArray]:
    if len(here) < 2 * _FEWEST:
        return [here]
    order = here[np.argsort(noise[here], axis=0, kind="stable").T]  # (3, N)
    sorted_noise = np.sort(noise[here], axis=0).T
    gaps = np.diff(sorted_noise[:, _FEWEST - 1 : len(here) - _FEWEST + 1])
    channel, place = divmod(int(gaps.argmax()), gaps.shape[1])
    if gaps.max() <= _GAP:
        channel = int(np.ptp(sorted_noise, axis=1).argmax())
        if np.ptp(sorted_noise[channel]) <= _WIDEST:
            return [here]
        place = int(gaps[channel].argmax())
    cut = place + _FEWEST
    return _parts(noise, order[channel, :cut]) + _parts(noise, order[channel, cut:])
