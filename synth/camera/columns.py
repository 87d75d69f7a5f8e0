"""Drawing the parameters of many images at once, straight into what a batch's kernels read.

The numbers are those that `draw_camera` draws for each, and `pack` packs, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels.batch.arrays import IMAGE
from ..kernels.chroma import MOST_TAPS, blur_weights
from ..kernels.curves import linear_table
from ..kernels.demosaic import METHODS
from ..kernels.exposure import Matrix
from ..kernels.numbers.blake2b import first_words
from ..parameters.distributions import Constant, Distribution, Value, quantiles
from .illumination import light_tint
from .pack import Packed
from .recipe import CameraRecipe, Lights
from .render import inverse, read_forms
from .sensors import GAUSSIAN, is_fitted, sensor_at, sensor_colour_matrices, with_levels

_NORMAL = NormalDist()
Floats = npt.NDArray[np.float64]


class KeyedColumns:
    """The random numbers of many images of a set, each those of its `KeyedRandom`.

    Parameters
    ----------
    seed : int
        Of the set.
    keys : sequence of str
        Of the pairs.
    """

    def __init__(self, seed: int, keys: Sequence[str]) -> None:
        messages = [f"{seed}\0{key}\0".encode() for key in keys]
        self._lengths = np.array([len(message) for message in messages], np.int64)
        width = max(map(len, messages), default=1)
        padded = b"".join(message.ljust(width, b"\0") for message in messages)
        self._prefixes = np.frombuffer(padded, np.uint8).reshape(len(messages), width)

    def __len__(self) -> int:
        return len(self._lengths)

    def bits(self, purpose: str, index: int = 0) -> npt.NDArray[np.uint64]:
        """Draw 64 random bits for each image."""
        suffix = np.frombuffer(f"{purpose}\0{index}".encode(), np.uint8)
        words = np.empty(len(self), np.uint64)
        first_words(self._prefixes, self._lengths, suffix, words)
        return words

    def uniform(self, purpose: str, index: int = 0) -> npt.NDArray[np.float64]:
        """Draw a number strictly between 0 and 1 for each image."""
        bits = (self.bits(purpose, index) >> np.uint64(12)).astype(np.float64)
        drawn: npt.NDArray[np.float64] = (bits + 0.5) * 2.0**-52
        return drawn

    def gaussian(self, purpose: str, index: int = 0) -> npt.NDArray[np.float64]:
        """Draw from the standard normal distribution for each image."""
        return np.array([_NORMAL.inv_cdf(u) for u in self.uniform(purpose, index).tolist()])


class _Drawing:
    """Values of distributions for all images, each by a random number of its own."""

    def __init__(self, seed: int, keys: Sequence[str]) -> None:
        self.random = KeyedColumns(seed, keys)
        self.count = len(keys)

    def values(self, distribution: Distribution, purpose: str, index: int = 0) -> list[Value]:
        """Numbers or names; a constant costs no random number."""
        if type(distribution) is Constant:
            return [distribution.value] * self.count
        return quantiles(distribution, self.random.uniform(purpose, index))

    def numbers(self, distribution: Distribution, purpose: str, index: int = 0) -> Floats:
        """Numbers, as an array."""
        return np.array(self.values(distribution, purpose, index), np.float64)


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
    drawing = _Drawing(seed, keys)
    images = np.zeros(len(keys), IMAGE)
    read = _draw_sensor(images, drawing, recipe)
    _draw_colours(images, drawing, recipe)
    smooth, lights = _draw_field(images, drawing, recipe)
    linear, blur = _draw_curves(images, drawing, recipe)
    bits = drawing.random.bits("pixels") >> np.uint64(1)
    images["seed_lower"] = bits & np.uint64(0xFFFFFFFF)
    images["seed_upper"] = bits >> np.uint64(32)
    return Packed(images, linear, read, blur, smooth, lights)


def _draw_field(
    images: npt.NDArray[Any], drawing: _Drawing, recipe: CameraRecipe
) -> tuple[Floats, Floats]:
    """Fill in the illumination; returns the nodes of the smooth fields, and the lights."""
    field, random = recipe.illumination, drawing.random
    share = drawing.numbers(field.probability, "illumination.probability.value")
    lit = random.uniform("illumination.probability") < share
    sigma = np.where(lit, drawing.numbers(field.smooth.sigma_ev, "illumination.smooth.sigma_ev"), 0)
    cells = drawing.numbers(field.smooth.cells, "illumination.smooth.cells").astype(np.int64)
    cells = np.where(sigma != 0, cells, 0)
    nodes = cells * cells
    most = int(nodes.max(initial=0))
    drawn = np.zeros((len(images), most))
    for i in range(most):
        drawn[:, i] = random.gaussian("illumination.smooth", i)
    held = np.arange(most) < nodes[:, None]
    smooth = (sigma[:, None] * drawn)[held]
    images["cells"], images["smooth"] = cells, np.cumsum(nodes) - nodes

    sorts = [_draw_lights(drawing, getattr(field, name), name, lit) for name in ("lights", "lamps")]
    counts = sum(count for count, _ in sorts)
    rows = np.concatenate([table for _, table in sorts], axis=1)
    own = np.concatenate(
        [np.arange(table.shape[1]) < count[:, None] for count, table in sorts], axis=1
    )
    images["lights"], images["first_light"] = counts, np.cumsum(counts) - counts
    warmth = np.where(own, rows[:, :, 4], 0.0)
    images["coloured"] = (warmth != 0).any(axis=1)
    held_rows = rows[own]
    tints = [light_tint(one) for one in held_rows[:, 4].tolist()]
    lights = np.column_stack([held_rows[:, :4], np.array(tints, np.float64).reshape(-1, 3)])

    images["exposure_ev"] = drawing.numbers(recipe.exposure.ev, "exposure.ev")
    for column, part, name in (
        ("scene", field.scene.strength, "scene.strength"),
        ("vignette", field.vignette.ev, "vignette.ev"),
        ("gradient_ev", field.gradient.ev, "gradient.ev"),
    ):
        images[column] = np.where(lit, drawing.numbers(part, f"illumination.{name}"), 0.0)
    turns = np.zeros(len(images))
    if field.gradient.ev != Constant(0.0):
        turns = random.uniform("illumination.gradient.angle")
    angles = (2 * math.pi * turns).tolist()
    images["down"] = [math.sin(angle) for angle in angles]
    images["across"] = [math.cos(angle) for angle in angles]
    return smooth, lights


def _draw_lights(
    drawing: _Drawing, sort: Lights, name: str, lit: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return how many lights of a sort each image has, and the lights (N, most, 5).

    Of each: place, EV, radius, falloff and warmth.
    """
    path = f"illumination.{name}"
    count = drawing.numbers(sort.count, f"{path}.count").astype(np.int64)
    count = np.where(lit, count, 0)
    table = np.zeros((drawing.count, int(count.max(initial=0)), 5))
    for i in range(table.shape[1]):
        table[:, i, 0] = drawing.random.uniform(f"{path}.place", i)
        for k, part in enumerate(("ev", "radius", "falloff", "warmth_ev")):
            table[:, i, k + 1] = drawing.numbers(getattr(sort, part), f"{path}.{part}", i)
    return count, table


