"""Loops over rows that several kernels share."""

from __future__ import annotations

from .compile import inlined_in_row


@inlined_in_row
def interleave(levels, flat):
    """Fill a row of pixels, flat (3 W), from rows (W) of 8-bit red, green and blue.

    With a second dimension this would not vectorise.
    """
    red, green, blue = levels
    for x in range(red.shape[0]):
        flat[3 * x] = red[x]
        flat[3 * x + 1] = green[x]
        flat[3 * x + 2] = blue[x]
