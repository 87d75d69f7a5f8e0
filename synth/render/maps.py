"""Maps of lows by their draws: noiseless pictures, standard deviations of noise, light, lamps.

From the model alone: no low is made, and JPEG is left out. One set of steps makes them
(`kernels.batch.map_steps`), which a CPU runs for one window after the other and a GPU for a batch;
here is what both need of the draws, and the launcher of a CPU. The power_law model has two curves
and no light, so that arrays of NumPy do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..draws.table import DrawTable
from ..kernels.arrays import Pixels, Window, window_of
from ..kernels.batch import map_steps
from ..kernels.batch.launch_cpu import fill_maps, find_light, find_noise
from ..kernels.batch.map_steps import BLURRED, PLANES, Maps
from ..kernels.batch.noise_steps import ROOTS
from ..kernels.curves import encoding, srgb_to_linear
from ..kernels.demosaic import BILINEAR, BORDER, MALVAR
from ..kernels.develop import ENCODE_CELLS
from ..kernels.level_noise import LIGHTS, ROUNDING, Curve, fill_levels
from ..power_law_model import PowerLawDraw, curve_table
from .batch_plan import (
    Allocate,
    BatchPlan,
    IntArray,
    Upload,
    lay_out,
    plan_batch,
    upload_draws,
    upload_tables,
)
from .on_cpu import cut
from .site_noise import demosaic_weights, scatter_weights, site_noise

Floats = npt.NDArray[np.float32]
_NODES, _FAR, _TAIL_NODES = 16, 4.2, 6


def _three(first: int) -> tuple[int, int, int]:
    return first, first + 1, first + 2


MAPS = {
    "light": (map_steps.FIELD,),
    "clean": _three(map_steps.LEVEL),
    "linear": _three(map_steps.LIGHT),
    "noise": _three(map_steps.NOISE),
    "noise-linear": _three(map_steps.NOISE_LINEAR),
    "mask": (map_steps.MASK,),
    "emitter-light": _three(map_steps.EMITTERS),
}
"""Maps of a low, and the numbers of their planes.

