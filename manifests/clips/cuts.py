"""Scene changes: whether a frame shows another scene than the one before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...errors import ImageRefused, Reason
from ..images.opening import Pixels

_SIDE = 120  # pixels that are looked at along the longer side
_LEVELS = 4  # of each channel, of a histogram of colours
_CELLS = 6
# Between two of 200 photographs, 98.2 % are found; between two views of one, shifted by up to 8 %
# of its sides, enlarged by up to a tenth, .85 to 1.15 as bright, and noisy, 1.0 %.
_OTHER = 0.6  # share of the pixels that change their place in the histogram: another scene
_SOME = 0.25  # the same, where cells are not alike either
_ALIKE = 0.6  # correlation of cells
_STEP = 56  # mean difference of cells' levels


def is_cut(before: Pixels, after: Pixels) -> bool:
    """Return whether there is a scene change between two frames.

    There is where three fifths of the pixels would have to change their colour, of 64; where a
    quarter would and the means of 6 x 6 cells correlate below .6; or where those differ by 56
    levels in the mean. In whole numbers, so that it is the same everywhere.

    before, after: uint8 arrays (H, W, 3).
    """
    one, other = _thinned(before), _thinned(after)
    if one.shape != other.shape:
        return True
    pixels = one.shape[0] * one.shape[1]
    moved = int(np.abs(_colours(one) - _colours(other)).sum())
    if moved > 2 * _OTHER * pixels:
        return True
    cells = _cells(one), _cells(other)
    if int(np.abs(cells[0] - cells[1]).sum()) >= _STEP * cells[0].size:
        return True
    return moved > 2 * _SOME * pixels and not _alike(*cells)


def _alike(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> bool:
    """Return whether cells correlate, each channel about its own mean: in exact whole numbers."""
    count = one.shape[0] * one.shape[1]
    a, b = (cells * count - cells.sum(axis=(0, 1)) for cells in (one, other))
    both, first, second = (int((x * y).sum()) for x, y in ((a, b), (a, a), (b, b)))
    return both > 0 and both * both >= _ALIKE * _ALIKE * first * second


def refuse_cut(frames: Sequence[Pixels]) -> None:
    """Refuse a clip that holds a scene change.

    Raises ImageRefused with the number of the frame that begins another scene.
    """
    for number in range(1, len(frames)):
        if is_cut(frames[number - 1], frames[number]):
            raise ImageRefused(Reason.SCENE_CHANGE, f"at frame {number} of the clip")


def _thinned(frame: Pixels) -> Pixels:
    step = max(1, max(frame.shape[:2]) // _SIDE)
    return frame[::step, ::step]


def _colours(frame: Pixels) -> npt.NDArray[np.int64]:
    level = (frame >> 6).astype(np.int64)
    cells = (level[..., 0] * _LEVELS + level[..., 1]) * _LEVELS + level[..., 2]
    return np.bincount(cells.ravel(), minlength=_LEVELS**3)


def _cells(frame: Pixels) -> npt.NDArray[np.int64]:
    down, across = (np.unique(np.arange(_CELLS) * length // _CELLS) for length in frame.shape[:2])
    sums = np.add.reduceat(np.add.reduceat(frame, down, axis=0, dtype=np.int64), across, axis=1)
    rows, columns = (
        np.diff([*places, length])
        for places, length in zip((down, across), frame.shape, strict=False)
    )
    means: npt.NDArray[np.int64] = sums // (rows[:, None] * columns)[..., None]
    return means
