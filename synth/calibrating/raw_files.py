"""Raw files: their mosaics, and what they say of how they were taken."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import ConfigError, SourceError, said_by

SUFFIXES = (
    ".dng", ".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".srf", ".sr2", ".raf", ".orf", ".rw2",
    ".pef", ".srw", ".raw", ".3fr", ".iiq", ".rwl",
)  # fmt: skip
Mosaic = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class RawFile:
    """A raw file.

    Attributes
    ----------
    path : Path
    camera : str
        Maker and model, "" where it does not say.
    iso : float
    seconds : float
        Exposure; 0 where it does not say.
    black, white : int
        Levels as the file has them, DN.
    """

    path: Path
    camera: str
    iso: float
    seconds: float
    black: int
    white: int

    def mosaic(self) -> Mosaic:
        """Read the samples of the visible sites, (H, W), in DN, black still in.

        Raises
        ------
        SourceError
            When they cannot be read.
        """
        with _opened(self.path) as raw:
            samples: Mosaic = np.array(raw.raw_image_visible, np.uint16)
        if samples.ndim != 2:
            raise SourceError(f"{self.path}: is no mosaic of sites", path=self.path)
        return samples


def read_header(path: Path) -> RawFile:
    """Read what a raw file says of itself.

    Raises
    ------
    SourceError
        When it is no raw file, or does not say its ISO.
    ConfigError
        When rawpy or exifread is missing.
    """
    tags = _exif(path)
    with _opened(path) as raw:
        black = round(float(np.mean(raw.black_level_per_channel)))
        white = int(raw.white_level)
    iso = _number(
        tags, "EXIF ISOSpeedRatings", "Image ISOSpeedRatings", "EXIF PhotographicSensitivity"
    )
    if not iso:
        raise SourceError(f"{path}: does not say its ISO", path=path)
    words = [str(tags[name]).strip() for name in ("Image Make", "Image Model") if name in tags]
    seconds = _number(tags, "EXIF ExposureTime", "Image ExposureTime")
    return RawFile(path, " ".join(words), iso, seconds, black, white)


def find_raws(folder: Path) -> list[Path]:
    """List the raw files of a folder, below it too.

    Raises
    ------
    SourceError
        When there are none.
    """
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not found:
        raise SourceError(
            f"{folder}: holds no raw files (such as {', '.join(SUFFIXES[:6])})", path=folder
        )
    return found


def _opened(path: Path) -> Any:
    try:
        import rawpy
    except ImportError as error:
        raise ConfigError("raw files need rawpy: pip install 'gloam[raw]'") from error
    try:
        return rawpy.imread(str(path))
    except (rawpy.LibRawError, OSError) as error:
        raise SourceError(
            f"{path}: is no raw file that LibRaw reads; take it out of the folder", path=path
        ) from error


def _exif(path: Path) -> dict[str, Any]:
    try:
        import exifread
    except ImportError as error:
        raise ConfigError("raw files need exifread: pip install 'gloam[raw]'") from error
    try:
        with path.open("rb") as handle:
            return dict(exifread.process_file(handle, details=False))
    except Exception as error:  # its own and others', of metadata that is damaged
        raise SourceError(f"{path}: its metadata cannot be read: {said_by(error)}") from error


def _number(tags: dict[str, Any], *names: str) -> float:
    for name in names:
        if name in tags and tags[name].values:
            value = tags[name].values[0]
            return float(Fraction(value.num, value.den) if hasattr(value, "num") else value)
    return 0.0
