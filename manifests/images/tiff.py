"""TIFF (6.0): whatever layout Pillow, tifffile or OpenCV reads, as 8-bit samples.

Pillow decodes most, but has 8 bits of 16-bit colour, and no colour in separate planes. tifffile
reads those where they are not compressed or by Deflate, OpenCV what else libtiff decompresses.
"""

from __future__ import annotations

import io
import math
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tifffile
from PIL import Image

from ...errors import ImageRefused, Reason, first_line
from .opening import check_pixels, decode_deep, most_apart, open_lazily, to_8_bit, upright

MARKS = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
_BITS, _ORIENTATION = 258, 274
_DEFLATE = (8, 32946)  # of the tag Compression
_BY_TIFFFILE = (1, *_DEFLATE)  # none, and Deflate
_BY_OPENCV = (5, 32773)  # LZW, PackBits
_EVERYWHERE = (*_BY_TIFFFILE, *_BY_OPENCV, 2, 3, 4, 6, 7, 32771)  # others as libraries were built
# Of a TIFF that takes no more memory than its width and height let expect.
_MOST_SAMPLES, _LARGEST_TILE, _CHUNK = 8, 8192, 1 << 20
_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _PALETTE, _CMYK = 0, 1, 2, 3, 5  # PhotometricInterpretation
_SIGNED, _FLOAT, _COMPLEX = 2, 3, (5, 6)  # of SampleFormat
_ASSOCIATED, _UNASSOCIATED = 1, 2  # of ExtraSamples: alpha
_SEPARATE = 2  # of PlanarConfiguration
_LOOKED_AT = 4  # pages, to see whether the first is a thumbnail
_REDUCED, _MASK, _OLD_TYPE, _OLD_REDUCED = 1, 4, 255, 2  # of NewSubfileType; and SubfileType


@dataclass(frozen=True)
class TiffHeader:
    """Facts from the tags of a TIFF's first picture.

    width, height: pixels as stored.
    orientation: 1 (upright) to 8.
    profile: its ICC profile, or nothing.
    convert: the reason why it cannot be a normal.
    small: whether it is but a small copy of a later one, as its size says.
    """

    width: int
    height: int
    orientation: int
    profile: bytes
    convert: str
    page: Any
    small: bool = False


def read_tiff(data: bytes) -> TiffHeader:
    """Read the tags of a TIFF without decoding it. Raises ImageRefused: "damaged"."""
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            page: Any = file.pages.first
            small = _is_small_first(file)
            turn = page.tags.valueof(_ORIENTATION, 1)
            profile = page.iccprofile or b""
            return TiffHeader(
                int(page.imagewidth),
                int(page.imagelength),
                turn if isinstance(turn, int) and 1 <= turn <= 8 else 1,
                bytes(profile),
                _why_converted(page),
                page,
                small,
            )
    except Exception as error:  # damaged tags can raise nearly anything
        raise ImageRefused(Reason.DAMAGED, f"header: {first_line(error)}") from error


def _is_small_first(file: tifffile.TiffFile) -> bool:
    """Return whether one of the next pages is far larger than the first, as with thumbnails."""
    with suppress(Exception):  # there are no more, or those are damaged
        first: Any = file.pages.first
        for number in range(1, _LOOKED_AT):
            other: Any = file.pages[number]
            if other.imagewidth * other.imagelength >= 4 * first.imagewidth * first.imagelength:
                return True
    return False


def decode_tiff(data: bytes, header: TiffHeader) -> Image.Image:
    """Decode a TIFF to an upright image of 8-bit samples, in the colours that it stores.

    Raises ImageRefused: "unsupported" or "damaged".
    """
    found = _decode_upright(data, header)
    if isinstance(found, Image.Image):
        return found
    mode, samples = _mode_and_samples(found, header.page)
    shown = to_8_bit(samples) if samples.dtype == np.uint16 else samples
    return Image.frombytes(mode, samples.shape[1::-1], shown.tobytes())


def decode_deep_tiff(data: bytes, header: TiffHeader) -> npt.NDArray[np.uint16] | None:
    """Decode a TIFF of more than 8 bits to upright samples (H, W, C), as `decode_tiff` stores them.

    C is 1 to 4: grey or RGB, and what is opaque of those where it says so. None of one of which no
    decoder here has more than 8 bits. Raises as `decode_tiff`.
    """
    found = None if header.page.bitspersample == 8 else _decode_upright(data, header)
    if found is None or isinstance(found, Image.Image) or found.dtype != np.uint16:
        return None
    mode, samples = _mode_and_samples(found, header.page)
    if mode.endswith("a"):  # alpha is multiplied in: what is left of white is added
        for own in samples:
            own[:, :-1] = np.minimum(own[:, :-1] + (np.uint32(65535) - own[:, -1:]), 65535)
        return samples[:, :, :-1]
    return samples


