"""Decoding of photographs that cannot be kept as they are: every kind that is read, to upright 8-bit RGB.

Decoders differ in what they let pass. Here a damaged stream is refused, never shown with garbage: JPEG goes through a strict
decoder first, PNG through its own checksums, and no second decoder is asked when the first one has failed.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from contextlib import suppress
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import simplejpeg
import tifffile
from PIL import Image, ImageOps, UnidentifiedImageError

from .errors import ImageRefused

Pixels = npt.NDArray[np.uint8]

FORMATS = ("JPEG", "PNG", "TIFF", "BMP", "WEBP", "AVIF")
_HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")  # ISO/IEC 23008-12
JPEG_FORMATS = ("JPEG", "MPO")  # Pillow opens JPEGs of several pictures as MPO; the first one counts
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TIFF_MARKS = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
_BITS_PER_SAMPLE = 258
_ORIENTATION = 0x0112
_COMPRESSION, _DEFLATE = 259, (8, 32946)
_MOST_SAMPLES, _LARGEST_TILE = 8, 8192  # of a TIFF that takes no more memory than its width and height let expect
_STRIP_OFFSETS, _STRIP_SIZES, _TILE_OFFSETS, _TILE_SIZES = 273, 279, 324, 325


def open_lazily(data: bytes) -> Image.Image:
    """Open an image without decoding it.

    Raises
    ------
    ImageRefused
        "not an image" when no format's header is there.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of odd metadata that does not concern the pixels
            return _identified(data)
    except UnidentifiedImageError:
        raise ImageRefused("not an image", "no JPEG, PNG, TIFF, BMP, WebP, AVIF or HEIC header") from None


def _identified(data: bytes) -> Image.Image:
    """As `Image.open`, but for its limit of pixels: that is the program's own to set, and gloam has one of its own."""
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
            raise ImageRefused("unsupported", accepted)
        if accepted:
            with suppress(
                SyntaxError, IndexError, TypeError, struct.error
            ):  # as `Image.open`: another format, or a damaged header
                return factory(io.BytesIO(data), "")
    raise UnidentifiedImageError


def _heif(data: bytes) -> Image.Image:
    """HEIC, as telephones write it, where pillow-heif is installed."""
    try:
        from pillow_heif import HeifImageFile
    except ImportError:
        raise ImageRefused("unsupported", "HEIC; it is read where pillow-heif is installed (pip install pillow-heif)") from None
    opened: Image.Image = HeifImageFile(io.BytesIO(data))
    return opened


def is_tiff(data: bytes) -> bool:
    """Whether some bytes begin like a TIFF."""
    return data[:4] in _TIFF_MARKS


def tiff_size(data: bytes) -> tuple[int, int]:
    """Width and height of a TIFF whose layout Pillow does not open, such as separate planes."""
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = file.pages.first
        return int(page.imagewidth), int(page.imagelength)


def orientation(image: Image.Image) -> int:
    """The EXIF orientation of an opened image, 1 (upright) to 8; 1 when its metadata is missing or damaged."""
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
    """Whether an opened image has more than 8 bits a sample; Pillow calls 16-bit RGB "RGB" too."""
    if image.mode.startswith("I;16") or image.mode == "I":
        return True
    if image.format == "PNG":
        return data[24:25] == b"\x10"  # IHDR's bit depth
    if image.format == "TIFF":
        bits: Any = image.tag_v2.get(_BITS_PER_SAMPLE, (8,))  # type: ignore[attr-defined]
        return max(bits if isinstance(bits, tuple) else (bits,)) == 16
    return False


