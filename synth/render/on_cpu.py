"""The camera model on the CPU: a normal and a draw become a low.

See docs/recipes.md for the model, `kernels.camera` for its loops.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..camera.illumination import CHANNEL_LIGHT, Field, exposure_of, illumination_rows
from ..degradations.draw import JpegSetting, jpeg, jpeg_span
from ..degradations.point_spread import Spread
from ..draws.table import DrawTable
from ..kernels import args
from ..kernels.arrays import Pixels, Window, grown, read_only, window_of
from ..kernels.camera import expose_and_develop
from ..kernels.channel_noise import ChannelNoise
from ..kernels.chroma import taken_at_once
from ..kernels.curves import encode_table, fine_table
from ..kernels.degradations.blur import spread_light
from ..kernels.degradations.pattern import Pattern
from ..kernels.demosaic import BILINEAR, BORDER
from ..kernels.develop import ENCODE_CELLS, Development
from ..kernels.emitters import LAMP, Emission, Glare, resolve_all
from ..kernels.exposure import GUIDES, Bands, Exposure, Scene
from ..kernels.illumination import SceneLight
from ..kernels.numbers.quantiles import normal_quantile, scaled
from ..kernels.numbers.random_bits import PixelSeed
from ..kernels.numbers.shot_and_read_noise import poisson_alias_table
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
        Spread(table.spread_places[places], table.spread_weights[places]),
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
    lights = table.lights[draw.first_light : draw.first_light + draw.lights]
    cells = draw.illumination_smooth_cells
    nodes = table.smooth[draw.smooth : draw.smooth + cells**2].reshape(cells, cells)
    size = GUIDES * (1 + draw.grid_cells**2)
    grid = table.grids[draw.grid : draw.grid + size]
    pools = table.pools[draw.first_pool : draw.first_pool + draw.pools]
    clipped = draw.highlights_sigma_ev, PixelSeed(draw.light_seed, draw.light_seed)
    ambient = draw.illumination_scene_light_ambient
    scene = SceneLight(draw.grid_cells, grid, ambient, pools, *clipped)
    return Field(draw, nodes, lights, scene)


def render_window(
    normal: Pixels, args: KernelArgs, window: Window | None = None, lit_as: Pixels | None = None
) -> Pixels:
    """Make the low of a pair, or a window of it: a pure function of pixels and draw.

    normal: uint8 array (H, W, 3), RGB, the stored normal as decoded; at least 1 x 1, below 2^30
      pixels.
    window: what of the low is made; by default all of it. It costs about its share of the pixels.
    lit_as: uint8 array (H, W, 3), the image that lights and the scene's own light are placed by,
      instead of the normal: the first frame of its clip.

    Returns uint8 array (H, W, 3), or the window's height and width, RGB. Raises ValueError when the
    normal is not a uint8 array (H, W, 3), or empty, or larger than the sample index counts; or the
    window does not lie within it.
    """
    window, normal = window_of(normal, window), read_only(normal)
    height, width = normal.shape[:2]
    made = jpeg_span(window, height, width, args.jpeg)
    span = span_of(made, height, width, args.development.blur)
    low = np.empty((span.height, span.width, 3), np.uint8)
    scene = scene_of(normal, span, args, normal if lit_as is None else lit_as)
    developing = args.development, args.noise
    expose_and_develop(normal, low, span, scene, args.sensor, args.pattern, developing)
    return cut(jpeg(cut(low, span, made), args.jpeg), made, window)


def cut(pixels: Any, own: Window, window: Window) -> Any:
    """Return a window of a picture, of which there is its `own` part, as a view."""
    top, left = window.top - own.top, window.left - own.left
    return pixels[top : top + window.height, left : left + window.width]


def scene_of(normal: Pixels, span: Window, args: KernelArgs, lit_as: Pixels) -> Scene:
    """Return the light that a span of a photograph becomes."""
    height, width = normal.shape[:2]
    linear, spread, exposure = args.linear, args.spread, args.exposure
    illumination, cast = illumination_rows(lit_as, args.field)
    lit = np.empty((3, height * width if len(spread.weights) else 0), np.float32)
    if len(spread.weights):
        border = BORDER if args.sensor.method >= BILINEAR else 0
        part = grown(span, border, height, width)
        before = linear, exposure.highlights, exposure.knee, _lamps(lit_as, args), args.glare
        spread_light(normal, Emission(*before, illumination, cast), *spread, part, lit)
        exposure = exposure._replace(highlights=np.float32(0))
    return Scene(linear, illumination, cast, exposure, args.bands, lit)


def _lamps(lit_as: Pixels, args: KernelArgs) -> npt.NDArray[np.float32]:
    """Return the lamps of a photograph (L, LAMP), as `kernels.emitters.resolve` fills them."""
    lamps = np.empty((len(args.emitters), LAMP), np.float32)
    if len(lamps):
        exposure_ev = exposure_of(lit_as, args.field.draw)
        pixels = read_only(lit_as)
        resolve_all(pixels, CHANNEL_LIGHT, args.emitters, args.glare, exposure_ev, lamps)
    return lamps


def span_of(window: Window, height: int, width: int, blur: npt.NDArray[np.float32]) -> Window:
    """Return the area of a picture that a window of its low depends on.

    It is the window, what the chroma noise reduction sees around it, and an even top and left, at
    which a mosaic begins.
    """
    span = grown(window, max(len(blur) - 1, 0), height, width)
    odd, beside = span.top & 1, span.left & 1
    return Window(span.top - odd, span.left - beside, span.height + odd, span.width + beside)
