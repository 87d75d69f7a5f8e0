"""Drawing the parameters of many images at once, straight into what a batch's kernels read.

The numbers are those that `draw_camera` draws for each, and `pack` packs, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...degradations.columns import draw_columns
from ...kernels.batch.arrays import DRAW
from ...kernels.chroma import MOST_TAPS, blur_weights
from ...kernels.curves import linear_table
from ...kernels.demosaic import METHODS
from ...kernels.exposure import Matrix
from ...kernels.numbers.library import log, power, sine_and_cosine
from ...parameters.columns import Floats, KeyedColumns
from ...parameters.distributions import Constant
from ..illumination import light_tint
from ..recipe import CameraRecipe, Lights
from ..render import inverse
from ..sensors import sensor_colour_matrices
from .pack import Packed
from .sensors import draw_sensors


def draw_packed(recipe: CameraRecipe, seed: int, keys: Sequence[str]) -> Packed:
    """Draw the parameters of many images.

    Parameters
    ----------
    recipe : CameraRecipe
    seed : int
        Of the set.
    keys : sequence of str
        Of the pairs.

    Returns
    -------
    Packed
        Equal to `pack([draw(recipe, seed, key) for key in keys])`.
    """
    random = KeyedColumns(seed, keys)
    draws = np.zeros(len(keys), DRAW)
    sensors = draw_sensors(random, recipe)
    for name in ("gain", "row_sigma", "black", "white"):
        draws[name] = getattr(sensors, name)
    draws["electrons"] = (sensors.white - sensors.black) / sensors.gain
    _draw_colours(draws, random, recipe)
    smooth, lights = _draw_field(draws, random, recipe)
    linear, blur = _draw_curves(draws, random, recipe)
    bits = random.bits("pixels") >> np.uint64(1)
    draws["seed_lower"] = bits & np.uint64(0xFFFFFFFF)
    draws["seed_upper"] = bits >> np.uint64(32)
    spread = draw_columns(draws, random, recipe.degradations, sensors.gain)
    return Packed(draws, linear, sensors.read, blur, smooth, lights, spread)


def _draw_field(
    draws: npt.NDArray[Any], random: KeyedColumns, recipe: CameraRecipe
) -> tuple[Floats, Floats]:
    """Fill in the illumination; returns the nodes of the smooth fields, and the lights."""
    field = recipe.illumination
    share = random.numbers(field.probability, "illumination.probability.value")
    lit = random.uniform("illumination.probability") < share
    smooth = _draw_smooth(draws, random, recipe, lit)

    sorts = [_draw_lights(random, getattr(field, name), name, lit) for name in ("lights", "lamps")]
    counts = sum(count for count, _ in sorts)
    rows = np.concatenate([table for _, table in sorts], axis=1)
    own = np.concatenate(
        [np.arange(table.shape[1]) < count[:, None] for count, table in sorts], axis=1
    )
    draws["lights"], draws["first_light"] = counts, np.cumsum(counts) - counts
    warmth = np.where(own, rows[:, :, 4], 0.0)
    draws["coloured"] = (warmth != 0).any(axis=1)
    held = rows[own]
    warmths, place = np.unique(held[:, 4], return_inverse=True)
    tints = np.array([light_tint(one) for one in warmths.tolist()], np.float64).reshape(-1, 3)
    lights = np.column_stack([held[:, :4], tints[place.reshape(-1)]])

    draws["exposure_ev"] = random.numbers(recipe.exposure.ev, "exposure.ev")
    for column, part, name in (
        ("scene", field.scene.strength, "scene.strength"),
        ("vignette", field.vignette.ev, "vignette.ev"),
        ("gradient_ev", field.gradient.ev, "gradient.ev"),
    ):
        draws[column] = np.where(lit, random.numbers(part, f"illumination.{name}"), 0.0)
    turns = np.zeros(len(draws))
    if field.gradient.ev != Constant(0.0):
        turns = random.uniform("illumination.gradient.angle")
    draws["slope_down"], draws["slope_across"] = sine_and_cosine(2 * math.pi * turns)
    return smooth, lights


def _draw_smooth(
    draws: npt.NDArray[Any],
    random: KeyedColumns,
    recipe: CameraRecipe,
    lit: npt.NDArray[np.bool_],
) -> Floats:
    """Fill in the grids of the smooth fields; returns their nodes."""
    smooth = recipe.illumination.smooth
    sigma = np.where(lit, random.numbers(smooth.sigma_ev, "illumination.smooth.sigma_ev"), 0)
    cells = random.numbers(smooth.cells, "illumination.smooth.cells").astype(np.int64)
    cells = np.where(sigma != 0, cells, 0)
    nodes = cells * cells
    draws["cells"], draws["smooth"] = cells, np.cumsum(nodes) - nodes
    drawn = np.zeros((len(draws), int(nodes.max(initial=0))))
    for count in sorted(set(nodes.tolist()) - {0}):
        own, before = nodes >= count, int(nodes[nodes < count].max(initial=0))
        those = random.those(own)
        for i in range(before, count):
            drawn[own, i] = those.gaussian("illumination.smooth", i)
    held: Floats = (sigma[:, None] * drawn)[np.arange(drawn.shape[1]) < nodes[:, None]]
    return held


def _draw_lights(
    random: KeyedColumns, sort: Lights, name: str, lit: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return how many lights of a sort each image has, and the lights (N, most, 5).

    Of each: place, EV, radius, falloff and warmth.
    """
    path = f"illumination.{name}"
    count = random.numbers(sort.count, f"{path}.count").astype(np.int64)
    count = np.where(lit, count, 0)
    table = np.zeros((len(random), int(count.max(initial=0)), 5))
    for i in range(table.shape[1]):
        own = count > i
        those = random.those(own)
        table[own, i, 0] = those.uniform(f"{path}.place", i)
        for k, part in enumerate(("ev", "radius", "falloff", "warmth_ev")):
            table[own, i, k + 1] = those.numbers(getattr(sort, part), f"{path}.{part}", i)
    return count, table


