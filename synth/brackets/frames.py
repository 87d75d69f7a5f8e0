"""Frames of brackets, as they are looked at before any is read; and which are of one bracket.

Frames of one scene look alike whatever their exposure: edges, and outlines of what is black or
white, stay where they are. So likeness is a correlation of the fine parts of log light.
Frames next to each other in a bracket come to .72 and more (83 brackets that a camera took, each
moved by up to 8 of 512 pixels), unlike pictures to .51 at most.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.sparse.csgraph import connected_components

from ...engines.local import count, local_engine
from ...errors import ImageRefused
from ...manifests.images.decode import decode_small
from ...manifests.images.header import MAX_PIXELS, read_header
from ...progress import Progress
from ...storage.stores import as_path
from ...storage.untrusted import read_regular
from ..kernels.arrays import FloatArray, Pixels
from ..kernels.curves import LEVEL_LIGHT
from .alignment import features

Single = npt.NDArray[np.float32]

SIDE = 64
"""Cells along each side of a thumbnail."""
_GROUP = 16
_EXIF, _TIME, _PART = 0x8769, 0x9003, 0x9291  # Exif 2.3, 4.6.5: IFD, DateTimeOriginal, SubSec
_SECONDS, _NUMBER, _ISO = 0x829A, 0x829D, 0x8827
FEWEST = 3
"""Frames of a bracket; of two nobody can tell which one something moved in."""
_ALIKE, _NEARLY = 0.6, 0.4
"""Least likeness of neighbours in a bracket; and where EXIF says that they were taken together."""
_TOGETHER = 10.0  # seconds between the exposures of two frames that were
_PAUSE = 2.0  # seconds; EXIF's may be whole ones
_SAME_EV = 0.1
_RANGE_EV = 1.0  # least range of a bracket
_FLOOR = 2.0**-12
_FINE = 4.0  # cells; what is smoother is left out
_REACH = 2  # cells by which frames may be moved


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


class Grouping(NamedTuple):
    """Brackets, dark frames first; and (path, why) of the frames that are in none."""

    brackets: list[list[Frame]]
    left_out: list[tuple[str, str]]


def group_frames(frames: list[Frame]) -> Grouping:
    """Find the brackets among frames."""
    found: list[list[Frame]] = []
    left_out: list[tuple[str, str]] = []
    for members in _linked(frames):
        for bracket in _in_time(members):
            ordered = sorted(bracket, key=lambda frame: (frame.mean, frame.path))
            why = _why_none(ordered)
            if why:
                left_out += [(frame.path, why) for frame in ordered]
            else:
                found.append(ordered)
    return Grouping(sorted(found, key=lambda one: min(frame.path for frame in one)), left_out)


def _why_none(ordered: list[Frame]) -> str:
    if len(ordered) == 1:
        return "is like no other frame"
    if len(ordered) < FEWEST:
        return f"is of {len(ordered)} frames alone; a bracket has {FEWEST} and more"
    range_ev = np.log2(max(ordered[-1].light, _FLOOR) / max(ordered[0].light, _FLOOR))
    return "is of frames that are equally exposed" if range_ev < _RANGE_EV else ""


def _linked(frames: list[Frame]) -> list[list[Frame]]:
    """Return frames that are linked by likeness."""
    groups = []
    by_size = sorted(frames, key=lambda frame: (frame.size, frame.path))
    for _, same in groupby(by_size, key=lambda frame: frame.size):
        members = list(same)
        alike = likeness(members)
        times = np.array([np.nan if one.time is None else one.time for one in members])
        together = np.abs(times[:, None] - times) <= _TOGETHER
        links = (alike >= _ALIKE) | (together & (alike >= _NEARLY))
        count, numbers = connected_components(links, directed=False)
        groups += [
            [members[i] for i in np.flatnonzero(numbers == number)] for number in range(count)
        ]
    return groups


def _in_time(members: list[Frame]) -> list[list[Frame]]:
    """Part frames of one scene into the brackets that were taken one after the other.

    A bracket has each exposure once: where one comes again, the next begins there, or at a clearly
    longer pause since. Where EXIF does not say time and exposure, all are one.
    """
    known = sorted(
        (one.time, one.path, one.exposure_ev, one)
        for one in members
        if one.time is not None and one.exposure_ev is not None
    )
    if len(known) < len(members):
        return [members]
    borders = [0]
    for end, (_, _, exposure, _) in enumerate(known):
        again = [i for i in range(borders[-1], end) if abs(known[i][2] - exposure) < _SAME_EV]
        if again:
            pauses = {i: known[i][0] - known[i - 1][0] for i in range(again[-1] + 1, end + 1)}
            longest = max(pauses, key=lambda i: pauses[i])
            borders.append(longest if pauses[longest] > pauses[end] + _PAUSE else end)
    parts = pairwise([*borders, len(known)])
    return [[frame for *_, frame in known[begin:end]] for begin, end in parts]


def likeness(frames: list[Frame]) -> FloatArray:
    """Return how alike frames are, array (N, N) of -1 to 1."""
    fine = np.stack([features(frame.thumbnail, _FINE) for frame in frames])
    side = SIDE - 2 * _REACH
    moves = [(down, across) for down in range(2 * _REACH + 1) for across in range(2 * _REACH + 1)]
    parts = [_even(fine[:, down : down + side, across : across + side]) for down, across in moves]
    best = np.max([parts[len(parts) // 2] @ part.T for part in parts], axis=0)
    return np.asarray(np.maximum(best, best.T), np.float64)


def _even(parts: Single) -> Single:
    """Return pictures as rows of length 1."""
    rows = parts.reshape(len(parts), -1)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-6))
