"""Colours: what colour-managed viewers show is what a normal holds."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageCms, features

from gloam.errors import ImageRefused
from gloam.manifests.images.colour import cicp_profile, is_srgb
from gloam.manifests.images.decode import decode_as_rgb, decode_at_depth, read_rgb
from gloam.manifests.images.normals import load_normal

from .making import chunk_of, difference, exif_of, png_with, tiff_of

P3, REC2020, ADOBE_LIKE = (12, 13), (9, 13), (9, 4)


def smooth() -> npt.NDArray[np.uint8]:
    """A picture without sharp edges of colour, inside sRGB."""
    y, x = np.mgrid[0:48, 0:64] / 64
    return np.stack([60 + 120 * x, 70 + 110 * y, 150 - 90 * x * y], axis=2).astype(np.uint8)


def stored_in(profile: bytes, pixels: npt.NDArray[np.uint8], mode: str = "RGB") -> Image.Image:
    """A picture of sRGB in the colours of another profile, by LittleCMS."""
    own = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    image = Image.fromarray(pixels)
    done = ImageCms.profileToProfile(image, ImageCms.createProfile("sRGB"), own, outputMode=mode)
    assert done is not None
    done.info.clear()  # it names the profile, which savers would write
    return done


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("points", [P3, REC2020, ADOBE_LIKE])
def test_profiles_of_code_points_are_those_of_their_primaries(points: tuple[int, int]) -> None:
    """Grey stays grey, white stays white, and sRGB's red is no full red of a wider space."""
    profile = cicp_profile(*points)
    colours = np.array([[[0, 0, 0], [128, 128, 128], [255, 255, 255], [255, 0, 0]]], np.uint8)
    found = np.asarray(stored_in(profile, colours))[0].astype(int)
    assert np.ptp(found[:3], axis=1).max() <= 1
    assert found[0].max() <= 1
    assert found[2].tolist() == [255, 255, 255]
    # By the matrices of H.273's primaries: linear (.822, .033, .017), and (.627, .069, .016).
    red = {P3: [234, 51, 35], REC2020: [208, 74, 35]}.get(points)
    if red:
        assert np.abs(found[3] - red).max() <= 1
    assert not is_srgb(profile)


@pytest.mark.parametrize("points", [(1, 13), (1, 1), (2, 2), (1, 6), (1, 14)])
def test_code_points_that_mean_srgb_need_no_profile(points: tuple[int, int]) -> None:
    assert cicp_profile(*points) == b""
    assert is_srgb(b"")


@pytest.mark.parametrize("transfer", [16, 18])
def test_a_high_dynamic_range_is_unsupported(transfer: int) -> None:
    with pytest.raises(ImageRefused, match="PQ or HLG") as refused:
        cicp_profile(9, transfer)
    assert refused.value.reason == "unsupported"


CONVERTED: dict[str, tuple[str, dict[str, Any]]] = {
    "jpeg": ("JPEG", {"quality": 98, "subsampling": 0}),
    "turned jpeg": ("JPEG", {"quality": 98, "subsampling": 0, "exif": exif_of(3)}),
    "progressive jpeg": ("JPEG", {"quality": 98, "subsampling": 0, "progressive": True}),
    "png": ("PNG", {}),
    "webp": ("WEBP", {"lossless": True}),
    "tiff": ("TIFF", {}),
    "lzw tiff": ("TIFF", {"compression": "tiff_lzw"}),
    "avif": ("AVIF", {"quality": 98, "subsampling": "4:4:4"}),
}


@pytest.mark.parametrize("points", [P3, ADOBE_LIKE])
@pytest.mark.parametrize("kind", CONVERTED)
def test_every_kind_with_a_profile_is_converted_to_srgb(kind: str, points: Any) -> None:
    file_format, options = CONVERTED[kind]
    if file_format == "AVIF" and not features.check("avif"):
        pytest.skip("this Pillow reads no AVIF")
    pixels, profile = smooth(), cicp_profile(*points)
    data = saved(stored_in(profile, pixels), file_format, icc_profile=profile, **options)
    normal = load_normal(data)
    shown = normal.pixels[::-1, ::-1] if kind == "turned jpeg" else normal.pixels
    assert normal.converted
    assert difference(shown, pixels) < 1.5
    with Image.open(io.BytesIO(normal.data)) as image:
        assert "icc_profile" not in image.info
    raw = decode_as_rgb(data, colours=False)
    raw = raw[::-1, ::-1] if kind == "turned jpeg" else raw
    assert difference(raw, pixels) > 2 * difference(shown, pixels) + 1


