"""Measures of a candidate, on a small copy of it.

Which photographs become pairs rests on this, so it is all in whole numbers, or in floats that hold
whole numbers exactly: the same measures on every machine. (OpenCV's resizing, colour and DCT take
other instructions, and have other last digits, on other CPUs.)
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..clips.listing import frame_files, video_and_times
from ..clips.load_clip import check_frames, load_files, refuse_cut
from ..clips.video import decode_frames
from ..images.decode import decode_small
from ..images.header import read_header
from ..images.opening import Pixels
from ..sources import Location, read

MEASURES = 5
"""Raised by every change of what is measured: cached measurements are not used any more, and
selections not mixed."""
SIDE = 120
"""Longer side, in pixels, of the copy that is measured: a quarter of 500, which JPEG decoders
reduce by at no cost."""
_CLIPPED = 250
_DARK = 26  # 0.1 of 255
_CELLS = 8
_HASH_SIDE, _HASH_WAVES = 32, 8
_LEAST, _LARGEST = ("bright", "laplacian", "colourfulness"), ("clipped", "dark")
"""Measures of which a clip has its frames' smallest, and their largest."""
BRIGHT = 0.25
"""Mean luma (sRGB-encoded, 0 to 1) from which on a cell counts as bright."""


class Measures(NamedTuple):
    """Measurements of one photograph, of its copy with a longer side of `SIDE` (never enlarged).

    width, height: pixels of the photograph as stored.
    mean: mean luma (Rec. 601, sRGB-encoded), 0 to 1.
    clipped: share of pixels whose luma is at least 250 of 255.
    dark: share of pixels whose luma is below 0.1.
    bright: share of the cells of a grid, of 8 along the longer side, whose mean luma is at least
      0.25.
    laplacian: variance of the 4-neighbour Laplacian of 8-bit luma; low when blurred.
    colourfulness: Hasler and Suesstrunk, "Measuring colourfulness in natural images", SPIE 5007
      (2003): 0 grey, 109 extremely colourful.
    perceptual_hash: 64 bits: signs of the lowest 8 x 8 DCT coefficients of the 32 x 32 luma against
      their median.
    """

    width: int
    height: int
    mean: float
    clipped: float
    dark: float
    bright: float
    laplacian: float
    colourfulness: float
    perceptual_hash: int


FIELDS = Measures._fields


def measure(data: bytes, max_pixels: int | None) -> Measures:
    """Measure a photograph.

    data: a JPEG, PNG, TIFF, BMP or WebP file.
    max_pixels: refuse images with more; see `opening.check_pixels`.

    Raises gloam.errors.ImageRefused when it cannot be decoded.
    """
    header = read_header(data, max_pixels)
    return measure_pixels(decode_small(data, header, SIDE), (header.width, header.height))


