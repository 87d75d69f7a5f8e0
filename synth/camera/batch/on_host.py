"""Images of a packed batch on the CPU: what its draws are to the kernels of one image."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ...degradations.draw import JpegDraw
from ...degradations.spread import Spread
from ...kernels.batch.arrays import DRAW
from ...kernels.chroma import taken_at_once
from ...kernels.degradations.pattern import Pattern
from ...kernels.develop import Colour
from ...kernels.exposure import Bands, Exposure, Matrix
from ...kernels.illumination import Lights
from ...kernels.numbers.poisson_table import poisson_alias_table
from ...kernels.numbers.random_bits import PixelSeed
from ...kernels.sensor import Noise, Sensor
from ..illumination import Field
from ..render import Shot, developed, unit_gaussian
from .pack import Packed

_NAMES = DRAW.names or ()
_TO_CAMERA, _TO_SRGB = (
    slice(_NAMES.index(f"{name}_{Matrix._fields[0]}"), None) for name in ("camera", "srgb")
)
_NINE = len(Matrix._fields)


def shot_of_packed(packed: Packed, number: int) -> Shot:
    """Return one of a batch's draws as kernels of one image take it.

    Parameters
    ----------
    packed : Packed
    number : int
        Of the image in the batch.

    Returns
    -------
    Shot
        Makes the very low that `shot_of` of that image's draw makes.
    """
    values = packed.draws[number].item()
    row = SimpleNamespace(**dict(zip(_NAMES, values, strict=True)))
    single = np.float32
    one, pair = packed.read[number]
    blur = packed.blur[number, : taken_at_once(row.taps)]
    places = slice(row.first_spread, row.first_spread + row.spread)
    black, white = single(row.black), single(row.white)
    return Shot(
        _field(packed, row),
        packed.linear[row.linear],
        Spread(packed.spread.places[places], packed.spread.weights[places]),
        Exposure(_matrix(values[_TO_CAMERA]), single(row.electrons), single(row.highlights)),
        Bands(single(row.band_depth), single(row.band_count), single(row.band_phase)),
        Sensor(
            row.method,
            single(row.gain),
            black,
            white,
            single(row.row_sigma),
            _seed(row.seed_lower, row.seed_upper),
            Noise(one, pair, unit_gaussian(), poisson_alias_table()),
        ),
        Pattern(
            bool(row.patterned),
            single(row.pattern_columns),
            np.uint32(row.hot_share),
            single(row.pattern_hot),
            white - black,
            _seed(row.pattern_lower, row.pattern_upper),
            unit_gaussian(),
        ),
        developed(
            Colour(
                black,
                white,
                single(row.red_gain),
                single(row.green_gain),
                single(row.blue_gain),
                _matrix(values[_TO_SRGB]),
            ),
            (row.contrast, row.tone, row.gamma),
            blur,
            row.strength,
        ),
        JpegDraw(quality=row.quality, chroma="4:2:0" if row.halved else "4:4:4")
        if row.quality
        else None,
    )


def _field(packed: Packed, row: SimpleNamespace) -> Field:
    own = packed.lights[row.first_light : row.first_light + row.lights]
    place, ev, radius, falloff = np.ascontiguousarray(own[:, :4].T)
    nodes = packed.smooth[row.smooth : row.smooth + row.cells**2]
    return Field(
        row.exposure_ev,
        nodes.reshape(row.cells, row.cells),
        Lights(place, ev, radius, falloff, np.ascontiguousarray(own[:, 4:])),
        bool(row.coloured),
        row.scene,
        row.vignette,
        row.gradient_ev,
        (row.slope_down, row.slope_across),
    )


def _matrix(values: tuple[float, ...]) -> Matrix:
    return Matrix(*map(np.float32, values[:_NINE]))


def _seed(lower: int, upper: int) -> PixelSeed:
    return PixelSeed(np.uint32(lower), np.uint32(upper))
