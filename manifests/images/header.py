"""Headers of photographs: format, size, and whether their bytes can be kept as a normal."""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image

from ...errors import GloamError, ImageRefused, Reason, first_line
from . import jpeg_file, png, tiff
from .colour import is_srgb
from .opening import MAX_PIXELS as MAX_PIXELS
from .opening import check_pixels, open_lazily, orientation

SUFFIXES = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".tif", ".tiff", ".bmp", ".webp", ".avif", ".heic",
    ".heif",
)  # fmt: skip
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
MAX_SIDE = 65_500
"""Images that are wider or higher are refused: no JPEG can be (libjpeg's JPEG_MAX_DIMENSION), and
resizing takes memory by the side."""
_MOST_OF_PIXEL, _MOST_BESIDE = 4, 1 << 25  # bytes of a JPEG: noise at quality 100 has 3; a film
MAX_BYTES = 256 * 1024 * 1024
"""Files larger than this are refused before they are read."""


@dataclass(frozen=True)
class Header:
    """Facts from the first bytes of an image.

    format: JPEG, PNG, TIFF, BMP, WEBP, AVIF or HEIF.
    width, height: pixels as stored, before an EXIF rotation.
    convert: why the image must be converted ("greyscale", "rotated", ...), or "" when its bytes can
      be kept: when they are upright RGB in sRGB, and no reader shows them otherwise.
    orientation: how the image is brought upright, as EXIF says it, 1 (not at all) to 8.
    """

    format: str
    width: int
    height: int
    convert: str
    orientation: int = 1


def read_header(data: bytes, max_pixels: int | None = None) -> Header:
    """Read an image's header without decoding it.

    max_pixels: see `check_pixels`.

    Raises ImageRefused: "empty", "not an image", "too large" or "damaged".
    """
    try:
        return _header_of(data, max_pixels)
    except GloamError:
        raise
    except Exception as error:  # Pillow raises many kinds on damaged headers
        raise ImageRefused(Reason.DAMAGED, f"header: {first_line(error)}") from error


def check_size(data: bytes | memoryview) -> bool:
    """Compare the pixels that an image's header tells with `pixel_limit`, before it is decoded.

    data: a JPEG or a PNG; it takes microseconds.

    Returns whether it is one, and its header tells a size. Raises ImageRefused: "too large", also
    of a JPEG with far more bytes than its pixels, as decoders copy all of them; or "damaged", of
    what may take for ever: a JPEG of too many scans, a PNG that stores more than its pixels.
    """
    head, size = bytes(data[:24]), None
    if head.startswith(jpeg_file.BEGINNING):
        size = jpeg_file.frame_size(data)
        if size is not None and len(data) > _MOST_OF_PIXEL * size[0] * size[1] + _MOST_BESIDE:
            what = f"a JPEG of {size[0]} x {size[1]} pixels that has {len(data):,} bytes"
            raise ImageRefused(Reason.TOO_LARGE, f"{what}; save its picture alone")
    elif head.startswith(png.SIGNATURE):
        size = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
        png.check_stored(data, *size)
    if size is not None:
        check_pixels(*size)
    return size is not None


def _header_of(data: bytes, max_pixels: int | None) -> Header:
    if data.startswith(jpeg_file.BEGINNING):
        header = _jpeg_header(jpeg_file.read_jpeg(data))
    elif data.startswith(png.SIGNATURE):
        header = _png_header(png.read_png(data))
    elif data.startswith(tiff.MARKS):
        found = tiff.read_tiff(data)
        header = Header("TIFF", found.width, found.height, found.convert, found.orientation)
    else:
        with open_lazily(data) as image:
            name = str(image.format)
            header = Header(name, *image.size, _why_converted(image, name), orientation(image))
    check_pixels(header.width, header.height, max_pixels)
    if max(header.width, header.height) > MAX_SIDE:
        raise ImageRefused(
            Reason.TOO_LARGE,
            f"{header.width} x {header.height} pixels, the limit of a side is {MAX_SIDE:,}",
        )
    return header


def _jpeg_header(found: jpeg_file.JpegHeader) -> Header:
    convert = {1: "greyscale", 4: "cmyk"}.get(found.components, "")
    if not convert and found.orientation != 1:
        convert = "rotated"
    if not convert and not found.certain:
        convert = "orientation"
    if not convert and not is_srgb(found.profile):
        convert = "colour profile"
    return Header("JPEG", found.width, found.height, convert, found.orientation)


def _png_header(found: png.PngHeader) -> Header:
    if found.depth == 16:
        convert = "16 bit"
    elif found.colour == png.PALETTE:
        convert = "palette"
    elif found.colour & png.ALPHA or found.transparent:
        convert = "alpha"
    elif found.colour == png.GREY:
        convert = "greyscale"
    elif found.orientation != 1:
        convert = "rotated"
    else:
        convert = found.odd or ("" if is_srgb(found.colours()) else "colour profile")
    return Header("PNG", found.width, found.height, convert, found.orientation)


def _why_converted(image: Image.Image, name: str) -> str:
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        return "alpha"
    if image.mode == "P":
        return "palette"
    if image.mode in ("L", "1"):
        return "greyscale"
    return f"{name.lower()} file" if image.mode == "RGB" else image.mode.lower()
