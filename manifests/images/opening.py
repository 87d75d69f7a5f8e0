"""Photographs opened by Pillow, and what all decoders share: limits, orientations, levels.

Readers differ in what they make of odd orientations in EXIF (CIPA DC-008, a TIFF of its own) and
XMP: another type or count, a second block, a place where the format's specification has none.
"""

from __future__ import annotations

import io
import os
import re
import struct
import warnings
from contextlib import suppress
from typing import Any, TypeVar

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from ...errors import ConfigError, ImageRefused, Reason, first_line

Pixels = npt.NDArray[np.uint8]
S = TypeVar("S", bound=np.generic)

MAX_PIXELS = 50_000_000
"""Images with more pixels than this are refused before they are decoded, unless it is said
otherwise; making a pair of one takes less than 1 GB."""
LIMIT = "GLOAM_MAX_PIXELS"
"""A variable of the environment: another number of them."""
FORMATS = ("JPEG", "PNG", "TIFF", "BMP", "WEBP", "AVIF")
_HEIF_BRANDS = b"heic heix heim heis hevc hevx mif1 msf1".split()  # ISO/IEC 23008-12
_ORIENTATION = 0x0112
_SHORT, _LONG = 3, 4  # TIFF 6.0, section 2
_XMP = re.compile(rb"tiff:Orientation\s*(?:=\s*[\"']|>)\s*([2-8])")


