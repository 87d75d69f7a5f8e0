"""The columns of a draw, and what kernels are given of them: the same functions on CPU and GPU.

A column that holds a parameter as it was drawn has the parameter's path, with "_" for ".", and is
filled by itself; those with other names are computed in `draws.table`.
"""

from __future__ import annotations

from collections import namedtuple
from operator import itemgetter
from typing import Any

import numpy as np

from .channel_noise import ChannelNoise, Grain, Mixing, OneChannel
from .compiling.compile import scalar
from .degradations.pattern import Pattern
from .develop import Colour
from .emitters import Glare
from .exposure import Bands, Exposure, Matrix
from .numbers.random_bits import PixelSeed
from .sensor import Sensor

CHANNELS = ("red", "green", "blue")
_OF_CHANNELS = ("offset", "shot", "read", "tail", "tail_mean", "rows")
DRAW = np.dtype(
    [
        ("exposure_ev", "f8"),
        ("exposure_by_brightness", "f8"),
        ("illumination_scene_strength", "f8"),
        ("illumination_vignette_ev", "f8"),
        ("illumination_gradient_ev", "f8"),
        ("slope_down", "f8"),
        ("slope_across", "f8"),
        ("isp_contrast", "f8"),
        ("tone", "f8"),
        ("gamma", "f8"),
        ("tone_toe", "f8"),
        ("toe_slope", "f8"),
        ("toe_end", "f8"),
        ("video_fps", "f8"),
        ("video_drift_ev", "f8"),
        ("video_flicker_ev", "f8"),
        ("video_flicker_hz", "f8"),
        ("video_phase", "f8"),
        ("emitters_glow_share", "f8"),
        ("emitters_glow_radius", "f8"),
        ("emitters_streaks_share", "f8"),
        ("emitters_streaks_length", "f8"),
        ("first_spread", "i8"),
        ("method", "i4"),
        ("taps", "i4"),
        ("linear", "i4"),
        ("illumination_smooth_cells", "i4"),
        ("smooth", "i4"),
        ("lights", "i4"),
        ("first_light", "i4"),
        ("coloured", "i4"),
        ("spread", "i4"),
        ("emitters_count", "i4"),
        ("first_emitter", "i4"),
        ("emitters_streaks_lines", "i4"),
        ("patterned", "i4"),
        ("degradations_jpeg_quality", "i4"),
        ("halved", "i4"),
        ("seed_lower", "u4"),
        ("seed_upper", "u4"),
        ("pattern_lower", "u4"),
        ("pattern_upper", "u4"),
        ("hot_share", "u4"),
        *((f"camera_{name}", "f4") for name in Matrix._fields),
        *((f"srgb_{name}", "f4") for name in Matrix._fields),
        ("electrons", "f4"),
        ("highlights", "f4"),
        ("knee", "f4"),
        ("camera_sensor_gain", "f4"),
        ("camera_sensor_black", "f4"),
        ("camera_sensor_white", "f4"),
        ("camera_sensor_row_sigma", "f4"),
        ("red_gain", "f4"),
        ("green_gain", "f4"),
        ("blue_gain", "f4"),
        ("isp_chroma_strength", "f4"),
        ("degradations_banding_depth", "f4"),
        ("degradations_banding_bands", "f4"),
        ("degradations_banding_phase", "f4"),
        ("pattern_columns", "f4"),
        ("pattern_hot", "f4"),
        *((f"streak_{name}", "f4") for name in Glare._fields[5:]),
        ("noisy", "i4"),
        *((f"{name}_tail_share", "u4") for name in CHANNELS),
        *((f"{name}_{part}", "f4") for name in CHANNELS for part in _OF_CHANNELS),
        *((f"mixing_{name}", "f4") for name in Mixing._fields),
        ("noise_wide", "f4"),
        ("noise_narrow", "f4"),
        *((f"grain_{name}", "f4") for name in Grain._fields),
    ],
    align=True,
)
"""The draw of an image.

slope_down, slope_across: direction of the gradient. tone, gamma: strength of the tone curve on the
way out, and exponent of the transfer, 0 for sRGB's. toe_slope, toe_end: of `curves.Toe`. method: of
`demosaic`. taps: weights of the chroma noise reduction, 0 for none. linear: number of its table.
smooth: where in `Batch.smooth` the nodes of its smooth field lie. lights, first_light: how many,
and the first. coloured: whether light has a colour. spread, first_spread: places that light spreads
from, and where those lie in `Batch.spread_places`. emitters_count, first_emitter: likewise.
patterned: whether the sensor has a fixed pattern. halved: whether JPEG's chroma is of 2 x 2 pixels.
noisy: whether developed light has noise. video_...: all 0 where frames of a clip are exposed alike.
The rest is what `Exposure`, `Sensor`, `Colour`, `Pattern` and `ChannelNoise` hold.
"""

