"""What the steps of a batch read and write: one record an image, and columns that all share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..illumination import CELLS

FIELD = CELLS * CELLS

IMAGE = np.dtype(
    [
        ("normal", "u8"),
        ("first", "u8"),
        ("low", "u8"),
        ("plane", "u8"),
        ("mosaic", "u8"),
        ("row", "u8"),
        ("lit", "u8"),
        ("pattern", "u8"),
        ("made", "u8"),
        ("coded", "u8"),
        ("formed_low", "u8"),
        ("formed_normal", "u8"),
        *(
            (name, "i4")
            for name in (
                "draw",
                "height",
                "width",
                "top",
                "left",
                "rows",
                "columns",
                "made_top",
                "made_left",
                "made_rows",
                "made_columns",
                "span_top",
                "span_left",
                "span_rows",
                "span_columns",
                "across",
                "down",
                "turned",
            )
        ),
    ],
    align=True,
)
"""One image of a batch.

normal, low: where its first sample lies in `Batch.normal`, and that of its window in `.low`. first:
where that of the normal lies whose light it has, which is as large: its own, or that of the first
frame of its clip. plane, mosaic, row: its first place in the planes of chroma noise reduction and
in the mosaics, where it has such, and in the sensors' rows. lit, pattern, made, coded: likewise
where light is spread, where the sensor has a pattern, and where JPEG follows. formed_...: where its
window goes in `form_steps.Forms`. draw: number of its draw. height, width: pixels of the normal; 0
for no image. top, left, rows, columns: the window that a low is made of, mostly the whole.
made_...: what is made before JPEG, else the window. span_...: of the pixels that that depends on.
across, down, turned: what `form_steps` does to it.

Where a sample lies is counted modulo 2^64 from the beginning of an array: on a GPU images may lie
anywhere, before it too.
"""


class Batch(NamedTuple):
    """The arrays of a batch of N images, with all that is given and all that steps hand on.

    Arrays may be longer than the batch needs. A batch may take its draws out of many more (T).

    Attributes
    ----------
    images : array (N) of IMAGE
    draws : array (T) of DRAW
    normal, low : uint8 arrays
        Pixels of all images, RGB.
    linear : float32 array (K, 256)
    read : float32 array (T, 2, 10)
        Quantile polynomials of the read noise of a site, and of the sum of two.
    alias : array
        As of `sensor.Noise`.
    blur : float32 array (T, MOST_TAPS)
    smooth : float64 array
        The smooth fields' nodes.
    lights : float64 array (L, 7)
        Place, EV, radius, falloff, and tint of each light.
    emitters : float64 array (E, 7)
        As of `emitters.resolve`.
    spread_places : int32 array (S, 2)
    spread_weights : float32 array (S)
        As of `degradations.blur`, of all draws.
    quantisers : float32 array (101, 2, 64)
        Of JPEG's qualities.
    cosines : float32 array (8, 8)
        Of JPEG's transform.
    cubic, binomial : float64 arrays (17, 32, 16), (32, 32)
        What of its nodes, for each number of them, and of its neighbours each cell takes.
    channel_light : float64 array (3, 256)
    log_light : float64 array (ENCODE_CELLS)
    luminance, cumulative, field : float64 arrays (N, 1024)
    light_cell : int32 array (N, most lights)
    lures : float64 array (N, 1024)
        How likely an emitter is in each cell.
    lamps : float32 array (N, MOST_EMITTERS, LAMP)
    mean, exposure : float64 arrays (N)
    light : float32 array (N, 1024)
    colour : float32 array (N, 3, 1024)
    table : uint8 array (N, ENCODE_CELLS)
    fine_table : int16 array (N, ENCODE_CELLS)
    bright : int16 array (P)
    differences : int32 array (P)
        Of red, and of blue, as two of 16 bits: `joined`.
    columns : uint64 array (P)
        Their blur along columns, as two float32: `joined_floats`.
    mosaic : float32 array (M)
    rows : float32 array (R)
        Black level plus noise of the sensors' rows.
    lit : float32 array (3 L)
        Red, green and blue of spread light, pixel by pixel.
    pattern : float32 array (F)
        What sites add, three a pixel or site by site.
    made : uint8 array (B)
        Pixels of images before JPEG, RGB.
    samples, coefficients : float32 arrays (C)
        Of JPEG: Y, then Cb, then Cr.
    """

    images: npt.NDArray[Any]
    draws: npt.NDArray[Any]
    normal: npt.NDArray[np.uint8]
    low: npt.NDArray[np.uint8]
    linear: npt.NDArray[np.float32]
    read: npt.NDArray[np.float32]
    alias: npt.NDArray[np.uint32]
    blur: npt.NDArray[np.float32]
    smooth: npt.NDArray[np.float64]
    lights: npt.NDArray[np.float64]
    emitters: npt.NDArray[np.float64]
    spread_places: npt.NDArray[np.int32]
    spread_weights: npt.NDArray[np.float32]
    quantisers: npt.NDArray[np.float32]
    cosines: npt.NDArray[np.float32]
    cubic: npt.NDArray[np.float64]
    binomial: npt.NDArray[np.float64]
    channel_light: npt.NDArray[np.float64]
    log_light: npt.NDArray[np.float64]
    luminance: npt.NDArray[np.float64]
    cumulative: npt.NDArray[np.float64]
    field: npt.NDArray[np.float64]
    light_cell: npt.NDArray[np.int32]
    lures: npt.NDArray[np.float64]
    lamps: npt.NDArray[np.float32]
    mean: npt.NDArray[np.float64]
    exposure: npt.NDArray[np.float64]
    light: npt.NDArray[np.float32]
    colour: npt.NDArray[np.float32]
    table: npt.NDArray[np.uint8]
    fine_table: npt.NDArray[np.int16]
    bright: npt.NDArray[np.int16]
    differences: npt.NDArray[np.int32]
    columns: npt.NDArray[np.uint64]
    mosaic: npt.NDArray[np.float32]
    rows: npt.NDArray[np.float32]
    lit: npt.NDArray[np.float32]
    pattern: npt.NDArray[np.float32]
    made: npt.NDArray[np.uint8]
    samples: npt.NDArray[np.float32]
    coefficients: npt.NDArray[np.float32]