def open_lazily(data: bytes) -> Image.Image:
    """Open an image without decoding it.

    Raises ImageRefused: "empty", "not an image" when no format's header is there, or "too large".
    """
    if not data:
        raise ImageRefused(Reason.EMPTY, "the file has no bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of metadata that do not concern the pixels
            return _open_by_pillow(data)
    except UnidentifiedImageError:
        raise ImageRefused(
            Reason.NOT_AN_IMAGE, "no JPEG, PNG, TIFF, BMP, WebP, AVIF or HEIC header"
        ) from None
    except Image.DecompressionBombError as error:  # of WebP, which Pillow begins to decode
        said = first_line(error).partition(" exceeds")[0]
        raise ImageRefused(
            Reason.TOO_LARGE, f"{said}, more than Pillow opens; save it smaller"
        ) from None


def _open_by_pillow(data: bytes) -> Image.Image:
    """Open an image as `Image.open` does, but for its limit of pixels: gloam has one of its own."""
    Image.preinit()
    if data[4:8] == b"ftyp" and data[8:12] in _HEIF_BRANDS and b"avif" not in data[8:32]:
        return _open_heif(data)
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
            # As `Image.open`: another format, or a damaged header.
            with suppress(SyntaxError, IndexError, TypeError, struct.error):
                return factory(io.BytesIO(data), "")
    raise UnidentifiedImageError


def _open_heif(data: bytes) -> Image.Image:
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


def decode_deep(data: bytes) -> npt.NDArray[np.uint16]:
    """Decode 16-bit samples, (H, W) or (H, W, 3 or 4): of colour, Pillow has the upper bytes.

    Raises ImageRefused: "damaged".
    """
    decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if decoded is None or decoded.dtype != np.uint16:
        raise ImageRefused(Reason.DAMAGED, "16-bit samples that cannot be decoded")
    if decoded.ndim == 3:
        order = cv2.COLOR_BGR2RGB if decoded.shape[2] == 3 else cv2.COLOR_BGRA2RGBA
        decoded = cv2.cvtColor(decoded, order, dst=decoded)
    return np.asarray(decoded, np.uint16)


def encode_by_opencv(samples: npt.NDArray[Any], *options: int) -> bytes:
    """Encode samples (H, W), or (H, W, 3) with blue first, as PNG of their depth.

    options: OpenCV's, in turn with their values.

    Raises ImageRefused: "damaged", when that cannot be done.
    """
    done, data = cv2.imencode(".png", samples, options)
    if not done:
        raise ImageRefused(Reason.DAMAGED, "could not be encoded as PNG")
    return data.tobytes()


def pixel_limit() -> int:
    """Return how many pixels an image or a frame may have where no option says it.

    Raises ConfigError when the environment's `GLOAM_MAX_PIXELS` is no number of them.
    """
    said = os.environ.get(LIMIT, "")
    if not said:
        return MAX_PIXELS
    if not said.isdecimal() or not 0 < int(said) < 1 << 30:
        raise ConfigError(f"{LIMIT}={said}: must be a number of pixels below 2^30", key=LIMIT)
    return int(said)


def byte_limit() -> int:
    """Return how many bytes the file of an image may have: 8 for each of the pixels it may have.

    Raises ConfigError as `pixel_limit`.
    """
    return 8 * pixel_limit()


def check_pixels(width: int, height: int, max_pixels: int | None = None) -> None:
    """Raise ImageRefused: "too large", for an image or a frame that takes too much memory.

    width, height: as its header tells them, before anything is decoded.
    max_pixels: of an option; without one it is `pixel_limit`.
    """
    most = pixel_limit() if max_pixels is None else max_pixels
    if width * height > most:
        raise ImageRefused(
            Reason.TOO_LARGE,
            f"{width} x {height} pixels, the limit is {most:,} in all"
            + (f"; {LIMIT} in the environment sets another" if max_pixels is None else ""),
        )


def orientation(image: Image.Image) -> int:
    """Read the EXIF orientation of an opened image: 1 (upright, or damaged metadata) to 8."""
    if "exif" not in image.info:
        return 1  # of XMP, which Pillow would heed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # damaged metadata says nothing about the pixels
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def upright(pixels: npt.NDArray[S], turn: int) -> npt.NDArray[S]:
    """Apply an EXIF orientation to an image (H, W, ...).

    2 to 4 mirror or turn by 180 degrees, 5 to 8 also swap rows and columns.
    """
    if turn >= 5:
        pixels = pixels.swapaxes(0, 1)
    if turn in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if turn in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def most_apart(one: Pixels, other: npt.NDArray[np.uint8 | np.uint16]) -> int:
    """Return by how many levels of 8 bits two images of one shape differ at most."""
    shift = 8 if other.dtype == np.uint16 else 0
    rows = zip(one, other, strict=True)  # of which differences take memory a row at a time
    return max(
        (int(np.abs(np.subtract(a, b >> shift, dtype=np.int32)).max()) for a, b in rows), default=0
    )


def to_8_bit(values: npt.NDArray[np.uint16]) -> Pixels:
    """Bring 16-bit samples to the nearest of 256 levels."""
    levels = np.empty(values.shape, np.uint8)
    for row, own in zip(levels, values, strict=True):  # of 32 bits, a row at a time
        row[...] = (own * np.uint32(255) + np.uint32(32895)) >> 16  # (own + 128) // 257
    return levels


def exif_orientation(block: bytes) -> tuple[int, bool]:
    """Read the orientation of an EXIF block, which begins with its byte order.

    Returns (orientation, certain): 1 (upright, also where it says none) to 8; and whether every
    reader understands the same.
    """
    order = {b"II": "little", b"MM": "big"}.get(block[:2])
    if order is None:
        return 1, True

    def number(begin: int, size: int) -> int:
        return int.from_bytes(block[begin : begin + size], order)  # type: ignore[arg-type]

    first = number(4, 4) + 2
    entries = range(first, min(first + 12 * number(first - 2, 2), len(block) - 11), 12)
    found = [entry for entry in entries if number(entry, 2) == _ORIENTATION]
    if not found:
        return 1, True
    kind, count = number(found[0] + 2, 2), number(found[0] + 4, 4)
    value = number(found[0] + 8, 2 if kind == _SHORT else 4)
    plain = len(found) == 1 and kind == _SHORT and count == 1
    turned = kind in (_SHORT, _LONG) and count == 1 and 1 <= value <= 8
    return value if turned else 1, plain


def xmp_turns(packet: bytes) -> bool:
    """Return whether an XMP packet says an orientation other than upright, as some readers heed."""
    return _XMP.search(packet) is not None
