"""The arrays of a batch that steps read and write: a record an image, and columns for all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import f32, i32, u32, u64
from ..compiling.compile import scalar
from ..illumination import CELLS

FIELD = CELLS * CELLS

_ADDRESSES = (
    *("normal", "first", "low", "plane", "mosaic", "row", "lit", "pattern", "made", "coded"),
    *("formed_low", "formed_normal"),
)
_NUMBERS = (
    *("draw", "height", "width", "top", "left", "rows", "columns"),
    *("made_top", "made_left", "made_rows", "made_columns"),
    *("span_top", "span_left", "span_rows", "span_columns", "across", "down", "turned"),
)
IMAGE = np.dtype(
    [*((name, "u8") for name in _ADDRESSES), *((name, "i4") for name in _NUMBERS)], align=True
)
"""One image of a batch.

normal, low: where its first sample lies in `Batch.normal`, and that of its window in `.low`. first:
where that of the normal lies whose light it has, which is as large: its own, or that of the first
frame of its clip. plane, mosaic, row: its first place in the planes of chroma noise reduction and
in the mosaics, where it has such, and in the sensors' rows. lit, pattern, made, coded: likewise
where light is spread, where the sensor has a pattern, and where JPEG follows. formed_...: where its
window goes in `resize_steps.OutputLayout`. draw: number of its draw. height, width: pixels of the
normal; 0 for no image. top, left, rows, columns: the window that a low is made of, mostly the
whole. made_...: what is made before JPEG, else the window. span_...: of the pixels that that
depends on. across, down, turned: what `resize_steps` does to it.

Places of samples are counted modulo 2^64 from the beginning of an array: on a GPU images may lie
anywhere, before it too.
"""


class Batch(NamedTuple):
    """The arrays of a batch of N images, with all that is given and all that steps hand on.

    Arrays may be longer than the batch needs. A batch may take its draws out of many more (T).
    """

    images: npt.NDArray[Any]  # (N) of IMAGE
    draws: npt.NDArray[Any]  # (T) of DRAW
    normal: npt.NDArray[np.uint8]  # pixels of all images, RGB
    low: npt.NDArray[np.uint8]  # pixels of all images, RGB
    linear: npt.NDArray[np.float32]  # (256 K), table after table
    grains: npt.NDArray[np.float32]  # (T, 3, GRAIN) of noise
    curves: npt.NDArray[np.float32]  # (C, 9, FACTORS), of noise by light, the first of nobody
    read: npt.NDArray[np.float32]  # (T, 2, 10), quantiles of a site's read noise, of the sum of two
    alias: npt.NDArray[np.uint32]  # as of `sensor.Noise`
    blur: npt.NDArray[np.float32]  # (T, MOST_TAPS)
    smooth: npt.NDArray[np.float64]  # the smooth fields' nodes
    lights: npt.NDArray[np.float64]  # (L, 7), place, EV, radius, falloff, and tint of each light
    emitters: npt.NDArray[np.float64]  # (E, 7), as of `emitters.resolve`
    grids: npt.NDArray[np.float64]  # of `illumination.SceneLight`, of all draws
    pools: npt.NDArray[np.float64]  # (E, 12), as of `illumination.SceneLight`
    spread_places: npt.NDArray[np.int32]  # (S, 2)
    spread_weights: npt.NDArray[np.float32]  # (S) as of `degradations.blur`, of all draws
    quantisers: npt.NDArray[np.float32]  # (101, 2, 64) of JPEG's qualities
    cosines: npt.NDArray[np.float32]  # (64) of JPEG's transform
    cubic: npt.NDArray[np.float64]  # (17, 32, 16), weights of nodes for each number of them
    binomial: npt.NDArray[np.float64]  # (32, 32), weights of neighbours
    channel_light: npt.NDArray[np.float64]  # (3, 256)
    log_light: npt.NDArray[np.float64]  # (ENCODE_CELLS)
    luminance: npt.NDArray[np.float64]  # (N, 1024)
    cumulative: npt.NDArray[np.float64]  # (N, 1024)
    field: npt.NDArray[np.float64]  # (N, 1024)
    light_cell: npt.NDArray[np.int32]  # (N, most lights)
    shining: npt.NDArray[np.float64]  # (N, 1024), how likely a pool is in each cell; then summed
    pool_cell: npt.NDArray[np.int32]  # (N, most pools)
    own: npt.NDArray[np.float64]  # (N, 1024), the field at each cell's own lightness
    lures: npt.NDArray[np.float64]  # (N, 1024), how likely an emitter is in each cell
    lamps: npt.NDArray[np.float32]  # (N, MOST_EMITTERS, LAMP)
    mean: npt.NDArray[np.float64]  # (N)
    exposure: npt.NDArray[np.float64]  # (N)
    light: npt.NDArray[np.float32]  # (N, GUIDES * 1024), of each lightness, or the first 1024
    colour: npt.NDArray[np.float32]  # (N, 3, 1024)
    table: npt.NDArray[np.uint8]  # (N, ENCODE_CELLS)
    fine_table: npt.NDArray[np.int16]  # (N, ENCODE_CELLS)
    bright: npt.NDArray[np.int16]  # (P)
    differences: npt.NDArray[np.int32]  # (P) of red, and of blue, as two of 16 bits: `pack_halves`
    columns: npt.NDArray[np.uint64]  # (P), their blur along columns, as two float32: `pack_floats`
    mosaic: npt.NDArray[np.float32]  # (M)
    rows: npt.NDArray[np.float32]  # (R), black level plus noise of the sensors' rows
    lit: npt.NDArray[np.float32]  # (3 L), red, green and blue of spread light, pixel by pixel
    pattern: npt.NDArray[np.float32]  # (F), what sites add, three a pixel or site by site
    made: npt.NDArray[np.uint8]  # (B), pixels of images before JPEG, RGB
    samples: npt.NDArray[np.float32]  # (C) of JPEG: Y, then Cb, then Cr
    coefficients: npt.NDArray[np.float32]  # (C) of JPEG: Y, then Cb, then Cr


@scalar
def pack_halves(first, second):
    """Join two whole numbers of 16 bits in one of 32."""
    return i32(i32(i32(second) << i32(16)) | i32(i32(first) & i32(0xFFFF)))


@scalar
def low_half(pair):
    """Return the first of two `pack_halves` numbers."""
    return i32(i32(pair << i32(16)) >> i32(16))


@scalar
def high_half(pair):
    """Return the second of two `pack_halves` numbers."""
    return i32(pair >> i32(16))


@scalar
def pack_floats(first, second):
    """Join two float32 numbers in one of 64 bits."""
    bits = u64(f32(second).view(np.uint32)) << u64(32)
    return bits | u64(f32(first).view(np.uint32))


@scalar
def unpack_floats(pair):
    """Return two float32 numbers that are `pack_floats`."""
    first = u32(pair & u64(0xFFFFFFFF))
    return first.view(np.float32), u32(pair >> u64(32)).view(np.float32)
