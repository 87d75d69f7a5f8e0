"""Images in `.npy` files: whatever a header says is read right, or refused in one line."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gloam.errors import ImageRefused, SourceError
from gloam.manifests.images.decode import read_rgb
from gloam.manifests.images.npy import read_npy

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (7, 9, 3), np.uint8)
DEEP = RNG.integers(0, 65536, (7, 9, 3)).astype(np.uint16)


def written(array: npt.NDArray[Any], version: tuple[int, int] = (1, 0)) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize(
    ("stored", "levels"),
    [
        (BYTES, BYTES),
        (np.asfortranarray(BYTES), BYTES),
        (BYTES[:, :, 0], np.repeat(BYTES[:, :, :1], 3, axis=2)),
        (DEEP, DEEP),
        (DEEP.astype(">u2"), DEEP),
        (DEEP / 65535, DEEP),
        ((DEEP / np.float32(65535)).astype(">f4"), DEEP),
    ],
)
def test_images_are_read_in_every_order(
    stored: npt.NDArray[Any], levels: npt.NDArray[Any], version: tuple[int, int]
) -> None:
    read = read_npy(written(stored, version))
    assert read.dtype == levels.dtype
    assert read.dtype.isnative
    assert np.array_equal(read[..., ::-1], levels)


USUAL = "{'descr': %s, 'fortran_order': False, 'shape': %s, }"
HEADERS = {
    "not closed": "{'descr': (",
    "a string that is not closed": "{'descr': '''abc",
    "brackets": "(" * 9000,
    "zeros": "0" * 9000,
    "digits": USUAL % ("'|u1'", f"({'9' * 40}, 4, 3)"),
    "more digits": USUAL % ("'|u1'", f"({'9' * 5000}, 4, 3)"),
    "bool": USUAL % ("'|u1'", "(True, True, 3)"),
    "negative": USUAL % ("'|u1'", "(-1, 8, 3)"),
    "float": USUAL % ("'|u1'", "(8., 8, 3)"),
    "tuples": USUAL % ("(" * 95 + "'u1'" + ",)" * 95, "(8, 8, 3)"),
    "another type of key": "{1: 2, 'descr': '|u1', 'shape': (8, 8, 3)}",
    "list as key": "{[]: 1}",
    "no mapping": "3",
    "empty": "",
    "zero": "\0\0\0",
    "object": USUAL % ("'|O'", "(8, 8, 3)"),
    "record": USUAL % ("[('a', '|u1')]", "(8, 8, 3)"),
    "array in array": USUAL % ("('|u1', (3,))", "(8, 8)"),
    "void": USUAL % ("'|V3'", "(8, 8)"),
    "no numbers": USUAL % ("'|u1'", "(0, 8, 3)"),
    "more numbers than bytes": USUAL % ("'|u1'", "(80, 8, 3)"),
    "four channels": USUAL % ("'|u1'", "(8, 6, 4)"),
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("version", [1, 2, 3, 9])
def test_whatever_reading_a_header_raises_is_one_line(
    header: str, version: int, tmp_path: Path
) -> None:
    text = HEADERS[header].encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + length + text + bytes(192))
    with pytest.raises(SourceError, match=r"x\.npy: ") as refused:
        read_rgb(path)
    assert len(str(refused.value).splitlines()) == 1


def test_the_size_is_compared_before_the_numbers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "large.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "|u1", "fortran_order": False, "shape": (8000, 7000)}
        )
        file.write(bytes(8000 * 7000))
    with pytest.raises(SourceError, match=r"large\.npy: 7000 x 8000 pixels, the limit"):
        read_rgb(path)
    sparse = tmp_path / "sparse.npy"
    with path.open("rb") as file, sparse.open("wb") as hollow:
        hollow.write(file.read(128))
        hollow.truncate(path.stat().st_size)
    with pytest.raises(SourceError, match=r"sparse\.npy: .* of which next to nothing is stored"):
        read_rgb(sparse)


@pytest.mark.parametrize("values", [[np.nan, 0.5], [-0.1, 0.5], [0.1, 1.5]])
def test_floats_of_another_range_are_unsupported(values: list[float]) -> None:
    with pytest.raises(ImageRefused, match="floats from 0 to 1 are read") as refused:
        read_npy(written(np.array([values])))
    assert refused.value.reason == "unsupported"
