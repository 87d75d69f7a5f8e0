"""Rows of a draw table as arguments of the kernels of one image, on the CPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..camera.illumination import Field
from ..degradations.draw import JpegSetting
from ..degradations.point_spread import Spread
from ..draws.table import DrawTable
from ..kernels import args
from ..kernels.channel_noise import ChannelNoise
from ..kernels.chroma import taken_at_once
from ..kernels.curves import encode_table, fine_table
from ..kernels.degradations.pattern import Pattern
from ..kernels.develop import ENCODE_CELLS, Development
from ..kernels.emitters import Glare
from ..kernels.exposure import GUIDES, Bands, Exposure
from ..kernels.illumination import Lights, SceneLight
from ..kernels.numbers.poisson_table import poisson_alias_table
from ..kernels.numbers.quantiles import normal_quantile, scaled
from ..kernels.numbers.random_bits import PixelSeed
from ..kernels.sensor import Noise, Sensor

_NO_TABLE, _NO_FINE_TABLE = np.zeros(ENCODE_CELLS, np.uint8), np.zeros(ENCODE_CELLS, np.int16)


class KernelArgs(NamedTuple):
    """One image's draw as kernels take it.

    emitters: float64 array (L, 7), as of `kernels.emitters.resolve`. linear: float32 array (256),
    light of each level; or (768), that of red, green, blue.
    """

    field: Field
    emitters: npt.NDArray[np.float64]
    glare: Glare
    linear: npt.NDArray[np.float32]
    spread: Spread
    exposure: Exposure
    bands: Bands
    sensor: Sensor
    pattern: Pattern
    development: Development
    noise: ChannelNoise
    jpeg: JpegSetting


def kernel_args(table: DrawTable, number: int) -> KernelArgs:
    """Return a row of a table as kernels of one image take it. number: of the row."""
    draw = args.draw_row(table.draws[number])
    places = slice(draw.first_spread, draw.first_spread + draw.spread)
    read, read_pair = table.read[number]
    noise = Noise(read, read_pair, _unit_gaussian(), poisson_alias_table())
    return KernelArgs(
        _field(table, draw),
        table.emitters[draw.first_emitter : draw.first_emitter + draw.emitters_count],
        _python(args.glare_of)(draw),
        table.linear[draw.linear : draw.linear + 2 * draw.linear_apart + 1].reshape(-1),
        Spread(table.spread.places[places], table.spread.weights[places]),
        _python(args.exposure_of)(draw, draw.highlights),
        _python(args.bands_of)(draw),
        _python(args.sensor_of)(draw, noise),
        _python(args.pattern_of)(draw, _unit_gaussian()),
        _development(draw, table.blur[number, : taken_at_once(draw.taps)]),
        _python(args.noise_of)(draw, _unit_gaussian(), number, table.grains, table.curves),
        JpegSetting(draw.degradations_jpeg_quality, draw.halved > 0),
    )


def _python(function: Any) -> Any:
    """Return a scalar function of kernels as Python's own, which keeps its arguments' types."""
    return function.py_func


@lru_cache(maxsize=1)
def _unit_gaussian() -> npt.NDArray[np.float32]:
    """Return the quantile polynomial of the standard normal distribution."""
    return scaled(normal_quantile(), 1.0)


def _development(draw: Any, blur: npt.NDArray[np.float32]) -> Development:
    curve = draw.isp_contrast, draw.tone, draw.gamma, draw.tone_toe
    smooth = len(blur) > 0
    return Development(
        _python(args.colour_of)(draw),
        _NO_TABLE if smooth else encode_table(*curve),
        fine_table(*curve) if smooth else _NO_FINE_TABLE,
        blur,
        draw.isp_chroma_strength,
    )


def _field(table: DrawTable, draw: Any) -> Field:
    own = table.lights[draw.first_light : draw.first_light + draw.lights]
    place, ev, radius, falloff = np.ascontiguousarray(own[:, :4].T)
    cells = draw.illumination_smooth_cells
    nodes = table.smooth[draw.smooth : draw.smooth + cells**2].reshape(cells, cells)
    lights = Lights(place, ev, radius, falloff, np.ascontiguousarray(own[:, 4:]))
    size = GUIDES * (1 + draw.grid_cells**2)
    grid = table.grids[draw.grid : draw.grid + size]
    pools = table.pools[draw.first_pool : draw.first_pool + draw.pools]
    clipped = draw.highlights_sigma_ev, PixelSeed(draw.light_seed, draw.light_seed)
    ambient = draw.illumination_scene_light_ambient
    scene = SceneLight(draw.grid_cells, grid, ambient, pools, *clipped)
    return Field(draw, nodes, lights, scene)
