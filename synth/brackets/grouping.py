"""Which frames are of one bracket.

Frames of one scene look alike whatever their exposure: edges, and outlines of what is black or
white, stay where they are. So likeness is a correlation of the fine parts of log light.
Frames next to each other in a bracket come to .72 and more (83 brackets that a camera took, each
moved by up to 8 of 512 pixels), unlike pictures to .51 at most.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.arrays import FloatArray
from .alignment import features
from .frames import SIDE, Frame

Single = npt.NDArray[np.float32]

FEWEST = 3
"""Frames of a bracket; of two nobody can tell which one something moved in."""
_ALIKE, _NEARLY = 0.6, 0.4
"""Least likeness of neighbours in a bracket; and where EXIF says that they were taken together."""
_TOGETHER = 10.0  # seconds between the exposures of two frames that were
_PAUSE = 2.0  # seconds; EXIF's may be whole ones
_SAME_EV = 0.1
_RANGE_EV = 1.0  # least range of a bracket
_FLOOR = 2.0**-12
_FINE = 4.0  # cells; what is smoother is left out
_REACH = 2  # cells by which frames may be moved


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

    A bracket has each exposure once: where one comes again, the next begins there, or at a clearly
    longer pause since. Where EXIF does not say time and exposure, all are one.
    """
    known = sorted(
        (one.time, one.path, one.exposure_ev, one)
        for one in members
        if one.time is not None and one.exposure_ev is not None
    )
    if len(known) < len(members):
        return [members]
    borders = [0]
    for end, (_, _, exposure, _) in enumerate(known):
        again = [i for i in range(borders[-1], end) if abs(known[i][2] - exposure) < _SAME_EV]
        if again:
            pauses = {i: known[i][0] - known[i - 1][0] for i in range(again[-1] + 1, end + 1)}
            longest = max(pauses, key=lambda i: pauses[i])
            borders.append(longest if pauses[longest] > pauses[end] + _PAUSE else end)
    parts = pairwise([*borders, len(known)])
    return [[frame for *_, frame in known[begin:end]] for begin, end in parts]


def likeness(frames: list[Frame]) -> FloatArray:
    """Return how alike frames are, array (N, N) of -1 to 1."""
    fine = np.stack([features(frame.thumbnail, _FINE) for frame in frames])
    side = SIDE - 2 * _REACH
    moves = [(down, across) for down in range(2 * _REACH + 1) for across in range(2 * _REACH + 1)]
    parts = [_even(fine[:, down : down + side, across : across + side]) for down, across in moves]
    best = np.max([parts[len(parts) // 2] @ part.T for part in parts], axis=0)
    return np.asarray(np.maximum(best, best.T), np.float64)


def _even(parts: Single) -> Single:
    """Return pictures as rows of length 1."""
    rows = parts.reshape(len(parts), -1)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-6))
