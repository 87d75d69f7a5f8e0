"""AVIF and HEIC (ISO/IEC 14496-12, 23008-12): the colours that their boxes say."""

from __future__ import annotations

import struct

from PIL import Image

from .colour import cicp_profile

_COLOUR = b"colrnclx"  # type of the box, and of what it holds (ISO/IEC 14496-12, 12.1.5)


def profile_of(image: Image.Image, data: bytes) -> bytes:
    """Return the ICC profile of an opened image: its own, or one of its code points.

    Raises ImageRefused: "unsupported", for a high dynamic range.
    """
    profile: bytes = image.info.get("icc_profile") or b""
    if profile or data[4:8] != b"ftyp":
        return profile
    offset = data.find(_COLOUR)
    if offset < 0 or offset + 12 > len(data):
        return b""
    return cicp_profile(*struct.unpack(">HH", data[offset + 8 : offset + 12]))
