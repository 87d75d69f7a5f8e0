"""TIFFs of other compressions, depths, layouts and orientations."""

from __future__ import annotations

import io
import struct
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest
import tifffile

from gloam.errors import ImageRefused
from gloam.manifests.images.decode import decode_as_rgb, decode_at_depth
from gloam.manifests.images.header import read_header
from gloam.manifests.images.normals import load_normal

from .making import ORIENTATION_TAG, STORED_FROM_UPRIGHT, tiff_of


def deep(photograph: Any, seed: int = 1) -> npt.NDArray[np.uint16]:
    """A picture of 16-bit samples, (40, 64, 3)."""
    low = np.random.default_rng(seed).integers(-128, 129, (40, 64, 3))
    return np.clip(photograph(seed, 64, 40).astype(int) * 257 + low, 0, 65535).astype(np.uint16)


def levels(samples: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    """The nearest of 256 levels, of three channels."""
    found = np.rint(samples * (255 / 65535)).astype(np.uint8)
    return found if found.ndim == 3 else np.repeat(found[:, :, None], 3, axis=2)


def by_opencv(samples: npt.NDArray[Any], compression: int, predictor: int = 1) -> bytes:
    stored = samples[:, :, [2, 1, 0, 3][: samples.shape[2]]] if samples.ndim == 3 else samples
    options = [cv2.IMWRITE_TIFF_COMPRESSION, compression, cv2.IMWRITE_TIFF_PREDICTOR, predictor]
    return bytes(cv2.imencode(".tif", np.ascontiguousarray(stored), options)[1])


def turned_in_place(data: bytes, turn: int) -> bytes:
    """A TIFF of OpenCV's with an orientation: its first tag's number and value are changed."""
    place = int.from_bytes(data[4:8], "little") + 2
    count = int.from_bytes(data[place - 2 : place], "little")
    entries = [data[place + 12 * i : place + 12 * i + 12] for i in range(count)]
    kept = [entry for entry in entries if int.from_bytes(entry[:2], "little") != ORIENTATION_TAG]
    new = np.array([ORIENTATION_TAG, 3], "<u2").tobytes() + np.array([1, turn], "<u4").tobytes()
    table = sorted([*kept, new], key=lambda entry: int.from_bytes(entry[:2], "little"))
    head = data[:4] + len(data).to_bytes(4, "little") + data[8:]
    return head + len(table).to_bytes(2, "little") + b"".join(table) + bytes(4)


@pytest.mark.parametrize("compression", [1, 5, 8, 32773])
@pytest.mark.parametrize("predictor", [1, 2])
@pytest.mark.parametrize("shape", ["grey", "rgb", "rgba"])
def test_16_bits_as_opencv_writes_them_become_the_nearest_levels(
    photograph: Any, compression: int, predictor: int, shape: str
) -> None:
    samples = deep(photograph)
    if shape == "grey":
        samples = samples[:, :, 1]
    if shape == "rgba":
        samples = np.dstack([samples, np.full(samples.shape[:2], 65535, np.uint16)])
    normal = load_normal(by_opencv(samples, compression, predictor))
    assert np.array_equal(normal.pixels, levels(samples[..., :3] if shape == "rgba" else samples))


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("compression", [1, 5])
@pytest.mark.parametrize("bits", [8, 16])
def test_every_compression_is_turned_alike(
    photograph: Any, turn: int, compression: int, bits: int
) -> None:
    upright = deep(photograph) if bits == 16 else photograph(1, 64, 40)
    stored = np.ascontiguousarray(STORED_FROM_UPRIGHT[turn](upright))
    data = turned_in_place(by_opencv(stored, compression), turn)
    header = read_header(data)
    assert (header.height, header.width) == stored.shape[:2]
    assert header.orientation == turn
    expected = levels(upright) if bits == 16 else upright
    assert np.array_equal(load_normal(data).pixels, expected)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_where_0_is_white_it_is_shown_white(photograph: Any, bits: int, compression: Any) -> None:
    samples = deep(photograph)[:, :, 1] if bits == 16 else photograph(1, 64, 40)[:, :, 1]
    out = tiff_with(np.iinfo(samples.dtype).max - samples, "miniswhite", compression=compression)
    expected = levels(samples) if bits == 16 else np.repeat(samples[:, :, None], 3, axis=2)
    assert np.array_equal(load_normal(out).pixels, expected)


def tiff_with(samples: npt.NDArray[Any], photometric: str, **options: Any) -> bytes:
    out = io.BytesIO()
    tifffile.imwrite(out, samples, photometric=photometric, **options)
    return out.getvalue()


@pytest.mark.parametrize("options", [{}, {"compression": "zlib"}, {"tile": (16, 16)}])
@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("planes", ["contig", "separate"])
def test_layouts_of_16_bits_are_read(
    photograph: Any, options: dict[str, Any], byteorder: str, planes: str
) -> None:
    samples = deep(photograph)
    stored = samples if planes == "contig" else np.ascontiguousarray(np.moveaxis(samples, 2, 0))
    data = tiff_with(stored, "rgb", planarconfig=planes, byteorder=byteorder, **options)
    assert np.array_equal(load_normal(data).pixels, levels(samples))


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("colours", [1, 3])
def test_alpha_is_shown_over_white(photograph: Any, bits: int, colours: int) -> None:
    pixels = photograph(1, 64, 40)[:, :, :colours]
    alpha = np.zeros((40, 64, 1), np.uint8)
    alpha[:, 32:] = 255
    samples = np.concatenate([pixels, alpha], axis=2)
    if bits == 16:
        samples = samples.astype(np.uint16) * 257
    data = tiff_with(
        samples,
        "rgb" if colours == 3 else "minisblack",
        planarconfig="contig",
        extrasamples=["unassalpha"],
    )
    shown = np.broadcast_to(np.where(alpha == 0, 255, pixels), (40, 64, 3))
    assert np.array_equal(load_normal(data).pixels, shown)


@pytest.mark.parametrize(
    "samples",
    [
        np.zeros((8, 8, 3), np.float32),
        np.zeros((8, 8), np.float16),
        np.zeros((8, 8, 3), np.uint32),
        np.zeros((8, 8, 3), np.float64),
    ],
)
def test_samples_that_are_not_read_are_unsupported(samples: npt.NDArray[Any]) -> None:
    with pytest.raises(ImageRefused) as refused:
        load_normal(tiff_of(samples))
    assert refused.value.reason == "unsupported"


def test_a_compression_that_no_library_here_reads_is_unsupported(photograph: Any) -> None:
    data = bytearray(tiff_of(photograph(1, 64, 40)))
    with tifffile.TiffFile(io.BytesIO(bytes(data))) as file:
        place = file.pages.first.tags["Compression"].valueoffset
    data[place : place + 2] = (34892).to_bytes(2, "little")  # lossy JPEG of Adobe's
    with pytest.raises(ImageRefused) as refused:
        load_normal(bytes(data))
    assert refused.value.reason == "unsupported"


def layouts(samples: npt.NDArray[np.uint16]) -> dict[str, bytes]:
    """Files of 16 bits that OpenCV or Pillow show otherwise, and some that all show alike."""
    planes, grey = np.ascontiguousarray(np.moveaxis(samples, 2, 0)), samples[:, :, 1]
    return {
        "planes": tiff_with(planes, "rgb", planarconfig="separate"),
        "deflated planes": tiff_with(planes, "rgb", planarconfig="separate", compression="zlib"),
        "big-endian": tiff_with(samples, "rgb", byteorder=">"),
        "tiles": tiff_with(samples, "rgb", tile=(16, 16)),
        "LZW": by_opencv(samples, 5, 2),
        "PackBits": by_opencv(samples, 32773),
        "deflated": by_opencv(samples, 8, 2),
        "grey": tiff_with(grey, "minisblack"),
        "0 is white": tiff_with(65535 - grey, "miniswhite"),
        "opaque": tiff_with(
            np.dstack([samples, np.full_like(grey, 65535)]), "rgb", extrasamples=["unassalpha"]
        ),
    }


@pytest.mark.parametrize("layout", layouts(np.zeros((16, 16, 3), np.uint16)))
def test_samples_of_16_bits_are_those_that_were_written(photograph: Any, layout: str) -> None:
    samples = deep(photograph)
    data = layouts(samples)[layout]
    grey = layout in ("grey", "0 is white")
    wanted = np.repeat(samples[:, :, 1:2], 3, axis=2) if grey else samples
    assert np.array_equal(decode_at_depth(data), wanted)
    assert np.array_equal(decode_as_rgb(data, colours=False), levels(wanted))


def test_what_alpha_is_multiplied_into_is_shown_over_white_at_its_depth(photograph: Any) -> None:
    samples = deep(photograph).astype(np.int64)
    alpha = np.linspace(20000, 65535, 64).astype(np.int64)[None, :, None] + 0 * samples[:, :, :1]
    stored = np.concatenate([samples * alpha // 65535, alpha], axis=2)
    data = tiff_with(stored.astype(np.uint16), "rgb", extrasamples=["assocalpha"])
    over = stored[:, :, :3] + 65535 - alpha
    assert np.abs(decode_at_depth(data).astype(np.int64) - over).max() <= 1


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint32])
def test_samples_that_do_not_say_what_is_white_are_unsupported(kind: Any) -> None:
    with pytest.raises(ImageRefused, match="samples of") as refused:
        load_normal(tiff_with(np.full((8, 8), 100, kind), "minisblack"))
    assert refused.value.reason == "unsupported"


def test_grey_and_alpha_in_planes_are_read(photograph: Any) -> None:
    grey = photograph(1, 64, 40)[:, :, 0]
    alpha = np.full_like(grey, 255)
    alpha[:, :32] = 0
    data = tiff_with(
        np.stack([grey, alpha]),
        "minisblack",
        planarconfig="separate",
        extrasamples=["unassalpha"],
        compression="zlib",
    )
    shown = np.where(alpha == 0, 255, grey)
    assert np.array_equal(load_normal(data).pixels, np.repeat(shown[:, :, None], 3, axis=2))


@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
@pytest.mark.parametrize("first", [{"subfiletype": n} for n in (0, 1, 3)] + [{"old": 2}, {}])
def test_a_thumbnail_before_the_picture_is_refused_and_others_behind_it_are_not_seen(
    photograph: Any, depth: Any, first: dict[str, int]
) -> None:
    picture = photograph(1, 64, 40).astype(depth) * (257 if depth is np.uint16 else 1)
    small = np.ascontiguousarray(picture[::4, ::4])
    old = [(255, "H", 1, first["old"], True)] if "old" in first else []
    pages = [(small, first.get("subfiletype", 0), old), (picture, 0, [])]
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as made:
        for samples, kind, tags in pages if first else [(picture, 0, []), (small, 1, [])]:
            made.write(samples, photometric="rgb", subfiletype=kind, extratags=tags)
    if not first:
        assert np.array_equal(decode_at_depth(out.getvalue()), picture)
        return
    for refuse in (load_normal, decode_at_depth, decode_as_rgb):
        with pytest.raises(ImageRefused, match="begins with a thumbnail or a mask") as refused:
            refuse(out.getvalue())
        assert refused.value.reason == "unsupported"


@pytest.mark.parametrize("tile", [None, (32, 32)])
def test_one_that_lacks_strips_or_tiles_is_refused_not_shown_black(
    photograph: Any, tile: Any
) -> None:
    """A width or height that is larger than what is stored, as a copy cut by a program leaves."""
    data = tiff_with(photograph(1, 64, 64), "rgb", tile=tile, rowsperstrip=None if tile else 64)
    assert load_normal(data).pixels.shape == (64, 64, 3)
    at = data.index(struct.pack("<HHI", 257, 4, 1)) + 8  # ImageLength
    with pytest.raises(ImageRefused, match="lacks some of its strips or tiles") as refused:
        load_normal(data[:at] + struct.pack("<I", 200) + data[at + 4 :])
    assert refused.value.reason == "damaged"
