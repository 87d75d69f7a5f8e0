"""Faults of flats: light that flickers, clips, falls off, or is not flat."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..kernels.arrays import FloatArray
from .estimates import Mosaic, channels

_CLIPPED = 0.001  # share of the sites at white
_FLICKER = 0.01  # difference of two exposures that were to be equal
_CORNERS = 0.7  # of the middle
_STRUCTURE = 0.02  # of the mean, beyond noise and shading
_BANDS = 2.0  # deviations of row means over those that noise gives
_COARSE = 16
_CUT = 0.001  # share of the sites of darks at the lowest level
_NEAR = 3  # deviations from the mean of darks to that level
_COUNTED = 0.5  # DN, deviation above which levels under the black one would be seen


def check_flat(mosaic: Mosaic, black: float, white: float) -> list[str]:
    """Return the faults of a flat field; black, white: levels, DN."""
    found = []
    clipped = float(np.mean(mosaic >= white))
    if clipped > _CLIPPED:
        found.append(f"clips: {clipped:.1%} of its sites are at white; expose it less")
    light = np.mean([_coarse(plane) for plane in channels(mosaic)], axis=0) - black
    half = _COARSE // 2
    middle = float(light[half - 2 : half + 2, half - 2 : half + 2].mean())
    corners = float(light[[0, 0, -1, -1], [0, -1, 0, -1]].mean()) / max(middle, 1e-9)
    if corners < _CORNERS:
        found.append(
            f"vignettes: its corners have {corners:.0%} of the light in the middle; stop down, or"
            " light it evenly"
        )
    return found


def clipped_share(darks: Sequence[Mosaic], black: float) -> float:
    """Return the share of the sites of darks at their lowest level, if they are cut off there.

    Cameras that take black off themselves lose what is below it, and with it half of the noise.
    Darks are cut off where more than a thousandth of their sites are at the lowest level, that is
    within three deviations of the mean, and is 0 or not below the black level.

    darks: sequence of arrays (H, W). black: the black level that the file tells, DN.

    Returns 0 where they are not cut off.
    """
    lowest = min(int(dark.min()) for dark in darks)
    share = float(np.mean([np.mean(dark == lowest) for dark in darks]))
    mean = float(np.mean([dark.mean() for dark in darks]))
    deviation = float(np.mean([dark.std() for dark in darks]))
    at_black = lowest == 0 or (lowest >= black and deviation >= _COUNTED)
    return share if at_black and share > _CUT and mean - lowest <= _NEAR * deviation else 0.0


def check_flat_pair(first: Mosaic, second: Mosaic, black: float, gain: float) -> list[str]:
    """Return the faults of two flats that should be equal.

    first, second: arrays (H, W). gain: about the system gain, DN per electron: for the noise that
    there has to be.
    """
    found = []
    levels = [float(one.mean()) - black for one in (first, second)]
    apart = abs(levels[0] / max(levels[1], 1e-9) - 1)
    if apart > _FLICKER:
        found.append(
            f"flicker: two of one exposure differ by {apart:.1%}; use light that does not, or"
            " exposures of many of its periods"
        )
    noise = math.sqrt(max(gain * levels[0], 0.0) + 1.0)
    share = levels[0] / max(levels[1], 1e-9)
    rows = [plane.mean(axis=1) for plane in channels(first - share * second.astype(np.float64))]
    expected = noise * math.sqrt(1 + share * share) / math.sqrt(first.shape[1] / 2)
    bands = float(np.mean([np.std(one) for one in rows])) / expected
    if bands > _BANDS:
        found.append(
            f"flicker in bands: rows differ {bands:.1f} times as much as noise lets them; expose"
            " for many periods of the light"
        )
    both = (first.astype(np.float64) + second) / 2 - black
    structure = _structure(both, noise / math.sqrt(2)) / max(levels[0], 1e-9)
    if structure > _STRUCTURE:
        found.append(
            f"is not flat: structure of {structure:.1%} of its light; defocus, and put a diffuser"
            " before the lens"
        )
    return found


def _structure(light: FloatArray, noise: float) -> float:
    """Return the deviation of what is neither smooth nor noise, DN."""
    squares = []
    for plane in channels(light):
        down, across = (side // 8 for side in plane.shape)
        cells = plane[: down * 8, : across * 8].reshape(down, 8, across, 8)
        means = cells.mean(axis=(1, 3))
        # Second differences: what is smooth over three cells goes away.
        bent = means[:, :-2] - 2 * means[:, 1:-1] + means[:, 2:]
        squares.append(float(np.mean(bent**2)) - 6 * noise * noise / 64)
    return math.sqrt(max(float(np.mean(squares)), 0.0) / 6)


def _coarse(plane: FloatArray) -> FloatArray:
    down, across = (side // _COARSE for side in plane.shape)
    cut = plane[: down * _COARSE, : across * _COARSE]
    return cut.reshape(_COARSE, down, _COARSE, across).mean(axis=(1, 3))
