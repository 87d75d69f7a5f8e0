"""Raw files: their mosaics and exposure settings."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ImageRefused, SourceError, needed
from ...manifests.images.header import RAWS
from ...manifests.sources.containers import read_whole_file
from ...manifests.sources.folders import files_below
from .estimates import Mosaic

_MOST_BYTES = 1 << 30
_RATINGS = ("ISOSpeedRatings", "PhotographicSensitivity")
_UNTOLD = 65535
"""ISO of which Exif 2.3 (4.6.5) says that it is this or more: another tag says which."""
_SENSITIVITIES = ("RecommendedExposureIndex", "ISOSpeed", "Tag 0x8831")
"""Tags that say it; the last one, of which exifread has no name, is StandardOutputSensitivity."""
_OF_TYPE = {1: (2, 0, 1), 3: (1, 0, 2), 5: (1, 2, 0)}
"""Which of them comes first, by SensitivityType; in the others the first one does."""


@dataclass(frozen=True)
class RawFile:
    """A raw file."""

    path: Path
    camera: str  # maker and model, "" where it does not say
    iso: float
    seconds: float  # exposure; 0 where it does not say
    black: int  # levels as the file has them, DN; a black level of 0 may mean that it does not say
    white: int  # levels as the file has them, DN; a black level of 0 may mean that it does not say

    def mosaic(self) -> Mosaic:
        """Read the samples of the visible sites, (H, W), in DN, black still in.

        Raises SourceError when they cannot be read.
        """
        with _opened(self.path) as (raw, _):
            samples: Mosaic = np.array(raw.raw_image_visible, np.uint16)
        if samples.ndim != 2:
            raise SourceError.at(self.path, "is no mosaic of sites")
        return samples


def read_raw_header(path: Path) -> RawFile:
    """Read what a raw file says of itself: in its EXIF or, where that cannot be read, to LibRaw.

    Raises SourceError when it is no raw file, or does not say its ISO; ConfigError when rawpy or
    exifread is missing.
    """
    with _opened(path) as (raw, data):
        tags = _exif(data)
        black = round(float(np.mean(raw.black_level_per_channel)))
        white = int(raw.white_level)
        iso = _iso(tags) or _told(raw.other.iso_speed)
        seconds = _number(tags, "ExposureTime") or float(raw.other.shutter_speed)
    if not iso:
        high = _number(tags, *_RATINGS) == _UNTOLD
        why = f": {_UNTOLD} is that or more, and no other tag says which" if high else ""
        raise SourceError.at(path, f"does not say its ISO{why}")
    words = [str(tags[name]).strip() for name in ("Image Make", "Image Model") if name in tags]
    return RawFile(path, " ".join(words), iso, seconds, black, white)


def find_raws(folder: Path) -> list[Path]:
    """List the raw files of a folder, below it too; hidden ones are left out (see `is_hidden`).

    Raises SourceError when there are none.
    """
    names = [name for name, _ in files_below(folder) if name.lower().endswith(RAWS)]
    if not names:
        raise SourceError.at(folder, f"holds no raw files (such as {', '.join(RAWS[:6])})")
    return sorted(folder / name for name in names)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, bytes]]:
    """Open a raw file for LibRaw, which reads on when it is asked; yields its bytes too."""
    rawpy = needed("rawpy", "raw files need rawpy", "raw")
    try:
        data = read_whole_file(path, _MOST_BYTES)
        with rawpy.imread(io.BytesIO(data)) as raw:
            yield raw, data
    except ImageRefused as error:
        raise SourceError.at(path, f"{error.detail}") from error
    except (rawpy.LibRawError, OSError, ValueError) as error:
        raise SourceError.at(
            path, "is no raw file that LibRaw reads, or is damaged; take it out of the folder"
        ) from error


def _exif(data: bytes) -> dict[str, Any]:
    """Return a file's tags; none where they are damaged, or of formats that exifread lacks."""
    exifread = needed("exifread", "raw files need exifread", "raw")
    log = logging.getLogger("exifread")
    before, log.disabled = log.disabled, True
    try:
        return dict(exifread.process_file(io.BytesIO(data), details=False))
    except Exception:  # its own and others', of CR3 and RAF, and of metadata that is damaged
        return {}
    finally:
        log.disabled = before


def _iso(tags: dict[str, Any]) -> float:
    """Return the ISO that tags tell, 0 where none does."""
    told = _told(_number(tags, *_RATINGS))
    if told:
        return told
    order = _OF_TYPE.get(int(_number(tags, "SensitivityType")), (0, 1, 2))
    others = (_told(_number(tags, _SENSITIVITIES[number])) for number in order)
    return next((one for one in others if one), 0.0)


def _told(iso: float) -> float:
    return 0.0 if iso == _UNTOLD else float(iso)


def _number(tags: dict[str, Any], *names: str) -> float:
    """Return the number of the first of some tags, in whichever directory it stands; else 0."""
    for name in [f"{where} {name}" for name in names for where in ("EXIF", "Image")]:
        if name in tags and tags[name].values:
            value = tags[name].values[0]
            try:
                return float(Fraction(value.num, value.den) if hasattr(value, "num") else value)
            except (ValueError, ZeroDivisionError):
                continue
    return 0.0
