"""What a photograph is, by its first bytes.

Format, size, and whether its bytes can be kept as a normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import simplejpeg
from PIL import Image

from ...errors import ImageRefused, Reason
from .opening import (
    JPEG_FORMATS,
    first_line,
    is_16_bit,
    is_tiff,
    open_lazily,
    orientation,
    tiff_size,
)

SUFFIXES = (
    ".jpg",
    ".jpeg",
    ".jpe",
    ".jfif",
    ".png",
    ".tif",
    ".tiff",
    ".bmp",
    ".webp",
    ".avif",
    ".heic",
    ".heif",
)
"""File name endings, in lower case, that a source takes for photographs."""
RAWS = (
    ".dng", ".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".srf", ".sr2", ".raf", ".orf", ".rw2",
    ".pef", ".srw", ".raw", ".3fr", ".iiq", ".rwl", ".x3f", ".mrw", ".erf", ".kdc", ".dcr", ".mef",
    ".mos", ".fff", ".gpr",
)  # fmt: skip
"""Endings of raw files, which `gloam calibrate` reads."""
UNREAD = (
    *RAWS, ".gif", ".apng", ".jxl", ".jp2", ".j2k", ".jpf", ".jpx", ".j2c", ".jxr", ".wdp", ".hdp",
    ".psd", ".psb", ".xcf", ".exr", ".hdr", ".tga", ".ppm", ".pgm", ".pbm", ".pnm", ".pam", ".pfm",
    ".svg", ".ico", ".icns", ".dib", ".pcx", ".sgi", ".qoi", ".dds", ".eps", ".mpo", ".jps",
    ".insp", ".pjpeg", ".pjp", ".jif", ".jfi", ".hif", ".heics", ".heifs", ".avci", ".avifs",
)  # fmt: skip
"""Endings of pictures that are not read: a source counts them, so that nobody wonders where they
are."""
MAX_PIXELS = 50_000_000
"""Images with more pixels than this are refused before they are decoded; making a pair of one takes
less than 1 GB."""
MAX_SCANS = 100
"""JPEGs with more scans are refused: encoders write some 10, and each of thousands would take as
long as a whole decoding."""
MAX_BYTES = 256 * 1024 * 1024
"""Files larger than this are refused before they are read."""

_JPEG, _SCAN, _APPLICATION_1 = b"\xff\xd8\xff", b"\xff\xda", 0xE1  # ITU T.81, table B.1
_SEQUENTIAL = (
    0xC0,
    0xC1,
    0xC4,
)  # frames that are Huffman coded and not progressive, and their tables


@dataclass(frozen=True)
class Header:
    """What the first bytes of an image say.

    Attributes
    ----------
    format : str
        Pillow's name of the format: JPEG, MPO, PNG, TIFF, BMP or WEBP.
    width, height : int
        Pixels as stored, before an EXIF rotation.
    convert : str
        Why the image must be converted ("greyscale", "rotated", ...), or "" when its bytes can be
        kept.
    """

    format: str
    width: int
    height: int
    convert: str


def read_header(data: bytes, max_pixels: int = MAX_PIXELS) -> Header:
    """Read an image's header without decoding it.

    Raises
    ------
    ImageRefused
        "empty", "not an image", "too large" or "damaged".
    """
    if not data:
        raise ImageRefused(Reason.EMPTY, "the file has no bytes")
    try:
        return _describe(data, max_pixels)
    except ImageRefused:
        raise
    except Exception as error:  # Pillow raises many kinds on damaged headers
        raise ImageRefused(Reason.DAMAGED, f"header: {first_line(error)}") from error


def _describe(data: bytes, max_pixels: int) -> Header:
    plain = _plain_jpeg_size(data)
    if plain is not None:
        _check_size(*plain, max_pixels)
        return Header("JPEG", *plain, "")
    if data.startswith(_JPEG) and data.count(_SCAN) > MAX_SCANS:
        raise ImageRefused(
            Reason.DAMAGED, f"a JPEG of {data.count(_SCAN):,} scans, the limit is {MAX_SCANS}"
        )
    try:
        image = open_lazily(data)
    except ImageRefused:
        if not is_tiff(data):
            raise
        width, height = tiff_size(data)
        _check_size(width, height, max_pixels)
        return Header("TIFF", width, height, "tiff file")
    with image:
        width, height = image.size
        _check_size(width, height, max_pixels)
        return Header(str(image.format), width, height, _why_converted(image, data))


def _plain_jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Read width and height of a JPEG in colour, of one scan and without EXIF.

    Most are such: the header says all there is to know, and asking Pillow takes a tenth of the time
    of decoding.
    """
    if not data.startswith(_JPEG) or not _is_plain(data):
        return None
    try:
        height, width, colour, _ = simplejpeg.decode_jpeg_header(data)
    except ValueError:
        return None  # Pillow has something to say about it
    return (width, height) if colour in ("YCbCr", "RGB") else None


def _is_plain(data: bytes) -> bool:
    """Return whether a JPEG has no EXIF, and is of one scan.

    It has no segment of application data 1, where EXIF stands, is not progressive (nor
    arithmetically coded), and its first scan holds all three components (ITU T.81, B.1 and B.2).
    """
    place = 2
    while place + 5 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker == _SCAN[1]:
            return data[place + 4] == 3
        if marker == _APPLICATION_1 or (0xC0 <= marker <= 0xCF and marker not in _SEQUENTIAL):
            return False
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return False


def _check_size(width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise ImageRefused(
            Reason.TOO_LARGE, f"{width} x {height} pixels, the limit is {max_pixels:,} in all"
        )


def _why_converted(image: Image.Image, data: bytes) -> str:
    if is_16_bit(image, data):
        return "16 bit"
    if image.mode == "P":
        return "palette"
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        return "alpha"
    if image.mode in ("L", "1"):
        return "greyscale"
    if image.mode != "RGB":
        return image.mode.lower()
    if image.format not in (*JPEG_FORMATS, "PNG"):
        return f"{str(image.format).lower()} file"
    return "rotated" if orientation(image) != 1 else ""
