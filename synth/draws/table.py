"""A table of draws: all that kernels are given of many images, on a CPU or a GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from ..camera.illumination import black_body_tints, light_tints
from ..degradations.draw import fill_degradations
from ..kernels.args import CHANNELS, CURVED, DRAW, GRAINY, PLAIN
from ..kernels.arrays import IntArray
from ..kernels.channel_noise import FACTORS, GRAIN, MOST_SWING, NODES, Mixing
from ..kernels.chroma import MOST_TAPS, blur_weights
from ..kernels.curves import LEVEL_LIGHT, between_nodes, curve_tables, linear_tables, toe_of
from ..kernels.demosaic import METHODS
from ..kernels.exposure import GUIDES, KNEE, Matrix
from ..kernels.numbers.library import exp, power, sine_and_cosine
from ..kernels.numbers.quantiles import (
    normal_pair_quantile,
    normal_quantile,
    tukey_lambda_pair_quantile,
    tukey_lambda_quantile,
)
from ..kernels.numbers.random_bits import frame_seed
from ..parameters.drawing import columns_of, leaves, nothing_of
from ..parameters.keyed_random import Columns, Floats, distinct
from .record import CameraDraw, SceneLightDraw, VideoDraw, exposure_change

_AS_DRAWN = {
    name: path
    for path in leaves(CameraDraw)
    if (name := path.replace(".", "_")) in (DRAW.names or ())
}
"""Columns of DRAW that hold a parameter as it was drawn."""
_DEFAULTS = {
    path: leaf.default
    for path, leaf in leaves(CameraDraw).items()
    if leaf.default is not None and leaf.default != ()
}
"""Values of parameters that are not drawn where a recipe says nothing of them."""

_FORMS = "", "skewness.", "kurtosis."  # of noise, by light
_FAINT = 1e-12  # light that is still divided by
_NEARLY = 0.9  # of the normal's light, a low has at most: white balance errs by some
_MINORS = np.array(
    [
        [4, 2, 1, 5, 0, 2, 3, 1, 0],
        [8, 7, 5, 6, 8, 3, 7, 6, 4],
        [5, 1, 2, 3, 2, 0, 4, 0, 1],
        [7, 8, 4, 8, 6, 5, 6, 7, 3],
    ]
)
"""Entries of a 3 x 3 matrix of whose products p q - r s each entry of its adjugate is made."""


def _grid_sizes(draws: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    cells = draws["grid_cells"].astype(np.int64)
    return np.where(cells > 0, GUIDES * (1 + cells**2), 0)


_ROWS: dict[str, tuple[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]]] = {
    "smooth": ("smooth", lambda draws: draws["illumination_smooth_cells"].astype(np.int64) ** 2),
    "lights": ("first_light", itemgetter("lights")),
    "emitters": ("first_emitter", itemgetter("emitters_count")),
    "grids": ("grid", _grid_sizes),
    "pools": ("first_pool", itemgetter("pools")),
    "spread_places": ("first_spread", itemgetter("spread")),
    "spread_weights": ("first_spread", itemgetter("spread")),
}
"""Parts of a table of which a draw has some rows: column of the first, and how many there are."""


@dataclass(frozen=True)
class DrawTable:
    """The draws of N images as kernels read them: see `kernels.batch.arrays.Batch`."""

    draws: npt.NDArray[Any]  # (N) of DRAW
    linear: npt.NDArray[np.float32]  # (T, 256)
    curves: npt.NDArray[np.float32]  # (C, 9, FACTORS), the first of draws that have none
    read: npt.NDArray[np.float32]  # (N, 2, 10)
    grains: npt.NDArray[np.float32]  # (N, 3, GRAIN)
    blur: npt.NDArray[np.float32]  # (N, MOST_TAPS)
    smooth: npt.NDArray[np.float64]  # float64 array
    lights: npt.NDArray[np.float64]  # (L, 7), see `kernels.batch.arrays.GIVEN`
    emitters: npt.NDArray[np.float64]  # (E, 7)
    grids: npt.NDArray[np.float64]  # see `kernels.batch.arrays.GIVEN`
    pools: npt.NDArray[np.float64]  # (P, 12)
    spread_places: npt.NDArray[np.int32]  # (S, 2), of `Spread`s, one after another
    spread_weights: npt.NDArray[np.float32]  # (S)

    def __len__(self) -> int:
        return len(self.draws)

    @cached_property
    def has_degradations(self) -> npt.NDArray[np.bool_]:
        """True, for each, if any draw has spread light, a fixed pattern, JPEG, noise, grain."""
        names = "spread", "patterned", "degradations_jpeg_quality", "noisy", "grainy"
        return np.array([self.draws[name].any() for name in names])

    @cached_property
    def has_emitters(self) -> bool:
        """True if any draw has emitters."""
        return bool(self.draws["emitters_count"].any())

    @cached_property
    def pixel_kind(self) -> int:
        """PLAIN, CURVED or GRAINY, of `kernels.args`: what kernels of pixels are made for."""
        if self.draws["grainy"].any():
            return GRAINY
        curved = self.draws["curve"].any() or self.draws["linear_apart"].any()
        return CURVED if curved else PLAIN

    def take(self, numbers: Any) -> DrawTable:
        """Return the draws of some images, in that order."""
        draws = self.draws[numbers].copy()
        own: dict[str, Any] = {name: getattr(self, name)[numbers] for name in _OF_EACH}
        for name, (first, count_of) in _ROWS.items():
            counts = count_of(draws).astype(np.int64)
            own[name] = getattr(self, name)[_ranges(self.draws[first][numbers], counts)]
            draws[first] = np.cumsum(counts) - counts
        return replace(self, draws=draws, **own)


_OF_EACH = "read", "grains", "blur"  # parts that have a row for each draw


def concat(parts: Sequence[DrawTable]) -> DrawTable:
    """Return the draws of several tables as one."""
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("draws", "linear", *_OF_EACH, *_ROWS)
    }
    draws, counts = joined["draws"], [len(part) for part in parts]

    def before(name: str, less: int = 0) -> npt.NDArray[np.int64]:
        """Return of each draw how many rows the tables before its own have; `less` of each."""
        rows = [len(getattr(part, name)) - less for part in parts]
        return np.repeat(np.cumsum(rows) - rows, counts)

    for first, name in {first: name for name, (first, _) in _ROWS.items()}.items():
        draws[first] += before(name)
    draws["linear"] += before("linear")
    draws["curve"] += np.where(draws["curve"] > 0, before("curves", 1), 0)
    joined["curves"] = np.concatenate([parts[0].curves[:1], *(part.curves[1:] for part in parts)])
    return DrawTable(**joined)


def _ranges(first: npt.NDArray[Any], counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the numbers of `counts` consecutive things from each of `first` on."""
    counts = counts.astype(np.int64)
    before = np.cumsum(counts) - counts
    total = int(counts.sum())
    return np.arange(total) + np.repeat(first.astype(np.int64) - before, counts)


