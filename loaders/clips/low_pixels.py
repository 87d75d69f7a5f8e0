"""The lows of a set's clips, decoded by gloam's own kernels where it wrote them as PNGs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...manifests.images.decode import decode
from ...synth.kernels.png.decode import decode_png
from ...synth.kernels.png.file import SIGNATURE
from ..columns import read_extent
from .stored_clips import StoredClip

Pixels = npt.NDArray[np.uint8]


def low_pixels(data: Pixels) -> Pixels:
    """Decode a low, to RGB (H, W, 3).

    Raises
    ------
    ImageRefused
        When it is damaged.
    """
    made = decode_png(data)
    return decode(data.tobytes(), "png" if is_png(data) else "jpg") if made is None else made


def is_png(data: Pixels) -> bool:
    """Return whether an encoded image is a PNG; it is a JPEG otherwise."""
    return data[: len(SIGNATURE)].tobytes() == SIGNATURE


def has_png_lows(clip: StoredClip) -> bool:
    """Return whether the lows of a set's clip are PNGs.

    Raises
    ------
    LoaderError
        When the first one cannot be read.
    """
    return bool(clip.lows) and is_png(np.frombuffer(read_extent(clip.lows[0]), np.uint8))
