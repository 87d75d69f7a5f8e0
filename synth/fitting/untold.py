"""What lows cannot tell of how they were made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels.arrays import Pixels
from .measure import Table

_FEW = 30
_BRIGHT = 0.35  # mean of lows, sRGB
_DARKER = 0.5  # EV
_BLOCKS = 1.2  # steps at the edges of JPEG's blocks, over those within


def untold(lows: Sequence[Pixels], wanted: Table, *, paired: bool) -> list[str]:
    """Return a sentence for each thing that lows cannot tell of how they were made."""
    made = []
    if len(lows) < _FEW:
        made.append(
            f"{len(lows)} images: the spread of a parameter is little known from so few; {_FEW} and"
            " more are better"
        )
    if paired and wanted["exposure_ev"][2] < _DARKER:
        made.append(
            f"{wanted['exposure_ev'][2]:.2f} EV: the lows are hardly darker than their normals;"
            " exposure and noise of the dark cannot be known from them"
        )
    elif wanted["mean"][2] > _BRIGHT:
        made.append(
            f"mean {wanted['mean'][2]:.2f}: these are hardly low-light images; exposure and noise"
            " of the dark cannot be known from them"
        )
    blocks = float(np.median([_blockiness(low) for low in lows]))
    if blocks > _BLOCKS:
        made.append(
            f"steps at the edges of 8 x 8 blocks are {blocks:.2f} of those within: JPEG took the"
            " noise; ISO, read noise and chroma noise reduction cannot be known"
        )
    if not paired:
        made.append(
            "without normals exposure cannot be told from the brightness of the scene, nor contrast"
            " from white balance, nor a field from the scene's own light"
        )
    return made


def _blockiness(image: Pixels) -> float:
    """Return the steps of green over the edges of 8 x 8 blocks, over those within."""
    steps = np.abs(np.diff(image[..., 1].astype(np.int16), axis=1)).mean(axis=0)
    if len(steps) < 16:
        return 1.0
    edges = np.arange(len(steps)) % 8 == 7
    return float(steps[edges].mean() / max(float(steps[~edges].mean()), 1e-3))
