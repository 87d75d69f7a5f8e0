"""Demosaic of an RGGB sensor that has one site a pixel: bilinear, or Malvar, He and Cutler's.

The second is from "High-quality linear interpolation for demosaicing of Bayer-patterned color
images" (ICASSP 2004): bilinear interpolation corrected by the Laplacian of the site's own channel.
Its coefficients are multiples of 1/16, so that sums of whole DN are exact in float32.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrays import f32
from .compiling.compile import row_kernel, scalar

BINNED, FULL, BILINEAR, MALVAR = 0, 1, 2, 3
METHODS = {"binned": BINNED, "none": FULL, "bilinear": BILINEAR, "malvar": MALVAR}
BORDER = 2
"""Sites by which the sensor extends beyond the picture on every side, so that all its pixels have
all neighbours."""


class Around(NamedTuple):
    """Sums of the sites about a site, in DN.

    In order: of the two above and below, of the two beside, of those two sites away each way, and
    of the four at the corners.
    """

    vertical: np.float32
    horizontal: np.float32
    vertical2: np.float32
    horizontal2: np.float32
    diagonal: np.float32


@scalar
def cross(own, near, far, sharp):
    """Return green at a red or blue site.

    `near` is the sum of the four greens around, `far` of its own channel two sites away.
    """
    return f32(0.25) * near + sharp * (f32(0.5) * own - f32(0.125) * far)


@scalar
def along(own, beside, far_along, far_across, diagonal, sharp):
    """Return red or blue at a green site; `beside` sums the two sites of that channel beside it."""
    laplacian = f32(0.625) * own - f32(0.125) * (diagonal + far_along) + f32(0.0625) * far_across
    return f32(0.5) * beside + sharp * laplacian


@scalar
def opposite(own, diagonal, far, sharp):
    """Return red at a blue site or blue at a red one; `diagonal` sums the four around it."""
    return f32(0.25) * diagonal + sharp * (f32(0.75) * own - f32(0.1875) * far)


@scalar
def demosaic_site(own, around, at_green, odd, sharp):
    """Return red, twice green, and blue of a pixel.

    `own` is its site, in an `odd` row or not, `around` what lies about it, `sharp` 1 for Malvar, 0
    for bilinear.
    """
    far = around.vertical2 + around.horizontal2
    green = own if at_green else cross(own, around.vertical + around.horizontal, far, sharp)
    # The channel that shares the site's row, and the one that does not.
    in_row = (
        along(own, around.horizontal, around.horizontal2, around.vertical2, around.diagonal, sharp)
        if at_green
        else own
    )
    other = (
        along(own, around.vertical, around.vertical2, around.horizontal2, around.diagonal, sharp)
        if at_green
        else opposite(own, around.diagonal, far, sharp)
    )
    return other if odd else in_row, f32(2) * green, in_row if odd else other


@row_kernel
def demosaic_row(raw, y, method, rows):
    """Fill rows (W) of red, twice green and blue, DN, of row `y` of a mosaic (H + 4, W + 4)."""
    red, greens, blue = rows
    width = red.shape[0]
    sharp = f32(1) if method == MALVAR else f32(0)
    n2, n1, mid, s1, s2 = raw[y], raw[y + 1], raw[y + 2], raw[y + 3], raw[y + 4]
    own, west, east = mid[2 : 2 + width], mid[1 : 1 + width], mid[3 : 3 + width]
    west2, east2 = mid[:width], mid[4 : 4 + width]
    north, south, north2, south2 = (
        n1[2 : 2 + width],
        s1[2 : 2 + width],
        n2[2 : 2 + width],
        s2[2 : 2 + width],
    )
    nw, ne, sw, se = n1[1 : 1 + width], n1[3 : 3 + width], s1[1 : 1 + width], s1[3 : 3 + width]
    odd = y & 1
    for x in range(width):
        around = Around(
            north[x] + south[x],
            west[x] + east[x],
            north2[x] + south2[x],
            west2[x] + east2[x],
            (nw[x] + ne[x]) + (sw[x] + se[x]),
        )
        at_green = ((x + odd) & 1) == 1
        red[x], greens[x], blue[x] = demosaic_site(own[x], around, at_green, odd, sharp)
