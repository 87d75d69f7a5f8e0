"""Sum what pixels take of the noise of the sensor's sites, draw by draw, in float64.

One call for a batch: as many calls of NumPy would each wait for the interpreter among a loader's
threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .channel_noise import patch_node
from .compiling.compile import kernel, scalar
from .types import f64, i32

FAR = 4
"""Pixels apart, at most, that share sites."""


class SiteTables(NamedTuple):
    """Weights that all pixels share, by method of demosaicing; float64 arrays.

    By the parity of the first pixel's row and column, then by rows and columns from it to the
    second, -FAR to FAR where sites are the same; along a line, by that distance's parity.
    """

    far: npt.NDArray[np.int64]  # (4), beyond which nothing is shared
    weights: npt.NDArray[np.float64]  # (4, 2, 2, 3, 3, 5, 5), `mosaic_noise.site_weights`
    sites: npt.NDArray[np.float64]  # (4, 2, 2, 9, 9, 27): colour of sites, channel, channel
    rows: npt.NDArray[np.float64]  # (4, 2, 2, 9, 2, 9): channel, channel
    columns: npt.NDArray[np.float64]  # (4, 2, 2, 2, 9, 9)


@scalar
def _weight(blur, taps, apart):
    """Return the weight of a blur at a distance."""
    return f64(blur[abs(apart)]) if abs(apart) < taps else 0.0


@scalar
def _overlap(part, parity, apart, blur, taps):
    """Return how much of two pixels of a line so far apart a level and its blur hold.

    The level and itself, it and its blur, or the blur and itself: products of their weights, of the
    pairs whose first pixel lies at a distance of such parity from the middle.
    """
    if part < 2:
        there = parity == 0 and (part == 1 or apart == 0)
        return (_weight(blur, taps, apart) if part == 1 else 1.0) if there else 0.0
    total = 0.0
    for d in range(1 - taps, taps):
        if d & 1 == parity:
            total += _weight(blur, taps, d) * _weight(blur, taps, d + apart)
    return total


@scalar
def _of_parity(parity, blur, taps):
    """Return the sum of a blur's weights at distances of a parity."""
    total = 0.0
    for d in range(1 - taps, taps):
        if d & 1 == parity:
            total += _weight(blur, taps, d)
    return total


@scalar
def _along_line(part, parity, odd, blur, taps):
    """Return the sum of `_overlap` over all distances of a parity."""
    if part == 2:
        return _of_parity(parity, blur, taps) * _of_parity(parity ^ odd, blur, taps)
    if parity == 1:
        return 0.0
    return _of_parity(odd, blur, taps) if part == 1 else 1.0 - odd