def measure_clip(location: Location, max_pixels: int | None = None) -> Measures:
    """Measure a clip: its first, middle and last frame, of each measure the worst.

    Raises ImageRefused as `load_clip` does.
    """
    files = frame_files(location)
    if files is None:
        pixels = decode_frames(*video_and_times(location), max_pixels)
        refuse_cut(pixels)
        found = [measure_pixels(pixels[number]) for number in _three(len(pixels))]
    else:
        check_frames(load_files(files, None, max_pixels))
        found = [measure(read(files[number]), max_pixels) for number in _three(len(files))]
    worst = {name: min(getattr(one, name) for one in found) for name in _LEAST}
    worst |= {name: max(getattr(one, name) for one in found) for name in _LARGEST}
    return found[0]._replace(mean=sorted(one.mean for one in found)[len(found) // 2], **worst)


def _three(count: int) -> list[int]:
    return sorted({0, count // 2, count - 1})


def luma_of(pixels: Pixels) -> Pixels:
    """Return the luma of the copy that is measured, uint8 (H, W), of a picture, uint8 RGB."""
    return _luma_of_channels(_reduced_channels(pixels))


def mean_cells(luma: Pixels, rows: int, columns: int) -> npt.NDArray[np.float64]:
    """Return the means of rows x columns equal parts of luma, uint8 (H, W)."""
    down = _cell_overlaps(luma.shape[0], rows).astype(np.float64)
    across = _cell_overlaps(luma.shape[1], columns).astype(np.float64)
    return np.rint(down @ luma.astype(np.float64) @ across.T) / luma.size  # sums are whole numbers


def measure_pixels(pixels: Pixels, size: tuple[int, int] | None = None) -> Measures:
    """Measure a decoded picture, uint8 RGB (H, W, 3).

    size: (width, height) of the photograph, where the picture is a small copy of it.
    """
    width, height = size or (pixels.shape[1], pixels.shape[0])
    small = _reduced_channels(pixels)
    luma = _luma_of_channels(small)
    count = luma.size
    histogram = np.bincount(luma.ravel(), minlength=256)
    return Measures(
        width=width,
        height=height,
        mean=float(histogram @ np.arange(256)) / (255 * count),
        clipped=float(histogram[_CLIPPED:].sum()) / count,
        dark=float(histogram[:_DARK].sum()) / count,
        bright=_bright_share(luma),
        laplacian=_laplacian_variance(luma),
        colourfulness=_colourfulness(small),
        perceptual_hash=perceptual_hash(luma),
    )


def _reduced_channels(pixels: Pixels) -> Pixels:
    """Return the channels (3, H, W) of a copy whose longer side is `SIDE`, unless it is shorter.

    They are means over areas, rounded, first of whole blocks of pixels.
    """
    longer = max(pixels.shape[:2])
    if longer <= SIDE:
        return np.ascontiguousarray(pixels.transpose(2, 0, 1))
    down, across = (max(1, round(length * SIDE / longer)) for length in pixels.shape[:2])
    channels = _block_means(pixels, longer // SIDE).transpose(2, 0, 1).astype(np.float32, order="C")
    height, width = channels.shape[1:]
    # Sides are below 2 SIDE now, so no sum exceeds 255 (2 SIDE)^2 < 2^24: float32 holds it exactly,
    # in any order of adding.
    sums = _cell_overlaps(height, down) @ channels @ _cell_overlaps(width, across).T
    # IEEE 754 rounds a quotient in one way.
    return np.rint(sums / np.float32(height * width)).astype(np.uint8)


@lru_cache(maxsize=1024)
def _cell_overlaps(length: int, cells: int) -> npt.NDArray[np.float32]:
    """Measure how far each of `cells` equal cells overlaps each of `length` pixels.

    The result (cells, pixels) is in parts of 1 / cells of a pixel.
    """
    cell = np.arange(cells, dtype=np.int32)[:, None] * length
    pixel = np.arange(length, dtype=np.int32)[None, :] * cells
    overlap = np.minimum(cell + length, pixel + cells) - np.maximum(cell, pixel)
    return np.maximum(overlap, 0).astype(np.float32)


def _block_means(pixels: Pixels, side: int) -> Pixels:
    """Return the rounded means of blocks of side x side pixels, without pixels that fill none."""
    height, width = (max(1, length // side) for length in pixels.shape[:2])
    down, across = (min(side, length) for length in pixels.shape[:2])
    if down == across == 1:
        return pixels
    whole = pixels[: height * down, : width * across]
    rows = whole.reshape(height, down, -1).sum(axis=1, dtype=np.uint32)
    rows = rows.reshape(height, width, across, 3)
    sums = sum((rows[:, :, place] for place in range(1, across)), start=rows[:, :, 0])
    return np.rint(sums / np.float64(down * across)).astype(np.uint8)


def _luma_of_channels(channels: Pixels) -> Pixels:
    """Return ITU-R BT.601's luma, rounded: 0.299 R + 0.587 G + 0.114 B in parts of 65,536."""
    red, green, blue = channels.astype(np.uint32)
    return ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16).astype(np.uint8)


def _bright_share(luma: Pixels) -> float:
    longer = max(luma.shape)
    most = min(_CELLS, longer)
    cells = [max(1, (most * length + longer // 2) // longer) for length in luma.shape]
    edges = [np.arange(n + 1) * length // n for n, length in zip(cells, luma.shape, strict=True)]
    rows = np.add.reduceat(luma, edges[0][:-1], axis=0, dtype=np.int64)
    sums = np.add.reduceat(rows, edges[1][:-1], axis=1)
    sizes = np.diff(edges[0])[:, None] * np.diff(edges[1])
    return float(np.mean(sums >= BRIGHT * 255 * sizes))


def _moments(values: npt.NDArray[np.int16]) -> tuple[float, float]:
    """Return mean and variance of whole numbers, whose exact sums no order of adding changes."""
    exact = values.ravel().astype(np.float64)
    count, total, squares = len(exact), int(exact.sum()), int(exact @ exact)
    return total / count, (count * squares - total * total) / (count * count)


def _laplacian_variance(luma: Pixels) -> float:
    padded = np.pad(luma, 1, mode="reflect" if min(luma.shape) > 1 else "edge").astype(np.int16)
    around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    return _moments(around - 4 * padded[1:-1, 1:-1])[1]


def _colourfulness(channels: Pixels) -> float:
    red, green, blue = channels.astype(np.int16)
    mean_rg, variance_rg = _moments(red - green)
    twice_yb, variance_twice_yb = _moments(red + green - 2 * blue)  # 2 (yellow - blue), kept whole
    return math.sqrt(variance_rg + variance_twice_yb / 4) + 0.3 * math.sqrt(
        mean_rg * mean_rg + twice_yb * twice_yb / 4
    )


def perceptual_hash(luma: Pixels) -> int:
    """Return the signs of a DCT of the means of 32 x 32 cells, in whole numbers below 2^53."""
    down, across = map(_waves_of, luma.shape)
    low = (down @ luma.astype(np.float64) @ across.T).ravel()[1:]  # without the mean
    bits = np.concatenate([[False], low > np.sort(low)[len(low) // 2]])
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


@lru_cache(maxsize=1024)
def _waves_of(length: int) -> npt.NDArray[np.float64]:
    """Return the DCT-II's lowest waves (waves, pixels), orthonormal but for a factor, rounded."""
    wave, cell = np.arange(_HASH_WAVES)[:, None], np.arange(_HASH_SIDE)[None, :]
    cosines = np.cos(np.pi * wave * (2 * cell + 1) / (2 * _HASH_SIDE))
    waves = np.rint(1024 * np.where(wave, 1.0, math.sqrt(0.5)) * cosines)
    return waves @ _cell_overlaps(length, _HASH_SIDE)
