"""Pairs that are none: lows that are brighter than their normals, and normals of other scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np

from ...errors import SourceError
from ..kernels.arrays import Pixels

BRIGHTER = "brighter than their normals"
WAY_OUT = "name the lows first; --brighter-lows if they are over-exposed"
"""What to do about lows that are brighter than their normals."""
_BY = 1.2
"""Times its normal's mean (sRGB-encoded) that a low's is, from which on it is the brighter one."""
MOST_BRIGHTER = 0.1
"""Share of a set's pairs whose low may be brighter than its normal, as of black pictures."""
MOST_OF_AREA = 0.005
"""Share of a picture's area whose low may be brighter than its normal."""
_ABOVE, _SIDE, _AROUND, _CLIPPED = 8, 9, 8, 250  # levels; pixels; pixels; level
_MEAN = np.full((1, 3), 1 / 3, np.float32)
_NAMED, _LISTED = 50, 5


def brightness(low: Pixels, normal: Pixels) -> tuple[float, float]:
    """Return the mean levels of a low and its normal, uint8 arrays (H, W, 3)."""
    low_mean, normal_mean = (float(np.mean(cv2.mean(image)[:3])) for image in (low, normal))
    return low_mean, normal_mean


def brighter(means: Any) -> Any:
    """Return which lows are brighter than their normals: bool array (N).

    means: float array (N, 2), of each low and its normal, in any unit.
    """
    low, normal = np.asarray(means, np.float64).reshape(-1, 2).T
    return low > _BY * normal


def brighter_area(low: Pixels, normal: Pixels) -> float:
    """Return the share of a picture's area where its low is brighter than its normal.

    By more than 8 levels, of means of 9 x 9 pixels; what the normal clips may be brighter, and what
    lies within 8 pixels of it.

    low, normal: uint8 arrays (H, W, 3) of equal size.
    """
    dark, bright = (
        cv2.blur(cv2.transform(image, _MEAN), (_SIDE, _SIDE)) for image in (low, normal)
    )
    clipped = (normal.max(axis=2) >= _CLIPPED).astype(np.uint8)
    around = cv2.dilate(clipped, np.ones((2 * _AROUND + 1, 2 * _AROUND + 1), np.uint8))
    above = dark.astype(np.int16) - bright > _ABOVE
    return float((above & (around == 0)).mean())


def are_swapped(means: Any) -> bool:
    """Return whether lows and normals are taken for one another: half of the lows are brighter."""
    found = brighter(means)
    return bool(len(found) and 2 * found.sum() >= len(found))


def refuse_swapped(
    where: object, means: Sequence[tuple[float, float]], names: Sequence[object]
) -> None:
    """Raise SourceError where lows and normals are taken for one another.

    where: what it is about. names: of the lows.
    """
    if are_swapped(means):
        found = brighter(means)
        first = names[int(np.argmax(found))]
        raise SourceError.at(
            where,
            f"{found.sum()} of {len(found)} images are {BRIGHTER}, such as {first}: {WAY_OUT}",
        )


def swapped_warning(where: object, means: Any) -> str:
    """Return what loaders say where lows and normals are taken for one another; else nothing."""
    if not are_swapped(means):
        return ""
    found = brighter(means)
    return (
        f"{where}: {found.sum()} of the first {len(found)} lows are {BRIGHTER}: are the two taken"
        " for one another? Name the lows first"
    )


def damage_line(damaged: Sequence[str]) -> str:
    """Name images that were passed over: each of `damaged` is a path with what is wrong."""
    more = f"; and {len(damaged) - _LISTED:,} more" if len(damaged) > _LISTED else ""
    return f"images left out, {len(damaged):,}: {'; '.join(damaged[:_LISTED])}{more}"


def mismatch_line(mismatched: Mapping[str, str], count: int) -> str:
    """Name the pairs that are none.

    mismatched: mapping of a pair's name to `mismatch`. count: of all pairs.
    """
    named = [f"{name} ({what})" for name, what in mismatched.items()]
    more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
    said = "low and normal do not show the same"
    return f"{len(named):,} of {count:,} pairs: {said}: {', '.join(named[:_NAMED])}{more}"
