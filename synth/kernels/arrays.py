"""Pictures and windows of them, as kernels take them; short names of numbers and arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

i16, i32, i64 = np.int16, np.int32, np.int64
u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
f32, f64 = np.float32, np.float64

Pixels = npt.NDArray[np.uint8]
"""RGB, sRGB-encoded, (H, W, 3)."""
FloatArray = npt.NDArray[np.float64]
FloatImage = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Window(NamedTuple):
    """A part of a picture, in pixels."""

    top: int
    left: int
    height: int
    width: int


def check_normal(normal: Pixels) -> None:
    """Check that an array can be darkened.

    Raises ValueError when it is not uint8 (H, W, 3), or empty, or larger than the sample index
    counts.
    """
    if normal.dtype != np.uint8 or normal.ndim != 3 or normal.shape[2] != 3:
        raise ValueError(f"normal must be uint8 (H, W, 3), not {normal.dtype} {normal.shape}")
    height, width = normal.shape[:2]
    if not height * width > 0 or (height + 4) * (width + 4) >= 1 << 30:
        raise ValueError(f"normal is {width} x {height}: must have between 1 and about 2^30 pixels")


def window_of(normal: Pixels, window: Window | None) -> Window:
    """Return a window of a picture that can be darkened, by default all of it.

    Raises ValueError as `check_normal` does, and when the window is empty, or not within it.
    """
    check_normal(normal)
    height, width = normal.shape[:2]
    window = Window(0, 0, height, width) if window is None else window
    down = 0 <= window.top < window.top + window.height <= height
    if not (down and 0 <= window.left < window.left + window.width <= width):
        raise ValueError(f"{window} does not lie within a picture of {width} x {height}")
    return window


def read_only(pixels: Pixels) -> Pixels:
    """Return an image's pixels in rows, which nothing may write to.

    Numba compiles a kernel for such arrays and once more for others; decoders give both.
    """
    rows = np.ascontiguousarray(pixels).view()
    rows.flags.writeable = False
    return rows


def grown(window: Window, reach: int, height: int, width: int) -> Window:
    """Return a window of a picture with so many pixels more on each side, as far as there are."""
    top, left = max(window.top - reach, 0), max(window.left - reach, 0)
    bottom = min(window.top + window.height + reach, height)
    right = min(window.left + window.width + reach, width)
    return Window(top, left, bottom - top, right - left)
