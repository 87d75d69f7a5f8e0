"""Photographs and containers for the tests of `gloam.manifests`; all of them real files, made where
they are needed."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import skimage
from PIL import Image

Pixels = npt.NDArray[np.uint8]
Files = dict[str, bytes]


def _photograph(seed: int = 0, width: int = 96, height: int = 72) -> Pixels:
    """A well lit, sharp, colourful picture (H, W, 3): coloured boxes on a slope of light, with a
    fine texture."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    slope = 90 + 90 * (x * rng.uniform(0.2, 1) / width + y * rng.uniform(0.2, 1) / height)
    pixels = slope[:, :, None] * rng.uniform(0.7, 1.1, 3)
    for _ in range(14):
        top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
        pixels[top : top + height // 4, left : left + width // 4] = rng.integers(40, 245, 3)
    pixels += rng.normal(0, 12, (height, width, 1))
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def _encoded(pixels: npt.NDArray[Any], file_format: str, mode: str = "", **options: Any) -> bytes:
    image = Image.fromarray(pixels)
    out = io.BytesIO()
    (image.convert(mode) if mode else image).save(out, file_format, **options)
    return out.getvalue()


def _fill_folder(root: Path, files: Files) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def _tar_bytes(files: Files, tar_format: int = tarfile.USTAR_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=tar_format, errors="surrogateescape"
    ) as archive:
        for name, data in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return out.getvalue()


def _write_tar(path: Path, files: Files, tar_format: int = tarfile.USTAR_FORMAT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_tar_bytes(files, tar_format))
    return path


def _write_zip(path: Path, files: Files, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.fixture(scope="session")
def photograph() -> Callable[..., Pixels]:
    """photograph(seed, width, height): uint8 RGB (H, W, 3)."""
    return _photograph


@pytest.fixture(scope="session")
def encoded() -> Callable[..., bytes]:
    """encoded(pixels, format, mode="", **options of Pillow's `save`): the bytes of an image
    file."""
    return _encoded


@pytest.fixture(scope="session")
def fill_folder() -> Callable[[Path, Files], Path]:
    """fill_folder(root, {name: bytes}): the root."""
    return _fill_folder


@pytest.fixture(scope="session")
def tar_bytes() -> Callable[..., bytes]:
    """tar_bytes({name: bytes}, format=USTAR): a whole plain tar."""
    return _tar_bytes


@pytest.fixture(scope="session")
def write_tar() -> Callable[..., Path]:
    """write_tar(path, {name: bytes}, format=USTAR): the path."""
    return _write_tar


@pytest.fixture(scope="session")
def write_zip() -> Callable[..., Path]:
    """write_zip(path, {name: bytes}, compression=ZIP_DEFLATED): the path."""
    return _write_zip


@pytest.fixture(scope="session")
def jpegs() -> list[bytes]:
    """A dozen different small JPEG files."""
    return [_encoded(_photograph(seed, 40, 30), "JPEG", quality=90) for seed in range(12)]


@pytest.fixture(scope="session")
def skimage_data() -> Path:
    """The folder of photographs inside scikit-image."""
    return Path(skimage.__file__).parent / "data"


@pytest.fixture
def odd_name(tmp_path: Path) -> str:
    """A file name that is not valid UTF-8, as Python shows it; skips where the file system refuses
    such names."""
    name = os.fsdecode(b"caf\xe9.jpg")
    probe = tmp_path / "probe"
    probe.mkdir()
    try:
        (probe / name).touch()
    except OSError:
        pytest.skip("this file system takes only names that are valid text")
    return name
