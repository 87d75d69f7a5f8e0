"""Masks of objects as COCO counts them: runs of pixels, column by column, outside first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.uint8]
_BITS = 60  # of a number, which counts pixels


def mask_of(runs: Sequence[int], height: int, width: int) -> Mask:
    """Return a mask of 0 and 1, uint8 (H, W); ValueError when the runs are of another size."""
    if min(runs, default=0) < 0 or sum(runs) != height * width:
        raise ValueError(f"a mask of {sum(runs)} pixels for an image of {width} x {height}")
    counts = np.asarray(runs, np.int64)
    values = (np.arange(len(counts)) % 2).astype(np.uint8)
    return np.repeat(values, counts).reshape(width, height).T


def runs_of(mask: Mask) -> tuple[int, ...]:
    """Return the runs of a mask of 0 and 1: the other way round."""
    flat = mask.T.ravel()
    edges = np.flatnonzero(np.diff(flat)) + 1
    lengths = np.diff([0, *edges.tolist(), flat.size]).tolist()
    return (0, *lengths) if flat.size and flat[0] else tuple(lengths)


def runs_in(text: str) -> tuple[int, ...]:
    """Read runs in COCO's compressed text.

    Groups of five bits, the sixth of a character saying that there are more; from the third run on
    the difference to the last but one (cocoapi, common/maskApi.c). Raises ValueError when it ends
    in mid-number, or holds what no such text does.
    """
    runs: list[int] = []
    value = shift = 0
    for character in text.encode("ascii"):
        code = character - 48
        if not 0 <= code < 64 or shift > _BITS:
            raise ValueError("not a mask in COCO's compressed form")
        value |= (code & 0x1F) << shift
        shift += 5
        if code & 0x20:
            continue
        if code & 0x10:
            value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value = shift = 0
    if shift:
        raise ValueError("a mask in COCO's compressed form that ends in mid-number")
    return tuple(runs)
