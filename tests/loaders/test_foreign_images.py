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
from gloam.manifests.images.decode import decode_as_rgb, decode_at_depth, read_rgb
from gloam.manifests.images.normals import load_normal

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


PICTURE = np.rint(DEEP / 257).astype(np.uint8)
OPAQUE = np.clip(np.add.outer(6 * np.arange(32), 4 * np.arange(40)) - 40, 0, 255).astype(np.uint8)
PALETTE = Image.fromarray(PICTURE).quantize(200)


def pillow_s(kind, picture, **options):
    out = io.BytesIO()
    Image.fromarray(picture).save(out, kind, **options)
    return out.getvalue()


def bmp_with_alpha():
    masks = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF << 24)
    head = struct.pack("<IiiHHIIiiII", 108, 40, -32, 1, 32, 3, 0, 0, 0, 0, 0) + masks
    head = b"BM" + struct.pack("<IHHI", 122 + 4 * OPAQUE.size, 0, 0, 122) + head.ljust(108, b"\0")
    return head + np.dstack([PICTURE[:, :, ::-1], OPAQUE]).tobytes()


def two_frames(kind, first=PICTURE, **options):
    more = [Image.fromarray(np.full_like(first, 99)), Image.fromarray(first)]
    return pillow_s(kind, first, save_all=True, append_images=more, **options)


CLEAR = np.dstack([PICTURE, OPAQUE])
GREY = np.dstack([PICTURE[:, :, 1], OPAQUE])
LOSSLESS = {"lossless": True, "exact": True}
OVER_WHITE = {
    "alpha.png": lambda: pillow_s("PNG", CLEAR),
    "grey.png": lambda: pillow_s("PNG", GREY),
    "alpha.webp": lambda: pillow_s("WEBP", CLEAR, **LOSSLESS),
    "alpha.bmp": bmp_with_alpha,
    "alpha.tif": lambda: tiff(CLEAR, "rgb", extrasamples=["unassalpha"]),
    "frames.webp": lambda: two_frames("WEBP", CLEAR, **LOSSLESS),
    "frames.png": lambda: two_frames("PNG", CLEAR),
}
ANY = OVER_WHITE | {
    "palette.png": lambda: pillow_s("PNG", PICTURE, transparency=tuple(PICTURE[3, 3].tolist())),
    "entries.png": lambda: saved(PALETTE, transparency=bytes(range(200))),
    "behind.png": lambda: two_frames("PNG", default_image=True),
    "late.png": lambda: with_late_transparency(pillow_s("PNG", PICTURE)),
    "frames.jpg": lambda: two_frames("MPO"),
    "pages.tif": lambda: two_frames("TIFF"),
    "lossy.webp": lambda: pillow_s("WEBP", CLEAR, quality=90),
    "alpha.avif": lambda: pillow_s("AVIF", CLEAR),
    "frames.avif": lambda: two_frames("AVIF"),
}


def saved(image, **options):
    out = io.BytesIO()
    image.save(out, "PNG", **options)
    return out.getvalue()


def with_late_transparency(plain):
    chunk = b"tRNS" + struct.pack(">3H", *PICTURE[3, 3].tolist())
    chunk = struct.pack(">I", 6) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return plain[:-12] + chunk + plain[-12:]


@pytest.mark.parametrize("name", ANY)
def test_every_reader_takes_one_picture_of_a_file_and_what_it_shows_over_white(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(ANY[name]())
    data, wanted = path.read_bytes(), read_rgb(path)
    found = {"build": load_normal(data).pixels, "judge": decode_at_depth(data)}
    for kind in ("pairs", "live", "images"):
        for backend in BACKENDS:
            found[f"{kind} by {backend}"] = shown(path, backend, kind, wanted.shape[:2])
    options = {"batch_size": 1, "dtype": "uint8", "layout": "HWC", "device": "cpu"}
    for more in ({"decoder": "pillow"}, {"resident": True, "backend": "dali"}):
        loader = gloam.PairLoader([(str(path), str(path))], "val", **options, **more)
        found[str(more)] = next(iter(loader))[1][0].numpy()
    near = 3 if name == "frames.jpg" else 0  # which build encodes anew
    assert {
        one for one, own in found.items() if np.abs(own - wanted.astype(int)).max() > near
    } == set()
    if name in OVER_WHITE:
        share = OPAQUE[:, :, None] / 255
        colours = PICTURE[:, :, 1:2] if name == "grey.png" else PICTURE
        assert np.abs(wanted - (colours * share + 255 * (1 - share))).max() <= 1
    elif name in ("behind.png", "late.png", "pages.tif"):
        assert np.array_equal(wanted, PICTURE)


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


@pytest.mark.parametrize("suffix", ["jp2", "ppm", "pgm"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["pairs", "live", "images"])
def test_formats_that_one_decoder_alone_reads_are_refused_by_all(tmp_path, suffix, backend, kind):
    picture = DEEP if suffix != "pgm" else DEEP[..., 0]
    path = tmp_path / "x.png"
    path.write_bytes(cv2.imencode(f".{suffix}", picture)[1].tobytes())
    with pytest.raises(LoaderError, match=rf"{path}.*no JPEG, PNG, TIFF, BMP, WebP, AVIF or HEIC"):
        shown(path, backend, kind, DEEP.shape[:2])