def frame_table(clips: DrawTable, frames: int) -> DrawTable:
    """Return the draws of the frames of N clips, so many of each, clip after clip.

    Each frame has noise of its own, keyed by its number, and the clip's changes of exposure; the
    first one has the draw of the clip.
    """
    table = clips.take(np.repeat(np.arange(len(clips)), frames))
    lower = clips.draws["seed_lower"].astype(np.uint64)
    own = (lower | clips.draws["seed_upper"].astype(np.uint64) << np.uint64(32)).tolist()
    seeds = np.array([frame_seed(seed, n) for seed in own for n in range(frames)], np.uint64)
    table.draws["seed_lower"] = seeds & np.uint64(0xFFFFFFFF)
    table.draws["seed_upper"] = seeds >> np.uint64(32)
    for clip in np.flatnonzero(clips.draws["video_fps"]).tolist():
        names = VideoDraw.model_fields
        video = VideoDraw(**{name: float(clips.draws[f"video_{name}"][clip]) for name in names})
        for n in range(1, frames):
            table.draws["exposure_ev"][clip * frames + n] += exposure_change(video, n)
    return table


def table_of_records(records: Sequence[CameraDraw]) -> DrawTable:
    """Return the table of some records."""
    return table_of(columns_of(CameraDraw, records))


