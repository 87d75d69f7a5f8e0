"""Photographs as bytes: what they are, whether they can be used, and how they become an upright 8-bit RGB normal.

A normal is kept byte for byte when it already is an upright RGB JPEG or an upright 8-bit RGB PNG. Everything else that can
be read (greyscale, CMYK, palette, alpha, 16 bit, rotated by EXIF, TIFF, BMP, WebP) is converted and encoded anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import simplejpeg
from PIL import Image

from .decoding import (
    JPEG_FORMATS,
    Pixels,
    decode_as_rgb,
    first_line,
    is_16_bit,
    is_tiff,
    open_lazily,
    orientation,
    tiff_size,
)
from .errors import ImageRefused

SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".tif", ".tiff", ".bmp", ".webp", ".avif", ".heic", ".heif")
"""File name endings, in lower case, that a source takes for photographs."""
UNREAD = (
    ".gif", ".jxl", ".jp2", ".j2k", ".psd", ".exr", ".hdr", ".tga", ".ppm", ".pgm", ".svg", ".mpo", ".hif",
    ".dng", ".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".srf", ".sr2", ".raf", ".orf", ".rw2", ".pef", ".srw", ".3fr",
    ".raw",
)  # fmt: skip
"""Endings of pictures that are not read: a source counts them, so that nobody wonders where they are."""
MAX_PIXELS = 50_000_000
"""Images with more pixels than this are refused before they are decoded; making a pair of one takes less than 1 GB."""
MAX_SCANS = 100
"""JPEGs with more scans are refused: encoders write some 10, and each of thousands would take as long as a whole decoding."""
MAX_BYTES = 256 * 1024 * 1024
"""Files larger than this are refused before they are read."""
NORMAL_QUALITY = 95
"""JPEG quality, without chroma subsampling, of normals that were JPEGs but must be encoded anew."""

_JPEG, _SCAN, _APPLICATION_1 = b"\xff\xd8\xff", b"\xff\xda", 0xE1  # ITU T.81, table B.1
_SEQUENTIAL = (0xC0, 0xC1, 0xC4)  # frames that are Huffman coded and not progressive, and their tables

_PNG_OPTIONS = [cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY]
"""Noise leaves nothing to find for a match search: Huffman coding of differences (OpenCV's
own filter) is the smallest and the fastest here."""


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
        Why the image must be converted ("greyscale", "rotated", ...), or "" when its bytes can be kept.
    """

    format: str
    width: int
    height: int
    convert: str


@dataclass(frozen=True)
class Normal:
    """The normal-light image of a pair.

    Attributes
    ----------
    data : bytes
        The encoded image.
    suffix : str
        "jpg" or "png".
    pixels : uint8 array (H, W, 3)
        `data` decoded: RGB.
    converted : str
        Why the photograph was encoded anew, "" when `data` is the photograph byte for byte.
    """

    data: bytes
    suffix: str
    pixels: Pixels
    converted: str


def read_header(data: bytes, max_pixels: int = MAX_PIXELS) -> Header:
    """Read an image's header without decoding it.

    Raises
    ------
    ImageRefused
        "empty", "not an image", "too large" or "damaged".
    """
    if not data:
        raise ImageRefused("empty", "the file has no bytes")
    try:
        return _describe(data, max_pixels)
    except ImageRefused:
        raise
    except Exception as error:  # Pillow raises many kinds on damaged headers
        raise ImageRefused("damaged", f"header: {first_line(error)}") from error


def _describe(data: bytes, max_pixels: int) -> Header:
    plain = _plain_jpeg_size(data)
    if plain is not None:
        _check_size(*plain, max_pixels)
        return Header("JPEG", *plain, "")
    if data.startswith(_JPEG) and data.count(_SCAN) > MAX_SCANS:
        raise ImageRefused("damaged", f"a JPEG of {data.count(_SCAN):,} scans, the limit is {MAX_SCANS}")
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
    """Width and height of a JPEG in colour, of one scan and without EXIF, which is most of them: its header says all there is to
    know, and asking Pillow takes a tenth of the time of decoding.
    """
    if not data.startswith(_JPEG) or not _is_plain(data):
        return None
    try:
        height, width, colour, _ = simplejpeg.decode_jpeg_header(data)
    except ValueError:
        return None  # Pillow has something to say about it
    return (width, height) if colour in ("YCbCr", "RGB") else None


