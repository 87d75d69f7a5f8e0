"""The encoding curve of each image of a batch, as its maps need it: levels of light, and back."""

from __future__ import annotations

from ..compiling.compile import scalar
from ..curves import Toe, encoded
from ..develop import ENCODE_CELLS
from ..types import f32, f64, i64, u32
from .map_planes import LEVELS

DOUBLE_PRECISION = True  # all arithmetic of this module, for `compiling.for_cuda`


@scalar
def _encoded_level(draw, place, log_light):
    if place == 0:
        return 0.0
    toe = Toe(draw.tone_toe, draw.toe_slope, draw.toe_end)
    return 255.0 * encoded(log_light[place], draw.isp_contrast, draw.tone, draw.gamma, toe)


@scalar
def level_step(number, place, batch, maps):
    """Fill a level of the encoding table.

    Where pixels are rounded by an 8-bit table, which steps from cell to cell, levels are those
    whose rounding is at the very light where the low's is: where a level is a dozen cells wide, its
    variance is off by some percent else. Chroma smoothing takes finer levels, and rounds after it.
    """
    cell, last = i64(place), i64(ENCODE_CELLS - 1)
    draw = batch.draws[batch.images[number].draw]
    if draw.taps > 0:
        maps.levels[number, cell] = f32(_encoded_level(draw, cell, batch.log_light))
        return
    table = batch.table[number]
    below, above = cell, cell  # the cells before the steps on both sides
    while below > 0 and table[below - 1] == table[below]:
        below -= 1
    while above < last and table[above] == table[above + 1]:
        above += 1
    left, right = f64(below) - 0.5, f64(above) + 0.5
    if below == 0:
        left, lower = 0.0, 0.0
    else:
        lower = (f64(table[below - 1]) + f64(table[below])) / 2
    if above == last:
        right, upper = f64(last), _encoded_level(draw, last, batch.log_light)
    else:
        upper = (f64(table[above]) + f64(table[above + 1])) / 2
    share = (f64(cell) - left) / (right - left)
    maps.levels[number, cell] = f32(lower + (upper - lower) * share)


@scalar
def width_thread_count(image, draw, maps):
    """Count the levels of an image."""
    return u32(LEVELS if image.height > 0 and maps.in_light > 0 else 0)


@scalar
def width_step(number, place, batch, maps):
    """Find the light that a level is wide."""
    level, levels = f64(place), maps.levels[number]
    maps.widths[number, place] = light_of_level(level + 0.5, levels) - light_of_level(
        level - 0.5, levels
    )


@scalar
def light_of_level(level, levels):
    """Return the light of a level."""
    first, end = 0, levels.shape[0]  # of the places above it
    while first < end:
        middle = (first + end) // 2
        if levels[middle] <= level:
            first = middle + 1
        else:
            end = middle
    cell = min(max(first - 1, 0), levels.shape[0] - 2)
    rise = f64(levels[cell + 1]) - f64(levels[cell])
    share = (f64(level) - f64(levels[cell])) / rise if rise > 0.0 else 1.0  # of the last one
    root = f32(cell + min(max(share, 0.0), 1.0)) / f32(levels.shape[0] - 1)
    return root * root