def table_of(columns: Columns) -> DrawTable:
    """Return the table of drawn values: computed in float64, rounded once.

    columns: of N images, by the paths of `CameraDraw`; degradations and video may be left out.
    """
    seeds = columns["pixel_seed"].astype(np.uint64)
    columns = columns | {
        path: np.full(len(seeds), value) for path, value in _DEFAULTS.items() if path not in columns
    }
    draws = np.zeros(len(seeds), DRAW)
    draws["seed_lower"], draws["seed_upper"] = seeds & np.uint64(0xFFFFFFFF), seeds >> np.uint64(32)
    draws["light_seed"] = (columns["highlights.place"] * 2.0**32).astype(np.uint32)
    for name, path in _AS_DRAWN.items():
        if path in columns:
            draws[name] = columns[path]
    linear, blur = _fill_curves(draws, columns)
    _fill_colours(draws, columns, linear)
    smooth, lights = _fill_field(draws, columns)
    grids, pools = _fill_scene_light(draws, columns, linear)
    emitters = _fill_emitters(draws, columns)
    spread = fill_degradations(draws, columns)
    grains = _fill_noise(draws, columns)
    curves = _fill_noise_curves(draws, columns)
    read = _read_noise(columns)
    own = linear, curves, read, grains, blur, smooth, lights, emitters, grids, pools
    return DrawTable(draws, *own, *spread)