def _draw_curves(
    images: npt.NDArray[Any], drawing: _Drawing, recipe: CameraRecipe
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Fill in encoding and chroma noise reduction; returns the tables of light, and the blurs."""
    tone, isp = recipe.tone, recipe.isp
    strength = drawing.numbers(tone.strength, "tone.strength")
    transfer = np.array(drawing.values(tone.transfer, "tone.transfer"))
    applied = np.array(drawing.values(tone.applied, "tone.applied"))
    gamma = np.where(transfer == "gamma", drawing.numbers(tone.gamma, "tone.gamma"), 0.0)
    tables: dict[tuple[float, float], int] = {}
    pairs = zip(strength.tolist(), gamma.tolist(), strict=True)
    images["linear"] = [tables.setdefault(pair, len(tables)) for pair in pairs]
    images["contrast"] = drawing.numbers(isp.contrast, "isp.contrast")
    images["tone"] = np.where(applied == "both", strength, 0.0)
    images["gamma"] = gamma
    images["method"] = [METHODS[str(m)] for m in drawing.values(isp.demosaic, "isp.demosaic")]
    chroma = drawing.numbers(isp.chroma.strength, "isp.chroma.strength")
    sigma = drawing.numbers(isp.chroma.sigma, "isp.chroma.sigma")
    blur = np.zeros((len(images), MOST_TAPS), np.float32)
    for number, (one, width) in enumerate(zip(chroma.tolist(), sigma.tolist(), strict=True)):
        if one > 0:
            weights = blur_weights(width)
            blur[number, : len(weights)] = weights
    images["strength"], images["taps"] = chroma, np.count_nonzero(blur, axis=1)
    return np.stack([linear_table(*key) for key in tables]), blur


def _draw_sensor(
    images: npt.NDArray[Any], drawing: _Drawing, recipe: CameraRecipe
) -> npt.NDArray[np.float32]:
    """Fill in the sensor; returns the quantiles of its read noise."""
    camera = recipe.camera
    names = list(map(str, drawing.values(camera.name, "camera.name")))
    isos = drawing.numbers(camera.iso, "camera.iso").tolist()
    levels = drawing.numbers(camera.levels, "camera.levels").astype(np.int64).tolist()
    noises = drawing.values(camera.read_noise, "camera.read_noise")
    spreads = [(0.0, 0.0, 0.0)] * drawing.count
    if any(is_fitted(name, camera.own) for name in set(names)):
        drawn = [drawing.random.gaussian("camera.spread", i).tolist() for i in range(3)]
        spreads = list(zip(*drawn, strict=True))
    forms: dict[tuple[bool, float], Floats] = {}
    read, rows = [], []
    for i, (name, iso) in enumerate(zip(names, isos, strict=True)):
        sensor = with_levels(sensor_at(name, iso, spreads[i], camera.own), levels[i])
        gaussian = noises[i] == GAUSSIAN or not sensor.tukey_scale
        form = gaussian, 0.0 if gaussian else sensor.tukey_shape
        if form not in forms:
            forms[form] = np.stack(read_forms(*form))
        read.append(forms[form])
        scale = sensor.gaussian_sigma if gaussian else sensor.tukey_scale
        electrons = (sensor.white - sensor.black) / sensor.gain
        rows.append((sensor.gain, sensor.row_sigma, sensor.black, sensor.white, electrons, scale))
    columns = np.array(rows, np.float64).reshape(-1, 6).T
    for name, column in zip(
        ("gain", "row_sigma", "black", "white", "electrons"), columns[:5], strict=True
    ):
        images[name] = column
    scaled: npt.NDArray[np.float32] = (
        np.array(read).reshape(-1, 2, 10) * columns[5][:, None, None]
    ).astype(np.float32)
    return scaled


def _draw_colours(images: npt.NDArray[Any], drawing: _Drawing, recipe: CameraRecipe) -> None:
    """Fill in matrices, white balance and gains; see `render.optics`."""
    balance, count = recipe.white_balance, drawing.count
    matrix = _matrices(drawing, recipe)
    red = drawing.numbers(balance.red, "white_balance.red")
    blue = drawing.numbers(balance.blue, "white_balance.blue")
    gains = red, np.ones(count), blue
    errors = [
        np.array([2.0**ev for ev in drawing.numbers(balance.error_ev, "white_balance.error_ev", i)])
        for i in range(2)
    ]
    to_camera = [matrix[i] / gains[i // 3] for i in range(9)]
    a, b, c, d, e, f, g, h, i = (np.maximum(value, 0.0) for value in to_camera)
    headroom = np.maximum(1.0, np.maximum(a + b + c, np.maximum(d + e + f, g + h + i)))
    for name, value in zip(Matrix._fields, to_camera, strict=True):
        images[f"camera_{name}"] = value / headroom
    for name, value in zip(Matrix._fields, inverse(matrix), strict=True):
        images[f"srgb_{name}"] = value
    digital = drawing.values(recipe.isp.digital_gain_ev, "isp.digital_gain_ev")
    digital_gain = np.array([2 ** float(ev) for ev in digital])
    for name, gain, error in (
        ("red_gain", red, errors[0]),
        ("green_gain", np.ones(count), np.ones(count)),
        ("blue_gain", blue, errors[1]),
    ):
        images[name] = gain * error * headroom * digital_gain
    highlights = drawing.values(recipe.highlights.ev, "highlights.ev")
    images["highlights"] = [2 ** float(ev) - 1 for ev in highlights]


def _matrices(drawing: _Drawing, recipe: CameraRecipe) -> Floats:
    """Return linear sRGB to camera RGB, row by row (9, N); see `draw._random_matrix`."""
    random = np.array(drawing.values(recipe.camera.matrix, "camera.matrix")) == "random"
    plain = np.repeat(np.eye(3).reshape(9, 1), drawing.count, axis=1)
    if not random.any():
        return plain
    matrices = sensor_colour_matrices().reshape(-1, 9)
    uniforms = [
        drawing.random.uniform("camera.matrix.weight", i).tolist() for i in range(len(matrices))
    ]
    weights = np.array([[-math.log(u) for u in column] for column in uniforms])
    weights /= np.array([math.fsum(one) for one in weights.T.tolist()])
    mixed = np.zeros((9, drawing.count))
    for weight, matrix in zip(weights, matrices, strict=True):
        mixed += weight * matrix[:, None]
    return np.where(random, mixed, plain)
