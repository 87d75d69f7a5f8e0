"""Frames in which something moved.

A frame's light is a function of another one's at equal places, in each colour. Where each of the
others, two at least, says by such curves that a place should be lighter or darker, and its edges
are those of none, something stands there that did not before. A pixel to either side is allowed:
frames are aligned, what they show is not, quite. Leaves, water and people move in all frames: what
counts is by how much one stands out from the others.
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
_EV, _LEAST_LEVELS = 0.5, 6.0
_LEVELS, _LEAST_EV = 18.0, 0.2
"""What a place differs by: EV that are some levels, or levels that are some EV."""
_CORRELATION = 0.75  # of its edges with another frame's, at most
_FEWEST_CELLS = 4
"""Connected cells that differ, beyond the median of the other frames. Of 1,898 frames that a camera
took 1 in 110 do; of objects that change most of what they cover, 3 to 30 % of the picture's width
wide, 245 of 256 are found, beyond 6 % 173 of 175."""
_AROUND, _FINE = 5.0, 2.0  # pixels of the copies: edges are of one, what is off of the other
_NEIGHBOURS = 3  # frames to either side by exposure that one is compared with
_LEAST_SHOWN = 0.03
_FEWEST_PIXELS = 30  # of a level of a curve
_BESIDE = np.ones((3, 3), np.uint8)  # pixels of the copies from which a level may come


def find_moved(frames: list[Pixels]) -> list[int]:
    """Return the numbers of the frames in which something moved, less than half of them.

    Moved ones are witnesses, too: one is off at its own object alone.
    frames: uint8 arrays (H, W, 3), three and more, aligned, neighbours by exposure in a row.
    """
    planes = [[_Small(plane) for plane in _planes(pixels)] for pixels in frames]
    cells = np.array([_largest(_differs(planes, number)) for number in range(len(frames))])
    beyond = [own - float(np.median(np.delete(cells, i))) for i, own in enumerate(cells)]
    worst = np.argsort(beyond)[::-1][: (len(frames) - 1) // 2]
    return [int(number) for number in worst if beyond[number] >= _FEWEST_CELLS]


def _planes(pixels: Pixels) -> list[Pixels]:
    """Return a small copy's red, green and blue levels."""
    scale = min(1.0, _SIDE / max(pixels.shape))
    size = max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale))
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return [np.asarray(plane, np.uint8) for plane in cv2.split(small)]


class _Small:
    """A plane of a small copy: its levels, where it shows something, and its edges."""

    def __init__(self, plane: Pixels) -> None:
        self.levels = np.clip(np.asarray(cv2.GaussianBlur(plane, (0, 0), 1.0), np.uint8), *_SHOWN)
        self.mask = ((self.levels > _SHOWN[0]) & (self.levels < _SHOWN[1])).astype(np.float32)
        self.light = LOG_LIGHT[self.levels]
        share = np.maximum(_smooth(self.mask), 1e-3)
        fine = self.light - _smooth(self.light * self.mask) / share
        self.edges = np.asarray(fine * self.mask, np.float32)


def _smooth(image: Single, by: float = _AROUND) -> Single:
    return np.asarray(cv2.GaussianBlur(image, (0, 0), by), np.float32)


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
        off = ((ev > _EV) & (levels > _LEAST_LEVELS)) | ((levels > _LEVELS) & (ev > _LEAST_EV))
        two = np.isfinite(parts[0]).sum(axis=0) > 1
        found = np.maximum(found, off & two & (alike < _CORRELATION))
    return found


def _compare(own: _Small, other: _Small) -> tuple[Single, Single, Single] | None:
    """Return by how many EV and levels a plane is off, and how edges correlate; NaN for unknown.

    Places that are white in the other are as light as its curve's end at least, black ones at most.
    """
    curve = _curve(other.levels, own.levels)
    if other.mask.mean() < _LEAST_SHOWN or curve is None:
        return None
    due = np.asarray(curve[other.levels], np.float32)
    least, most = cv2.erode(due, _BESIDE), cv2.dilate(due, _BESIDE)
    levels = own.levels - np.clip(own.levels, least, most)
    lights = (LOG_LIGHT[np.rint(end).astype(np.uint8)] for end in (least, most))
    ev = own.light - np.clip(own.light, *lights)
    white, black = other.levels == _SHOWN[1], other.levels == _SHOWN[0]
    known = np.where(white, levels < 0, np.where(black, levels > 0, True)).astype(np.float32)
    mask = own.mask * other.mask
    share = _smooth(mask) + 1e-4
    a, b = own.edges * mask, other.edges * mask
    strength = (_smooth(a * a) / share + 2e-3) * (_smooth(b * b) / share + 2e-3)
    alike = np.asarray(_smooth(a * b) / share / np.sqrt(strength), np.float32)
    seen = np.where(_cells(known) > 0.5, np.float32(1), np.float32(np.nan))
    off = [_cells(_smooth(by.astype(np.float32), _FINE)) * seen for by in (ev, levels)]
    return off[0], off[1], _cells(alike) * seen


def _curve(levels: Pixels, others: Pixels) -> FloatArray | None:
    """Return the median level of `others` at each of 256 of `levels`, never falling."""
    both = np.bincount(levels.ravel().astype(np.intp) * 256 + others.ravel(), minlength=1 << 16)
    counts = both.reshape(256, 256)[_SHOWN[0] + 1 : _SHOWN[1]].astype(np.float64)
    near = cv2.boxFilter(counts, -1, (1, 5), normalize=False, borderType=cv2.BORDER_CONSTANT)
    below = np.cumsum(near, axis=1)
    known = np.flatnonzero(below[:, -1] >= _FEWEST_PIXELS)
    if len(known) < 3:
        return None
    medians = (below[known] < below[known, -1:] / 2).sum(axis=1)
    levels_known = known + _SHOWN[0] + 1
    return np.interp(np.arange(256), levels_known, np.maximum.accumulate(medians))


def _cells(image: Single) -> Single:
    height, width = (size // _CELL for size in image.shape)
    parts = image[: height * _CELL, : width * _CELL].reshape(height, _CELL, width, _CELL)
    means: Single = parts.mean((1, 3))
    return means


def _largest(cells: FloatArray) -> int:
    """Return the cells of the largest connected part."""
    number, _, facts, _ = cv2.connectedComponentsWithStats(cells.astype(np.uint8), connectivity=4)
    return int(facts[1:, cv2.CC_STAT_AREA].max()) if number > 1 else 0
