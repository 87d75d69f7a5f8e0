"""PNG's filters (ISO/IEC 15948, clause 9) of RGB rows, which leaves least to code, and undone."""

from __future__ import annotations

import numpy as np

from ..arrays import f64, i64, u8
from ..compiling.compile import inlined, inlined_in_row, kernel, row_kernel
from ..numbers.elementary import log2
from .huffman import count_bytes

SUB, UP, AVERAGE = 1, 2, 3
_EVERY = 8  # row that is looked at to choose


@inlined_in_row
def _minus(row, other, made):
    for i in range(made.shape[0]):
        made[i] = u8(row[i] - other[i])


@inlined_in_row
def _minus_half(row, other, made):
    for i in range(made.shape[0]):
        made[i] = u8(row[i] - (other[i] >> 1))


@inlined_in_row
def _minus_mean(row, left, above, made):
    for i in range(made.shape[0]):
        # The mean of two bytes, rounded down, without a ninth bit.
        mean = u8(u8(left[i] & above[i]) + u8(u8(left[i] ^ above[i]) >> 1))
        made[i] = u8(row[i] - mean)


@row_kernel
def filter_row(choice, row, above, made):
    """Fill `made` (3 W) with the differences of a row (3 W) by a filter, below another row."""
    if choice == UP:
        _minus(row, above, made)
    elif choice == SUB:
        for i in range(3):
            made[i] = row[i]
        _minus(row[3:], row[:-3], made[3:])
    else:
        _minus_half(row[:3], above[:3], made[:3])
        _minus_mean(row[3:], row[:-3], above[3:], made[3:])


@kernel
def filter_rows(pixels, filtered):
    """Fill `filtered` (H, 1 + 3 W) with the rows of pixels (H, 3 W) uint8, by the best filter.

    It is the one of three whose differences, of some rows, have the least entropy.
    """
    height, width = pixels.shape
    nothing, made = np.zeros(width, np.uint8), np.empty(width, np.uint8)
    counts, best, least = np.empty((4, 256), np.uint32), SUB, f64(0)
    for choice in (SUB, UP, AVERAGE):
        counts[:] = 0
        for y in range(0, height, _EVERY):
            filter_row(choice, pixels[y], pixels[y - 1] if y else nothing, made)
            count_bytes(made[: width - width % 4], counts)
        bits = f64(0)
        for symbol in range(256):
            some = counts[0, symbol] + counts[1, symbol] + counts[2, symbol] + counts[3, symbol]
            count = f64(some)
            if count > 0:
                bits -= count * log2(count)
        if choice == SUB or bits < least:
            best, least = choice, bits
    for y in range(height):
        filtered[y, 0] = best
        filter_row(best, pixels[y], pixels[y - 1] if y else nothing, filtered[y, 1:])


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
    """Fill rows of pixels (H, 3 W) from `filter_rows`; False of filters that gloam never writes."""
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
