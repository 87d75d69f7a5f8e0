"""Decoding of photographs that cannot be kept as they are.

Every kind that is read becomes upright 8-bit RGB.

Decoders differ in what they let pass. Here a damaged stream is refused, never shown with garbage:
JPEG goes through a strict decoder first, PNG through its own checksums, and no second decoder is
asked when the first one has failed.
"""

from __future__ import annotations

import io
import warnings
import zlib
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import simplejpeg
import tifffile
from PIL import Image, ImageOps

from ...errors import ImageRefused, Reason
from .header import Header
from .opening import JPEG_FORMATS, Pixels, first_line, is_16_bit, is_tiff, open_lazily, orientation

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COMPRESSION, _DEFLATE = 259, (8, 32946)
_MOST_SAMPLES, _LARGEST_TILE = (
    8,
    8192,
)  # of a TIFF that takes no more memory than its width and height let expect
_STRIP_OFFSETS, _STRIP_SIZES, _TILE_OFFSETS, _TILE_SIZES = 273, 279, 324, 325


def decode(data: bytes, suffix: str) -> Pixels:
    """Decode a stored image of a set, "jpg" or "png", to RGB (H, W, 3) uint8.

    JPEG is decoded by libjpeg-turbo's accurate integer transform, which gives the same bits on
    every CPU.

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
        raise ImageRefused(Reason.DAMAGED, first_line(error)) from error


def decode_small(data: bytes, header: Header, side: int) -> Pixels:
    """Decode an image roughly reduced to a longer side of at least `side` pixels.

    Fast, for measuring only.

    Raises
    ------
    ImageRefused
        "damaged"; the whole stream is read, so what passes here can also be decoded at full size.
    """
    if header.format in JPEG_FORMATS and header.convert in ("", "rotated"):
        share = side / max(header.width, header.height)
        least = (max(1, int(header.height * share)), max(1, int(header.width * share)))
        try:
            return simplejpeg.decode_jpeg(
                data, "RGB", min_height=least[0], min_width=least[1], min_factor=1.0, strict=True
            )
        except Exception as error:
            raise ImageRefused(Reason.DAMAGED, first_line(error)) from error
    return decode_as_rgb(data)


def decode_as_rgb(data: bytes) -> Pixels:
    """Decode any image that is read to upright RGB (H, W, 3) uint8.

    16-bit samples become the nearest 8-bit level; what lies behind transparency is white, as
    viewers show it.

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
        raise ImageRefused(Reason.DAMAGED, first_line(error)) from error


def _decode_opened(image: Image.Image, data: bytes) -> Pixels:
    turn = orientation(image)
    if image.format in JPEG_FORMATS:
        if image.mode == "CMYK":
            simplejpeg.decode_jpeg(
                data, "CMYK", strict=True
            )  # refuses what Pillow would fill with garbage
        else:
            return upright(simplejpeg.decode_jpeg(data, "RGB", strict=True), turn)
    if image.format == "PNG":
        check_png(data)
    elif image.format == "TIFF":
        _check_deflated_tiff(image, data)
    deep = is_16_bit(image, data)
    image.load()
    if deep and image.mode == "RGB":  # of which Pillow takes the upper byte alone
        samples = _tiff_samples(data) if image.format == "TIFF" else _png_samples(data)
        return upright(_from_samples(samples), turn)
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
            raise ImageRefused(Reason.DAMAGED, "the PNG ends early")
        if zlib.crc32(data[place + 4 : end - 4]) != int.from_bytes(data[end - 4 : end], "big"):
            raise ImageRefused(Reason.DAMAGED, "the checksum of a PNG chunk differs")
        if data[place + 4 : place + 8] == b"IEND":
            return
        place = end


def upright(pixels: Pixels, turn: int) -> Pixels:
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


def _tiff_samples(data: bytes) -> npt.NDArray[Any]:
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = file.pages.first
        if page.bitspersample not in (8, 16) or page.samplesperpixel < 3:
            raise ImageRefused(
                Reason.DAMAGED, "a TIFF that cannot be opened"
            )  # Pillow opens all that have fewer
        if (
            page.samplesperpixel > _MOST_SAMPLES
            or page.imagedepth != 1
            or max(page.tilewidth, page.tilelength) > _LARGEST_TILE
        ):
            raise ImageRefused(
                Reason.UNSUPPORTED,
                f"a TIFF of {page.samplesperpixel} samples a pixel, {page.imagedepth} deep, "
                f"in tiles of {page.tilewidth} x {page.tilelength}",
            )
        try:
            samples = page.asarray()
        except ValueError as error:
            reason = Reason.UNSUPPORTED if "imagecodecs" in str(error) else Reason.DAMAGED
            raise ImageRefused(reason, f"TIFF: {first_line(error)}") from error
        return np.moveaxis(samples, 0, 2) if page.planarconfig == 2 else samples


def _png_samples(data: bytes) -> npt.NDArray[Any]:
    samples = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if samples is None or samples.ndim != 3 or samples.shape[2] != 3:
        raise ImageRefused(Reason.UNSUPPORTED, "16-bit samples in a layout that cannot be read")
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
    """Make 8-bit RGB from 8- or 16-bit samples (H, W), (H, W, 1) or (H, W, 3 or more)."""
    if samples.dtype == np.uint16:
        samples = _to_8_bit(samples)
    if samples.dtype != np.uint8 or samples.ndim not in (2, 3):
        raise ImageRefused(
            Reason.UNSUPPORTED, f"samples of type {samples.dtype} in {samples.ndim} dimensions"
        )
    if samples.ndim == 2:
        samples = samples[:, :, None]
    return np.ascontiguousarray(
        np.repeat(samples, 3, axis=2) if samples.shape[2] < 3 else samples[:, :, :3]
    )


def _to_rgb(image: Image.Image) -> Pixels:
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        values = np.asarray(image)
        if image.mode == "F" or values.min() < 0 or values.max() > 65535:
            raise ImageRefused(Reason.UNSUPPORTED, f"{image.mode} samples outside 16 bit")
        return _from_samples(values.astype(np.uint16))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, rgba)
    return np.ascontiguousarray(np.asarray(image if image.mode == "RGB" else image.convert("RGB")))


def _to_8_bit(values: npt.NDArray[np.uint16]) -> Pixels:
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
