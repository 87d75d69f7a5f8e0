"""From 8-bit pixels to the light on the sensor: scalar functions of one pixel, which a GPU compiles
from the same source, and loops over rows of pixels.

What an image needs besides its pixels is small: a vector of float32 parameters (named below), the
illumination as a few rows, a table that linearises, one that encodes, the quantiles of its read
noise, and a 64-bit seed.
"""

from __future__ import annotations

import numpy as np

from .compiling.compile import kernel, scalar

f32 = np.float32

# Places of the parameter vector.
TO_CAMERA = 0
"""3 x 3, row by row: linear sRGB to camera RGB, divided by the white balance gains."""
TO_SRGB = 9
"""3 x 3, row by row: camera RGB, white balanced, to linear sRGB."""
ELECTRONS = 18
"""Electrons of a sample of linear value 1: (white - black) / K."""
GAIN = 19
"""System gain K, DN per electron."""
ROW_SIGMA = 20
"""Standard deviation of the row noise, DN."""
BLACK = 21
"""Black level, DN."""
WHITE = 22
"""Largest value of the sensor's bit depth, DN."""
HIGHLIGHTS = 23
"""By how much white is brightened, less 1: 2^ev - 1."""
DEVELOP_GAINS = 24
"""Of red, green and blue: the camera's own, erring white balance and digital gain."""
CHROMA = 27
"""Strength of the chroma noise reduction, 0 to 1."""
PARAMETERS = 28

_KNEE = f32(0.6)
_PER_KNEE = f32(1 / 0.4)
_SIXTH = f32(1 / 6)


@scalar
def light_factor(r, g, b, light, scale, boost):
    """Mean electrons that a pixel's linear light of 1 becomes: illumination, sensor, and its
    highlights' own brightening.

    Light of white was cut off by the camera that took the photograph: it is brightened by the
    factor 1 + boost, equally in all channels, so that lamps stay both bright and neutral in the
    dark. How near to white light is, is half its largest channel and half the mean of all: from .6
    on it is brightened, a warm bulb (255, 214, 150) by a third of the boost. A steeper rise, or the
    largest channel alone, would make the fine grain of skin or a pale wall glitter.
    """
    near = max(r, max(g, b)) * f32(0.5) + (r + g + b) * _SIXTH
    over = max(near - _KNEE, f32(0)) * _PER_KNEE
    return light * (scale + scale * boost * over * over)


@scalar
def weighted(a, b, c, x, y, z):
    """One row of a colour matrix, (a, b, c), applied to (x, y, z)."""
    return a * x + b * y + c * z


@scalar
def between(upper, lower, share):
    """Linear interpolation."""
    return upper + (lower - upper) * share


@kernel
def linearise(rgb, linear, red, green, blue):
    """Fill three rows (N) with the linear light of 8-bit pixels (N, 3), by a table of 256."""
    for x in range(red.shape[0]):
        red[x] = linear[rgb[x, 0]]
        green[x] = linear[rgb[x, 1]]
        blue[x] = linear[rgb[x, 2]]


@kernel
def expose(red, green, blue, upper, lower, t, p):
    """Turn the light of a row of pixels, three rows (W), into the mean electrons of red, green and
    blue sites, in place.

    The illumination lies the share `t` below its row `upper` on the way to `lower`.
    """
    scale, boost = p[ELECTRONS], p[HIGHLIGHTS]
    rr, rg, rb, gr, gg, gb, br, bg, bb = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]
    for x in range(red.shape[0]):
        r, g, b = red[x], green[x], blue[x]
        e = light_factor(r, g, b, between(upper[x], lower[x], t), scale, boost)
        red[x] = max(weighted(rr, rg, rb, r, g, b), f32(0)) * e
        green[x] = max(weighted(gr, gg, gb, r, g, b), f32(0)) * e
        blue[x] = max(weighted(br, bg, bb, r, g, b), f32(0)) * e


@kernel
def tint(red, green, blue, upper, lower, t):
    """Colour the light of a row of pixels, three rows (W), in place: `upper` and `lower` are (3, W)
    factors on R, G and B."""
    for x in range(red.shape[0]):
        red[x] *= between(upper[0, x], lower[0, x], t)
        green[x] *= between(upper[1, x], lower[1, x], t)
        blue[x] *= between(upper[2, x], lower[2, x], t)
