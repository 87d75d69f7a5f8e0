"""The encoding curve of each image of a batch, as its maps need it: levels of light, and back."""

from __future__ import annotations

from ..compiling.compile import scalar
from ..curves import Toe, encoded
from ..develop import ENCODE_CELLS
from ..types import f32, f64, i64, u32
from .map_planes import PER_LEVEL, ROOTS

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

    An 8-bit table steps from cell to cell. Levels whose pixels are rounded by it are those whose
    rounding is at the very light where the low's is: the variance of a level a dozen cells wide
    were off by some percent else. Chroma smoothing takes finer levels, and rounds after it.
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
def root_thread_count(image, draw, maps):
    """Count the places of an image's table of roots."""
    return u32(ROOTS if image.height > 0 else 0)


@scalar
def root_step(number, place, batch, maps):
    """Find the root of the light of a level, of which there are `PER_LEVEL` from one to the next.

    Maps look a pixel's light up there: among the encoding table's places it is searched for.
    """
    levels, level = maps.levels[number], f64(place) / PER_LEVEL
    first, end = 0, levels.shape[0]  # of the places above it
    while first < end:
        middle = (first + end) // 2
        if levels[middle] <= level:
            first = middle + 1
        else:
            end = middle
    cell = min(max(first - 1, 0), levels.shape[0] - 2)
    rise = f64(levels[cell + 1]) - f64(levels[cell])
    share = (level - f64(levels[cell])) / rise if rise > 0.0 else 1.0  # of the last one
    maps.roots[number, place] = (cell + min(max(share, 0.0), 1.0)) / (levels.shape[0] - 1)
