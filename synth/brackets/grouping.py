"""Which frames are of one bracket.

Frames of one scene look alike whatever their exposure, where neither is black nor white: edges stay
where they are. So likeness is a correlation of the fine parts of log light, over what both show.
Frames next to each other in a bracket come to .71 and more (99 of 100, of 83 brackets that a camera
took, each moved by up to 8 of 512 pixels), unlike pictures to .53 at most (9,999 of 10,000).
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ..kernels.arrays import FloatArray
from .frames import SIDE, Frame

Single = npt.NDArray[np.float32]

FEWEST = 3
"""Frames of a bracket; of two nobody can tell which one something moved in."""
_ALIKE, _NEARLY = 0.65, 0.3
"""Least likeness of neighbours in a bracket; and where EXIF says that they were taken together."""
_TOGETHER = 10.0  # seconds between the exposures of two frames that were
_SAME_EV = 0.1
_RANGE_EV = 1.0  # least range of a bracket
_SHOWN = 6, 246  # levels that are neither black nor white
_FLOOR = 2.0**-12
_FINE = 6.0  # cells; what is smoother is left out
_REACH = 2  # cells by which frames may be moved
_LEAST_SHOWN = 0.04  # of the cells, in both


class Grouping(NamedTuple):
    """Brackets, dark frames first; and (path, why) of the frames that are in none."""

    brackets: list[list[Frame]]
    left_out: list[tuple[str, str]]


def group_frames(frames: list[Frame]) -> Grouping:
    """Find the brackets among frames."""
    found: list[list[Frame]] = []
    left_out: list[tuple[str, str]] = []
    for members in _linked(frames):
        for bracket in _in_time(members):
            ordered = sorted(bracket, key=lambda frame: (frame.mean, frame.path))
            why = _why_none(ordered)
            if why:
                left_out += [(frame.path, why) for frame in ordered]
            else:
                found.append(ordered)
    return Grouping(sorted(found, key=lambda one: min(frame.path for frame in one)), left_out)


def _why_none(ordered: list[Frame]) -> str:
    if len(ordered) == 1:
        return "is like no other frame"
    if len(ordered) < FEWEST:
        return f"is of {len(ordered)} frames alone; a bracket has {FEWEST} and more"
    range_ev = np.log2(max(ordered[-1].light, _FLOOR) / max(ordered[0].light, _FLOOR))
    return "is of frames that are equally exposed" if range_ev < _RANGE_EV else ""


def _linked(frames: list[Frame]) -> list[list[Frame]]:
    """Return frames that are linked by likeness."""
    groups = []
    by_size = sorted(frames, key=lambda frame: (frame.size, frame.path))
    for _, same in groupby(by_size, key=lambda frame: frame.size):
        members = list(same)
        alike = likeness(members)
        times = np.array([np.nan if one.time is None else one.time for one in members])
        together = np.abs(times[:, None] - times) <= _TOGETHER
        links = (alike >= _ALIKE) | (together & (alike >= _NEARLY))
        numbers = np.arange(len(members))
        while True:  # each frame takes the least number of those that it is linked to
            least = np.where(links, numbers, len(members)).min(1)
            least = np.minimum(least, numbers)
            if np.array_equal(least, numbers):
                break
            numbers = least
        groups += [
            [members[i] for i in np.flatnonzero(numbers == number)] for number in np.unique(numbers)
        ]
    return groups


def _in_time(members: list[Frame]) -> list[list[Frame]]:
    """Part frames of one scene into the brackets that were taken one after the other.

    A bracket has each exposure once; where EXIF does not say time and exposure, all are one.
    """
    known = [
        (one.time, one.path, one.exposure_ev, one)
        for one in members
        if one.time is not None and one.exposure_ev is not None
    ]
    if len(known) < len(members):
        return [members]
    brackets: list[list[Frame]] = []
    taken: list[float] = []
    for _, _, exposure, frame in sorted(known, key=lambda one: one[:2]):
        if not brackets or any(abs(exposure - other) < _SAME_EV for other in taken):
            brackets.append([])
            taken = []
        brackets[-1].append(frame)
        taken.append(exposure)
    return brackets


def likeness(frames: list[Frame]) -> FloatArray:
    """Return how alike frames are, array (N, N) of -1 to 1; -1 where too little is to be seen."""
    levels = np.stack([frame.thumbnail for frame in frames]).astype(np.float32)
    shown = ((levels > _SHOWN[0]) & (levels < _SHOWN[1])).astype(np.float32)
    log_light = np.log2((levels / 255) ** 2.2 + _FLOOR)
    fine = np.stack([_fine(own, mask) for own, mask in zip(log_light, shown, strict=True)])
    best = np.full((len(frames), len(frames)), -1.0)
    for down in range(-_REACH, _REACH + 1):
        for across in range(-_REACH, _REACH + 1):
            moved = [np.roll(one, (down, across), (1, 2)) for one in (fine, shown)]
            best = np.maximum(best, _correlation(fine, shown, *moved))
    return np.maximum(best, best.T)


def _fine(log_light: Single, shown: Single) -> Single:
    """Return the fine parts of log light, of even strength; 0 where nothing is shown."""
    smooth = cv2.GaussianBlur(log_light, (0, 0), 1.0)
    around = cv2.GaussianBlur(smooth * shown, (0, 0), _FINE)
    share = np.maximum(cv2.GaussianBlur(shown, (0, 0), _FINE), 1e-3)
    fine = (smooth - around / share) * shown
    strength = np.sqrt((fine**2).sum() / max(float(shown.sum()), 1.0) + 1e-6)
    even: Single = np.tanh(fine / strength) * shown
    return even


def _correlation(a: Single, in_a: Single, b: Single, in_b: Single) -> FloatArray:
    """Return the correlations of each of `a` with each of `b` over the cells that both show."""
    count = SIDE * SIDE
    a, in_a, b, in_b = (one.reshape(len(one), count) for one in (a, in_a, b, in_b))
    both = np.maximum(in_a @ in_b.T, 1.0)
    sums = a @ in_b.T, in_a @ b.T
    covariance = a @ b.T - sums[0] * sums[1] / both
    variances = ((a * a) @ in_b.T - sums[0] ** 2 / both, in_a @ (b * b).T - sums[1] ** 2 / both)
    found: FloatArray = covariance / np.sqrt(np.maximum(variances[0] * variances[1], 1e-6))
    found[both < _LEAST_SHOWN * count] = -1.0
    return found
