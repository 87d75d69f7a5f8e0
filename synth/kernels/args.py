"""The columns of a draw, and what kernels are given of them: the same functions on CPU and GPU.

A column that holds a parameter as it was drawn has the parameter's path, with "_" for ".", and is
filled by itself; those with other names are computed in `draws.table`.
"""

from __future__ import annotations

import numpy as np

from .arrays import i32, u32
from .channel_noise import ChannelNoise, Mixing, OneChannel
from .compiling.compile import scalar
from .curves import Toe, encoded
from .degradations.pattern import Pattern
from .develop import Colour
from .emitters import Glare
from .exposure import Bands, Exposure, Matrix
from .numbers.random_bits import PixelSeed
from .sensor import Sensor

CHANNELS = ("red", "green", "blue")
_OF_CHANNELS = ("offset", "shot", "read", "tail", "tail_mean", "rows")
_FLOAT64 = (
    *("exposure_ev", "exposure_by_brightness", "illumination_scene_strength"),
    *("illumination_scene_light_ambient", "highlights_sigma_ev"),
    *("illumination_vignette_ev", "illumination_gradient_ev", "slope_down", "slope_across"),
    *("isp_contrast", "tone", "gamma", "tone_toe", "toe_slope", "toe_end"),
    *("video_fps", "video_drift_ev", "video_flicker_ev", "video_flicker_hz", "video_phase"),
    *("emitters_glow_share", "emitters_glow_radius"),
    *("emitters_streaks_share", "emitters_streaks_length"),
)
_INT32 = (
    *(
        "method",
        "taps",
        "linear",
        "linear_apart",
        "illumination_smooth_cells",
        "smooth",
        "lights",
        "first_light",
    ),
    *("coloured", "spread", "emitters_count", "first_emitter", "emitters_streaks_lines"),
    *("grid_cells", "grid", "pools", "first_pool"),
    *("patterned", "degradations_jpeg_quality", "halved", "noisy", "curve", "form", "grainy"),
)
_UINT32 = (
    *("seed_lower", "seed_upper", "light_seed", "pattern_lower", "pattern_upper", "hot_share"),
    *(f"{name}_tail_share" for name in CHANNELS),
    "noise_wide_from",
)
_FLOAT32 = (
    *(f"camera_{name}" for name in Matrix._fields),
    *(f"srgb_{name}" for name in Matrix._fields),
    *("electrons", "highlights", "knee", "per_white"),
    *(f"camera_sensor_{name}" for name in ("gain", "black", "white", "row_sigma")),
    *("red_gain", "green_gain", "blue_gain", "isp_chroma_strength"),
    *(f"degradations_banding_{name}" for name in ("depth", "bands", "phase")),
    *("pattern_columns", "pattern_hot"),
    *(f"streak_{name}" for name in Glare._fields[5:]),
    *(f"{name}_{part}" for name in CHANNELS for part in _OF_CHANNELS),
    *(f"mixing_{name}" for name in Mixing._fields),
    *("noise_wide", "noise_narrow", "noise_wide_odds"),
)
DRAW = np.dtype(
    [
        *((name, "f8") for name in _FLOAT64),
        ("first_spread", "i8"),
        *((name, "i4") for name in _INT32),
        *((name, "u4") for name in _UINT32),
        *((name, "f4") for name in _FLOAT32),
    ],
    align=True,
)
"""The draw of an image.

slope_down, slope_across: direction of the gradient. tone, gamma: strength of the tone curve on the
way out, and exponent of the transfer, 0 for sRGB's. toe_slope, toe_end: of `curves.Toe`. method: of
`demosaic`. taps: weights of the chroma noise reduction, 0 for none. linear: number of its table;
linear_apart: from there to green's, and from that to blue's. curve: number of its factors on noise,
0 for none. form: of `ChannelNoise`.
smooth: where in `Batch.smooth` the nodes of its smooth field lie. lights, first_light: how many,
and the first. coloured: whether light has a colour. spread, first_spread: places that light spreads
from, and where those lie in `Batch.spread_places`. grid_cells: of the bilateral grid along each
side, 0 for light that knows no lightness. grid: where it lies in `Batch.grids`, as of
`batch.arrays.GIVEN`. pools, first_pool, emitters_count, first_emitter: likewise. per_white: 1
over the light of white. patterned: whether the sensor has a fixed pattern. halved: whether JPEG's
chroma is of 2 x 2 pixels. noisy: whether developed light has noise. video_...: all 0 where frames
of a clip are exposed alike. The rest is what `Exposure`, `Sensor`, `Colour`, `Pattern` and
`ChannelNoise` hold.
"""


