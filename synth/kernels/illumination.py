"""Loops of the illumination: parts in EV, summed on a 32 x 32 grid, and factors on light."""

from __future__ import annotations

import math

import numpy as np

from .arrays import f32, f64, i32, u32, u64
from .compiling.compile import kernel, row_kernel, scalar
from .exposure import GUIDES
from .numbers.elementary import exp2, log2
from .numbers.random_bits import CLIPPED, PixelSeed, random_word, sample_state

CELLS = 32
SAMPLES = 2
"""Pixels looked at along a side of a cell."""
MAX_LIGHTS = 16
"""Most lights of a sort, or pools, of a picture."""
FAINTEST = 2.0**-8
"""Least share of the light without lights; negative ones could take more than that."""
_LEAST_EV = 2.0  # stops that brightness leaves of an exposure at least, where as many are drawn
_DARKEST = 2.0**-10  # light below this, in the photograph, carries no information about the scene
_LOG2_E = 1 / np.log(2.0)
_LOG2_GREY = math.log2(0.18)  # of light that cameras expose for
_NEAREST = 1e-30  # squared distance whose logarithm is still taken


DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`


@scalar
def sample_place(i, size, samples):
    """Return row or column of the `i`-th of evenly spaced samples along pixels, some a cell."""
    return i32((f64(i) + 0.5) * f64(size) / (CELLS * samples))


@scalar
def luminance_at(at, normal, channel_light):
    """Return the linear luminance of the pixel whose first sample is at a place (uint64)."""
    return (
        channel_light[0, normal[at]]
        + channel_light[1, normal[at + u64(1)]]
        + channel_light[2, normal[at + u64(2)]]
    )


@scalar
def light_weight(luminance):
    """Return how likely a light is in a cell: more where the photograph is bright, never 0."""
    return np.sqrt(luminance) + 0.05


@scalar
def pool(square_distance, ev, radius, falloff):
    """Return what a light adds to a light of 1, at a distance in halves of the longer side."""
    distance = max(square_distance * (1.0 / (4.0 * radius * radius)), _NEAREST)
    return (exp2(ev) - 1.0) * exp2(-_LOG2_E * exp2(falloff / 2.0 * log2(distance)))


@scalar
def lights_ev(light):
    """Return the stops that all lights and the scene's own, 1, are brighter than the latter."""
    return log2(max(light, FAINTEST))


@scalar
def scene_ev(luminance, strength):
    """Return the stops that the photograph's own light, smoothed, adds."""
    return strength * log2(max(luminance, _DARKEST))


@scalar
def slope_ev(y, x, gradient):
    """Return the stops of a gradient of so many for each unit of y and of x."""
    return gradient[0] * y + gradient[1] * x


@scalar
def per_corner(vignette, y, x):
    """Return what the corner cell's squared distance, at (y, x), becomes in `vignette_ev`."""
    return (exp2(vignette / 2.0) - 1.0) / (y**2 + x**2)


@scalar
def vignette_ev(square_distance, corner):
    """Return the stops lost by natural vignetting: illuminance falls with cos^4 of the angle."""
    return 2.0 * log2(1.0 + corner * square_distance)


@scalar
def luminance_matters(draw):
    """Return whether a draw looks at the photograph's own light."""
    return (
        draw.lights > 0
        or draw.grid_cells > 0
        or draw.illumination_scene_strength != 0.0
        or draw.exposure_by_brightness != 0.0
    )


@scalar
def above_grey(mean_luminance):
    """Return the stops that a mean luminance lies above middle grey."""
    return log2(max(mean_luminance, _DARKEST)) - _LOG2_GREY


@scalar
def darkening_ev(mean_luminance, exposure_ev, by_brightness):
    """Return the stops that a picture of such a mean luminance is darkened by in all.

    However bright it is, that is a low: `by_brightness` leaves 2 EV of the exposure.
    """
    further = by_brightness * above_grey(mean_luminance)
    return max(exposure_ev + further, min(exposure_ev, _LEAST_EV))


@scalar
def cell_light(field, mean, exposure_ev):
    """Return the factor on scene light of a cell of a field in EV, shifted by its mean."""
    return f32(exp2(field - mean - exposure_ev))


@kernel
def mean_luminance(pixels, channel_light, cells):
    """Fill `cells` (32, 32) with mean linear luminance, of 2 x 2 samples each."""
    height, width = pixels.shape[0], pixels.shape[1]
    cells[:] = 0.0
    along = CELLS * SAMPLES
    columns = np.empty(along, np.int64)
    for j in range(along):
        columns[j] = sample_place(j, width, SAMPLES)
    for i in range(along):
        y = sample_place(i, height, SAMPLES)
        for j in range(along):
            x = columns[j]
            light = (
                channel_light[0, pixels[y, x, 0]]
                + channel_light[1, pixels[y, x, 1]]
                + channel_light[2, pixels[y, x, 2]]
            )
            cells[i // SAMPLES, j // SAMPLES] += light
    cells /= SAMPLES * SAMPLES


@kernel
def mean_of(cells):
    """Return the mean of cells (32, 32), summed in order."""
    total = 0.0
    for i in range(CELLS):
        for j in range(CELLS):
            total += cells[i, j]
    return total / (CELLS * CELLS)


@kernel
def stops_above_grey(cells):
    """Return `above_grey` of cells (32, 32) of mean linear luminance."""
    return above_grey(mean_of(cells))


@kernel
def darkening_of(cells, exposure_ev, by_brightness):
    """Return `darkening_ev` of cells (32, 32) of mean linear luminance."""
    return darkening_ev(mean_of(cells), exposure_ev, by_brightness)


@kernel
def _weighted_rows(weights, grid, out):
    """Fill `out` (M, N) with weights (M, K) grid (K, N), summed in order, unlike a library's."""
    for i in range(out.shape[0]):
        out[i] = 0.0
        for k in range(grid.shape[0]):
            if weights[i, k] != 0.0:
                for j in range(out.shape[1]):
                    out[i, j] += weights[i, k] * grid[k, j]


@kernel
def _both_ways(weights, grid, out):
    """Fill `out` with weights grid weights^T: (M, K), (K, K) -> (M, M)."""
    rows = np.empty((weights.shape[0], grid.shape[1]))
    _weighted_rows(weights, grid, rows)
    across = np.ascontiguousarray(weights.T)
    _weighted_rows(rows, across, out)


@kernel
def _light_pools(luminance, lights, y, x, pools):
    """Fill `pools` (L, 32, 32) with the light that each of `lights` adds to a light of 1."""
    cumulative = np.empty(CELLS * CELLS)
    total = 0.0
    for i in range(CELLS):
        for j in range(CELLS):
            total += light_weight(luminance[i, j])
            cumulative[i * CELLS + j] = total
    for light in range(lights.shape[0]):
        place, ev, radius, falloff = lights[light, :4]
        cell = min(np.searchsorted(cumulative, place * total), CELLS * CELLS - 1)
        for i in range(CELLS):
            down = (y[i] - y[cell // CELLS]) ** 2
            for j in range(CELLS):
                square = down + (x[j] - x[cell % CELLS]) ** 2
                pools[light, i, j] = pool(square, ev, radius, falloff)


@scalar
def gradient_of(draw, bottom, right):
    """Return a draw's gradient, EV for each unit of y and of x, of cells up to (bottom, right)."""
    # The largest sum lies in a corner.
    reach = abs(draw.slope_down) * bottom + abs(draw.slope_across) * right
    per_unit = draw.illumination_gradient_ev / 2 / (reach if reach != 0.0 else 1.0)
    return draw.slope_down * per_unit, draw.slope_across * per_unit


@kernel
def sum_field(luminance, draw_of, smooth, lights, weights, places, made):
    """Fill a field (32, 32), in EV with mean 0, and its pools (L, 32, 32), see `_light_pools`.

    luminance: float64 array (32, 32) of the photograph; for lights and scene.
    draw_of: array of DRAW, and the number of the draw in it.
    smooth, lights: of a draw table: nodes of all draws, and the rows of this one's lights.
    weights: what each cell takes of the nodes (32, n), and of its neighbours' luminance (32, 32).
    places: two float64 arrays (32), cell middles about the image's middle, down and across, in
      halves of its longer side.
    made: the field and the pools.
    """
    (draws, number), (cubic, blur), (y, x), (field, pools) = draw_of, weights, places, made
    draw = draws[number]
    n, light = draw.illumination_smooth_cells, np.empty((CELLS, CELLS))
    field[:] = 0.0
    if n > 0:
        _both_ways(cubic, smooth[draw.smooth : draw.smooth + n * n].reshape(n, n), field)
    if pools.shape[0]:
        _light_pools(luminance, lights, y, x, pools)
        light[:] = 1.0
        for k in range(pools.shape[0]):
            light += pools[k]
        for i in range(CELLS):
            for j in range(CELLS):
                field[i, j] += lights_ev(light[i, j])
    if draw.illumination_scene_strength != 0.0:
        _both_ways(blur, luminance, light)
        for i in range(CELLS):
            for j in range(CELLS):
                field[i, j] += scene_ev(light[i, j], draw.illumination_scene_strength)
    gradient = gradient_of(draw, y[CELLS - 1], x[CELLS - 1])
    corner = per_corner(draw.illumination_vignette_ev, y[CELLS - 1], x[CELLS - 1])
    for i in range(CELLS):
        for j in range(CELLS):
            square = y[i] * y[i] + x[j] * x[j]
            field[i, j] += slope_ev(y[i], x[j], gradient) - vignette_ev(square, corner)
    field -= mean_of(field)


@kernel
def light_of(field, exposure_ev, out):
    """Fill `out` (32, 32) float32 with 2^(field - exposure_ev)."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = cell_light(field[i, j], 0.0, exposure_ev)


@scalar
def shining(luminance):
    """Return how likely a pool of light begins in a cell: what is half as bright has a 16th."""
    square = luminance * luminance
    return square * square + 1e-9


@scalar
def grid_factor(k, i, j, cells, first, grid):
    """Return the factor of a grid at the `k`-th of GUIDES in a cell (i, j).

    first: where in `grid` it begins, after the most light.
    """
    y, x = (i + 0.5) * cells / CELLS - 0.5, (j + 0.5) * cells / CELLS - 0.5
    y, x = min(max(y, 0.0), cells - 1.0), min(max(x, 0.0), cells - 1.0)
    top, left = i32(y), i32(x)
    right, down = min(left + 1, cells - 1) - left, (min(top + 1, cells - 1) - top) * cells
    at = first + (k * cells + top) * cells + left
    upper = grid[at] + (grid[at + right] - grid[at]) * (x - left)
    at += down
    lower = grid[at] + (grid[at + right] - grid[at]) * (x - left)
    return upper + (lower - upper) * (y - top)


@scalar
def guide_below(luminance):
    """Return the last of GUIDES below a luminance, and how far it lies on the way to the next."""
    guide = min(np.sqrt(luminance), 1.0) * (GUIDES - 1)
    k = min(i32(guide), GUIDES - 2)
    return k, guide - k


@scalar
def own_ev(darker, lighter, share):
    """Return what a grid adds to a cell's light in stops, of its factors at two of GUIDES."""
    return log2(darker + (lighter - darker) * share)


@scalar
def clipped_factor(i, j, sigma, seed):
    """Return the factor on the light of white in a cell (i, j), of such a deviation in EV.

    It is as of twelve uniform bytes, of the cell and of squares of four and of sixteen.
    """
    if sigma == 0.0:
        return 1.0
    total = u32(0)
    for octave in range(3):
        node = u32((octave * CELLS + (i >> octave)) * CELLS + (j >> octave))
        word = random_word(sample_state(node, seed), CLIPPED)
        for byte in range(4):
            total = u32(total + u32(u32(word >> u32(8 * byte)) & u32(255)))
    return exp2(sigma * ((f64(total) - 1530.0) / 256.0))


@scalar
def slice_light(own, ambient, pools, exposure, most):
    """Return the light at a place and lightness.

    It is even and the scene's own light, and that of pools, but not above the most that there is.

    own: the scene's, whose mean is about 1.
    exposure: what the normal's light becomes.
    """
    light = exposure * (ambient + (1.0 - ambient) * own + pools) / most
    return f32(most * light / np.sqrt(1.0 + light * light))


@kernel
def slices_of(field, luminance, draw_of, lit_by, places, exposure_ev, out):
    """Fill `out` (GUIDES, 32, 32) float32 with light at each lightness.

    field: float64 array (32, 32), of `sum_field`, in EV.
    luminance, draw_of, places: as of `sum_field`.
    lit_by: grids and pools of a draw table, as `batch.arrays.GIVEN` has them.
    """
    (draws, number), (grids, pools), (y, x) = draw_of, lit_by, places
    draw = draws[number]
    first, cumulative, total = draw.grid + GUIDES, np.empty(CELLS * CELLS), 0.0
    own, factors = np.empty((CELLS, CELLS)), np.empty((GUIDES, CELLS, CELLS))
    for k in range(GUIDES):
        for i in range(CELLS):
            for j in range(CELLS):
                factors[k, i, j] = grid_factor(k, i, j, draw.grid_cells, first, grids)
    for i in range(CELLS):
        for j in range(CELLS):
            total += shining(luminance[i, j])
            cumulative[i * CELLS + j] = total
            k, share = guide_below(luminance[i, j])
            own[i, j] = field[i, j] + own_ev(factors[k, i, j], factors[k + 1, i, j], share)
    mean, exposure = mean_of(own), exp2(-exposure_ev)
    seed = PixelSeed(draw.light_seed, draw.light_seed)
    for i in range(CELLS):
        for j in range(CELLS):
            factor = exp2(field[i, j] - mean)
            for k in range(GUIDES):
                factors[k, i, j] *= factor
            factors[GUIDES - 1, i, j] *= clipped_factor(i, j, draw.highlights_sigma_ev, seed)
    more = np.zeros((GUIDES, CELLS, CELLS))
    for p in range(draw.first_pool, draw.first_pool + draw.pools):
        begins = min(np.searchsorted(cumulative, pools[p, 0] * total), CELLS * CELLS - 1)
        for i in range(CELLS):
            down = y[i] - y[begins // CELLS]
            for j in range(CELLS):
                across = x[j] - x[begins % CELLS]
                light = pool(down * down + across * across, pools[p, 1], pools[p, 2], pools[p, 3])
                for k in range(GUIDES):
                    more[k, i, j] += light * pools[p, 4 + k]
    ambient = draw.illumination_scene_light_ambient
    for k in range(GUIDES):
        for i in range(CELLS):
            for j in range(CELLS):
                scenes, lit, most = factors[k, i, j], more[k, i, j], grids[draw.grid + k]
                out[k, i, j] = slice_light(scenes, ambient, lit, exposure, most)


@row_kernel
def interpolate(grid, firsts, share, rows):
    """Fill `rows` (L, 32, W) from `grid` (L, 32, 32).

    Columns from `firsts[i]` to before `firsts[i + 1]` lie between cells i and i + 1, the share
    `share[x]` of the way.
    """
    lines, width = rows.shape[0] * CELLS, rows.shape[2]
    cells, flat = grid.reshape(lines * CELLS), rows.reshape(lines * width)
    for i in range(CELLS - 1):
        first, last = firsts[i], firsts[i + 1]
        part = share[first:last]
        for line in range(lines):
            here = cells[line * CELLS + i]
            step = cells[line * CELLS + i + 1] - here
            into = flat[line * width + first : line * width + last]
            for x in range(part.shape[0]):
                into[x] = here + step * part[x]