def _draw_curves(
    draws: npt.NDArray[Any], random: KeyedColumns, recipe: CameraRecipe
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Fill in encoding and chroma noise reduction; returns the tables of light, and the blurs."""
    tone, isp = recipe.tone, recipe.isp
    strength = random.numbers(tone.strength, "tone.strength")
    transfer = random.values(tone.transfer, "tone.transfer")
    applied = random.values(tone.applied, "tone.applied")
    gamma = np.where(transfer == "gamma", random.numbers(tone.gamma, "tone.gamma"), 0.0)
    curves, first, place = np.unique(
        np.column_stack([strength, gamma]), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)  # tables are counted as they come
    draws["linear"] = np.argsort(order)[place.reshape(-1)]
    draws["contrast"] = random.numbers(isp.contrast, "isp.contrast")
    draws["tone"] = np.where(applied == "both", strength, 0.0)
    draws["gamma"] = gamma
    names, place = np.unique(
        random.values(isp.demosaic, "isp.demosaic").astype(str), return_inverse=True
    )
    draws["method"] = np.array([METHODS[name] for name in names.tolist()])[place.reshape(-1)]
    chroma = random.numbers(isp.chroma.strength, "isp.chroma.strength")
    sigma = random.numbers(isp.chroma.sigma, "isp.chroma.sigma")
    sigmas, place = np.unique(np.where(chroma > 0, sigma, 0.0), return_inverse=True)
    weights = np.zeros((len(sigmas), MOST_TAPS), np.float32)
    for row, width in zip(weights, sigmas.tolist(), strict=True):
        if width:
            own = blur_weights(width)
            row[: len(own)] = own
    blur = weights[place.reshape(-1)]
    draws["strength"], draws["taps"] = chroma, np.count_nonzero(blur, axis=1)
    return np.stack([linear_table(*curve) for curve in curves[order].tolist()]), blur


def _draw_colours(draws: npt.NDArray[Any], random: KeyedColumns, recipe: CameraRecipe) -> None:
    """Fill in matrices, white balance and gains; see `render.optics`."""
    balance, count = recipe.white_balance, len(random)
    matrix = _matrices(random, recipe)
    red = random.numbers(balance.red, "white_balance.red")
    blue = random.numbers(balance.blue, "white_balance.blue")
    gains = red, np.ones(count), blue
    errors = [
        power(2.0, random.numbers(balance.error_ev, "white_balance.error_ev", i)) for i in range(2)
    ]
    to_camera = [matrix[i] / gains[i // 3] for i in range(9)]
    a, b, c, d, e, f, g, h, i = (np.maximum(value, 0.0) for value in to_camera)
    headroom = np.maximum(1.0, np.maximum(a + b + c, np.maximum(d + e + f, g + h + i)))
    for name, value in zip(Matrix._fields, to_camera, strict=True):
        draws[f"camera_{name}"] = value / headroom
    for name, value in zip(Matrix._fields, inverse(matrix), strict=True):
        draws[f"srgb_{name}"] = value
    digital_gain = power(2.0, random.numbers(recipe.isp.digital_gain_ev, "isp.digital_gain_ev"))
    for name, gain, error in (
        ("red_gain", red, errors[0]),
        ("green_gain", np.ones(count), np.ones(count)),
        ("blue_gain", blue, errors[1]),
    ):
        draws[name] = gain * error * headroom * digital_gain
    draws["highlights"] = power(2.0, random.numbers(recipe.highlights.ev, "highlights.ev")) - 1


def _matrices(random: KeyedColumns, recipe: CameraRecipe) -> Floats:
    """Return linear sRGB to camera RGB, row by row (9, N); see `draw._random_matrix`."""
    mixing = random.values(recipe.camera.matrix, "camera.matrix") == "random"
    plain = np.repeat(np.eye(3).reshape(9, 1), len(random), axis=1)
    if not mixing.any():
        return plain
    matrices = sensor_colour_matrices().reshape(-1, 9)
    weights = np.array(
        [-log(random.uniform("camera.matrix.weight", i)) for i in range(len(matrices))]
    )
    weights /= np.array([math.fsum(one) for one in weights.T.tolist()])
    mixed = np.zeros((9, len(random)))
    for weight, matrix in zip(weights, matrices, strict=True):
        mixed += weight * matrix[:, None]
    return np.where(mixing, mixed, plain)
