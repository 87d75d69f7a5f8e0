"""The steps of `illumination` and `curves` for a batch: a cell or a table place at a time."""

from __future__ import annotations

from ..args import encoded_of, glare_of
from ..arrays import f32, f64, i16, u8, u64
from ..chroma import UNIT
from ..compiling.compile import scalar
from ..curves import LUMINANCE, rounded
from ..develop import ENCODE_CELLS
from ..emitters import cell_weight, resolve
from ..exposure import GUIDES
from ..illumination import (
    CELLS,
    FAINTEST,
    SAMPLES,
    cell_light,
    clipped_factor,
    darkening_ev,
    gradient_of,
    grid_factor,
    guide_below,
    light_weight,
    lights_ev,
    luminance_at,
    luminance_matters,
    own_ev,
    per_corner,
    pool,
    sample_place,
    scene_ev,
    shining,
    slice_light,
    slope_ev,
    vignette_ev,
)
from ..numbers.elementary import exp2
from ..numbers.random_bits import PixelSeed
from .arrays import FIELD

DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`


_RED, _GREEN, _BLUE = (float(share) for share in LUMINANCE)


@scalar
def luminance_thread_count(image, draw, beside):
    """Count the cells of an image whose luminance matters."""
    return FIELD if image.height > 0 and luminance_matters(draw) else 0


@scalar
def luminance_step(number, cell, batch):
    """Find the mean linear luminance of a cell, and how much a light is drawn to it."""
    image = batch.images[number]
    total = 0.0
    for i in range(SAMPLES):
        y = sample_place(cell // CELLS * SAMPLES + i, image.height, SAMPLES)
        for j in range(SAMPLES):
            x = sample_place(cell % CELLS * SAMPLES + j, image.width, SAMPLES)
            at = image.first + u64(3 * (y * image.width + x))
            total += luminance_at(at, batch.normal, batch.channel_light)
    luminance = total / (SAMPLES * SAMPLES)
    batch.luminance[number, cell] = luminance
    batch.cumulative[number, cell] = light_weight(luminance)
    batch.shining[number, cell] = shining(luminance)


@scalar
def lights_thread_count(image, draw, beside):
    """Count 1 for an image with lights or pools."""
    return 1 if image.height > 0 and (draw.lights > 0 or draw.pools > 0) else 0


@scalar
def lights_step(number, place, batch):
    """Find the cells of the lights and pools of an image, by their places among all, weighted."""
    draw = batch.draws[batch.images[number].draw]
    if draw.lights > 0:
        places, cells = batch.lights[draw.first_light :, 0], batch.light_cell[number]
        _find_cells(batch.cumulative[number], places, draw.lights, cells)
    if draw.pools > 0:
        places, cells = batch.pools[draw.first_pool :, 0], batch.pool_cell[number]
        _find_cells(batch.shining[number], places, draw.pools, cells)


@scalar
def _find_cells(at, places, count, cells):
    """Fill `cells` with those at so many places, of weights (1024), which are summed up for it."""
    total = 0.0
    for cell in range(0, FIELD, 4):  # four at once: sums wait for what is loaded
        a, b, c, d = at[cell], at[cell + 1], at[cell + 2], at[cell + 3]
        a = total + a
        b = a + b
        c = b + c
        total = c + d
        at[cell], at[cell + 1], at[cell + 2], at[cell + 3] = a, b, c, total
    for light in range(count):
        cells[light] = _first_cell(at, places[light] * total)


@scalar
def _first_cell(sums, wanted):
    """Return the first cell whose sum reaches what is wanted, or the last one."""
    lower, upper = 0, FIELD
    while lower < upper:
        middle = (lower + upper) >> 1
        if sums[middle] < wanted:
            lower = middle + 1
        else:
            upper = middle
    return min(lower, FIELD - 1)


@scalar
def _along(cell, size, longer):
    return ((f64(cell) + 0.5) / CELLS * 2 - 1) * (f64(size) / f64(longer))


@scalar
def cell_middle(cell, image):
    """Return the middle of a cell about the image's middle, in halves of its longer side."""
    longer = max(image.height, image.width)
    down = _along(cell // CELLS, image.height, longer)
    return down, _along(cell % CELLS, image.width, longer)


@scalar
def pool_in(cell, begun, light, image):
    """Return the light in a cell of a light or pool, of its row of numbers, begun in another."""
    y, x = cell_middle(cell, image)
    down, across = cell_middle(begun, image)
    down, across = y - down, x - across
    return pool(down * down + across * across, light[1], light[2], light[3])


@scalar
def smooth_ev(i, j, draw, batch):
    """Return the smooth field in a cell."""
    n = draw.illumination_smooth_cells
    total = 0.0
    for k in range(n):
        row = 0.0
        for m in range(n):
            row += batch.cubic[n, i, m] * batch.smooth[draw.smooth + m * n + k]
        total += row * batch.cubic[n, j, k]
    return total


@scalar
def smoothed_luminance(i, j, number, batch):
    """Return the luminance of a cell and its neighbours, blurred."""
    total = 0.0
    for k in range(max(j - 2, 0), min(j + 3, CELLS)):
        row = 0.0
        for m in range(max(i - 2, 0), min(i + 3, CELLS)):
            row += batch.binomial[i, m] * batch.luminance[number, m * CELLS + k]
        total += row * batch.binomial[j, k]
    return total


@scalar
def cell_thread_count(image, draw, beside):
    """Count the cells of an image."""
    return FIELD if image.height > 0 else 0


@scalar
def field_step(number, cell, batch):
    """Find the field in a cell in EV, not yet shifted, and the colour of its light."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    i, j = cell // CELLS, cell % CELLS
    field = smooth_ev(i, j, draw, batch) if draw.illumination_smooth_cells > 0 else 0.0
    if draw.lights > 0:
        light, red, green, blue = 1.0, 1.0, 1.0, 1.0
        for k in range(draw.lights):
            lamp = batch.lights[draw.first_light + k]
            more = pool_in(cell, batch.light_cell[number, k], lamp, image)
            light += more
            red += more * lamp[4]
            green += more * lamp[5]
            blue += more * lamp[6]
        field += lights_ev(light)
        if draw.coloured:
            red, green, blue = max(red, FAINTEST), max(green, FAINTEST), max(blue, FAINTEST)
            luminance = _RED * red + _GREEN * green + _BLUE * blue
            batch.colour[number, 0, cell] = f32(red / luminance)
            batch.colour[number, 1, cell] = f32(green / luminance)
            batch.colour[number, 2, cell] = f32(blue / luminance)
    if draw.illumination_scene_strength != 0.0:
        field += scene_ev(smoothed_luminance(i, j, number, batch), draw.illumination_scene_strength)
    (y, x), (bottom, right) = cell_middle(cell, image), cell_middle(FIELD - 1, image)
    gradient = gradient_of(draw, bottom, right)
    corner = per_corner(draw.illumination_vignette_ev, bottom, right)
    field += slope_ev(y, x, gradient) - vignette_ev(y * y + x * x, corner)
    batch.field[number, cell] = field
    own = field
    if draw.grid_cells > 0:
        first = draw.grid + GUIDES
        k, share = guide_below(batch.luminance[number, cell])
        darker = grid_factor(k, i, j, draw.grid_cells, first, batch.grids)
        lighter = grid_factor(k + 1, i, j, draw.grid_cells, first, batch.grids)
        own += own_ev(darker, lighter, share)
    batch.own[number, cell] = own


@scalar
def mean_thread_count(image, draw, beside):
    """Count 1 for an image."""
    return 1 if image.height > 0 else 0


@scalar
def mean_step(number, place, batch):
    """Find the mean of an image's field, summed in order, and its exposure."""
    draw = batch.draws[batch.images[number].draw]
    batch.exposure[number] = draw.exposure_ev
    total = 0.0
    if draw.exposure_by_brightness != 0.0:
        for cell in range(FIELD):
            total += batch.luminance[number, cell]
        mean, by_brightness = total / FIELD, draw.exposure_by_brightness
        batch.exposure[number] = darkening_ev(mean, draw.exposure_ev, by_brightness)
    total = 0.0
    for cell in range(0, FIELD, 8):  # eight at once: sums wait for what is loaded
        at = batch.own[number]
        a, b, c, d = at[cell], at[cell + 1], at[cell + 2], at[cell + 3]
        e, f, g, h = at[cell + 4], at[cell + 5], at[cell + 6], at[cell + 7]
        total = (((((((total + a) + b) + c) + d) + e) + f) + g) + h
    batch.mean[number] = total / FIELD


@scalar
def light_step(number, cell, batch):
    """Find the factor on scene light in a cell, or those at each lightness."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    field, mean = batch.field[number, cell], batch.mean[number]
    if draw.grid_cells == 0:
        batch.light[number, cell] = cell_light(field, mean, batch.exposure[number])
        return
    i, j = cell // CELLS, cell % CELLS
    factor, exposure = exp2(field - mean), exp2(-batch.exposure[number])
    for k in range(GUIDES):
        more = 0.0
        for p in range(draw.pools):
            own = batch.pools[draw.first_pool + p]
            more += pool_in(cell, batch.pool_cell[number, p], own, image) * own[4 + k]
        first = draw.grid + GUIDES
        scenes = factor * grid_factor(k, i, j, draw.grid_cells, first, batch.grids)
        if k == GUIDES - 1:
            seed = PixelSeed(draw.light_seed, draw.light_seed)
            scenes = scenes * clipped_factor(i, j, draw.highlights_sigma_ev, seed)
        ambient, most = draw.illumination_scene_light_ambient, batch.grids[draw.grid + k]
        batch.light[number, k * FIELD + cell] = slice_light(scenes, ambient, more, exposure, most)


@scalar
def _photograph(image, batch):
    return batch.normal, image.first, image.height, image.width


@scalar
def lure_thread_count(image, draw, beside):
    """Count the cells of an image with emitters."""
    return FIELD if image.height > 0 and draw.emitters_count > 0 else 0


@scalar
def lure_step(number, cell, batch):
    """Find how likely an emitter is in a cell."""
    photograph = _photograph(batch.images[number], batch)
    batch.lures[number, cell] = cell_weight(cell, photograph, batch.channel_light)


@scalar
def emitter_thread_count(image, draw, beside):
    """Count the emitters of an image."""
    return draw.emitters_count if image.height > 0 else 0


@scalar
def emitter_step(number, place, batch):
    """Find where an emitter is, and how it shines."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    resolve(
        batch.emitters[draw.first_emitter + place],
        _photograph(image, batch),
        batch.lures[number],
        batch.channel_light,
        glare_of(draw),
        batch.exposure[number],
        batch.lamps[number, place],
    )


@scalar
def table_thread_count(image, draw, beside):
    """Count the places of an image's encoding table."""
    return ENCODE_CELLS if image.height > 0 else 0


@scalar
def table_step(number, place, batch):
    """Fill a place of an image's encoding table: the fine one where chroma is to be smoothed."""
    draw = batch.draws[batch.images[number].draw]
    value = encoded_of(draw, place, batch.log_light)
    if draw.taps > 0:
        batch.fine_table[number, place] = i16(rounded(value, float(UNIT)))
    else:
        batch.table[number, place] = u8(rounded(value, 255.0))
