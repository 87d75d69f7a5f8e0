"""What the steps of a batch read and write: one record an image, and columns that all share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiling.compile import scalar
from ..develop import Colour
from ..exposure import Exposure, Matrix
from ..illumination import CELLS
from ..numbers.random_bits import PixelSeed
from ..sensor import Noise, Sensor

THREADS = 256
"""Of a block: each block works on one image."""
EACH = 8
"""Places that a thread works on: with one alone, half of its time would go into finding its
image."""
FIELD = CELLS * CELLS

IMAGE = np.dtype(
    [
        ("normal", "u8"),
        ("low", "u8"),
        ("plane", "u8"),
        ("mosaic", "u8"),
        ("row", "u8"),
        ("exposure_ev", "f8"),
        ("scene", "f8"),
        ("vignette", "f8"),
        ("gradient_ev", "f8"),
        ("down", "f8"),
        ("across", "f8"),
        ("contrast", "f8"),
        ("tone", "f8"),
        ("gamma", "f8"),
        ("height", "i4"),
        ("width", "i4"),
        ("method", "i4"),
        ("taps", "i4"),
        ("linear", "i4"),
        ("cells", "i4"),
        ("smooth", "i4"),
        ("lights", "i4"),
        ("first_light", "i4"),
        ("coloured", "i4"),
        ("seed_lower", "u4"),
        ("seed_upper", "u4"),
        *((f"camera_{name}", "f4") for name in Matrix._fields),
        *((f"srgb_{name}", "f4") for name in Matrix._fields),
        ("electrons", "f4"),
        ("highlights", "f4"),
        ("gain", "f4"),
        ("black", "f4"),
        ("white", "f4"),
        ("row_sigma", "f4"),
        ("red_gain", "f4"),
        ("green_gain", "f4"),
        ("blue_gain", "f4"),
        ("strength", "f4"),
    ],
    align=True,
)
"""One image of a batch.

normal, low: where its first sample lies in `Batch.normal` and `.low`. plane, mosaic, row: its first
place in the planes of chroma noise reduction and in the mosaics, where it has such, and in the
sensors' rows. exposure_ev ...
gradient_ev: of its illumination, in EV; down, across: direction of the gradient. contrast, tone,
gamma: of its encoding. height, width: pixels. method: of `demosaic`. taps: weights of its chroma
noise reduction, 0 for none. linear: number of its table. cells, smooth: of its smooth field's grid,
and where in `Batch.smooth` that lies. lights, first_light: likewise. coloured: whether light has a
colour. The rest is what `Exposure`, `Sensor` and `Colour` hold.
"""


class Batch(NamedTuple):
    """The arrays of a batch of N images, with all that is given and all that steps hand on.

    Arrays may be longer than the batch needs.

    Attributes
    ----------
    length : int
        N.
    images : array (N) of IMAGE
    normal, low : uint8 arrays
        Pixels of all images, RGB.
    linear : float32 array (T, 256)
    read : float32 array (N, 2, 10)
        Quantile polynomials of the read noise of a site, and of the sum of two.
    gaussian, alias : arrays
        As of `sensor.Noise`.
    blur : float32 array (N, MOST_TAPS)
    smooth : float64 array
        The smooth fields' nodes.
    lights : float64 array (L, 7)
        Place, EV, radius, falloff, and tint of each light.
    cubic, binomial : float64 arrays (17, 32, 16), (32, 32)
        What of its nodes, for each number of them, and of its neighbours each cell takes.
    channel_light : float64 array (3, 256)
    log_light : float64 array (ENCODE_CELLS)
    luminance, cumulative, field : float64 arrays (N, 1024)
    light_cell : int32 array (L)
    mean : float64 array (N)
    light : float32 array (N, 1024)
    colour : float32 array (N, 3, 1024)
    table : uint8 array (N, ENCODE_CELLS)
    fine_table : int16 array (N, ENCODE_CELLS)
    bright : int16 array (P)
    differences : int16 array (2 P)
        Of red, and of blue, pixel by pixel.
    columns : float32 array (2 P)
        Their blur along columns.
    mosaic : float32 array (M)
    rows : float32 array (R)
        Black level plus noise of the sensors' rows.
    """

    length: int
    images: npt.NDArray[Any]
    normal: npt.NDArray[np.uint8]
    low: npt.NDArray[np.uint8]
    linear: npt.NDArray[np.float32]
    read: npt.NDArray[np.float32]
    gaussian: npt.NDArray[np.float32]
    alias: npt.NDArray[np.uint32]
    blur: npt.NDArray[np.float32]
    smooth: npt.NDArray[np.float64]
    lights: npt.NDArray[np.float64]
    cubic: npt.NDArray[np.float64]
    binomial: npt.NDArray[np.float64]
    channel_light: npt.NDArray[np.float64]
    log_light: npt.NDArray[np.float64]
    luminance: npt.NDArray[np.float64]
    cumulative: npt.NDArray[np.float64]
    field: npt.NDArray[np.float64]
    light_cell: npt.NDArray[np.int32]
    mean: npt.NDArray[np.float64]
    light: npt.NDArray[np.float32]
    colour: npt.NDArray[np.float32]
    table: npt.NDArray[np.uint8]
    fine_table: npt.NDArray[np.int16]
    bright: npt.NDArray[np.int16]
    differences: npt.NDArray[np.int16]
    columns: npt.NDArray[np.float32]
    mosaic: npt.NDArray[np.float32]
    rows: npt.NDArray[np.float32]


class Work(NamedTuple):
    """The images that a step is for.

    Attributes
    ----------
    length : int
        K.
    images : int32 array (K)
        Their numbers.
    first : int32 array (K + 1)
        The first block of each; the last one is how many there are.
    """

    length: int
    images: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]


def work_of(counts: npt.NDArray[np.int64], images: npt.NDArray[np.int64]) -> Work:
    """Return the work of a step that has so many places in each of some images."""
    first = np.zeros(len(images) + 1, np.int32)
    np.cumsum(-(-counts[images] // (EACH * THREADS)), out=first[1:])
    return Work(len(images), images.astype(np.int32), first)


@scalar
def place_of(block, work):
    """Find the place in `work` of the image that a block works on."""
    lower, upper = np.int32(0), np.int32(work.length)
    while upper - lower > 1:
        middle = (lower + upper) >> 1
        if work.first[middle] <= block:
            lower = middle
        else:
            upper = middle
    return lower


@scalar
def exposure_of(image):
    """Return how an image's camera sees light."""
    matrix = Matrix(
        image.camera_rr,
        image.camera_rg,
        image.camera_rb,
        image.camera_gr,
        image.camera_gg,
        image.camera_gb,
        image.camera_br,
        image.camera_bg,
        image.camera_bb,
    )
    return Exposure(matrix, image.electrons, image.highlights)


@scalar
def sensor_of(number, image, batch):
    """Return the sensor of an image."""
    noise = Noise(batch.read[number, 0], batch.read[number, 1], batch.gaussian, batch.alias)
    seed = PixelSeed(image.seed_lower, image.seed_upper)
    return Sensor(image.method, image.gain, image.black, image.white, image.row_sigma, seed, noise)


@scalar
def colour_of(image):
    """Return how an image's camera makes colours."""
    matrix = Matrix(
        image.srgb_rr,
        image.srgb_rg,
        image.srgb_rb,
        image.srgb_gr,
        image.srgb_gg,
        image.srgb_gb,
        image.srgb_br,
        image.srgb_bg,
        image.srgb_bb,
    )
    return Colour(
        image.black, image.white, image.red_gain, image.green_gain, image.blue_gain, matrix
    )
