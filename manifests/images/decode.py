"""Decoding of photographs, and of the images of a set.

Every kind that is read becomes upright 8-bit RGB in sRGB.

Decoders differ in what they let pass. Here a damaged stream is refused, never shown with garbage:
JPEG goes through a strict decoder first, PNG through its own checksums, and no second decoder is
asked when the first one has failed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from ...errors import GloamError, ImageRefused, Reason, SourceError, first_line
from ...storage.untrusted import read_regular
from . import jpeg_file, png, tiff
from .colour import profile_of, to_srgb
from .header import Header, read_header
from .npy import MAGIC, npy_as_png, read_npy
from .opening import Pixels, byte_limit, check_pixels, open_lazily, orientation, to_8_bit, upright

_PART = 1 << 22  # pixels that are brought over white at once, which takes some 30 bytes of each
_NEAR = 1.0  # levels on average by which libraries' JPEG decoding may differ
_BITS = 258  # TIFF's BitsPerSample
_OF_16_BITS = ("PNG", "PPM")  # formats whose samples Pillow's mode I has, of no more than 16 bits
_ALPHA = ("RGBA", "LA", "PA", "La", "RGBa")
_OF_8_BITS = ("1", "L", "P", "RGB", "RGBX", "CMYK", "YCbCr", "HSV", "LAB", *_ALPHA)


def decode(data: bytes, suffix: str, max_pixels: int | None = None) -> Pixels:
    """Decode a stored image of a set, "jpg" or "png", to RGB (H, W, 3) uint8.

    Stored images are upright and in sRGB, whatever their metadata say.

    max_pixels: see `check_pixels`.

    Raises ImageRefused: "too large"; "damaged", also for what decoders only warn of, such as a file
    that ends early.
    """
    if not data.startswith(jpeg_file.BEGINNING if suffix == "jpg" else png.SIGNATURE):
        raise ImageRefused(Reason.DAMAGED, f"no {suffix} image")
    with _refusing():
        return _decode_any(data, False, max_pixels)[0]


def decode_small(data: bytes, header: Header, side: int) -> Pixels:
    """Decode an image roughly reduced to a longer side of at least `side` pixels.

    Fast, for measuring only: a JPEG is not turned by EXIF. Raises ImageRefused: "damaged"; the
    whole stream is read, so what passes here can also be decoded at full size.
    """
    if header.format == "JPEG":
        with _refusing():
            found = jpeg_file.read_jpeg(data)
            return _jpeg_in_srgb(jpeg_file.decode_jpeg(data, found, side), found.profile)
    return decode_as_rgb(data, max_pixels=header.width * header.height)


def decode_as_rgb(data: bytes, colours: bool = True, max_pixels: int | None = None) -> Pixels:
    """Decode any image that is read to upright RGB (H, W, 3) uint8.

    16-bit samples become the nearest 8-bit level; what lies behind transparency is white, as
    viewers show it.

    colours: whether its colour profile is applied, so that the pixels are in sRGB. Otherwise they
      are as stored, as readers in training take them.
    max_pixels: see `check_pixels`.

    Raises ImageRefused "damaged", "unsupported" or "too large".
    """
    with _refusing():
        return upright(*_decode_any(data, colours, max_pixels))


def is_deep(data: bytes | memoryview) -> bool:
    """Return whether an image is a PNG of 16 bits, of which OpenCV has the upper bytes."""
    return data[:8] == png.SIGNATURE and data[24:25] == b"\x10"


def is_shown_otherwise(data: bytes | memoryview) -> bool:
    """Return whether OpenCV or DALI may show an image otherwise than `decode_as_rgb`.

    Those are PNGs with transparency, which they take for opaque, or an animation, of which they
    have another frame; and all that is no PNG and no JPEG.
    """
    if data[:8] == png.SIGNATURE:
        return not png.is_plain(data)
    return data[:3] != jpeg_file.BEGINNING


def decode_at_depth(data: bytes) -> npt.NDArray[np.uint8 | np.uint16]:
    """Decode any image that is read as `decode_as_rgb` does without its profile, but at its depth.

    Returns uint8 or uint16 array (H, W, 3): the levels, or what they were rounded from.

    Raises ImageRefused as `decode_as_rgb`.
    """
    if data.startswith(MAGIC):
        return read_npy(data)
    turn, deep = 1, None
    with _refusing():
        if is_deep(data):
            chunks = png.read_png(data)
            check_pixels(chunks.width, chunks.height)
            deep, turn = png.decode_deep_png(data, chunks), chunks.orientation
        elif data.startswith(tiff.MARKS):
            tags = tiff.read_tiff(data)
            check_pixels(tags.width, tags.height)
            deep = tiff.decode_deep_tiff(data, tags)
        if deep is not None:
            return upright(_deep_over_white(deep), turn)
    return decode_as_rgb(data, colours=False)


def _deep_over_white(samples: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Bring samples (H, W, C), grey or RGB and what is opaque, over white: (H, W, 3)."""
    colours = samples[:, :, : 3 if samples.shape[2] > 2 else 1]
    if samples.shape[2] == 3:
        return colours
    made = np.empty((*samples.shape[:2], 3), np.uint16)
    if samples.shape[2] == 1:
        made[...] = colours
        return made
    over = colours, samples[:, :, -1:]
    for row, own, opaque in zip(made, *over, strict=True):  # of 32 bits, a row at a time
        light = opaque.astype(np.uint32)
        row[...] = (own * light + 65535 * (65535 - light) + 32767) // 65535
    return made