def _fill_colours(
    draws: npt.NDArray[Any], columns: Columns, linear: npt.NDArray[np.float32]
) -> None:
    """Fill in how cameras see light and make colours, in plain numbers: a LAPACK's bits vary."""
    balance, sensor = "white_balance", "camera.sensor"
    matrix = columns["camera.matrix"].table.T
    gains, errors = np.ones((2, 3, len(draws)))
    gains[0], gains[2] = columns[f"{balance}.red"], columns[f"{balance}.blue"]
    errors[::2] = power(2.0, columns[f"{balance}.error_ev"].table.T.ravel()).reshape(2, -1)
    # Plain division keeps highlights neutral here. Brooks et al. divide clipped light by less,
    # which holds its colour only when it is clipped again on the way out; in the dark it would turn
    # magenta. `highlights.ev` brightens it instead.
    to_camera = matrix.reshape(3, 3, -1) / gains[:, None]
    # A gain below 1 would lift white above what the sensor holds; its exposure is such that the
    # brightest colour just fits.
    fits = np.maximum(to_camera, 0.0)
    red, green, blue = fits[:, 0] + fits[:, 1] + fits[:, 2]
    headroom = np.maximum(1.0, np.maximum(red, np.maximum(green, blue)))
    for name, value in zip(Matrix._fields, (to_camera / headroom).reshape(9, -1), strict=True):
        draws[f"camera_{name}"] = value
    for name, value in zip(Matrix._fields, _inverse(matrix), strict=True):
        draws[f"srgb_{name}"] = value
    gains = gains * errors * headroom * power(2.0, columns["isp.digital_gain_ev"])
    for name, gain in zip(CHANNELS, gains, strict=True):
        draws[f"{name}_gain"] = gain
    white = 1 + columns["tone.shoulder"]  # light of the photograph's white, its shoulder undone
    if "tone.curve.red" in columns:
        white = np.where(draws["linear_apart"] > 0, _of_draws(draws, linear, -1), white)
    draws["highlights"] = (power(2.0, columns["highlights.ev"]) - 1) / (white * white)
    draws["knee"] = KNEE * white
    span = columns[f"{sensor}.white"] - columns[f"{sensor}.black"]
    draws["electrons"] = span / columns[f"{sensor}.gain"]


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of 3 x 3 matrices, row by row (9, N), by their adjugates."""
    a, b, c, d = _MINORS
    adjugate = matrix[a] * matrix[b] - matrix[c] * matrix[d]
    determinant = matrix[0] * adjugate[0] + matrix[1] * adjugate[3] + matrix[2] * adjugate[6]
    return 1 / determinant * adjugate


def _fill_field(draws: npt.NDArray[Any], columns: Columns) -> tuple[Floats, Floats]:
    """Fill in the illumination; returns the nodes of the smooth fields, and the lights."""
    field = "illumination"
    smooth = columns[f"{field}.smooth.values"]
    draws["smooth"] = np.cumsum(smooth.counts) - smooth.counts
    sorts = f"{field}.lights", f"{field}.lamps"
    counts = sum(columns[f"{sort}.count"] for sort in sorts)
    # Of each image the lights, then the lamps.
    own = np.concatenate([columns[f"{sort}.place"].own for sort in sorts], axis=1)
    place, ev, radius, falloff, warmth = (
        np.concatenate([columns[f"{sort}.{name}"].table for sort in sorts], axis=1)[own]
        for name in ("place", "ev", "radius", "falloff", "warmth_ev")
    )
    draws["lights"], draws["first_light"] = counts, np.cumsum(counts) - counts
    coloured = np.zeros(own.shape, np.bool_)
    coloured[own] = warmth != 0
    draws["coloured"] = coloured.any(axis=1)
    angle = columns[f"{field}.gradient.angle"]
    draws["slope_down"], draws["slope_across"] = sine_and_cosine(angle)
    lights = np.column_stack([place, ev, radius, falloff, light_tints(warmth)])
    return smooth.table[smooth.own], lights


def _fill_scene_light(
    draws: npt.NDArray[Any], columns: Columns, linear: npt.NDArray[np.float32]
) -> tuple[Floats, Floats]:
    """Fill in light by lightness; returns the grids, and the pools."""
    draws["per_white"] = 1 / _of_draws(draws, linear, -1)
    path = "illumination.scene_light"
    clipped = draws["highlights_sigma_ev"] > 0
    if f"{path}.ambient" not in columns:
        if not clipped.any():
            return np.empty(0), np.empty((0, 12))
        nothing = columns_of(SceneLightDraw, [nothing_of(SceneLightDraw)] * len(draws))
        columns = columns | {f"{path}.{name}": column for name, column in nothing.items()}
    cells, levels = columns[f"{path}.grid.cells"], columns[f"{path}.grid.levels"]
    values, undone = columns[f"{path}.grid.values"], columns[f"{path}.undone"]
    counts, ambient = columns[f"{path}.pools.count"], columns[f"{path}.ambient"]
    stops = np.zeros((len(draws), GUIDES))
    stops[:, : undone.table.shape[1]] = np.where(undone.own, undone.table, 0.0)
    there = stops.any(axis=1) | (cells > 0) | (counts > 0) | (ambient > 0) | clipped
    draws["grid_cells"] = np.where(there, np.maximum(cells, 1), 0)
    sizes = _grid_sizes(draws)
    draws["grid"] = np.cumsum(sizes) - sizes
    grids = np.empty(int(sizes.sum()))
    kinds, kind_of = np.unique(np.stack([cells, levels], 1), axis=0, return_inverse=True)
    for kind, (side, height) in enumerate(kinds.tolist()):
        rows = np.flatnonzero(there & (kind_of.reshape(-1) == kind))
        if not len(rows):
            continue
        own = np.zeros((len(rows), 1, 1))
        if side:
            own = values.table[rows, : side * side * height].reshape(len(rows), height, -1)
        at = np.arange(GUIDES) * ((own.shape[1] - 1) / (GUIDES - 1))
        darker = np.minimum(at.astype(np.int64), max(own.shape[1] - 2, 0))
        share = (at - darker)[:, None]
        lighter = own[:, np.minimum(darker + 1, own.shape[1] - 1)]
        ev = own[:, darker] * (1 - share) + lighter * share + stops[rows, :, None]
        made = power(2.0, ev.ravel()).reshape(len(rows), -1)
        made = np.concatenate([_most_light(draws[rows], linear), made], axis=1)
        grids[draws["grid"][rows, None] + np.arange(made.shape[1])] = made
    draws["pools"], draws["first_pool"] = counts, np.cumsum(counts) - counts
    own_pools = columns[f"{path}.pools.place"].own
    names = "place", "ev", "radius", "falloff", "edges"
    *numbers, edges = (columns[f"{path}.pools.{name}"].table[own_pools] for name in names)
    # Of white all, of black nothing where there are edges at all.
    falls = [np.where(edges > 0, 0.0, 1.0)]
    falls += [power(2.0, math.log2(k / (GUIDES - 1)) * edges) for k in range(1, GUIDES)]
    return grids, np.column_stack([*numbers, *falls])


def _of_draws(
    draws: npt.NDArray[Any], linear: npt.NDArray[np.float32], levels: int | slice
) -> npt.NDArray[np.float32]:
    """Return the light of a level (N), or of some (N, levels), of draws: of the brightest channel.

    Only those: whole tables of many draws take long to copy.
    """
    first, apart = draws["linear"], draws["linear_apart"]
    if not apart.any():
        return linear[first, levels]
    channels = np.stack([linear[first + c * apart, levels] for c in range(3)])
    return np.maximum(channels.max(axis=0), np.float32(_FAINT))


def _most_light(draws: npt.NDArray[Any], linear: npt.NDArray[np.float32]) -> Floats:
    """Return the factors (N, GUIDES) that make lows nearly as bright as their normals.

    At each lightness it is the least of all levels from there on: of a strong colour one channel
    may be far above its luminance.
    """
    _, firsts, own = np.unique(draws["linear"], return_index=True, return_inverse=True)
    tables = _of_draws(draws[firsts], linear, slice(1, None)).astype(np.float64)
    factors = np.minimum.accumulate((LEVEL_LIGHT[1:] / tables)[:, ::-1], axis=1)[:, ::-1]
    least = np.empty((len(firsts), GUIDES))
    for share, found in zip((np.arange(GUIDES) / (GUIDES - 1)) ** 2, least.T, strict=True):
        levels = np.maximum((tables <= share * tables[:, -1:]).sum(axis=1) - 1, 0)
        found[:] = factors[np.arange(len(factors)), levels]
    white = tables[own.reshape(-1), -1:]
    most: Floats = least[own.reshape(-1)] / (1 + draws["highlights"][:, None] * white * white)
    return _NEARLY * most


def _fill_emitters(draws: npt.NDArray[Any], columns: Columns) -> Floats:
    """Fill in what lamps of each image share; returns the lamps, as `kernels.emitters` has them."""
    if "emitters.count" not in columns:
        return np.empty((0, 7))
    counts = columns["emitters.count"]
    draws["first_emitter"] = np.cumsum(counts) - counts
    angle = columns["emitters.streaks.angle"]
    turn = math.pi / np.maximum(columns["emitters.streaks.lines"], 1)
    for name, turned in (("streak", angle), ("streak_turn", turn)):
        for part, value in zip(("down", "across"), sine_and_cosine(turned), strict=True):
            draws[f"{name}_{part}"] = np.where(counts > 0, value, 0.0)
    own = columns["emitters.place"].own
    names = "place", "within", "ev", "radius", "temperature"
    *numbers, kelvin = (columns[f"emitters.{name}"].table[own] for name in names)
    return np.column_stack([*numbers, black_body_tints(kelvin)])


def _fill_curves(
    draws: npt.NDArray[Any], columns: Columns
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Fill in encoding and chroma noise reduction; returns the tables of light, and the blurs."""
    strength = columns["tone.strength"]
    gamma = np.where(columns["tone.transfer"] == "gamma", columns["tone.gamma"], 0.0)
    undone = strength, gamma, columns["tone.exponent"], columns["tone.shoulder"]
    tables, draws["linear"] = distinct(np.stack(undone, 1))
    starts, own = distinct(draws["tone_toe"][:, None])
    toes = np.array([toe_of(start)[1:] for start in starts.ravel().tolist()]).reshape(-1, 2)
    draws["toe_slope"], draws["toe_end"] = toes[own].T
    draws["tone"] = np.where(columns["tone.applied"] == "both", strength, 0.0)
    draws["gamma"] = gamma
    draws["method"] = [METHODS[name] for name in columns["isp.demosaic"].tolist()]
    sigma = np.where(columns["isp.chroma.strength"] > 0, columns["isp.chroma.sigma"], 0.0)
    blur = np.zeros((len(draws), MOST_TAPS), np.float32)
    for number in np.flatnonzero(sigma):
        weights = blur_weights(float(sigma[number]))
        blur[number, : len(weights)] = weights
    draws["taps"] = np.count_nonzero(blur, axis=1)
    return _with_curves(draws, columns, linear_tables(*tables.T)), blur