def test_alpha_and_palettes_with_a_profile_are_converted_too() -> None:
    pixels, profile = smooth(), cicp_profile(*P3)
    stored = stored_in(profile, pixels)
    palette = stored.quantize(256)
    shown = load_normal(saved(palette, "PNG", icc_profile=profile)).pixels
    assert difference(shown, pixels) < difference(np.asarray(palette.convert("RGB")), pixels)
    stored.putalpha(Image.linear_gradient("L").resize(stored.size).point(lambda v: 255 * (v > 99)))
    data = saved(stored, "PNG", icc_profile=profile)
    alpha = np.asarray(stored.getchannel("A"))[:, :, None]
    assert difference(load_normal(data).pixels, np.where(alpha == 0, 255, pixels)) < 1.5


def test_16_bit_samples_with_a_profile_are_converted() -> None:
    pixels, profile = smooth(), cicp_profile(*REC2020)
    samples = np.asarray(stored_in(profile, pixels)).astype(np.uint16) * 257
    assert difference(load_normal(tiff_of(samples, iccprofile=profile)).pixels, pixels) < 1.5


def test_a_png_with_code_points_is_converted_by_them() -> None:
    pixels = smooth()
    plain = saved(stored_in(cicp_profile(*P3), pixels), "PNG")
    normal = load_normal(png_with(plain, chunk_of(b"cICP", bytes([12, 13, 0, 1]))))
    assert normal.converted == "colour profile"
    assert difference(normal.pixels, pixels) < 1.5
    kept = png_with(plain, chunk_of(b"cICP", bytes([1, 13, 0, 1])))
    assert load_normal(kept).data == kept


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow reads no AVIF")
def test_an_avif_with_code_points_is_converted_by_them() -> None:
    pixels = smooth()
    stored = stored_in(cicp_profile(*P3), pixels)
    data = saved(stored, "AVIF", quality=98, subsampling="4:4:4")
    place = data.index(b"colrnclx") + 8
    assert struct.unpack(">HH", data[place : place + 4])[0] in (1, 2)
    of_p3 = data[:place] + struct.pack(">HH", 12, 13) + data[place + 4 :]
    assert difference(load_normal(of_p3).pixels, pixels) < 1.5
    of_pq = data[:place] + struct.pack(">HH", 9, 16) + data[place + 4 :]
    with pytest.raises(ImageRefused, match="dynamic range"):
        load_normal(of_pq)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_profiles_of_srgb_by_any_maker_are_kept_byte_for_byte(kind: str) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for icc in (profile, profile[:36] + b"none" + profile[40:], b"not a profile"):
        data = saved(Image.fromarray(smooth()), kind, icc_profile=icc)
        assert load_normal(data).data == data


def test_grey_with_a_profile_of_its_own_is_shown_by_it() -> None:
    """A profile of one curve, of gamma 1: grey that is stored linear."""
    tags = {
        b"wtpt": b"XYZ \0\0\0\0" + struct.pack(">3i", 63190, 65536, 54061),
        b"kTRC": b"curv\0\0\0\0\0\0\0\0",
        b"desc": b"desc\0\0\0\0" + struct.pack(">I", 1) + bytes(79),
        b"cprt": b"text\0\0\0\0\0\0\0\0",
    }
    table, body = struct.pack(">I", len(tags)), b""
    for name, tag in tags.items():
        table += name + struct.pack(">II", 132 + 12 * len(tags) + len(body), len(tag))
        body += tag + bytes(-len(tag) % 4)
    head = struct.pack(">I4xI", 128 + len(table) + len(body), 0x02400000)
    head += b"mntrGRAYXYZ " + bytes(12) + b"acsp" + bytes(28) + tags[b"wtpt"][8:]
    grey = np.full((16, 16), 55, np.uint8)
    data = saved(Image.fromarray(grey), "PNG", icc_profile=head.ljust(128, b"\0") + table + body)
    assert np.abs(load_normal(data).pixels.astype(int) - 128).max() <= 2  # .2140 of 1, sRGB's curve


def test_a_profile_of_other_channels_says_nothing() -> None:
    data = saved(Image.fromarray(smooth()[:, :, 0]), "PNG", icc_profile=cicp_profile(*P3))
    pixels = load_normal(data).pixels
    assert np.ptp(pixels.astype(int), axis=2).max() <= 1
    broken = chunk_of(b"iCCP", b"x\0\0" + zlib.compress(cicp_profile(*P3)[:200]))
    plain = saved(Image.fromarray(smooth()), "PNG")
    assert np.array_equal(load_normal(png_with(plain, broken)).pixels, smooth())


def test_pairs_of_folders_are_measured_as_training_and_judge_read_them(tmp_path: Path) -> None:
    """None of those applies a profile; photographs of a bracket become sRGB."""
    stored = stored_in(cicp_profile(*P3), smooth())
    path = tmp_path / "x.png"
    path.write_bytes(saved(stored, "PNG", icc_profile=cicp_profile(*P3)))
    shown = read_rgb(path)
    assert np.array_equal(shown, np.asarray(stored))
    assert np.array_equal(shown, decode_at_depth(path.read_bytes()))
    assert difference(read_rgb(path, colours=True), smooth()) < 1 < difference(shown, smooth())
