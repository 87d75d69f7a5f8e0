"""TIFF (6.0): whatever layout Pillow, tifffile or OpenCV reads, as 8-bit samples.

Pillow decodes most, but has 8 bits of 16-bit colour, and no colour in separate planes. tifffile
reads those where they are not compressed or by Deflate, OpenCV what else libtiff decompresses.
"""

from __future__ import annotations

import io
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tifffile
from PIL import Image

from ...errors import ImageRefused, Reason, first_line
from .opening import decode_deep, open_lazily, to_8_bit, upright

MARKS = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
_BITS, _ORIENTATION = 258, 274
_DEFLATE = (8, 32946)  # of the tag Compression
_BY_TIFFFILE = (1, *_DEFLATE)  # none, and Deflate
_BY_OPENCV = (5, 32773)  # LZW, PackBits
_EVERYWHERE = (*_BY_TIFFFILE, *_BY_OPENCV, 2, 3, 4, 6, 7, 32771)  # others as libraries were built
# Of a TIFF that takes no more memory than its width and height let expect.
_MOST_SAMPLES, _LARGEST_TILE = 8, 8192
_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _PALETTE, _CMYK = 0, 1, 2, 3, 5  # PhotometricInterpretation
_FLOAT, _COMPLEX = 3, (5, 6)  # of SampleFormat
_ASSOCIATED, _UNASSOCIATED = 1, 2  # of ExtraSamples: alpha
_SEPARATE = 2  # of PlanarConfiguration


@dataclass(frozen=True)
class TiffHeader:
    """Facts from the tags of a TIFF's first picture.

    width, height: pixels as stored.
    orientation: 1 (upright) to 8.
    profile: its ICC profile, or nothing.
    convert: the reason why it cannot be a normal.
    """

    width: int
    height: int
    orientation: int
    profile: bytes
    convert: str
    page: Any


def read_tiff(data: bytes) -> TiffHeader:
    """Read the tags of a TIFF without decoding it. Raises ImageRefused: "damaged"."""
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            page: Any = file.pages.first
            turn = page.tags.valueof(_ORIENTATION, 1)
            profile = page.iccprofile or b""
            header = TiffHeader(
                int(page.imagewidth),
                int(page.imagelength),
                turn if isinstance(turn, int) and 1 <= turn <= 8 else 1,
                bytes(profile),
                _why_converted(page),
                page,
            )
    except Exception as error:  # damaged tags can raise nearly anything
        raise ImageRefused(Reason.DAMAGED, f"header: {first_line(error)}") from error
    return header


def decode_tiff(data: bytes, header: TiffHeader) -> Image.Image:
    """Decode a TIFF to an upright image of 8-bit samples, in the colours that it stores.

    Raises ImageRefused: "unsupported" or "damaged".
    """
    page = header.page
    if page.sampleformat == _FLOAT or page.sampleformat in _COMPLEX:
        raise ImageRefused(Reason.UNSUPPORTED, "a TIFF of floating-point samples")
    try:
        if page.compression in _DEFLATE:  # where a sum is wrong, libtiff shows garbage
            for offset, size in zip(page.dataoffsets, page.databytecounts, strict=True):
                zlib.decompress(data[offset : offset + size])
        opened: Image.Image | None = None
        with suppress(ImageRefused):
            opened = open_lazily(data)
        grey = opened is not None and opened.mode.startswith("I")
        deep = page.bitspersample == 16 and page.photometric == _RGB
        if opened is not None and not deep:
            opened.load()  # which turns it, too
            return _from_grey(opened, page) if grey else opened
        if page.compression in _BY_OPENCV and page.planarconfig != _SEPARATE and deep:
            return _from_samples(decode_deep(data), page)
        if page.compression in _BY_TIFFFILE:
            with tifffile.TiffFile(io.BytesIO(data)) as file:
                samples = _samples(file.pages.first)
            return _from_samples(upright(samples, header.orientation), page)
        if opened is not None:
            opened.load()  # the upper bytes of its samples
            return opened
    except (ImageRefused, MemoryError):
        raise
    except Exception as error:
        if page.compression in _EVERYWHERE:
            raise ImageRefused(Reason.DAMAGED, first_line(error)) from error
    raise _not_read(page)


def _not_read(page: Any) -> ImageRefused:
    """Return the refusal of a layout that is not read."""
    if page.samplesperpixel > 1 and _BITS not in page.tags:
        return ImageRefused(Reason.DAMAGED, "a TIFF that does not say the bits of its samples")
    return ImageRefused(
        Reason.UNSUPPORTED,
        f"a TIFF of {page.samplesperpixel} samples of {page.bitspersample} bits, photometric"
        f" {page.photometric}, compression {page.compression}, {page.imagedepth} deep, in tiles of"
        f" {page.tilewidth} x {page.tilelength}",
    )


def _why_converted(page: Any) -> str:
    if page.bitspersample == 16:
        return "16 bit"
    if page.photometric == _PALETTE:
        return "palette"
    if any(kind in (_ASSOCIATED, _UNASSOCIATED) for kind in page.extrasamples):
        return "alpha"
    if page.photometric in (_WHITE_IS_ZERO, _BLACK_IS_ZERO):
        return "greyscale"
    return "cmyk" if page.photometric == _CMYK else "tiff file"


def _samples(page: Any) -> npt.NDArray[Any]:
    """Return the samples as stored (H, W, C), where tifffile reads them."""
    if (
        page.photometric not in (_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB)
        or page.bitspersample not in (8, 16)
        or page.samplesperpixel > _MOST_SAMPLES
        or page.imagedepth != 1
        or max(page.tilewidth, page.tilelength) > _LARGEST_TILE
    ):
        raise _not_read(page)
    samples = page.asarray()
    if samples.ndim == 2:
        return samples[:, :, None]
    return np.moveaxis(samples, 0, 2) if page.planarconfig == _SEPARATE else samples


def _from_samples(samples: npt.NDArray[Any], page: Any) -> Image.Image:
    """Make an image of samples (H, W, C), uint8 or uint16."""
    if samples.dtype == np.uint16:
        samples = to_8_bit(samples)
    if page.photometric == _WHITE_IS_ZERO:
        samples[:, :, 0] = 255 - samples[:, :, 0]
    colours = 3 if page.photometric == _RGB else 1
    kind = page.extrasamples[0] if page.extrasamples and samples.shape[2] > colours else 0
    mode = "RGB" if colours == 3 else "L"
    if kind in (_ASSOCIATED, _UNASSOCIATED):
        mode, colours = mode + ("A" if kind == _UNASSOCIATED else "a"), colours + 1
    height, width = samples.shape[:2]
    return Image.frombytes(mode, (width, height), samples[:, :, :colours].tobytes())


def _from_grey(image: Image.Image, page: Any) -> Image.Image:
    """Make an image of 8 bits of one of more, in grey."""
    values = np.asarray(image)
    bits = min(16, page.bitspersample)
    if values.min() < 0 or values.max() >= 1 << bits:
        raise ImageRefused(Reason.UNSUPPORTED, f"{image.mode} samples outside {bits} bit")
    if bits < 16:
        values = values.astype(np.uint32) * 65535 // ((1 << bits) - 1)
    grey = to_8_bit(values.astype(np.uint16))
    return Image.fromarray(255 - grey if page.photometric == _WHITE_IS_ZERO else grey)
