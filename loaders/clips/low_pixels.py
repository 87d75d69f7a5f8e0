"""The lows of a set's clips, decoded by gloam's own kernels where it wrote them as PNGs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...synth.decode import decode_image
from ...synth.kernels.arrays import Pixels
from ...synth.kernels.png.decode import decode_pngs, png_size
from ...synth.kernels.png.file import SIGNATURE


def low_pixels(data: Pixels) -> Pixels:
    """Decode a low, to RGB (H, W, 3).

    Raises ImageRefused when it is damaged.
    """
    encoded = data.tobytes()
    return decode_image(encoded, "png" if encoded.startswith(SIGNATURE) else "jpg")


def clip_lows(lows: Sequence[Pixels]) -> list[Pixels]:
    """Decode the lows of a clip, each to RGB (H, W, 3).

    lows: uint8 arrays (N).

    Raises ImageRefused when one is damaged.
    """
    size = png_size(lows[0])
    if size is not None:
        made = np.empty((len(lows), *size, 3), np.uint8)
        if decode_pngs(list(lows), made):
            return list(made)
    return [low_pixels(low) for low in lows]
