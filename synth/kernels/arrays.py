"""What kernels take for a picture."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
"""RGB, sRGB-encoded, (H, W, 3)."""


def check_normal(normal: Pixels) -> None:
    """Check that an array can be darkened.

    Raises
    ------
    ValueError
        When it is not uint8 (H, W, 3), or empty, or larger than the sample index counts.
    """
    if normal.dtype != np.uint8 or normal.ndim != 3 or normal.shape[2] != 3:
        raise ValueError(f"normal must be uint8 (H, W, 3), not {normal.dtype} {normal.shape}")
    height, width = normal.shape[:2]
    if not height * width > 0 or (height + 4) * (width + 4) >= 1 << 30:
        raise ValueError(f"normal is {width} x {height}: must have between 1 and about 2^30 pixels")