def _decode_any(data: bytes, colours: bool, max_pixels: int | None) -> tuple[Pixels, int]:
    """Decode an image; return its pixels, and by which EXIF orientation they are to be turned."""
    if data.startswith(jpeg_file.BEGINNING):
        found = jpeg_file.read_jpeg(data)
        check_pixels(found.width, found.height, max_pixels)
        pixels = jpeg_file.decode_jpeg(data, found)
        return _jpeg_in_srgb(pixels, found.profile if colours else b""), found.orientation
    if data.startswith(png.SIGNATURE):
        chunks = png.read_png(data)
        check_pixels(chunks.width, chunks.height, max_pixels)
        image = png.decode_png(data, chunks)
        return over_white(image, chunks.colours() if colours else b""), chunks.orientation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of metadata that do not concern the pixels
        if data.startswith(tiff.MARKS):
            tags = tiff.read_tiff(data)
            check_pixels(tags.width, tags.height, max_pixels)
            return over_white(tiff.decode_tiff(data, tags), tags.profile if colours else b""), 1
        with open_lazily(data) as image:
            check_pixels(*image.size, max_pixels)
            turn, profile = orientation(image), profile_of(image, data) if colours else b""
            image.load()
            return over_white(image, profile), turn


def pixels_of_pillow(image: Image.Image) -> Pixels:
    """Return the levels of a Pillow image as `decode_as_rgb` shows those of a file.

    Samples of 16 bits become the nearest of 256 levels, and what lies behind transparency white.

    Returns uint8 array (H, W, 3), RGB. Raises ValueError for a mode that does not say which value
    is white, such as F.
    """
    deep = image.mode.startswith("I;16") or (image.mode == "I" and image.format in _OF_16_BITS)
    if not deep and image.mode not in _OF_8_BITS:
        raise ValueError(
            f"a Pillow image of mode {image.mode}: nothing says which value is white; give it as"
            " RGB, L or I;16"
        )
    if not deep:
        return over_white(image, b"")
    values = np.asarray(image).astype(np.uint16)
    bits = getattr(image, "tag_v2", {}).get(_BITS, (16,))[0]  # Pillow opens TIFFs of 12, too
    levels = to_8_bit((values * np.uint32(65535) // ((1 << bits) - 1)).astype(np.uint16))
    if isinstance(clear := image.info.get("transparency"), int):
        levels[values == clear] = 255
    return np.repeat(levels[:, :, None], 3, axis=2)


def read_rgb(path: Path, colours: bool = False) -> Pixels:
    """Read an image of a folder as upright RGB (H, W, 3) uint8; see `decode_as_rgb`.

    colours: without, pixels are those that training and `gloam.judge` read, whatever its profile.

    Raises SourceError when it cannot be read or decoded.
    """
    try:
        data = npy_as_png(read_regular(path, byte_limit()))
        read_header(data)  # refuses what is too large
        return decode_as_rgb(data, colours)
    except ImageRefused as refusal:
        raise SourceError.at(path, refusal.detail) from refusal
    except OSError as error:
        raise SourceError.at(path, error.strerror or str(error)) from error


def find_reader_mismatch(data: bytes, pixels: Pixels) -> str:
    """Name the reader that shows a stored image differently from `decode`, or "".

    Those are OpenCV, which turns by EXIF and may show a frame of an animation, and Pillow with its
    turning, as training programs use them.

    data: the encoded image.
    pixels: uint8 array (H, W, 3); the result of `decode`.
    """
    for name, reader in (("OpenCV", _read_by_opencv), ("Pillow", _read_by_pillow)):
        try:
            with _refusing():
                theirs = reader(data)
        except ImageRefused as refusal:
            return f"{name} cannot read it: {refusal.detail}"
        if theirs.shape != pixels.shape:
            height, width = theirs.shape[:2]
            return f"{name} shows {width} x {height} pixels, not {pixels.shape[1]} x {len(pixels)}"
        if cv2.norm(theirs, pixels, cv2.NORM_L1) > _NEAR * pixels.size:
            return f"{name} shows other pixels"
    return ""


def _read_by_opencv(data: bytes) -> Pixels:
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    if pixels is None:
        raise ImageRefused(Reason.DAMAGED, "no image")
    return np.asarray(pixels, np.uint8)


def _read_by_pillow(data: bytes) -> Pixels:
    with warnings.catch_warnings(), open_lazily(data) as image:
        warnings.simplefilter("ignore")
        ImageOps.exif_transpose(image, in_place=True)
        return np.asarray(image if image.mode == "RGB" else image.convert("RGB"))


@contextmanager
def _refusing() -> Iterator[None]:
    """Make whatever decoders raise a refusal: a damaged image can raise nearly anything."""
    try:
        yield
    except GloamError:
        raise
    except MemoryError as error:
        raise ImageRefused(Reason.TOO_LARGE, "memory ran out while it was decoded") from error
    except Exception as error:
        short = isinstance(error, cv2.error) and error.code == cv2.Error.STS_NO_MEM
        reason = Reason.TOO_LARGE if short else Reason.DAMAGED
        raise ImageRefused(reason, first_line(error)) from error


def _jpeg_in_srgb(pixels: Pixels, profile: bytes) -> Pixels:
    """Bring the pixels of a JPEG, RGB or CMYK, to sRGB."""
    if not profile and pixels.shape[2] == 3:
        return pixels
    height, width, channels = pixels.shape
    mode = "RGB" if channels == 3 else "CMYK"
    image = Image.frombuffer(mode, (width, height), pixels.tobytes(), "raw", mode, 0, 1)
    return np.array(to_srgb(image, profile))


def over_white(image: Image.Image, profile: bytes) -> Pixels:
    """Bring an image to sRGB, and what is transparent over white; large ones a part at a time."""
    if (
        image.format == "BMP"
        and image.mode == "RGBA"
        and image.getchannel("A").getextrema() == (0, 0)
    ):
        image = image.convert("RGB")  # as its programs leave it where they know of no transparency
    width, height = image.size
    rows = max(1, _PART // max(1, width))
    if height <= rows:
        return _part_over_white(image, profile)
    made = np.empty((height, width, 3), np.uint8)
    for top in range(0, height, rows):
        part = image.crop((0, top, width, min(height, top + rows)))
        made[top : top + rows] = _part_over_white(part, profile)
    return made


def _part_over_white(image: Image.Image, profile: bytes) -> Pixels:
    if image.mode == "P" and "transparency" not in image.info:
        image = image.convert("RGB")
    if image.mode == "La":
        image = image.convert("LA")
    alpha = None
    if image.mode in _ALPHA or "transparency" in image.info:
        grey = image.mode in ("LA", "La")
        rgba = image.convert("RGBA")
        alpha = rgba.getchannel("A")
        image = rgba.convert("RGB").convert("L") if grey else rgba.convert("RGB")
    if image.mode not in ("L", "RGB", "CMYK"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    image = to_srgb(image, profile)
    if alpha is not None:
        image.putalpha(alpha)
        image = Image.alpha_composite(Image.new("RGBA", image.size, (255, 255, 255, 255)), image)
        image = image.convert("RGB")
    return np.ascontiguousarray(np.asarray(image))
