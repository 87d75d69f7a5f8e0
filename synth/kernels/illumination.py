"""Loops of the illumination: its parts in EV, summed on a 32 x 32 grid, and the grid as factors on
light."""

from __future__ import annotations

import numpy as np

from .compiling.compile import kernel
from .numbers.elementary import exp2, log2

CELLS = 32
SAMPLES = 2
"""Pixels looked at along a side of a cell."""
FAINTEST = 2.0**-8
"""Of the light there is without lights; negative ones could take more than that."""
_DARKEST = 2.0**-10  # light below this, in the photograph, carries no information about the scene
_LOG2_E = 1 / np.log(2.0)
_NEAREST = 1e-30  # squared distance whose logarithm is still taken


@kernel
def mean_luminance(pixels, channel_light, cells):
    """Fill `cells` (32, 32) with the mean linear luminance of parts of an image (H, W, 3), from 2 x
    2 samples each."""
    height, width = pixels.shape[0], pixels.shape[1]
    cells[:] = 0.0
    along = CELLS * SAMPLES
    columns = np.empty(along, np.int64)
    for j in range(along):
        columns[j] = int((j + 0.5) * width / along)
    for i in range(along):
        y = int((i + 0.5) * height / along)
        for j in range(along):
            x = columns[j]
            light = (
                channel_light[0, pixels[y, x, 0]]
                + channel_light[1, pixels[y, x, 1]]
                + channel_light[2, pixels[y, x, 2]]
            )
            cells[i // SAMPLES, j // SAMPLES] += light
    for i in range(CELLS):
        for j in range(CELLS):
            cells[i, j] /= SAMPLES * SAMPLES


@kernel
def _weighted_rows(weights, grid, out):
    """out (M, N) = weights (M, K) grid (K, N), summed in order, unlike a matrix library's."""
    for i in range(out.shape[0]):
        out[i] = 0.0
        for k in range(grid.shape[0]):
            if weights[i, k] != 0.0:
                for j in range(out.shape[1]):
                    out[i, j] += weights[i, k] * grid[k, j]


@kernel
def _both_ways(weights, grid, out):
    """out = weights grid weights^T: (M, K), (K, K) -> (M, M)."""
    rows = np.empty((weights.shape[0], grid.shape[1]))
    _weighted_rows(weights, grid, rows)
    across = np.ascontiguousarray(weights.T)
    _weighted_rows(rows, across, out)


@kernel
def _light_pools(luminance, lights, y, x, pools):
    """Fill `pools` (L, 32, 32) with the light that each of `lights` (L, 4) adds to a light of 1.

    Their columns: a place in [0, 1) of the cells in order, each as long as its weight; EV at the
    middle; radius, a share of the image's longer side; falloff. Weights grow with the photograph's
    own light, but none is 0.
    """
    cumulative = np.empty(CELLS * CELLS)
    total = 0.0
    for i in range(CELLS):
        for j in range(CELLS):
            total += np.sqrt(luminance[i, j]) + 0.05
            cumulative[i * CELLS + j] = total
    square = np.empty(CELLS)
    for light in range(lights.shape[0]):
        cell = min(np.searchsorted(cumulative, lights[light, 0] * total), CELLS * CELLS - 1)
        strength = exp2(lights[light, 1]) - 1.0
        # Distances are in halves of the longer side.
        per_square = 1.0 / (4.0 * lights[light, 2] * lights[light, 2])
        power = lights[light, 3] / 2.0
        for j in range(CELLS):
            square[j] = (x[j] - x[cell % CELLS]) ** 2
        for i in range(CELLS):
            down = (y[i] - y[cell // CELLS]) ** 2
            for j in range(CELLS):
                distance = max((down + square[j]) * per_square, _NEAREST)
                pools[light, i, j] = strength * exp2(-_LOG2_E * exp2(power * log2(distance)))


@kernel
def sum_field(
    luminance, smooth, cubic, lights, blur, scene, y, x, vignette, gradient, field, pools
):
    """Fill `field` (32, 32), in EV with mean 0, and `pools` (L, 32, 32), see `_light_pools`.

    Parameters
    ----------
    luminance : float64 array (32, 32)
        Of the photograph; for lights and scene.
    smooth, cubic : float64 arrays (n, n), (32, n)
        Nodes in EV and what of them each cell takes; n may be 0.
    lights : float64 array (L, 4)
    blur, scene : float64 array (32, 32), float
        What of its neighbours' luminance each cell takes, and the share of log2 of it that is
        added.
    y, x : float64 arrays (32)
        Cell middles about the image's middle, in halves of its longer side.
    vignette : float
        EV that the corners lack, by the cos^4 law of natural vignetting: illuminance falls with
        cos^4 of the angle to the axis.
    gradient : float64 array (2)
        EV for each unit of y and of x.
    """
    part = np.empty((CELLS, CELLS))
    field[:] = 0.0
    if smooth.shape[0]:
        _both_ways(cubic, smooth, field)
    if lights.shape[0]:
        _light_pools(luminance, lights, y, x, pools)
        part[:] = 1.0
        for light in range(lights.shape[0]):
            for i in range(CELLS):
                for j in range(CELLS):
                    part[i, j] += pools[light, i, j]
        for i in range(CELLS):
            for j in range(CELLS):
                field[i, j] += log2(max(part[i, j], FAINTEST))
    if scene != 0.0:
        _both_ways(blur, luminance, part)
        for i in range(CELLS):
            for j in range(CELLS):
                field[i, j] += scene * log2(max(part[i, j], _DARKEST))
    corner = exp2(vignette / 2.0) - 1.0
    per_corner = corner / (y[CELLS - 1] ** 2 + x[CELLS - 1] ** 2)
    for i in range(CELLS):
        for j in range(CELLS):
            along = gradient[0] * y[i] + gradient[1] * x[j]
            field[i, j] += along - 2.0 * log2(1.0 + per_corner * (y[i] * y[i] + x[j] * x[j]))
    total = 0.0
    for i in range(CELLS):
        for j in range(CELLS):
            total += field[i, j]
    for i in range(CELLS):
        for j in range(CELLS):
            field[i, j] -= total / (CELLS * CELLS)


@kernel
def light_of(field, exposure_ev, out):
    """Fill `out` (32, 32) float32 with 2^(field - exposure_ev)."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.float32(exp2(field[i, j] - exposure_ev))


@kernel
def interpolate(grid, left, share, rows):
    """Fill `rows` (32, W) from `grid` (32, 32): column x lies `share[x]` of the way from cell
    `left[x]` to the next one."""
    for y in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            here = grid[y, left[x]]
            rows[y, x] = here + (grid[y, left[x] + 1] - here) * share[x]