def _with_curves(
    draws: npt.NDArray[Any], columns: Columns, linear: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Return tables of light with those of draws that have a curve for each channel."""
    names = [f"tone.curve.{name}" for name in CHANNELS]
    own = np.flatnonzero(columns[names[0]].counts) if names[0] in columns else ()
    if not len(own):
        return linear
    curves = [columns[name] for name in names]
    lights, numbers = distinct(np.hstack([one.table[own] for one in curves]))
    draws["linear"][own], draws["linear_apart"][own] = len(linear) + 3 * numbers, 1
    return np.concatenate([linear, curve_tables(lights.reshape(3 * len(lights), -1))])


def _fill_noise(draws: npt.NDArray[Any], columns: Columns) -> npt.NDArray[np.float32]:
    """Fill in the noise of developed light; returns its grain (N, 3, GRAIN)."""
    if "noise.kurtosis" not in columns:
        return np.zeros((len(draws), 3, GRAIN), np.float32)
    level = 1 / (255 * draws["toe_slope"])
    parts = "offset", "shot", "read", "tail_share", "tail", "rows"
    offset, shot, read, share, tail, rows = np.array(
        [[columns[f"noise.{part}.{name}"] for name in CHANNELS] for part in parts]
    )
    noisy = ((offset != 0) | (shot > 0) | (read > 0)).any(axis=0)
    draws["noisy"] = noisy
    tail = level * read * tail
    for part, values in (
        ("offset", level * offset),
        ("shot", level * shot),
        ("read", level * read),
        ("tail_share", (share * 2.0**32).astype(np.uint32)),
        ("tail", tail),
        ("tail_mean", tail * share),
        ("rows", rows),
    ):
        for name, value in zip(CHANNELS, values, strict=True):
            draws[f"{name}_{part}"] = value
    rg, gb, rb = (
        columns[f"noise.correlation.{pair}"] for pair in ("red_green", "green_blue", "red_blue")
    )
    gg = np.sqrt(1 - rg * rg)
    bg = (gb - rg * rb) / gg
    # Three correlations that contradict each other: blue then has nothing of its own.
    bg = np.clip(bg, -np.sqrt(1 - rb * rb), np.sqrt(1 - rb * rb))
    bb = np.sqrt(np.maximum(1 - rb * rb - bg * bg, 0.0))
    wide = columns["noise.wide_share"]
    odds = wide / (1 - wide)
    swing = np.sqrt(columns["noise.kurtosis"] / (3 * odds))
    names = [f"mixing_{name}" for name in Mixing._fields]
    names += [f"noise_{name}" for name in ("wide", "narrow", "wide_odds", "wide_from")]
    values = [rg, gg, rb, bg, bb, np.sqrt(1 + swing), np.sqrt(1 - swing * odds)]
    values += [odds, np.ceil((1 - wide) * 2.0**32)]
    for name, value in zip(names, np.where(noisy, values, 0.0), strict=True):
        draws[name] = value
    return _fill_grain(draws, columns)


def _fill_grain(draws: npt.NDArray[Any], columns: Columns) -> npt.NDArray[np.float32]:
    """Fill in what pixels share; returns the weights (N, 3, GRAIN)."""
    grain, parts = "noise.grain", ("across", "down", "coarse")
    own = np.array([[columns[f"{grain}.{name}.{part}"] for name in CHANNELS] for part in parts])
    across, down = own[0] + columns[f"{grain}.across"], own[1] + columns[f"{grain}.down"]
    scale = np.sqrt(1 - own[2]) / np.sqrt((1 + 2 * across * across) * (1 + 2 * down * down))
    grains = np.stack([across, down, scale, np.sqrt(own[2])], -1)
    shared = ((across != 0) | (down != 0)).any(axis=0)
    shared = np.where((own[2] > 0).any(axis=0), columns[f"{grain}.size"], shared)
    noisy = draws["noisy"] > 0
    draws["grainy"] = np.where(noisy, shared, 0)
    return np.where(noisy[:, None, None], grains.swapaxes(0, 1), 0).astype(np.float32, "C")


def _fill_noise_curves(draws: npt.NDArray[Any], columns: Columns) -> npt.NDArray[np.float32]:
    """Fill in how a draw's noise goes with light; returns that, the first for those without.

    They are, of each channel, the factor on noise, the bend, and the factor on its widths' swing.
    """
    plain = np.repeat(np.array([1, 0, 1], np.float32), 3)[None, :, None].repeat(FACTORS, axis=2)
    names = [f"noise.curve.{part}{name}" for part in _FORMS for name in CHANNELS]
    nodes = columns.get("noise.curve.light")
    if nodes is None or not (nodes.counts * draws["noisy"]).any():
        return plain
    own = np.flatnonzero(nodes.counts * draws["noisy"])
    parts = [_numbers(name, columns, own) for name in names]
    bent, swung = (np.any(some, axis=(0, 2)) for some in (parts[3:6], parts[6:]))
    draws["form"][own] = np.where(swung, 3, 1 + bent)
    # Their widths are rounded as those are that go with light.
    alike = own[bent & ~swung]
    odds = draws["noise_wide_odds"][alike]
    less = np.minimum((draws["noise_wide"][alike] ** 2 - np.float32(1)) * odds, MOST_SWING)
    draws["noise_wide"][alike] = np.sqrt(np.float32(1) + less / odds)
    draws["noise_narrow"][alike] = np.sqrt(np.float32(1) - less)
    kinds, numbers = distinct(np.hstack([draws["toe_slope"][own, None], nodes.table[own], *parts]))
    draws["curve"][own] = 1 + numbers
    made = [_noise_curve(kind.tobytes()) for kind in kinds]
    return np.concatenate([plain, np.stack(made)])


@lru_cache(maxsize=256)  # mostly of a recipe that has one alone
def _noise_curve(packed: bytes) -> npt.NDArray[np.float32]:
    """Return the factors (9, FACTORS) of a toe's slope, lights at nodes, and nine rows of these."""
    kind = np.frombuffer(packed)
    places = (np.arange(FACTORS) / (FACTORS - 1)) ** 2
    lights, *parts = np.split(kind[1:], 10)
    made = between_nodes(places, lights[None] / (255 * kind[0]), np.stack(parts)[:, None])[:, 0]
    made[3:6] /= 6
    made[6:] /= 2  # a swing is the root of a kurtosis
    factors = [0, 1, 2, 6, 7, 8]
    made[factors] = exp(made[factors].ravel()).reshape(6, FACTORS)
    return made.astype(np.float32)


def _numbers(name: str, columns: Columns, own: IntArray) -> Floats:
    """Return some images' numbers at the nodes of a curve (N, NODES), 0 where one has none."""
    if name not in columns or not columns[name].table.shape[1]:
        return np.zeros((len(own), NODES))
    return np.where(columns[name].own, columns[name].table, 0)[own]


def _read_noise(columns: Columns) -> npt.NDArray[np.float32]:
    """Return quantile polynomials of a site's read noise, and of the sum of two (N, 2, 10)."""
    kinds, shapes, scale = (
        columns[f"camera.sensor.{name}"] for name in ("read_noise", "read_shape", "read_scale")
    )
    pairs = zip(kinds.tolist(), shapes.tolist(), strict=True)
    unit = np.array([_unit_noise(*pair) for pair in pairs]).reshape(-1, 2, 10)
    return (unit * scale[:, None, None]).astype(np.float32)


@lru_cache(maxsize=256)
def _unit_noise(kind: str, shape: float) -> npt.NDArray[np.float64]:
    """Return the same for a kind of read noise at scale 1 (2, 10)."""
    if kind == "gaussian":
        return np.stack([normal_quantile(), normal_pair_quantile()])
    return np.stack([tukey_lambda_quantile(shape), tukey_lambda_pair_quantile(shape)])
