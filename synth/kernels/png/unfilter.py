"""PNG's filters undone: the rows of RGB pixels from the differences that `filters` made."""

from __future__ import annotations

import numpy as np

from ..compiling.compile import inlined, kernel
from ..types import i64, u8
from .filters import AVERAGE, SUB, UP


@inlined
def _plus(row, above, made):
    for i in range(made.shape[0]):
        made[i] = u8(row[i] + above[i])


@inlined
def _plus_left(row, made):
    red, green, blue = u8(0), u8(0), u8(0)
    for i in range(0, made.shape[0], 3):
        red, green, blue = u8(red + row[i]), u8(green + row[i + 1]), u8(blue + row[i + 2])
        made[i], made[i + 1], made[i + 2] = red, green, blue


@inlined
def _plus_mean(row, above, made):
    red, green, blue = i64(0), i64(0), i64(0)
    for i in range(0, made.shape[0], 3):
        red = (row[i] + ((red + above[i]) >> 1)) & 255
        green = (row[i + 1] + ((green + above[i + 1]) >> 1)) & 255
        blue = (row[i + 2] + ((blue + above[i + 2]) >> 1)) & 255
        made[i], made[i + 1], made[i + 2] = u8(red), u8(green), u8(blue)


@kernel
def unfilter_rows(filtered, pixels):
    """Fill the rows of pixels (H, 3 W) uint8 from `filtered` (H, 1 + 3 W).

    Returns False where a filter is none of those that gloam writes.
    """
    nothing = np.zeros(pixels.shape[1], np.uint8)
    for y in range(pixels.shape[0]):
        above, choice = pixels[y - 1] if y else nothing, filtered[y, 0]
        if choice == AVERAGE:
            _plus_mean(filtered[y, 1:], above, pixels[y])
        elif choice == SUB:
            _plus_left(filtered[y, 1:], pixels[y])
        elif choice == UP:
            _plus(filtered[y, 1:], above, pixels[y])
        else:
            return False
    return True