def _decode_upright(data: bytes, header: TiffHeader) -> Image.Image | npt.NDArray[Any]:
    """Return what a TIFF shows upright: Pillow's image of 8 bits, or samples (H, W, C)."""
    page = header.page
    marked = page.subfiletype & (_REDUCED | _MASK) or page.tags.valueof(_OLD_TYPE) == _OLD_REDUCED
    if marked or header.small:
        raise ImageRefused(
            Reason.UNSUPPORTED, "a TIFF that begins with a thumbnail or a mask; save its picture"
        )
    if page.sampleformat == _FLOAT or page.sampleformat in _COMPLEX:
        raise ImageRefused(Reason.UNSUPPORTED, "a TIFF of floating-point samples")
    if page.sampleformat == _SIGNED or page.bitspersample > 16:  # of which nothing says what is 1
        kind = "signed samples" if page.sampleformat == _SIGNED else "samples"
        raise ImageRefused(Reason.UNSUPPORTED, f"a TIFF of {kind} of {page.bitspersample} bits")
    check_pixels(page.tilewidth, page.tilelength)  # of which decoders make room for one
    if 0 < len(page.dataoffsets) < math.prod(page.chunked):  # decoders show what lacks as black
        raise ImageRefused(Reason.DAMAGED, "a TIFF that lacks some of its strips or tiles")
    try:
        most = 8 * max(header.width, 4096) * max(header.height, 4096)
        if page.compression in _DEFLATE:  # where a sum is wrong, libtiff shows garbage
            for offset, size in zip(page.dataoffsets, page.databytecounts, strict=True):
                _check_deflated(data[offset : offset + size], most)
        opened: Image.Image | None = None
        separate = page.planarconfig == _SEPARATE
        if not separate or page.photometric not in (_WHITE_IS_ZERO, _BLACK_IS_ZERO):
            with suppress(ImageRefused):  # of grey in planes, Pillow has the wrong alpha
                opened = open_lazily(data)
        grey = opened is not None and opened.mode.startswith("I")
        deep = page.bitspersample == 16 and page.photometric == _RGB
        if opened is not None and not deep:
            opened.load()  # which turns it, too
            return _deep_grey_samples(opened, page) if grey else opened
        samples: npt.NDArray[Any] | None = None
        if page.compression in _BY_OPENCV and not separate and deep:
            samples = decode_deep(data)
        elif page.compression in _BY_TIFFFILE:
            with tifffile.TiffFile(io.BytesIO(data)) as file:
                samples = upright(_tifffile_samples(file.pages.first), header.orientation)
        if samples is not None:
            other = separate or _ASSOCIATED in page.extrasamples  # which Pillow shows otherwise
            return samples if other else _checked_by_pillow(samples, opened)
        if opened is not None:
            opened.load()  # the upper bytes of its samples
            return opened
    except (ImageRefused, MemoryError):
        raise
    except Exception as error:
        if page.compression in _EVERYWHERE:
            raise ImageRefused(Reason.DAMAGED, first_line(error)) from error
    raise _not_read(page)


def _check_deflated(piece: bytes, most: int) -> None:
    """Look whether a strip or tile is whole, and has no more than so many bytes.

    Raises ImageRefused, zlib.error.
    """
    stream, size = zlib.decompressobj(), 0
    while not stream.eof:
        made = len(stream.decompress(piece, _CHUNK))
        size, piece = size + made, stream.unconsumed_tail
        if size > most or not (made or piece or stream.eof):
            raise ImageRefused(Reason.DAMAGED, "a TIFF whose strips have another size")


def _checked_by_pillow(samples: npt.NDArray[Any], opened: Image.Image | None) -> npt.NDArray[Any]:
    """Return samples (H, W, C), or refuse them where Pillow, if it opens the file, has others."""
    if opened is not None:
        opened.load()
        shallow = np.asarray(opened).reshape(*opened.size[::-1], -1)
        colours = min(3, shallow.shape[2])  # those behind alpha that is multiplied in may differ
        shown, own = shallow[..., :colours], samples[..., :colours]
        if shown.shape != own.shape or most_apart(shown, own) > 1:
            raise ImageRefused(Reason.UNSUPPORTED, "a TIFF that decoders show differently")
    return samples


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


def _tifffile_samples(page: Any) -> npt.NDArray[Any]:
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


def _mode_and_samples(samples: npt.NDArray[Any], page: Any) -> tuple[str, npt.NDArray[Any]]:
    """Return Pillow's mode of what is shown of samples (H, W, C), and those where 0 is black."""
    if page.photometric == _WHITE_IS_ZERO:
        samples[:, :, 0] = np.iinfo(samples.dtype).max - samples[:, :, 0]
    colours = 3 if page.photometric == _RGB else 1
    kind = page.extrasamples[0] if page.extrasamples and samples.shape[2] > colours else 0
    mode = "RGB" if colours == 3 else "L"
    if kind in (_ASSOCIATED, _UNASSOCIATED):
        mode, colours = mode + ("A" if kind == _UNASSOCIATED else "a"), colours + 1
    return mode, samples[:, :, :colours]


def _deep_grey_samples(image: Image.Image, page: Any) -> npt.NDArray[np.uint16]:
    """Return samples (H, W, 1) of 16 bits of one of more than 8, in grey."""
    values = np.asarray(image)
    bits = min(16, page.bitspersample)
    if values.min() < 0 or values.max() >= 1 << bits:
        raise ImageRefused(Reason.UNSUPPORTED, f"{image.mode} samples outside {bits} bit")
    if bits < 16:
        values = values.astype(np.uint32) * 65535 // ((1 << bits) - 1)
    return values.astype(np.uint16)[:, :, None]
