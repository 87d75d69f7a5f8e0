"""Frames of exposure brackets: what is looked at of each file before any is read whole."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import cv2
import numpy as np
from PIL import Image

from ...engines.local import count, local_engine
from ...errors import ImageRefused
from ...manifests.images.decode import decode_small
from ...manifests.images.header import MAX_PIXELS, read_header
from ...progress import Progress
from ...storage.stores import as_path
from ...storage.untrusted import read_regular
from ..kernels.arrays import FloatArray, Pixels
from ..kernels.curves import LEVEL_LIGHT

SIDE = 64
"""Cells along each side of a thumbnail."""
_GROUP = 16
_EXIF, _TIME, _PART = 0x8769, 0x9003, 0x9291  # Exif 2.3, 4.6.5: IFD, DateTimeOriginal, SubSec
_SECONDS, _NUMBER, _ISO = 0x829A, 0x829D, 0x8827


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame, as far as it is known before it is read whole.

    path: of its file. size: (height, width), upright. thumbnail: uint8 array (64, 64), mean grey
    levels. mean: of its levels, 0 to 1. light: mean linear light, 0 to 1.
    time, exposure_ev: seconds since 1970 and log2 of (seconds x ISO / aperture^2 / 100), of EXIF;
    None where it does not say.
    """

    path: str
    size: tuple[int, int]
    thumbnail: Pixels
    mean: float
    light: float
    time: float | None
    exposure_ev: float | None


def read_frames(
    paths: list[str], workers: int | None, progress: Progress
) -> Iterator[Frame | tuple[str, str]]:
    """Look at files: yields a frame, or (path, why it cannot be read), in their order."""
    progress.stage("looking at frames", len(paths))
    jobs = [tuple(paths[i : i + _GROUP]) for i in range(0, len(paths), _GROUP)]
    for group in local_engine(workers).map(_look, jobs, progress.at):
        yield from group


def _look(paths: tuple[str, ...]) -> list[Frame | tuple[str, str]]:
    found: list[Frame | tuple[str, str]] = []
    for path in paths:
        try:
            data = read_regular(as_path(path))
            header = read_header(data, MAX_PIXELS)
            pixels = decode_small(data, header, 4 * SIDE)
        except (ImageRefused, OSError) as error:
            found.append((path, error.detail if isinstance(error, ImageRefused) else str(error)))
        else:
            sides = sorted((header.height, header.width))
            upright = pixels.shape[0] <= pixels.shape[1]
            size = (sides[0], sides[1]) if upright else (sides[1], sides[0])
            grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
            cells = cv2.resize(grey, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
            small = np.asarray(cells, np.uint8)
            light: FloatArray = LEVEL_LIGHT[grey]
            means = float(grey.mean()) / 255, float(light.mean())
            found.append(Frame(path, size, small, *means, *_exposure(data)))
        count()
    return found


def _exposure(data: bytes) -> tuple[float | None, float | None]:
    """Return time and exposure of a file's EXIF; None where it does not say, or is odd."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            tags: dict[int, Any] = dict(image.getexif().get_ifd(_EXIF))
    except Exception:  # whatever Pillow makes of a stranger's EXIF
        return None, None
    time = exposure = None
    with suppress(KeyError, ValueError, TypeError, OverflowError):
        moment = datetime.strptime(str(tags[_TIME]).strip("\0 "), "%Y:%m:%d %H:%M:%S")
        part = str(tags.get(_PART, "")).strip("\0 ")
        seconds = float(f"0.{part}") if part.isdigit() else 0.0
        time = moment.replace(tzinfo=UTC).timestamp() + seconds
    with suppress(KeyError, ValueError, TypeError, ZeroDivisionError, OverflowError):
        iso = tags.get(_ISO, 100)
        iso = iso[0] if isinstance(iso, tuple) else iso
        aperture = float(tags.get(_NUMBER) or 1.0)
        light = float(tags[_SECONDS]) * float(iso) / 100 / aperture**2
        exposure = math.log2(light) if light > 0 and math.isfinite(light) else None
    return time, exposure
