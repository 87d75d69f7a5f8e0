"""Colours to sRGB, by ICC profile (ICC.1) or the code points of ITU-T H.273, with LittleCMS.

Lows are made of normals by sRGB's curve, and most readers look at no profile.
"""

from __future__ import annotations

import io
import struct
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageCms

from ...errors import ImageRefused, Reason

_SEEN = 2  # levels; profiles of sRGB by other makers differ by less
_GRID = 9  # colours along each channel that a profile is tried on
_SPACES = {"GRAY": "L", "RGB ": "RGB", "CMYK": "CMYK"}
_BOX = b"colrnclx"  # type of the box, and of what it holds (ISO/IEC 14496-12, 12.1.5)
_PQ, _HLG = 16, 18
_LOG, _XYZ = (9, 10), 10
HIGH_RANGE = "a high dynamic range (PQ or HLG), which has no 8-bit levels"
"""Why colours are refused."""
_POWERS = {4: 2.2, 5: 2.8, 8: 1.0, 17: 2.6}  # H.273, table 3; all others are shown by sRGB's curve
_SRGB = ((0.640, 0.330), (0.300, 0.600), (0.150, 0.060))
_D65, _C, _D50 = (0.3127, 0.3290), (0.310, 0.316), (0.3457, 0.3585)
_PRIMARIES = {
    4: ((0.67, 0.33), (0.21, 0.71), (0.14, 0.08), _C),
    5: ((0.64, 0.33), (0.29, 0.60), (0.15, 0.06), _D65),
    6: ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), _D65),
    7: ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), _D65),
    8: ((0.681, 0.319), (0.243, 0.692), (0.145, 0.049), _C),
    9: ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046), _D65),
    11: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), (0.314, 0.351)),
    12: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), _D65),
    22: ((0.630, 0.340), (0.295, 0.605), (0.155, 0.077), _D65),
}  # H.273, table 2: red, green, blue, white; those that are missing are shown as sRGB's
_BRADFORD = np.array(
    [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]]
)  # ICC.1:2022, annex E


def to_srgb(image: Image.Image, profile: bytes) -> Image.Image:
    """Convert an image of mode L, RGB or CMYK to RGB in sRGB, as colour-managed viewers show it.

    A profile that cannot be read, or is of other channels than the image, says nothing; without
    one, samples are taken for sRGB.
    """
    if image.mode == "L" and _mode_of(profile) == "RGB":
        image = image.convert("RGB")
    transform = _transform(profile, image.mode) if _mode_of(profile) == image.mode else None
    if transform is None:
        return image if image.mode == "RGB" else image.convert("RGB")
    return ImageCms.applyTransform(image, transform) or image


def is_srgb(profile: bytes) -> bool:
    """Return whether RGB pixels with a profile are shown as they are without it."""
    return _mode_of(profile) != "RGB" or _transform(profile, "RGB") is None


def cicp_profile(primaries: int, transfer: int) -> bytes:
    """Make an ICC profile of code points of ITU-T H.273; nothing for those that mean sRGB.

    Raises ImageRefused: "unsupported", where the transfer function is that of a high dynamic range,
    or logarithmic, or the channels are CIE's X, Y and Z.
    """
    if transfer in (_PQ, _HLG):
        raise ImageRefused(Reason.UNSUPPORTED, HIGH_RANGE)
    if transfer in _LOG:
        raise ImageRefused(Reason.UNSUPPORTED, "a logarithmic curve")
    if primaries == _XYZ:
        raise ImageRefused(Reason.UNSUPPORTED, "colours as CIE XYZ (SMPTE ST 428-1)")
    if primaries not in _PRIMARIES and transfer not in _POWERS:
        return b""
    *corners, white = _PRIMARIES.get(primaries, (*_SRGB, _D65))
    return _matrix_profile(tuple(corners), white, _POWERS.get(transfer))


def profile_of(image: Image.Image, data: bytes) -> bytes:
    """Return the ICC profile of an opened image: its own, or one of the code points in its boxes.

    AVIF and HEIC have those (ISO/IEC 23008-12). Raises ImageRefused: "unsupported", for a high
    dynamic range.
    """
    profile: bytes = image.info.get("icc_profile") or b""
    if profile or data[4:8] != b"ftyp":
        return profile
    offset = data.find(_BOX)
    if offset < 0 or offset + 12 > len(data):
        return b""
    return cicp_profile(*struct.unpack(">HH", data[offset + 8 : offset + 12]))


@lru_cache(maxsize=64)
def _mode_of(profile: bytes) -> str:
    """Return the mode of the images that a profile is of, "" where it cannot be read."""
    return _SPACES.get(profile[16:20].decode("latin-1"), "")


@lru_cache(maxsize=64)
def _transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """Make the transform of a profile to sRGB; None where it changes nothing, or cannot be made."""
    try:
        own = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        transform = ImageCms.buildTransform(own, ImageCms.createProfile("sRGB"), mode, "RGB")
    except (ImageCms.PyCMSError, OSError, TypeError, ValueError):
        return None
    if mode == "RGB":
        steps = np.linspace(0, 255, _GRID).round().astype(np.uint8)
        grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(_GRID, -1, 3)
        shown = np.asarray(ImageCms.applyTransform(Image.fromarray(grid), transform))
        if np.abs(shown.astype(int) - grid).max() <= _SEEN:
            return None
    return transform


def _matrix_profile(
    corners: tuple[tuple[float, float], ...], white: tuple[float, float], power: float | None
) -> bytes:
    """Write a display profile of three primaries, a white and one curve (ICC.1:2001, 6.3.1.2).

    The curve is a power, or sRGB's.
    """
    to_xyz = np.array([_xyz_of(corner) for corner in corners]).T
    to_xyz = to_xyz * np.linalg.solve(to_xyz, _xyz_of(white))
    cones = np.diag((_BRADFORD @ _xyz_of(_D50)) / (_BRADFORD @ _xyz_of(white)))
    to_xyz = np.linalg.inv(_BRADFORD) @ cones @ _BRADFORD @ to_xyz
    x = np.linspace(0, 1, 4096)
    if power is None:
        y = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    else:
        y = x**power
    curve = b"curv\0\0\0\0" + struct.pack(">I", len(y)) + np.rint(y * 65535).astype(">u2").tobytes()
    tags = {
        b"desc": b"desc\0\0\0\0" + struct.pack(">I", 1) + bytes(79),
        b"cprt": b"text\0\0\0\0\0\0\0\0",
        b"wtpt": _xyz_tag(_xyz_of(_D50)),
    }
    for number, channel in enumerate(b"rgb"):
        tags[bytes([channel]) + b"XYZ"] = _xyz_tag(to_xyz[:, number])
        tags[bytes([channel]) + b"TRC"] = curve
    table, body = struct.pack(">I", len(tags)), b""
    for name, tag in tags.items():
        table += name + struct.pack(">II", 132 + 12 * len(tags) + len(body), len(tag))
        body += tag + bytes(-len(tag) % 4)
    size = 128 + len(table) + len(body)
    head = struct.pack(">I4xI", size, 0x02400000) + b"mntrRGB XYZ " + bytes(12) + b"acsp"
    head = head.ljust(68, b"\0") + _xyz_tag(_xyz_of(_D50))[8:]
    return head.ljust(128, b"\0") + table + body


def _xyz_of(xy: tuple[float, float]) -> npt.NDArray[np.float64]:
    x, y = xy
    return np.array([x / y, 1.0, (1 - x - y) / y])


def _xyz_tag(values: npt.NDArray[np.float64]) -> bytes:
    return b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(float(v) * 65536) for v in values))
