"""Images as strangers hand them in: every backend shows them alike, or refuses them by name."""

from __future__ import annotations

import io
import os
import struct
import zlib

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

import gloam
from gloam.errors import LoaderError
from gloam.manifests.images.decode import decode_as_rgb

pytest.importorskip("torch")
pytest.importorskip("nvidia.dali")

BACKENDS = ["torch", "dali"]
DEEP = cv2.resize(
    np.random.default_rng(0).integers(0, 65000, (6, 6, 3)).astype(np.uint16),
    (40, 32),
    interpolation=cv2.INTER_LINEAR,
)


def tiff(samples, photometric, **options):
    out = io.BytesIO()
    tifffile.imwrite(out, np.ascontiguousarray(samples), photometric=photometric, **options)
    return out.getvalue()


FILES = {
    "planes.tif": lambda: tiff(np.moveaxis(DEEP, 2, 0), "rgb", planarconfig="separate"),
    "white.tif": lambda: tiff(65535 - DEEP[:, :, 1], "miniswhite"),
    "plain.tif": lambda: tiff(DEEP, "rgb", byteorder=">", compression="zlib"),
    "deep.png": lambda: cv2.imencode(".png", DEEP[:, :, ::-1])[1].tobytes(),
}


def shown(path, backend, kind, size):
    """Return the pixels (H, W, 3) that a loader of "pairs", "live" ones or "images" hands out."""
    common = {"split": "val", "batch_size": 1, "dtype": "uint8", "layout": "HWC", "device": "cpu"}
    common |= {"backend": backend, "workers": 1 if backend == "dali" else 0}
    if kind == "images":
        return next(iter(gloam.ImageLoader([path], **common, size=size)))[0][0].numpy()
    given = [str(path)] if kind == "live" else [(str(path), str(path))]
    return next(iter(gloam.PairLoader(given, **common, live=kind == "live")))[1][0].numpy()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["pairs", "live", "images"])
def test_16_bits_are_the_nearest_levels_with_every_loader(tmp_path, name, backend, kind):
    path = tmp_path / name
    path.write_bytes(FILES[name]())
    wanted = np.repeat(DEEP[:, :, 1:2], 3, axis=2) if name == "white.tif" else DEEP
    levels = np.rint(wanted / 257).astype(np.uint8)
    assert np.array_equal(shown(path, backend, kind, DEEP.shape[:2]), levels)


def seen_through(value):
    """Return a PNG of 16 bits, of which a value (grey or BGR) or a level of opacity is given."""
    if np.ndim(value) == 0:
        return cv2.imencode(
            ".png", np.dstack([DEEP[:, :, ::-1], np.full_like(DEEP[:, :, 0], value)])
        )[1]
    kinds = struct.pack(f">{len(value)}H", *value)
    chunk = struct.pack(">I", len(kinds)) + b"tRNS" + kinds
    plain = cv2.imencode(".png", DEEP[:, :, 1] if len(value) == 1 else DEEP[:, :, ::-1])[
        1
    ].tobytes()
    return plain[:33] + chunk + struct.pack(">I", zlib.crc32(chunk[4:])) + plain[33:]


@pytest.mark.parametrize(
    "value", [20000, DEEP[3, 3, 1:2], DEEP[3, 3]], ids=["alpha", "grey", "rgb"]
)
@pytest.mark.parametrize("kind", ["pairs", "live", "images"])
def test_what_lies_behind_transparency_of_16_bits_is_white_with_every_loader(tmp_path, value, kind):
    path = tmp_path / "x.png"
    path.write_bytes(seen_through(value))
    wanted = decode_as_rgb(path.read_bytes())
    assert np.array_equal(wanted[3, 3] == 255, [np.ndim(value) == 1] * 3)
    for backend in BACKENDS:
        assert np.array_equal(shown(path, backend, kind, wanted.shape[:2]), wanted)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deep.png", "pair 0, low cannot be"),
        ("plain.tif", "^an image of the list, given as bytes: "),
    ],
)
def test_a_deep_image_cut_short_is_named_if_it_is_no_file(name, said):
    cut = FILES[name]()[:-100]
    loader = gloam.PairLoader([(cut, cut)], "val", batch_size=1, device="cpu", backend="dali")
    with pytest.raises(LoaderError, match=said):
        next(iter(loader))


def large(name):
    out = io.BytesIO()
    Image.new("RGB", (300, 200)).save(out, name)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["pairs", "live", "images"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["PNG", "JPEG", "BMP", "TIFF", "WEBP", "GIF"])
def test_sizes_of_headers_are_compared_with_the_limit(tmp_path, monkeypatch, name, backend, kind):
    path = tmp_path / f"large.{name.lower()}"
    path.write_bytes(large(name))
    monkeypatch.setenv("GLOAM_MAX_PIXELS", "50000")
    options = {"split": "val", "batch_size": 1, "size": 32, "device": "cpu", "backend": backend}
    options["workers"] = 1 if backend == "dali" else 0
    if kind == "images":
        loader = gloam.ImageLoader([path], **options)
    else:
        given = [str(path)] if kind == "live" else [(str(path), str(path))]
        loader = gloam.PairLoader(given, **options, live=kind == "live")
    with pytest.raises(LoaderError, match=rf"large\.{name.lower()}") as told:
        next(iter(loader))
    if name != "GIF":
        assert "300 x 200 pixels, the limit is 50,000" in str(told.value)


def test_a_set_s_own_image_beyond_the_limit_is_told(shards, monkeypatch):
    monkeypatch.setenv("GLOAM_MAX_PIXELS", "1000")
    for backend in BACKENDS:
        workers = 1 if backend == "dali" else 0
        loader = gloam.PairLoader(
            shards, batch_size=2, size=32, device="cpu", backend=backend, workers=workers
        )
        with pytest.raises(LoaderError, match="the limit is 1,000"):
            next(iter(loader))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_picture_with_a_hole_behind_it_does_not_fill_the_memory(tmp_path, backend):
    path = tmp_path / "x.jpg"
    path.write_bytes(cv2.imencode(".jpg", np.zeros((64, 64, 3), np.uint8))[1].tobytes())
    os.truncate(path, 300 << 20)
    options = {"batch_size": 1, "size": 32, "device": "cpu", "backend": backend, "workers": 1}
    loader = gloam.ImageLoader([path], **options)
    with pytest.raises(LoaderError, match=r"x\.jpg.*bytes, of which next to nothing is stored"):
        next(iter(loader))
