"""Frames in which something moved.

A frame's light is a function of another one's at equal places, in each colour. By such curves the
others, two at least, say what a frame shows at each place, and how sure they are of it: where
leaves, water or people move in all frames, they contradict each other. Where a frame is lighter or
darker than they say, and its edges are not theirs, something stands that did not before. A pixel
to either side is allowed: frames are aligned, what they show is not, quite. What counts is by how
much one frame stands out from the others.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from ..kernels.arrays import Pixels

Single = npt.NDArray[np.float32]

_SIDE, _BLUR = 256, 0.8
"""Longer side of the copies that are compared, and their blur, after curves: white mixes, too."""
_SHOWN = 4, 248
_SURE = 1.5, 2.0, 0.02
"""Standard deviations: levels that one curve, and all, are uncertain by at least, and share of the
level that they are, of flare and of colours that mix near white."""
_MOST = 4.0  # standard deviations that a pixel counts for
_WITNESSES = 1.3  # others, by their weights, that must know a place
_AROUND, _FINE = (5, 5), (9, 9)
"""Pixels over which places are judged, and over which edges stand out."""
_EDGES, _CORRELATION = 3.0, 0.7
"""Variance in levels that is no edge, and correlation of edges from which nothing has moved."""
_MOVED = 0.85
"""Mean of standard deviations, beyond the median of the other frames. Of 553 frames that a camera
took 8 are off by more, in four of which a leaf, a head, a car and a man moved; of objects that one
sees, 3 to 6 % of the picture's width wide, 276 of 308 are found, beyond 6 % 295 of 297."""
_NEIGHBOURS = 3  # frames to either side by exposure that one is compared with
_LEAST_SHOWN = 0.03
_FEWEST_PIXELS = 30  # of a level of a curve
_BESIDE = np.ones((3, 3), np.uint8)  # pixels of the copies from which a level may come


def find_moved(frames: list[Pixels]) -> list[int]:
    """Return the numbers of the frames in which something moved, less than half of them.

    The one that stands out most goes first; another must stand out without its word, too.
    frames: uint8 arrays (H, W, 3), three and more, aligned, neighbours by exposure in a row.
    """
    levels = [_levels(pixels) for pixels in frames]
    most = np.array([_most_unlike(levels, number, []) for number in range(len(frames))])
    usual = np.array([np.median(np.delete(most, number)) for number in range(len(frames))])
    moved: list[int] = []
    for number in (int(one) for one in np.argsort(usual - most, kind="stable")):
        if len(moved) == (len(frames) - 1) // 2 or most[number] - usual[number] < _MOVED:
            break
        if not moved or _most_unlike(levels, number, moved) - usual[number] >= _MOVED:
            moved.append(number)
    return moved


def _levels(pixels: Pixels) -> Pixels:
    """Return the levels of a small copy, black and white cut off."""
    scale = min(1.0, _SIDE / max(pixels.shape))
    size = max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale))
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return np.clip(np.asarray(small, np.uint8), *_SHOWN)


def _most_unlike(levels: list[Pixels], number: int, without: list[int]) -> float:
    """Return by how much a frame differs from what others say, where it does so most."""
    own = _smooth(levels[number].astype(np.float32))
    sums = np.zeros((3, 4, *own.shape), np.float32)
    for other in range(max(0, number - _NEIGHBOURS), min(len(levels), number + _NEIGHBOURS + 1)):
        if other in (number, *without):
            continue
        due, weight = _due(levels[other], levels[number])
        due = _smooth(due)
        lit = cv2.dilate(levels[other], _BESIDE) < _SHOWN[1]
        seen = cv2.erode(levels[other], _BESIDE) > _SHOWN[0]
        ends = cv2.dilate(due, _BESIDE), cv2.erode(due, _BESIDE), due
        weights = weight * lit, weight * seen, weight
        for row, (end, own_weight) in enumerate(zip(ends, weights, strict=True)):
            part = own_weight * end
            sums[row] += own_weight, part, part * end, own_weight * own_weight
    total = np.maximum(sums[:, 0], 1e-9)
    level = sums[:, 1] / total
    apart = np.maximum(sums[:, 2] / total - level * level, 0)
    sure = total / np.maximum(sums[:, 3], 1e-9)
    known = sums[:, 0] ** 2 > _WITNESSES * sums[:, 3]
    off = (own - level) / np.sqrt(sure + apart + _SURE[1] ** 2 + (_SURE[2] * own) ** 2) * known
    beyond = np.clip(off[0], 0, _MOST) + np.clip(off[1], -_MOST, 0)
    moved = 1 - _alike(own, np.where(sums[2, 0] > 0, level[2], own))
    return float(_mean(np.abs(_mean(beyond)).max(2) * moved).max())


def _alike(own: Single, due: Single) -> Single:
    """Return how edges correlate, 0 to 1."""
    a, b = (image - cv2.blur(image, _FINE) for image in (own, due))
    aa, bb, ab = (cv2.blur(part, _AROUND).sum(2) + _EDGES for part in (a * a, b * b, a * b))
    return np.clip(ab / np.sqrt(aa * bb) / _CORRELATION, 0, 1)


def _smooth(image: Single) -> Single:
    return np.asarray(cv2.GaussianBlur(image, (0, 0), _BLUR), np.float32)


def _mean(image: Single) -> Single:
    return np.asarray(cv2.blur(image, _AROUND, borderType=cv2.BORDER_CONSTANT), np.float32)


def _due(levels: Pixels, others: Pixels) -> tuple[Single, Single]:
    """Return which of `others` each level stands for, and the inverse of its variance.

    The curve is the median of `others` at each of 256 of `levels`, never falling; 0 is the weight
    of a colour that has none.
    """
    due, weight = np.zeros((2, *levels.shape), np.float32)
    for plane in range(3):
        a, b = levels[..., plane], others[..., plane]
        both = np.bincount(a.ravel().astype(np.intp) * 256 + b.ravel(), minlength=1 << 16)
        counts = both.reshape(256, 256)[_SHOWN[0] + 1 : _SHOWN[1]].astype(np.float32)
        near = cv2.boxFilter(counts, -1, (1, 5), normalize=False, borderType=cv2.BORDER_CONSTANT)
        below = np.cumsum(near, axis=1)
        known = np.flatnonzero(below[:, -1] >= _FEWEST_PIXELS)
        if len(known) < 3 or counts.sum() < _LEAST_SHOWN * a.size:
            continue
        below, at = below[known], known + _SHOWN[0] + 1
        low, median, high = ((below < below[:, -1:] * share).sum(1) for share in (0.16, 0.5, 0.84))
        curve = [np.maximum.accumulate(median), (high - low) / 2]
        of_levels = (np.interp(np.arange(256), at, one) for one in curve)
        middle, spread = (one.astype(np.float32) for one in of_levels)
        due[..., plane], weight[..., plane] = middle[a], (1 / (_SURE[0] ** 2 + spread**2))[a]
    return due, weight
