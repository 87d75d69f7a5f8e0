"""Orientations that metadata speak of: EXIF (CIPA DC-008, a TIFF of its own) and XMP.

Readers differ in what they make of odd ones: another type or count, a second block, a place where
the format's specification has none.
"""

from __future__ import annotations

import re

_ORIENTATION = 0x0112
_SHORT, _LONG = 3, 4  # TIFF 6.0, section 2
_XMP = re.compile(rb"tiff:Orientation\s*(?:=\s*[\"']|>)\s*([2-8])")


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
