"""Photographs opened, not decoded: what Pillow and tifffile say of their headers."""

from __future__ import annotations

import io
import struct
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import tifffile
from PIL import Image, UnidentifiedImageError

from ...errors import ImageRefused, Reason, said_by

Pixels = npt.NDArray[np.uint8]

FORMATS = ("JPEG", "PNG", "TIFF", "BMP", "WEBP", "AVIF")
_HEIF_BRANDS = (
    b"heic",
    b"heix",
    b"heim",
    b"heis",
    b"hevc",
    b"hevx",
    b"mif1",
    b"msf1",
)  # ISO/IEC 23008-12
JPEG_FORMATS = (
    "JPEG",
    "MPO",
)  # Pillow opens JPEGs of several pictures as MPO; the first one counts
_TIFF_MARKS = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
_BITS_PER_SAMPLE = 258
_ORIENTATION = 0x0112


def open_lazily(data: bytes) -> Image.Image:
    """Open an image without decoding it.

    Raises
    ------
    ImageRefused
        "not an image" when no format's header is there.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # Pillow warns of odd metadata that does not concern the pixels
            return _identified(data)
    except UnidentifiedImageError:
        raise ImageRefused(
            Reason.NOT_AN_IMAGE, "no JPEG, PNG, TIFF, BMP, WebP, AVIF or HEIC header"
        ) from None


def _identified(data: bytes) -> Image.Image:
    """Open an image as `Image.open` does, but for its limit of pixels.

    That limit is the program's own to set, and gloam has one of its own.
    """
    Image.preinit()
    if data[4:8] == b"ftyp" and data[8:12] in _HEIF_BRANDS and b"avif" not in data[8:32]:
        return _heif(data)
    for name in FORMATS:
        if name not in Image.OPEN:
            Image.init()
        if name not in Image.OPEN:
            continue
        factory, accept = Image.OPEN[name]
        accepted = accept is None or accept(data[:16])
        if isinstance(accepted, str):  # what this Pillow lacks
            raise ImageRefused(Reason.UNSUPPORTED, accepted)
        if accepted:
            with suppress(
                SyntaxError, IndexError, TypeError, struct.error
            ):  # as `Image.open`: another format, or a damaged header
                return factory(io.BytesIO(data), "")
    raise UnidentifiedImageError


def _heif(data: bytes) -> Image.Image:
    """Open HEIC, as telephones write it, where pillow-heif is installed."""
    try:
        from pillow_heif import HeifImageFile
    except ImportError:
        raise ImageRefused(
            Reason.UNSUPPORTED,
            "HEIC; it is read where pillow-heif is installed (pip install pillow-heif)",
        ) from None
    opened: Image.Image = HeifImageFile(io.BytesIO(data))
    return opened


def is_tiff(data: bytes) -> bool:
    """Return whether some bytes begin like a TIFF."""
    return data[:4] in _TIFF_MARKS


def tiff_size(data: bytes) -> tuple[int, int]:
    """Read the width and height of a TIFF that Pillow does not open, such as separate planes."""
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = file.pages.first
        return int(page.imagewidth), int(page.imagelength)


def orientation(image: Image.Image) -> int:
    """Read the EXIF orientation of an opened image, 1 (upright) to 8.

    It is 1 when its metadata is missing or damaged.
    """
    if "exif" not in image.info and image.format != "TIFF":
        return 1  # asking Pillow would make it read a PNG to its end
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # damaged metadata says nothing about the pixels
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def is_16_bit(image: Image.Image, data: bytes) -> bool:
    """Return whether an opened image has more than 8 bits a sample.

    Pillow calls 16-bit RGB "RGB" too.
    """
    if image.mode.startswith("I;16") or image.mode == "I":
        return True
    if image.format == "PNG":
        return data[24:25] == b"\x10"  # IHDR's bit depth
    if image.format == "TIFF":
        bits: Any = image.tag_v2.get(_BITS_PER_SAMPLE, (8,))  # type: ignore[attr-defined]
        return max(bits if isinstance(bits, tuple) else (bits,)) == 16
    return False


def first_line(error: BaseException) -> str:
    """Return what an exception says, on one line."""
    return said_by(error)[:200]
