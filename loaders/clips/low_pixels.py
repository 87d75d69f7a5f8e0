"""The lows of a set's clips, decoded by gloam's own kernels where it wrote them as PNGs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...synth.decode import decode_image
from ...synth.kernels.arrays import Pixels
from ...synth.kernels.png.decode import decode_pngs, png_size
from ...synth.kernels.png.file import SIGNATURE
from ..columns import read_extent
from .stored_clips import StoredClip


def low_pixels(data: Pixels) -> Pixels:
    """Decode a low, to RGB (H, W, 3).

    Raises ImageRefused when it is damaged.
    """
    return decode_image(data.tobytes(), "png" if is_png(data) else "jpg")


def clip_lows(
    lows: list[Pixels], room: Callable[[tuple[int, int]], Pixels]
) -> Pixels | list[Pixels]:
    """Decode the lows of a clip, to RGB (T, H, W, 3); a list of frames where others wrote them.

    lows: list of uint8 arrays (N).
    room: function of height and width; returns the array to fill.

    Raises ImageRefused when one is damaged.
    """
    size = png_size(lows[0])
    if size is not None:
        made = room(size)
        if decode_pngs(lows, made):
            return made
    return [low_pixels(low) for low in lows]


def is_png(data: Pixels) -> bool:
    """Return whether an encoded image is a PNG; it is a JPEG otherwise."""
    return data[: len(SIGNATURE)].tobytes() == SIGNATURE


def first_low(clip: StoredClip) -> Pixels:
    """Read the first low of a set's clip; no bytes where it has none.

    Raises LoaderError when it cannot be read.
    """
    return np.frombuffer(read_extent(clip.lows[0]) if clip.lows else b"", np.uint8)
