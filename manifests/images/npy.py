"""`.npy` files: images, as the field's repacks of SID, SMID and SDSD keep them; arrays written."""

from __future__ import annotations

import io
import struct

import cv2
import numpy as np
import numpy.typing as npt

from ...errors import ImageRefused, Reason

MAGIC = b"\x93NUMPY"
SUFFIX = ".npy"
_HEADER = 128  # bytes before the numbers


def read_npy(data: bytes) -> npt.NDArray[np.uint8 | np.uint16]:
    """Read an image (H, W, 3) or (H, W) of uint8, uint16, or floats from 0 to 1.

    Colours are in OpenCV's order, blue first, as whoever wrote such files read them by OpenCV.

    Returns uint8 or uint16 array (H, W, 3): RGB; floats become 16 bits.

    Raises ImageRefused when it is damaged, or no such image.
    """
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError, MemoryError) as error:
        raise ImageRefused(Reason.DAMAGED, f"no array: {error}") from None
    if array.ndim == 2:
        array = np.repeat(array[..., None], 3, axis=2)
    if array.ndim != 3 or array.shape[2] != 3 or not array.size:
        raise ImageRefused(Reason.UNSUPPORTED, f"an array {array.shape}, not (H, W, 3)")
    if array.dtype.kind == "f" and array.min() >= 0 and array.max() <= 1:
        array = np.rint(array.astype(np.float64) * 65535).astype(np.uint16)
    if array.dtype not in (np.uint8, np.uint16):
        raise ImageRefused(
            Reason.UNSUPPORTED, f"{array.dtype}: uint8, uint16, or floats from 0 to 1 are read"
        )
    return np.ascontiguousarray(array[..., ::-1])


def npy_as_png(data: bytes) -> bytes:
    """Return the image of a `.npy` file as PNG of its depth, which every decoder reads.

    Raises ImageRefused as `read_npy`.
    """
    bgr = read_npy(data)[..., ::-1]
    done, png = cv2.imencode(".png", bgr, [cv2.IMWRITE_PNG_COMPRESSION, 0])
    if not done:
        raise ImageRefused(Reason.UNSUPPORTED, f"an array {bgr.shape} of {bgr.dtype}")
    return png.tobytes()


def npy_bytes(array: npt.NDArray[np.generic]) -> bytes:
    """Return an array as a file of NumPy's format 1.0, whose bytes no version of NumPy decides.

    The header is always 128 bytes long (numpy.lib.format).
    """
    shape = f"({', '.join(map(str, array.shape))}{',' if array.ndim == 1 else ''})"
    text = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
    length = _HEADER - len(MAGIC) - 4
    header = text.encode("ascii").ljust(length - 1) + b"\n"
    return MAGIC + b"\x01\x00" + struct.pack("<H", length) + header + array.tobytes()