@scalar
def exposure_of(draw, highlights):
    """Return how a draw's camera sees light, with such highlights."""
    red = draw.camera_rr, draw.camera_rg, draw.camera_rb
    green = draw.camera_gr, draw.camera_gg, draw.camera_gb
    blue = draw.camera_br, draw.camera_bg, draw.camera_bb
    matrix = Matrix(*red, *green, *blue)
    return Exposure(matrix, draw.electrons, highlights, draw.knee, draw.per_white)


@scalar
def bands_of(draw):
    """Return a draw's bands."""
    return Bands(
        draw.degradations_banding_depth,
        draw.degradations_banding_bands,
        draw.degradations_banding_phase,
    )


@scalar
def glare_of(draw):
    """Return how a draw's emitters shine."""
    return Glare(
        draw.emitters_glow_share,
        draw.emitters_glow_radius,
        draw.emitters_streaks_share,
        draw.emitters_streaks_length,
        draw.emitters_streaks_lines,
        draw.streak_down,
        draw.streak_across,
        draw.streak_turn_down,
        draw.streak_turn_across,
    )


@scalar
def pattern_of(draw, gaussian):
    """Return a draw's fixed pattern; gaussian: coefficients of the standard normal distribution."""
    return Pattern(
        draw.patterned > 0,
        draw.pattern_columns,
        draw.hot_share,
        draw.pattern_hot,
        draw.camera_sensor_white - draw.camera_sensor_black,
        PixelSeed(draw.pattern_lower, draw.pattern_upper),
        gaussian,
    )


PLAIN, CURVED, GRAINY = range(3)
"""Kinds of draws: without curves of tone or noise; with these; and with grain, too. A GPU's
registers are spared what the kinds before have not."""


@scalar
def noise_of(draw, gaussian, number, grains, curves, kind=GRAINY):
    """Return the noise of a draw's developed light; gaussian: as of `pattern_of`.

    number: of the draw. grains, curves: float32 arrays (N, 3, GRAIN), (C, 9, FACTORS), of all.
    kind: PLAIN, CURVED or GRAINY.
    """
    red = draw.red_offset, draw.red_shot, draw.red_read, draw.red_tail_share
    red_rest = draw.red_tail, draw.red_tail_mean, draw.red_rows
    green = draw.green_offset, draw.green_shot, draw.green_read, draw.green_tail_share
    green_rest = draw.green_tail, draw.green_tail_mean, draw.green_rows
    blue = draw.blue_offset, draw.blue_shot, draw.blue_read, draw.blue_tail_share
    blue_rest = draw.blue_tail, draw.blue_tail_mean, draw.blue_rows
    return ChannelNoise(
        draw.noisy > 0,
        OneChannel(*red, *red_rest),
        OneChannel(*green, *green_rest),
        OneChannel(*blue, *blue_rest),
        Mixing(draw.mixing_gr, draw.mixing_gg, draw.mixing_br, draw.mixing_bg, draw.mixing_bb),
        draw.noise_wide,
        draw.noise_narrow,
        draw.noise_wide_from,
        draw.noise_wide_odds,
        draw.grainy if kind == GRAINY else i32(0),
        grains,
        u32(number),
        PixelSeed(draw.seed_lower, draw.seed_upper),
        gaussian,
        curves,
        u32(draw.curve),
        draw.form if kind >= CURVED else i32(0),
    )


@scalar
def sensor_of(draw, noise):
    """Return a draw's sensor with its noise."""
    return Sensor(
        draw.method,
        draw.camera_sensor_gain,
        draw.camera_sensor_black,
        draw.camera_sensor_white,
        draw.camera_sensor_row_sigma,
        PixelSeed(draw.seed_lower, draw.seed_upper),
        noise,
    )


@scalar
def encoded_of(draw, place, log_light):
    """Return the encoded value of the light of a place of a draw's encoding table."""
    if place == 0:
        return 0.0
    toe = Toe(draw.tone_toe, draw.toe_slope, draw.toe_end)
    return encoded(log_light[place], draw.isp_contrast, draw.tone, draw.gamma, toe)


@scalar
def colour_of(draw):
    """Return how a draw's camera makes colours."""
    red = draw.srgb_rr, draw.srgb_rg, draw.srgb_rb
    green = draw.srgb_gr, draw.srgb_gg, draw.srgb_gb
    blue = draw.srgb_br, draw.srgb_bg, draw.srgb_bb
    matrix = Matrix(*red, *green, *blue)
    return Colour(
        draw.camera_sensor_black,
        draw.camera_sensor_white,
        draw.red_gain,
        draw.green_gain,
        draw.blue_gain,
        matrix,
    )
