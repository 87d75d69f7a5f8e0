"""`.npy` files: images, as the field's repacks of SID, SMID and SDSD keep them; arrays written."""

from __future__ import annotations

import io
import math
import struct
import warnings
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ...errors import ImageRefused, Reason, first_line
from .opening import check_pixels, encode_by_opencv

MAGIC = b"\x93NUMPY"
SUFFIX = ".npy"
_HEADER = 128  # bytes before the numbers
_KINDS = [np.dtype(order + kind) for kind in ("u1", "u2") for order in "<>"]


def read_npy(data: bytes) -> npt.NDArray[np.uint8 | np.uint16]:
    """Read an image (H, W, 3) or (H, W) of uint8, uint16, or floats from 0 to 1.

    Colours are in OpenCV's order, blue first, as whoever wrote such files read them by OpenCV.

    Returns uint8 or uint16 array (H, W, 3): RGB; floats become 16 bits.

    Raises ImageRefused when it is damaged, too large, or no such image.
    """
    array = _array_in_file(data)
    if array.ndim == 2:
        array = np.broadcast_to(array[..., None], (*array.shape, 3))
    if array.dtype.kind == "f":
        if not (array.min() >= 0 and array.max() <= 1):
            raise _unread_type(array.dtype)
        made = np.empty(array.shape, np.uint16)
        for row, values in zip(made, array, strict=True):  # in float64, which is large
            row[:] = np.rint(values.astype(np.float64) * 65535)
        array = made
    return np.array(array[..., ::-1], array.dtype.newbyteorder("="), order="C")


def _array_in_file(data: bytes) -> npt.NDArray[Any]:
    """Return the array of a file where it lies, (H, W, 3) or (H, W), once its header is checked."""
    file = io.BytesIO(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            one = np.lib.format.read_magic(file) == (1, 0)
            read = (
                np.lib.format.read_array_header_1_0 if one else np.lib.format.read_array_header_2_0
            )
            shape, by_columns, kind = read(file)
    except Exception as error:  # its header is a Python literal, which can raise nearly anything
        raise ImageRefused(Reason.DAMAGED, f"no array: {first_line(error)}") from None
    if (
        len(shape) not in (2, 3)
        or not all(type(side) is int and 0 < side < 1 << 31 for side in shape)
        or shape[2:] not in ((), (3,))
    ):
        raise ImageRefused(Reason.UNSUPPORTED, f"an array {str(shape)[:60]}, not (H, W, 3)")
    if kind.kind != "f" and kind not in _KINDS:
        raise _unread_type(kind)
    check_pixels(shape[1], shape[0])
    count, begin = math.prod(shape), file.tell()
    if begin + count * kind.itemsize > len(data):
        raise ImageRefused(Reason.DAMAGED, "no array: the file ends early")
    array = np.frombuffer(data, kind, count, begin)
    return array.reshape(shape[::-1]).T if by_columns else array.reshape(shape)


def _unread_type(kind: np.dtype[Any]) -> ImageRefused:
    """Return the refusal of numbers of another type or range."""
    return ImageRefused(
        Reason.UNSUPPORTED, f"{str(kind)[:60]}: uint8, uint16, or floats from 0 to 1 are read"
    )


def npy_as_png(data: bytes) -> bytes:
    """Return the image of a `.npy` file as PNG of its depth, which every decoder reads.

    Other images are returned as they are. Raises ImageRefused as `read_npy`.
    """
    if not data.startswith(MAGIC):
        return data
    return encode_by_opencv(read_npy(data)[..., ::-1], cv2.IMWRITE_PNG_COMPRESSION, 0)


def npy_bytes(array: npt.NDArray[np.generic]) -> bytes:
    """Return an array as a file of NumPy's format 1.0, whose bytes no version of NumPy decides.

    The header is always 128 bytes long (numpy.lib.format).
    """
    shape = f"({', '.join(map(str, array.shape))}{',' if array.ndim == 1 else ''})"
    text = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
    length = _HEADER - len(MAGIC) - 4
    header = text.encode("ascii").ljust(length - 1) + b"\n"
    return MAGIC + b"\x01\x00" + struct.pack("<H", length) + header + array.tobytes()
