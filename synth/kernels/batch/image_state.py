"""The state of an image that a thread holds while it works on many of its places.

A GPU would fetch it anew for each place: what is written might have changed it, for all it knows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..args import (
    CURVED,
    GRAINY,
    PLAIN,
    bands_of,
    colour_of,
    exposure_of,
    noise_of,
    sensor_of,
)
from ..arrays import f32, u32, u64
from ..channel_noise import ChannelNoise
from ..compiling.compile import scalar
from ..demosaic import BORDER
from ..develop import Colour
from ..exposure import Bands, Exposure
from ..numbers.quantiles import normal_quantile, scaled
from ..sensor import Noise, Sensor

GAUSSIAN = tuple(scaled(normal_quantile(), 1.0))
"""Coefficients of the standard normal distribution: constants, which take no room to be held."""


class Light(NamedTuple):
    """How light comes to the sensor of an image."""

    height: np.int32  # of the picture
    width: np.int32  # of the picture
    normal: np.uint64  # where its first sample lies
    spread: bool  # whether light was spread before; if so it lies from the pixel `lit` on
    lit: np.uint64
    linear: np.uint32  # where in `Batch.linear` its table begins
    apart: np.uint32  # from there to green's, and from that to blue's
    sliced: bool  # whether the illumination depends on lightness
    grid: npt.NDArray[np.float32]  # (1024), the illumination; or (GUIDES * 1024)
    coloured: bool  # whether it has a colour: `colour`
    colour: npt.NDArray[np.float32]  # (3, 1024)
    bands: Bands
    exposure: Exposure


class Output(NamedTuple):
    """How samples become pixels, and where these go."""

    colour: Colour
    noise: ChannelNoise
    gaussians: np.uint64  # where its normal numbers lie in `Batch.gaussians`: of so many rows,
    rows: np.uint32
    across: np.uint32  # then so many in a row beside one another,
    apart: np.uint64  # and so many of each channel
    smoothed: bool  # whether chroma is smoothed afterwards: pixels go from the place `plane` on
    plane: np.uint64
    table: npt.NDArray[np.uint8]  # (ENCODE_CELLS)
    fine_table: npt.NDArray[np.int16]  # (ENCODE_CELLS)
    coded: bool  # whether JPEG follows: pixels go to `Batch.made`, not to `Batch.low`
    first: np.uint64  # where the first sample goes, of either


class ImageState(NamedTuple):
    """An image whose sensor is read."""

    top: np.int32  # of its span
    left: np.int32  # of its span
    columns: np.uint32  # places in a row: the span's pixels, or the sites of its mosaic
    row: np.uint64  # where the offset of the span's first row lies
    patterned: bool  # whether the sensor has a fixed pattern, which lies from `pattern` on
    pattern: np.uint64
    sites: np.uint64  # where the first site of its mosaic lies
    light: Light
    sensor: Sensor
    output: Output


@scalar
def next_place(place, row, column, stride, columns):
    """Return the place that lies a stride further (places, whole rows, columns beyond them)."""
    row, column = u32(row + stride[1]), u32(column + stride[2])
    if column >= columns:
        row, column = u32(row + u32(1)), u32(column - columns)
    return u32(place + stride[0]), row, column


@scalar
def row_and_column(place, columns):
    """Return the row of a place, and the column in it."""
    row = u32(place // columns)
    return row, u32(place - u32(row * columns))


@scalar
def as_tuple10(c):
    """Return the coefficients (10) of a polynomial as a tuple, which a GPU's registers hold."""
    return c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9]


@scalar
def image_sensor(image, batch):
    """Return the sensor of an image."""
    read = batch.read[image.draw]
    noise = Noise(as_tuple10(read[0]), as_tuple10(read[1]), GAUSSIAN, batch.alias)
    return sensor_of(batch.draws[image.draw], noise)


@scalar
def noise_of_image(image, batch, kind=GRAINY):
    """Return the noise of an image's developed light."""
    draw = batch.draws[image.draw]
    return noise_of(draw, GAUSSIAN, image.draw, batch.grains, batch.curves, kind)


@scalar
def light_of(number, batch, kind=GRAINY):
    """Return how light comes to the sensor of an image."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    spread = draw.spread > 0
    return Light(
        image.height,
        image.width,
        image.normal,
        spread,
        image.lit,
        u32(256 * draw.linear),
        u32(256 * draw.linear_apart) if kind >= CURVED else u32(0),
        draw.grid_cells > 0,
        batch.light[number],
        draw.coloured > 0,
        batch.colour[number],
        bands_of(draw),
        exposure_of(draw, f32(0) if spread else draw.highlights),
    )


@scalar
def output_of(number, batch, kind=GRAINY):
    """Return how samples of an image become pixels."""
    image = batch.images[number]
    draw = batch.draws[image.draw]
    coded = draw.degradations_jpeg_quality > 0
    return Output(
        colour_of(draw),
        noise_of_image(image, batch, kind),
        image.gaussians,
        u32(image.span_rows),
        u32(image.span_columns + 2),
        u64((image.span_rows + 2) * (image.span_columns + 2)),
        draw.taps > 0,
        image.plane,
        batch.table[number],
        batch.fine_table[number],
        coded,
        u64(3) * image.made if coded else image.low,
    )


@scalar
def _state_of(number, columns, batch, kind):
    image = batch.images[number]
    return ImageState(
        image.span_top,
        image.span_left,
        u32(columns),
        image.row,
        batch.draws[image.draw].patterned > 0,
        image.pattern,
        image.mosaic,
        light_of(number, batch, kind),
        image_sensor(image, batch),
        output_of(number, batch, kind),
    )


@scalar
def pixel_state(number, batch):
    """Return an image whose sensor is read pixel by pixel, of PLAIN draws."""
    return _state_of(number, batch.images[number].span_columns, batch, PLAIN)


@scalar
def curved_state(number, batch):
    """Return an image whose sensor is read pixel by pixel, of CURVED draws."""
    return _state_of(number, batch.images[number].span_columns, batch, CURVED)


@scalar
def grainy_state(number, batch):
    """Return an image whose sensor is read pixel by pixel, of any draws."""
    return _state_of(number, batch.images[number].span_columns, batch, GRAINY)


KINDS = ("", pixel_state), ("curved_", curved_state), ("grainy_", grainy_state)
"""Of PLAIN, CURVED and GRAINY draws what the names of steps begin with, and an image's state."""


@scalar
def site_state(number, batch):
    """Return an image whose sensor is read site by site."""
    return _state_of(number, batch.images[number].span_columns + 2 * BORDER, batch, GRAINY)


@scalar
def nothing(image, row, column, batch):
    """Fetch nothing for a place."""
    return 0
