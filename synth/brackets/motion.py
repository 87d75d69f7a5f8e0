"""Frames in which something moved.

A frame's light is a function of another one's at equal places, in grey and in each colour. Where
each of the others says, by such curves, that a place should be lighter or darker, and its edges are
those of none, something stands there that did not before. Leaves, water and people move in all
frames: what counts is by how much one stands out from the others.
"""

from __future__ import annotations

import warnings

import cv2
import numpy as np
import numpy.typing as npt

from ..kernels.arrays import FloatArray, Pixels
from .alignment import LOG_LIGHT

Single = npt.NDArray[np.float32]

_SIDE, _CELL = 256, 4
"""Longer side of the copies that are compared, and pixels of a cell of them."""
_SHOWN = 6, 246
_EV, _LEVELS, _LEAST_EV = 0.5, 18.0, 0.2
"""What a place differs by: so many EV, or so many levels that are some EV."""
_CORRELATION = 0.5  # of its edges with another frame's, at most
_FEWEST_CELLS = 12
"""Connected cells that differ, beyond the median of the other frames. Of 190 frames that a camera
took 1 % do (people and cars in them); of ellipses of other pictures pasted in, a tenth to a fifth
of the longer side wide, 96 % are found (49 of 51)."""
_AROUND = 5.0  # pixels of the copies
_NEIGHBOURS = 3  # frames to either side by exposure that one is compared with
_LEAST_SHOWN = 0.03


def find_moved(frames: list[Pixels]) -> int | None:
    """Return the number of the frame in which most moved, None where no frame stands out.

    frames: uint8 arrays (H, W, 3), aligned, neighbours by exposure beside each other.
    """
    planes = [[_Small(plane) for plane in _planes(pixels)] for pixels in frames]
    cells = [_largest(_differs(planes, number)) for number in range(len(frames))]
    beyond = [
        own - float(np.median(np.delete(cells, number)))
        for number, own in enumerate(cells)
        if len(cells) > 1
    ]
    worst = int(np.argmax(beyond)) if beyond else 0
    return worst if beyond and beyond[worst] >= _FEWEST_CELLS else None


def _planes(pixels: Pixels) -> list[Pixels]:
    """Return a small copy's grey, red, green and blue levels."""
    scale = min(1.0, _SIDE / max(pixels.shape))
    size = max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale))
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    planes = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), *cv2.split(small)
    return [np.asarray(plane, np.uint8) for plane in planes]


class _Small:
    """A plane of a small copy: its levels, where it shows something, and its edges."""

    def __init__(self, plane: Pixels) -> None:
        self.levels = np.asarray(cv2.GaussianBlur(plane, (0, 0), 1.0), np.uint8)
        self.shown = (self.levels > _SHOWN[0]) & (self.levels < _SHOWN[1])
        mask = self.shown.astype(np.float32)
        log_light = LOG_LIGHT[self.levels]
        self.edges: Single = (log_light - _smooth(log_light * mask) / _share(mask)) * mask


def _smooth(image: Single) -> Single:
    return np.asarray(cv2.GaussianBlur(image, (0, 0), _AROUND), np.float32)


def _share(mask: Single) -> Single:
    return np.maximum(_smooth(mask), 1e-3)


def _differs(planes: list[list[_Small]], number: int) -> FloatArray:
    """Return where a frame differs from the others, 1 or 0 of each cell."""
    near = [
        other
        for other in range(max(0, number - _NEIGHBOURS), number + _NEIGHBOURS + 1)
        if other != number and other < len(planes)
    ]
    found: FloatArray = np.zeros((1, 1))
    for plane, own in enumerate(planes[number]):
        known = [_compare(own, planes[other][plane]) for other in near]
        parts = [np.stack(part) for part in zip(*(one for one in known if one), strict=True)]
        if not parts:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of cells that no frame shows
            ev, levels = (np.nanmin(np.abs(part), axis=0) for part in parts[:2])
            alike = np.nanmax(parts[2], axis=0)
        off = (ev > _EV) | ((levels > _LEVELS) & (ev > _LEAST_EV))
        found = np.maximum(found, off & (alike < _CORRELATION))
    return found


def _compare(own: _Small, other: _Small) -> tuple[Single, Single, Single] | None:
    """Return by how many EV and levels a plane is off, and how edges correlate; NaN for unknown.

    White that should be far from it counts as well, and black.
    """
    both = own.shown & other.shown
    if both.mean() < _LEAST_SHOWN:
        return None
    curve = _curve(other.levels[both], own.levels[both])
    if curve is None:
        return None
    due = np.clip(curve, *_SHOWN)[other.levels]
    cut = (own.levels >= _SHOWN[1]) & (due < 150) | (own.levels <= _SHOWN[0]) & (due > 30)
    used = (both | other.shown & cut) & ~np.isnan(due)
    mask = used.astype(np.float32)
    shown = np.clip(own.levels, *_SHOWN)
    due = np.where(used, due, shown)
    light = LOG_LIGHT[shown] - LOG_LIGHT[np.rint(due).astype(np.uint8)]
    share = _smooth(mask) + 1e-4
    off = [
        _smooth(np.where(used, by, 0).astype(np.float32)) / share
        for by in (light, shown.astype(np.float32) - due)
    ]
    a, b = own.edges * mask, other.edges * mask
    strength = (_smooth(a * a) / share + 2e-3) * (_smooth(b * b) / share + 2e-3)
    alike = np.asarray(_smooth(a * b) / share / np.sqrt(strength), np.float32)
    seen = np.where(_cells(mask) > 0.5, np.float32(1), np.float32(np.nan))
    return _cells(off[0]) * seen, _cells(off[1]) * seen, _cells(alike) * seen


def _curve(levels: Pixels, others: Pixels) -> FloatArray | None:
    """Return the median level of `others` at each of 256 of `levels`, never falling.

    NaN below and above those that are there.
    """
    order = np.argsort(levels, kind="stable")
    levels, others = levels[order], others[order]
    ends = np.searchsorted(levels, np.arange(257))
    known = {}
    for level in range(256):
        first, last = ends[max(level - 2, 0)], ends[min(level + 3, 256)]
        if last - first >= 30:
            known[level] = float(np.median(others[first:last]))
    if len(known) < 5:
        return None
    levels_known, medians = list(known), np.maximum.accumulate(list(known.values()))
    return np.interp(np.arange(256), levels_known, medians, left=np.nan, right=np.nan)


def _cells(image: Single) -> Single:
    height, width = (size // _CELL for size in image.shape)
    parts = image[: height * _CELL, : width * _CELL].reshape(height, _CELL, width, _CELL)
    means: Single = parts.mean((1, 3))
    return means


def _largest(cells: FloatArray) -> int:
    """Return the cells of the largest connected part."""
    number, _, facts, _ = cv2.connectedComponentsWithStats(cells.astype(np.uint8), connectivity=4)
    return int(facts[1:, cv2.CC_STAT_AREA].max()) if number > 1 else 0