@kernel
def fill_products(method, blur, taps, tables, products):
    """Fill what a level and its blur take of noise (2, 2, 3, 5, 9).

    By parity of row and column, and by part, see `_overlap`: covariance of two channels for the
    variance of sites of each colour, of what those of a row share, and of a column.

    method: number of the demosaicing. blur: array (taps or more), weights from the middle on.
    """
    products[:] = 0.0
    far = tables.far[method]
    near, lines = np.empty((2, 2 * FAR + 1)), np.empty((2, 2))
    for part in range(3):
        for parity in range(2):
            for m in range(-far, far + 1):
                near[parity, m + FAR] = _overlap(part, parity, m, blur, taps)
            for odd in range(2):
                lines[parity, odd] = _along_line(part, parity, odd, blur, taps)
        for place in range(4 if part == 2 else 1):
            u, v = place >> 1, place & 1
            for m in range(FAR - far, FAR + far + 1):
                for n in range(FAR - far, FAR + far + 1):
                    weight = near[u, m] * near[v, n]
                    for p in range(2):
                        for q in range(2):
                            own = tables.sites[method, p ^ u, q ^ v, m, n]
                            for k in range(27):
                                products[p, q, part, k // 9, k % 9] += weight * own[k]
                for odd in range(2):
                    weight, other = near[u, m] * lines[v, odd], near[v, m] * lines[u, odd]
                    for p in range(2):
                        for q in range(2):
                            row = tables.rows[method, p ^ u, q ^ v, m, odd]
                            column = tables.columns[method, p ^ u, q ^ v, odd, m]
                            for k in range(9):
                                products[p, q, part, 3, k] += weight * row[k]
                                products[p, q, part, 4, k] += other * column[k]


@scalar
def _to_light(draw, c):
    """Return what linear light of a channel takes of the DN of red, green and blue sites."""
    unit = 1.0 / (f64(draw.camera_sensor_white) - f64(draw.camera_sensor_black))
    red, green, blue = draw.srgb_rr, draw.srgb_rg, draw.srgb_rb
    if c == 1:
        red, green, blue = draw.srgb_gr, draw.srgb_gg, draw.srgb_gb
    elif c == 2:
        red, green, blue = draw.srgb_br, draw.srgb_bg, draw.srgb_bb
    return (
        f64(red) * draw.red_gain * unit,
        f64(green) * draw.green_gain * unit,
        f64(blue) * draw.blue_gain * unit,
    )


@scalar
def _mixed(draw, c):
    """Return what noise of a channel takes of three independent numbers."""
    if c == 0:
        return 1.0, 0.0, 0.0
    if c == 1:
        return f64(draw.mixing_gr), f64(draw.mixing_gg), 0.0
    return f64(draw.mixing_br), f64(draw.mixing_bg), f64(draw.mixing_bb)


@scalar
def _grain_share(part, side, blur, taps):
    """Return how much noise that neighbours share along a line a level and its blur hold."""
    total = 0.0
    for apart in range(-2, 3):
        share = side * side if abs(apart) == 2 else (2 * side if apart else 1 + 2 * side * side)
        for parity in range(2):
            total += share * _overlap(part, parity, apart, blur, taps)
    return total


@scalar
def _patch_share(part, size, blur, taps):
    """Return the same of noise in patches, of the mean of their places."""
    total = 0.0
    for apart in range(1 - 2 * size, 2 * size):
        share = 0.0
        for place in range(2 * size, 3 * size):
            node, before, after = patch_node(place, size)
            other, above, below = patch_node(place + apart, size)
            steps = i32(other) - i32(node)
            share += f64(before) * above + f64(after) * below if steps == 0 else 0.0
            share += f64(after) * above if steps == 1 else 0.0
            share += f64(before) * below if steps == -1 else 0.0
        for parity in range(2):
            total += share / size * _overlap(part, parity, apart, blur, taps)
    return total


@scalar
def _grain_of(part, grain, patch, blur, taps):
    """Return how much of noise with such a grain (GRAIN) a level and its blur hold."""
    total = f64(grain[2]) * grain[2]
    total *= _grain_share(part, f64(grain[1]), blur, taps)
    total *= _grain_share(part, f64(grain[0]), blur, taps)
    if patch > 1:
        side = _patch_share(part, patch, blur, taps)
        total += f64(grain[3]) * grain[3] * side * side
    return total


@kernel
def fill_site_noise(draws, blurs, grains, tables, squares, powers, taken):
    """Fill `moments.SiteNoise.squares` and `powers` of draws, and what levels and their blur take.

    In draws with noise of channels sites have no noise of their own, and nothing is filled.

    draws: array (D) of DRAW. blurs, grains: arrays (D, taps), (D, 3, GRAIN). squares, powers:
    float32 arrays of zeros (D, 2, 2, 3, 3, 5) and (D, 2, 2, 2, 3, 3). taken: likewise
    (D, 2, 2, 3, 6, 3, 3), filled where chroma is smoothed: by parity and part, see `fill_products`;
    then what a pixel shares with no other. Of noise of channels, for their independent numbers.
    """
    products = np.empty((2, 2, 3, 5, 9))
    for i in range(len(draws)):
        draw, blur, taps = draws[i], blurs[i], int(draws[i].taps)
        to_light = _to_light(draw, 0), _to_light(draw, 1), _to_light(draw, 2)
        if draw.noisy == 0:
            _fill_of_method(int(draw.method), to_light, tables, squares[i], powers[i])
        if taps == 0:
            continue
        if draw.noisy == 0:
            fill_products(int(draw.method), blur, taps, tables, products)
        mixed = _mixed(draw, 0), _mixed(draw, 1), _mixed(draw, 2)
        for part in range(3):
            shared = _overlap(part, 0, 0, blur, taps) + _overlap(part, 1, 0, blur, taps)
            grain = (
                _grain_of(part, grains[i, 0], draw.grainy, blur, taps),
                _grain_of(part, grains[i, 1], draw.grainy, blur, taps),
                _grain_of(part, grains[i, 2], draw.grainy, blur, taps),
            )
            for p in range(2):
                for q in range(2):
                    for j in range(3):
                        for k in range(3):
                            taken[i, p, q, part, 5, j, k] = shared * shared
                            for a in range(5 if draw.noisy == 0 else 0):
                                one = products[p, q, part, a]
                                taken[i, p, q, part, a, j, k] = _both(to_light[j], to_light[k], one)
                            for a in range(3 if draw.noisy > 0 else 0):
                                taken[i, p, q, part, a, j, k] = grain[a] * mixed[j][a] * mixed[k][a]


@scalar
def _both(one, other, product):
    """Return the covariance of two sums of red, green and blue, of theirs (9)."""
    total = 0.0
    for j in range(3):
        for k in range(3):
            total += one[j] * other[k] * product[3 * j + k]
    return total


@scalar
def _fill_of_method(method, to_light, tables, squares, powers):
    """Fill covariances, and third and fourth cumulants, of pixels whose chroma is not smoothed."""
    for p in range(2):
        for q in range(2):
            for j in range(3):
                for k in range(3):
                    for a in range(3):
                        own = tables.sites[method, p, q, FAR, FAR, 9 * a + 3 * j + k]
                        squares[p, q, j, k, a] = own
                    squares[p, q, j, k, 3] = tables.rows[method, p, q, FAR, 0, 3 * j + k]
                    squares[p, q, j, k, 4] = tables.columns[method, p, q, 0, FAR, 3 * j + k]
                for a in range(3):
                    third = fourth = 0.0
                    weights = tables.weights[method, p, q, :, a]
                    for y in range(weights.shape[1]):
                        for x in range(weights.shape[2]):
                            own = 0.0
                            for c in range(3):
                                own += to_light[j][c] * weights[c, y, x]
                            third += own * own * own
                            fourth += own * own * own * own
                    powers[p, q, 0, j, a], powers[p, q, 1, j, a] = third, fourth
