"""By how much the frames of a bracket are moved against each other, to parts of a pixel.

Log light is compared, without its smooth parts, of even strength. Black and white take part: where
one frame shows a room and the other the window's view alone, the outline of the window is in both.
A correlation of small copies finds the whole pixels, Lucas and Kanade's steps (IJCAI 1981), with
weights that outliers lack, the parts. Neighbours by exposure are compared, and those after next;
least squares make places of it.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from ..kernels.arrays import FloatArray, Pixels
from ..kernels.curves import LEVEL_LIGHT

Single = npt.NDArray[np.float32]

LOG_LIGHT = np.log2(LEVEL_LIGHT + 3e-4).astype(np.float32)
"""Log light of levels; the darkest ones, which hold noise alone, differ little."""
_SHOWN = 6, 247  # levels, black and white beyond
_COARSE = 256  # longer side of the copies that whole pixels are found in
_REACH = 0.04  # of the longer side, by which frames may be moved against each other
_LEAST_CORRELATION = 0.35
"""Neighbours, and those after next, of 41 brackets that a camera took come to .55 and more (397
pairs), frames of unlike scenes, moved to where they are most alike, to .08 at most (82)."""
_STEPS, _ENOUGH = 12, 0.003  # steps at each size; pixels


def align(greys: list[Pixels]) -> FloatArray:
    """Find where frames lie.

    greys: uint8 arrays (H, W), neighbours by exposure beside each other.

    Returns float64 array (N, 2), pixels down and across: what stands at (y, x) of the first frame
    stands at (y, x) + its place of another. NaN where a frame cannot be compared with any.
    """
    levels = [_levels(grey) for grey in greys]
    count = len(greys)
    links: dict[tuple[int, int], tuple[FloatArray, float]] = {}
    near = [(i, j) for i in range(count) for j in (i + 1, i + 2) if j < count]
    for i, j in near:
        move, correlation = _move(levels[i], levels[j])
        if correlation >= _LEAST_CORRELATION:
            weight = correlation / (1.0 - min(correlation, 0.99)) / (j - i)
            links[i, j] = np.array(move), weight
    places = np.full((count, 2), np.nan)
    if count < 2:
        return places
    linked = np.zeros((count, count), bool)
    for pair in links:
        linked[pair] = True
    parts = connected_components(linked, directed=False)[1]
    known = np.flatnonzero(parts == np.bincount(parts).argmax()).tolist()  # the largest, or first
    if len(known) < 2:
        return places
    held = {pair: link for pair, link in links.items() if pair[0] in known}
    matrix = np.zeros((len(held), count))
    for row, ((i, j), (_, weight)) in enumerate(held.items()):
        matrix[row, i], matrix[row, j] = -weight, weight
    moves = np.array([move * weight for move, weight in held.values()])
    places[known[0]] = 0.0
    places[known[1:]] = np.linalg.lstsq(matrix[:, known[1:]], moves, rcond=None)[0]
    return places


def move_to(pixels: Pixels, place: FloatArray) -> Pixels:
    """Return a frame as it lies on the first one's pixels: bicubic, or as it is where it lies so.

    pixels: uint8 array (H, W) or (H, W, 3). place: see `align`.
    """
    down, across = place
    if max(abs(down), abs(across)) < 0.02:
        return pixels
    height, width = pixels.shape[:2]
    matrix = np.array([[1, 0, across], [0, 1, down]], np.float64)
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    edge = cv2.BORDER_REPLICATE
    moved = cv2.warpAffine(pixels, matrix, (width, height), flags=flags, borderMode=edge)
    return np.asarray(moved, np.uint8)


def _levels(grey: Pixels) -> list[Single]:
    """Return float32 features (H, W) of a frame at its own size and halves, smallest first."""
    sizes = [grey]
    while max(sizes[-1].shape) > 1.5 * _COARSE:
        height, width = sizes[-1].shape
        half = max(1, width // 2), max(1, height // 2)
        smaller = cv2.resize(sizes[-1], half, interpolation=cv2.INTER_AREA)
        sizes.append(np.asarray(smaller, np.uint8))
    return [features(one) for one in reversed(sizes)]


def features(grey: Pixels, around: float = 8.0) -> Single:
    """Return fine parts of log light, of even strength, float32 array (H, W) of -3 to 3.

    grey: uint8 array (H, W). around: pixels; what is smoother is left out.
    """
    smooth = cv2.GaussianBlur(LOG_LIGHT[np.clip(grey, *_SHOWN)], (0, 0), 1.2)
    fine = smooth - cv2.GaussianBlur(smooth, (0, 0), around)
    strength = np.sqrt(cv2.GaussianBlur(fine * fine, (0, 0), 2 * around)) + 0.05
    return np.asarray(np.clip(fine / strength, -3, 3), np.float32)


def _move(first: list[Single], second: list[Single]) -> tuple[tuple[float, float], float]:
    """Return by how much the second is moved against the first, and how well they agree then."""
    down, across = _whole_pixels(first[0], second[0])
    correlation = -1.0
    for number, (a, b) in enumerate(zip(first, second, strict=True)):
        if number:
            down, across = 2 * down, 2 * across
        down, across, correlation = _parts_of_pixels(a, b, down, across)
    return (down, across), correlation


def _whole_pixels(a: Single, b: Single) -> tuple[float, float]:
    """Find the move, at most `_REACH`, at which two frames correlate most over what both show."""
    height, width = a.shape
    reach = max(2, round(_REACH * max(height, width)))
    shape = cv2.getOptimalDFTSize(height + reach), cv2.getOptimalDFTSize(width + reach)
    parts = a, b, a * a, b * b, np.ones_like(a)
    of_a, of_b, square_a, square_b, everywhere = (np.fft.rfft2(one, shape) for one in parts)

    def correlated(one: Any, other: Any) -> FloatArray:
        full = np.fft.irfft2(np.conj(one) * other, shape)
        span = np.arange(-reach, reach + 1)
        return np.asarray(full[np.ix_(span, span)])

    squares = correlated(square_a, everywhere) * correlated(everywhere, square_b)
    found = correlated(of_a, of_b) / np.sqrt(np.maximum(squares, 1e-3))
    down, across = np.unravel_index(int(found.argmax()), found.shape)
    return float(down - reach), float(across - reach)


def _parts_of_pixels(
    a: Single, b: Single, down: float, across: float
) -> tuple[float, float, float]:
    """Improve a move by Lucas and Kanade's steps; returns it, and the correlation at it."""
    height, width = a.shape
    moved: Any = a
    inside = np.ones(a.shape, bool)
    for _ in range(_STEPS):
        matrix = np.array([[1, 0, across], [0, 1, down]], np.float64)
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        moved = cv2.warpAffine(
            b, matrix, (width, height), flags=flags, borderMode=cv2.BORDER_CONSTANT, borderValue=9
        )
        inside = moved < 4  # features are of -3 to 3
        slope_y, slope_x = np.gradient((moved + a) / 2)
        off = a - moved
        weight = inside / (1 + off * off)
        cross = float((weight * slope_y * slope_x).sum())
        normal = np.array(
            [
                [float((weight * slope_y * slope_y).sum()) + 1e-3, cross],
                [cross, float((weight * slope_x * slope_x).sum()) + 1e-3],
            ]
        )
        right = [float((weight * slope_y * off).sum()), float((weight * slope_x * off).sum())]
        step = np.linalg.solve(normal, right)
        down, across = down + float(step[0]), across + float(step[1])
        if np.abs(step).max() < _ENOUGH:
            break
    one, other = a[inside], moved[inside]
    scale = float(np.sqrt((one * one).sum() * (other * other).sum())) if one.size else 0.0
    return down, across, float((one * other).sum()) / scale if scale > 0 else -1.0