def decode_as_rgb(data: bytes) -> Pixels:
    """Decode any image that is read to upright RGB (H, W, 3) uint8.

    16-bit samples become the nearest 8-bit level; what lies behind transparency is white, as viewers show it.

    Raises
    ------
    ImageRefused
        "damaged" or "unsupported".
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                image = open_lazily(data)
            except ImageRefused:
                if is_tiff(data):
                    return _from_samples(_tiff_samples(data))
                raise
            with image:
                return _decode_opened(image, data)
    except ImageRefused:
        raise
    except Exception as error:  # a damaged image can raise nearly anything
        raise ImageRefused("damaged", first_line(error)) from error


def _decode_opened(image: Image.Image, data: bytes) -> Pixels:
    turn = orientation(image)
    if image.format in JPEG_FORMATS:
        if image.mode == "CMYK":
            simplejpeg.decode_jpeg(data, "CMYK", strict=True)  # refuses what Pillow would fill with garbage
        else:
            return _upright(simplejpeg.decode_jpeg(data, "RGB", strict=True), turn)
    if image.format == "PNG":
        check_png(data)
    elif image.format == "TIFF":
        _check_deflated_tiff(image, data)
    deep = is_16_bit(image, data)
    image.load()
    if deep and image.mode == "RGB":  # of which Pillow takes the upper byte alone
        samples = _tiff_samples(data) if image.format == "TIFF" else _png_samples(data)
        return _upright(_from_samples(samples), turn)
    # Pillow copies where there is nothing to do; an image is held once too often already.
    return _to_rgb((ImageOps.exif_transpose(image) or image) if turn != 1 else image)


def check_png(data: bytes) -> None:
    """Compare the checksum of every chunk of a PNG, and find its end.

    Raises
    ------
    ImageRefused
        "damaged".
    """
    place = len(_PNG_SIGNATURE)
    while True:
        length = int.from_bytes(data[place : place + 4], "big")
        end = place + 12 + length
        if end > len(data):
            raise ImageRefused("damaged", "the PNG ends early")
        if zlib.crc32(data[place + 4 : end - 4]) != int.from_bytes(data[end - 4 : end], "big"):
            raise ImageRefused("damaged", "the checksum of a PNG chunk differs")
        if data[place + 4 : place + 8] == b"IEND":
            return
        place = end


def _upright(pixels: Pixels, turn: int) -> Pixels:
    """Apply an EXIF orientation: 2 to 4 mirror or turn by 180 degrees, 5 to 8 also swap rows and columns."""
    if turn >= 5:
        pixels = pixels.transpose(1, 0, 2)
    if turn in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if turn in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def _tiff_samples(data: bytes) -> npt.NDArray[Any]:
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = file.pages.first
        if page.bitspersample not in (8, 16) or page.samplesperpixel < 3:
            raise ImageRefused("damaged", "a TIFF that cannot be opened")  # Pillow opens all that have fewer
        if page.samplesperpixel > _MOST_SAMPLES or page.imagedepth != 1 or max(page.tilewidth, page.tilelength) > _LARGEST_TILE:
            raise ImageRefused("unsupported", f"a TIFF of {page.samplesperpixel} samples a pixel, {page.imagedepth} deep, "
                               f"in tiles of {page.tilewidth} x {page.tilelength}")  # fmt: skip
        try:
            samples = page.asarray()
        except ValueError as error:
            reason = "unsupported" if "imagecodecs" in str(error) else "damaged"
            raise ImageRefused(reason, f"TIFF: {first_line(error)}") from error
        return np.moveaxis(samples, 0, 2) if page.planarconfig == 2 else samples


def _png_samples(data: bytes) -> npt.NDArray[Any]:
    samples = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if samples is None or samples.ndim != 3 or samples.shape[2] != 3:
        raise ImageRefused("unsupported", "16-bit samples in a layout that cannot be read")
    return samples[:, :, ::-1]


def _check_deflated_tiff(image: Image.Image, data: bytes) -> None:
    """Let zlib check the sums of all strips or tiles of a TIFF: libtiff shows garbage instead."""
    tags: Any = image.tag_v2  # type: ignore[attr-defined]
    if tags.get(_COMPRESSION) not in _DEFLATE:
        return
    for offsets, sizes in ((_STRIP_OFFSETS, _STRIP_SIZES), (_TILE_OFFSETS, _TILE_SIZES)):
        for offset, size in zip(tags.get(offsets, ()), tags.get(sizes, ()), strict=True):
            zlib.decompress(data[offset : offset + size])


def _from_samples(samples: npt.NDArray[Any]) -> Pixels:
    """8-bit RGB from 8- or 16-bit samples (H, W), (H, W, 1) or (H, W, 3 or more)."""
    if samples.dtype == np.uint16:
        samples = _to_8_bit(samples)
    if samples.dtype != np.uint8 or samples.ndim not in (2, 3):
        raise ImageRefused("unsupported", f"samples of type {samples.dtype} in {samples.ndim} dimensions")
    if samples.ndim == 2:
        samples = samples[:, :, None]
    return np.ascontiguousarray(np.repeat(samples, 3, axis=2) if samples.shape[2] < 3 else samples[:, :, :3])


def _to_rgb(image: Image.Image) -> Pixels:
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        values = np.asarray(image)
        if image.mode == "F" or values.min() < 0 or values.max() > 65535:
            raise ImageRefused("unsupported", f"{image.mode} samples outside 16 bit")
        return _from_samples(values.astype(np.uint16))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, rgba)
    return np.ascontiguousarray(np.asarray(image if image.mode == "RGB" else image.convert("RGB")))


def _to_8_bit(values: npt.NDArray[np.uint16]) -> Pixels:
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)


def first_line(error: BaseException) -> str:
    """What an exception says, on one line."""
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