def _is_plain(data: bytes) -> bool:
    """Whether a JPEG has no segment of application data 1, where EXIF stands, is not progressive (nor arithmetically coded), and
    its first scan holds all three components (ITU T.81, B.1 and B.2).
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
        raise ImageRefused("too large", f"{width} x {height} pixels, the limit is {max_pixels:,} in all")


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


def decode(data: bytes, suffix: str) -> Pixels:
    """Decode a stored image of a set, "jpg" or "png", to RGB (H, W, 3) uint8.

    JPEG is decoded by libjpeg-turbo's accurate integer transform, which gives the same bits on every CPU.

    Raises
    ------
    ImageRefused
        "damaged", also for what decoders only warn of, such as a file that ends early.
    """
    try:
        if suffix == "jpg":
            return simplejpeg.decode_jpeg(data, "RGB", strict=True)
        return decode_as_rgb(data)
    except ImageRefused:
        raise
    except Exception as error:  # a damaged image can raise nearly anything
        raise ImageRefused("damaged", first_line(error)) from error


def decode_small(data: bytes, header: Header, side: int) -> Pixels:
    """Decode an image roughly reduced to a longer side of at least `side` pixels: fast, for measuring only.

    Raises
    ------
    ImageRefused
        "damaged"; the whole stream is read, so what passes here can also be decoded at full size.
    """
    if header.format in JPEG_FORMATS and header.convert in ("", "rotated"):
        share = side / max(header.width, header.height)
        least = (max(1, int(header.height * share)), max(1, int(header.width * share)))
        try:
            return simplejpeg.decode_jpeg(data, "RGB", min_height=least[0], min_width=least[1], min_factor=1.0, strict=True)
        except Exception as error:
            raise ImageRefused("damaged", first_line(error)) from error
    return decode_as_rgb(data)


def load_normal(data: bytes, max_side: int | None = None, max_pixels: int = MAX_PIXELS) -> Normal:
    """Turn a photograph's bytes into the normal of a pair.

    Parameters
    ----------
    data : bytes
        A JPEG, PNG, TIFF, BMP or WebP file.
    max_side : int, optional
        Shrink larger images to this longer side, by Pillow's Lanczos filter, whose fixed-point arithmetic does not depend
        on the CPU.
    max_pixels : int
        Refuse images with more.

    Raises
    ------
    ImageRefused
        When the photograph cannot be used; its `reason` says why.
    """
    header = read_header(data, max_pixels)
    jpeg = header.format in JPEG_FORMATS
    shrink = max_side is not None and max(header.width, header.height) > max_side
    if not header.convert and not shrink:
        suffix = "jpg" if jpeg else "png"
        return Normal(data, suffix, decode(data, suffix), "")
    pixels = decode(data, "jpg") if jpeg and not header.convert else decode_as_rgb(data)
    if shrink and max_side is not None:
        pixels = _shrink(pixels, max_side)
    suffix = "jpg" if jpeg else "png"
    encoded = encode(pixels, suffix, NORMAL_QUALITY, "444")
    reason = header.convert or "resized"
    # The low is made from the stored normal as decoded, which JPEG has changed a little.
    return Normal(encoded, suffix, decode(encoded, suffix) if jpeg else pixels, reason)


def encode(pixels: Pixels, suffix: str, quality: int = 95, chroma: str = "444") -> bytes:
    """Encode RGB (H, W, 3) uint8 as "jpg" (quality 1 to 100, chroma "444", "422" or "420") or as "png" (lossless)."""
    if suffix == "jpg":
        return simplejpeg.encode_jpeg(np.ascontiguousarray(pixels), quality, "RGB", chroma, fastdct=False)
    done, array = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), _PNG_OPTIONS)
    if not done:
        raise ImageRefused("damaged", "could not be encoded as PNG")
    return array.tobytes()


def _shrink(pixels: Pixels, max_side: int) -> Pixels:
    height, width = pixels.shape[:2]
    share = max_side / max(height, width)
    size = (max(1, round(width * share)), max(1, round(height * share)))
    return np.ascontiguousarray(np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS)))