light: illumination field in EV: what falls on each pixel, against the exposure. clean: the low
without noise, in sRGB levels, 0 to 255, not rounded. linear: the same in linear light, 0 to 1.
noise: standard deviation of the noise in levels, rounding included. noise-linear: the same in
linear light. mask: 1 where a pixel's middle lies within an emitter's disc. emitter-light: what
emitters add before the sensor clips it, linear; 1 is what the sensor holds of white.
"""


class MapSpec(NamedTuple):
    """Maps that are asked for.

    room: rows and columns of the largest window that comes out.
    size: height and width that all windows are resized to.
    shift, scale: levels and their deviation become (level - shift) * scale.
    """

    names: tuple[str, ...]
    room: tuple[int, int]
    size: tuple[int, int] | None = None
    shift: float = 0.0
    scale: float = 1.0

    @property
    def kinds(self) -> npt.NDArray[np.int32]:
        """Numbers of what planes show."""
        return np.array([kind for name in self.names for kind in MAPS[name]], np.int32)

    @property
    def of_noise(self) -> bool:
        """Whether some need the noise of pixels."""
        return bool((self.kinds < PLANES).any())


def map_places(plan: BatchPlan, spec: MapSpec, table: DrawTable) -> dict[str, int]:
    """Return the steps that maps of a batch need, and most places of an image in each."""
    windows = int((plan.images["rows"].astype(np.int64) * plan.images["columns"]).max())
    size = windows if spec.size is None else int(np.prod(spec.size))
    places = {"maps": size}
    if not spec.of_noise:
        return places
    most = int(_span_pixels(plan).max())
    places |= {"levels": ENCODE_CELLS, "roots": ROOTS, "moments": most}
    if (table.draws["noisy"] > 0).any():
        places["channels"] = 3 * LIGHTS
    if "sites" in plan.places:
        places["site_means"] = plan.places["sites"]
    if "blurs" in plan.places:
        places |= {"column_blurs": plan.places["blurs"], "smooths": windows}
    return places


def _span_pixels(plan: BatchPlan) -> IntArray:
    spans: IntArray = plan.images["span_rows"].astype(np.int64) * plan.images["span_columns"]
    return spans


def map_tables(upload: Upload) -> dict[str, Any]:
    """Bring the arrays that all maps share to where kernels are to find them."""
    around = [
        [weights(method).reshape(4, 3, 5, 5) for weights in (demosaic_weights, scatter_weights)]
        for method in (BILINEAR, MALVAR)
    ]
    tables = {
        "normal": np.array(_quadrature()),
        "laguerre": np.array(np.polynomial.laguerre.laggauss(_TAIL_NODES), np.float32),
        "around": np.array(around, np.float32),
    }
    return {name: upload(name, table) for name, table in tables.items()}


def lay_out_maps(
    plan: BatchPlan,
    spec: MapSpec,
    table: DrawTable,
    into: Any,
    tables: dict[str, Any],
    new: Allocate,
    upload: Upload,
) -> Maps:
    """Bring what steps of maps need together.

    into: float32 array (N * planes * rows * columns) of zeros, in its place.
    table: the draws. tables: what `map_tables` returns.
    new, upload: make an array there, or bring one there.
    """
    spans, kinds = _span_pixels(plan), spec.kinds
    count, pixels = len(plan.images), int(spans.sum()) if spec.of_noise else 1
    noise = site_noise(table, plan.images["draw"] if spec.of_noise else [0])
    change = np.tile(np.array([0, 1], np.float32), (len(kinds), 1))
    change[kinds < map_steps.LIGHT] = spec.shift, spec.scale
    change[(kinds >= map_steps.NOISE) & (kinds < map_steps.NOISE_LINEAR), 1] = spec.scale
    # As long as there is room: prepared launches keep it, and batches differ in their pixels.
    held = new("map_pixels", (pixels * PLANES,), np.float32)
    stride = held.shape[0] // PLANES
    (rows, columns), (high, wide) = spec.room, spec.size or (0, 0)
    return Maps(
        into=into,
        kinds=upload("map_kinds", kinds),
        change=upload("map_change", change),
        rows=rows,
        columns=columns,
        high=high,
        wide=wide,
        in_light=int("noise-linear" in spec.names),
        levels=new("map_levels", (count, ENCODE_CELLS), np.float32),
        roots=new("map_roots", (count, ROOTS), np.float32),
        channels=new("map_channels", (count, 3, 3, LIGHTS), np.float32),
        first=upload("map_first", np.cumsum(spans) - spans),
        stride=stride,
        pixels=held,
        blurred=new("map_blurred", (stride * BLURRED,), np.float32),
        **{name: upload(f"map_{name}", one) for name, one in noise._asdict().items()},
        **tables,
    )


def maps_of_batch(
    normals: Sequence[Pixels], table: DrawTable, spec: MapSpec, numbers: Any, windows: IntArray
) -> Floats:
    """Make maps of N windows on the CPU: float32 array (N, planes, rows, columns).

    numbers: draws of the table. windows: int array (N, 7), `plan.WINDOW`.
    """
    sizes = np.array([normal.shape[:2] for normal in normals])
    samples = 3 * sizes.astype(np.int64).prod(axis=1)
    flat = [np.ascontiguousarray(normal).reshape(-1) for normal in normals]
    joint = _held("normals", flat[0] if len(flat) == 1 else np.concatenate(flat))
    places = np.cumsum(samples) - samples
    plan = plan_batch(table, sizes, (places, places), numbers=numbers, windows=windows)
    uploaded = _cpu_tables()[0] | upload_draws(table, _held)
    batch = lay_out(
        plan, _held("images", plan.images), (joint, np.zeros(1, np.uint8)), uploaded, _new
    )
    into = np.zeros((len(normals), len(spec.kinds), *spec.room), np.float32)
    maps = lay_out_maps(plan, spec, table, into.reshape(-1), _cpu_tables()[1], _new, _held)
    find_light(batch)
    if spec.of_noise:
        find_noise(batch, maps)
    fill_maps(batch, maps)
    return into


def _new(name: str, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    return np.empty(shape, dtype)


def _held(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array as steps take it: of one type, whoever may write to it."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@lru_cache(maxsize=1)
def _cpu_tables() -> tuple[dict[str, Any], dict[str, Any]]:
    return upload_tables(_held), map_tables(_held)


def camera_maps(
    normal: Pixels,
    table: DrawTable,
    number: int,
    names: Sequence[str] = tuple(MAPS),
    window: Window | None = None,
) -> dict[str, Floats]:
    """Return maps of a low of the camera model, or of a window of it, by name: (h, w, 3 or 1).

    normal: uint8 array (H, W, 3), RGB, the stored normal as decoded. number: of the draw.

    Raises ValueError when the normal is not of that type and shape, or the window does not lie
    within it.
    """
    window = window_of(normal, window)
    spec = MapSpec(tuple(names), (window.height, window.width))
    row = np.array([[window.top, window.left, *spec.room, 0, 0, 0]])
    made = maps_of_batch([normal], table, spec, np.array([number]), row)[0].transpose(1, 2, 0)
    ends = np.cumsum([len(MAPS[name]) for name in names])
    return dict(zip(names, np.split(made, ends, 2), strict=False))


def power_law_maps(
    normal: Pixels, draw: PowerLawDraw, names: Sequence[str], window: Window | None = None
) -> dict[str, Floats]:
    """Return maps of a low of the power_law model, as `camera_maps`.

    There is no field of light, NaN, and no emitter. Raises ValueError as `render_power_law` does.
    """
    window = window_of(normal, window)
    table = curve_table(normal, draw)
    levels, noise = 255 * encoding(), draw.noise
    raw = noise.space == "raw" and not draw.noiseless
    values = srgb_to_linear(table) if raw else table
    scattered = noise.variance + noise.deviation**2 + (noise.deviation_per_light * values) ** 2
    scattered += values / noise.peak if noise.peak else 0.0
    clean: Any = (255 * values)[normal]
    variances: Any = (255 * 255 * scattered)[normal]
    light: Any = srgb_to_linear(table)[normal]
    if raw:
        levels = _as_rounded(levels)
        wide = np.pad(normal, ((BORDER, BORDER), (BORDER, BORDER), (0, 0)), "edge")
        wide, weights = wide.transpose(2, 0, 1), demosaic_weights(BILINEAR)
        lights = _demosaiced(values.astype(np.float32)[wide], weights)
        of_light = _demosaiced(scattered.astype(np.float32)[wide], weights**2)
        of_levels = np.empty((2, *lights.shape), np.float32)
        curve = Curve(levels.astype(np.float32), *_quadrature())
        fill_levels(lights, of_light, curve, of_levels[0], of_levels[1])
        clean, variances, light = (one.transpose(1, 2, 0) for one in (*of_levels, lights))
    edges = np.interp(np.arange(257) - 0.5, levels, np.linspace(0, 1, len(levels)) ** 2)
    widths, deviations = np.maximum(np.diff(edges), 1e-9), np.sqrt(variances + ROUNDING)
    made = {
        "light": np.full((*normal.shape[:2], 1), np.nan),
        "clean": clean,
        "linear": light,
        "noise": deviations,
        "noise-linear": deviations * widths[np.rint(clean).astype(np.uint8)],
        "mask": np.zeros((*normal.shape[:2], 1)),
        "emitter-light": np.zeros(normal.shape),
    }
    whole = Window(0, 0, *normal.shape[:2])
    return {name: np.asarray(cut(made[name], whole, window), np.float32) for name in names}


def _as_rounded(levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return levels of the encoding table; see `kernels.batch.noise_steps.level_step`."""
    table = np.rint(levels)
    steps = np.flatnonzero(np.diff(table))
    places = [0, *(steps + 0.5), len(levels) - 1]
    between = (table[steps] + table[steps + 1]) / 2
    return np.interp(np.arange(len(levels)), places, [levels[0], *between, levels[-1]])


def _demosaiced(means: Floats, weights: npt.NDArray[np.float64]) -> Floats:
    """Return sums (3, h, w) over sites around pixels of what lies under each (3, h + 4, w + 4)."""
    height, width = means.shape[1] - 2 * BORDER, means.shape[2] - 2 * BORDER
    sites = np.empty(means.shape[1:], np.float32)
    made = np.zeros((3, height, width), np.float32)
    for i, j in np.ndindex(2, 2):
        sites[i::2, j::2] = means[i + j, i::2, j::2]
    for i, j, c, y, x in np.argwhere(weights):
        part = sites[y + i : y + height : 2, x + j : x + width : 2]
        made[c, i::2, j::2] += np.float32(weights[i, j, c, y, x]) * part
    return made


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    """Return nodes and weights for a standard normal distribution.

    Evenly spaced: a curve that ends at black has a corner, which Gauss and Hermite's miss.
    """
    nodes = np.linspace(-_FAR, _FAR, _NODES)
    weights = np.exp(-nodes * nodes / 2)
    return nodes.astype(np.float32), (weights / weights.sum()).astype(np.float32)