_SINGLE, _WORD, _OTHER = (
    [name for name in DRAW.names or () if DRAW[name].str[1:] in kinds]
    for kinds in (["f4"], ["u4"], ["f8", "i8", "i4"])
)
DrawRow: Any = namedtuple("DrawRow", [*_OTHER, *_SINGLE, *_WORD])  # type: ignore[misc]
"""One row of DRAW as Python has it: numbers of float32 and uint32 keep their type."""
_OFFSETS = {name: offset for name, (_, offset, *_) in (DRAW.fields or {}).items()}
_SINGLE_AT, _WORD_AT = (
    np.array([_OFFSETS[name] // 4 for name in names]) for names in (_SINGLE, _WORD)
)
_others = itemgetter(*((DRAW.names or ()).index(name) for name in _OTHER))


def draw_row(record: Any) -> Any:
    """Return a record of DRAW as a `DrawRow`, for the functions below called from Python."""
    words = np.frombuffer(record.tobytes(), np.uint32)
    return DrawRow(*_others(record.item()), *words.view(np.float32)[_SINGLE_AT], *words[_WORD_AT])


@scalar
def exposure_of(draw, highlights):
    """Return how a draw's camera sees light, with such highlights."""
    matrix = Matrix(
        draw.camera_rr,
        draw.camera_rg,
        draw.camera_rb,
        draw.camera_gr,
        draw.camera_gg,
        draw.camera_gb,
        draw.camera_br,
        draw.camera_bg,
        draw.camera_bb,
    )
    return Exposure(matrix, draw.electrons, highlights, draw.knee)


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


@scalar
def noise_of(draw, gaussian):
    """Return the noise of a draw's developed light; gaussian: as of `pattern_of`."""
    return ChannelNoise(
        draw.noisy > 0,
        OneChannel(
            draw.red_offset,
            draw.red_shot,
            draw.red_read,
            draw.red_tail_share,
            draw.red_tail,
            draw.red_tail_mean,
            draw.red_rows,
        ),
        OneChannel(
            draw.green_offset,
            draw.green_shot,
            draw.green_read,
            draw.green_tail_share,
            draw.green_tail,
            draw.green_tail_mean,
            draw.green_rows,
        ),
        OneChannel(
            draw.blue_offset,
            draw.blue_shot,
            draw.blue_read,
            draw.blue_tail_share,
            draw.blue_tail,
            draw.blue_tail_mean,
            draw.blue_rows,
        ),
        Mixing(draw.mixing_gr, draw.mixing_gg, draw.mixing_br, draw.mixing_bg, draw.mixing_bb),
        draw.noise_wide,
        draw.noise_narrow,
        Grain(draw.grain_across, draw.grain_down, draw.grain_scale),
        PixelSeed(draw.seed_lower, draw.seed_upper),
        gaussian,
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
def colour_of(draw):
    """Return how a draw's camera makes colours."""
    matrix = Matrix(
        draw.srgb_rr,
        draw.srgb_rg,
        draw.srgb_rb,
        draw.srgb_gr,
        draw.srgb_gg,
        draw.srgb_gb,
        draw.srgb_br,
        draw.srgb_bg,
        draw.srgb_bb,
    )
    return Colour(
        draw.camera_sensor_black,
        draw.camera_sensor_white,
        draw.red_gain,
        draw.green_gain,
        draw.blue_gain,
        matrix,
    )
