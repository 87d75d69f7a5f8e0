"""Photographs as bytes: what they are, whether they can be used, and how they become an upright 8-bit RGB normal.

A normal is kept byte for byte when it already is an upright RGB JPEG or an upright 8-bit RGB PNG. Everything else that can
be read (greyscale, CMYK, palette, alpha, 16 bit, rotated by EXIF, TIFF, BMP, WebP) is converted and encoded anew.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import simplejpeg
from PIL import Image, ImageOps, UnidentifiedImageError

from .errors import ImageRefused

Pixels = npt.NDArray[np.uint8]

SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".tif", ".tiff", ".bmp", ".webp")
"""File name endings, in lower case, that a source takes for photographs."""
FORMATS = ("JPEG", "PNG", "TIFF", "BMP", "WEBP")
_JPEG = ("JPEG", "MPO")  # Pillow opens JPEGs of several pictures as MPO; the first one counts
MAX_PIXELS = 100_000_000
"""Images with more pixels than this are refused before they are decoded."""
MAX_BYTES = 256 * 1024 * 1024
"""Files larger than this are refused before they are read."""
_ORIENTATION = 0x0112
NORMAL_QUALITY = 95
"""JPEG quality, without chroma subsampling, of normals that were JPEGs but must be encoded anew."""

cv2.setNumThreads(0)  # one process is one worker; OpenCV's own threads would only compete
Image.MAX_IMAGE_PIXELS = None  # `read_header` limits pixels itself, with a message of its own


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
        with _open(data) as image:
            return _describe(image, data, max_pixels)
    except ImageRefused:
        raise
    except Exception as error:  # Pillow raises many kinds on damaged headers
        raise ImageRefused("damaged", f"header: {_first_line(error)}") from error


def _open(data: bytes) -> Image.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of odd metadata that does not concern the pixels
            return Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        raise ImageRefused("not an image", "no JPEG, PNG, TIFF, BMP or WebP header") from None


def _describe(image: Image.Image, data: bytes, max_pixels: int) -> Header:
    width, height = image.size
    if width * height > max_pixels:
        raise ImageRefused("too large", f"{width} x {height} pixels, the limit is {max_pixels:,} in all")
    name = str(image.format)
    convert = ""
    if image.mode != "RGB":
        convert = {"L": "greyscale", "CMYK": "cmyk", "P": "palette", "1": "greyscale"}.get(image.mode, f"mode {image.mode}")
    elif name not in (*_JPEG, "PNG"):
        convert = f"{name.lower()} file"
    elif name == "PNG" and data[24:26] != b"\x08\x02":
        convert = "16 bit"  # Pillow calls 16-bit RGB "RGB" too; IHDR holds depth and colour type at 24 and 25
    elif "transparency" in image.info:
        convert = "alpha"
    elif _orientation(image) != 1:
        convert = "rotated"
    return Header(name, width, height, convert)


def _orientation(image: Image.Image) -> int:
    if "exif" not in image.info and image.format in _JPEG:
        return 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # damaged metadata says nothing about the pixels
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


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
        return _decode_with_pillow(data)
    except ImageRefused:
        raise
    except Exception as error:  # a damaged image can raise nearly anything
        raise ImageRefused("damaged", _first_line(error)) from error


def decode_small(data: bytes, header: Header, side: int) -> Pixels:
    """Decode an image roughly reduced to a longer side of at least `side` pixels: fast, for measuring only.

    Raises
    ------
    ImageRefused
        "damaged"; the whole stream is read, so what passes here can also be decoded at full size.
    """
    if header.format in _JPEG and header.convert in ("", "rotated"):
        share = side / max(header.width, header.height)
        least = (max(1, int(header.height * share)), max(1, int(header.width * share)))
        try:
            return simplejpeg.decode_jpeg(data, "RGB", min_height=least[0], min_width=least[1], min_factor=1.0, strict=True)
        except Exception as error:
            raise ImageRefused("damaged", _first_line(error)) from error
    return _convert(data)


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
    jpeg = header.format in _JPEG
    shrink = max_side is not None and max(header.width, header.height) > max_side
    if not header.convert and not shrink:
        suffix = "jpg" if jpeg else "png"
        return Normal(data, suffix, decode(data, suffix), "")
    pixels = decode(data, "jpg") if jpeg and not header.convert else _convert(data)
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
    done, array = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), PNG_OPTIONS)
    if not done:
        raise ImageRefused("damaged", "could not be encoded as PNG")
    return array.tobytes()


PNG_OPTIONS = [
    cv2.IMWRITE_PNG_STRATEGY,
    cv2.IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY,
    cv2.IMWRITE_PNG_FILTER,
    cv2.IMWRITE_PNG_FILTER_SUB,
]
"""Noise leaves nothing to find for a match search: Huffman coding of differences is the smallest and the fastest here."""


def _convert(data: bytes) -> Pixels:
    try:
        return _decode_with_pillow(data)
    except ImageRefused:
        raise
    except Exception as error:
        if data[:4] in (b"II*\x00", b"MM\x00*"):
            return _decode_tiff(data)
        raise ImageRefused("damaged", _first_line(error)) from error


def _decode_with_pillow(data: bytes) -> Pixels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _open(data) as image:
            image.load()
            upright: Image.Image = ImageOps.exif_transpose(image) or image
            return _to_rgb(upright)


def _to_rgb(image: Image.Image) -> Pixels:
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        values = np.asarray(image)
        if image.mode == "F" or values.min() < 0 or values.max() > 65535:
            raise ImageRefused("unsupported", f"{image.mode} samples outside 16 bit")
        return np.repeat(_to_8_bit(values.astype(np.uint16))[:, :, None], 3, axis=2)
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        # What lies behind a transparent picture is unknown; viewers show white.
        rgba = image.convert("RGBA")
        white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, rgba)
    return np.ascontiguousarray(np.asarray(image.convert("RGB")))


def _decode_tiff(data: bytes) -> Pixels:
    """TIFFs that Pillow does not read, such as 16-bit RGB, through OpenCV."""
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_ANYDEPTH | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        values: npt.NDArray[Any] | None = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error as error:
        raise ImageRefused("damaged", _first_line(error)) from error
    if values is None:
        raise ImageRefused("damaged", "the TIFF could not be decoded")
    if values.dtype == np.uint8:
        return values
    if values.dtype == np.uint16:
        return _to_8_bit(values)
    raise ImageRefused("unsupported", f"TIFF samples of type {values.dtype}")


def _to_8_bit(values: npt.NDArray[np.uint16]) -> Pixels:
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)


def _shrink(pixels: Pixels, max_side: int) -> Pixels:
    height, width = pixels.shape[:2]
    share = max_side / max(height, width)
    size = (max(1, round(width * share)), max(1, round(height * share)))
    return np.ascontiguousarray(np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS)))


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
