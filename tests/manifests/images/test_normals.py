"""Photographs as bytes: kept, converted or refused."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from gloam.errors import ImageRefused
from gloam.manifests.images.decode import decode
from gloam.manifests.images.header import read_header
from gloam.manifests.images.normals import NORMAL_QUALITY, Normal, load_normal

from .making import (
    KINDS,
    ORIENTATION_TAG,
    ORIENTATIONS,
    STORED_FROM_UPRIGHT,
    difference,
    exif_of,
    sixteen_bit_png,
    tiff_of,
)

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check_is_a_normal(normal: Normal) -> None:
    """Check what must hold of each normal, whatever it was made from."""
    assert normal.pixels.dtype == np.uint8
    assert normal.pixels.ndim == 3
    assert normal.pixels.shape[2] == 3
    assert normal.suffix in ("jpg", "png")
    assert np.array_equal(decode(normal.data, normal.suffix), normal.pixels)
    header = read_header(normal.data)
    assert header.convert == ""
    assert (header.height, header.width) == normal.pixels.shape[:2]
    again = load_normal(normal.data)
    assert (again.data, again.converted) == (normal.data, "")


def nearest_8_bit(samples: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    """The 8-bit level nearest to each 16-bit one: 0 is 0 and 65535 is 255 (PNG 1.2, 12.5: accurate
    rescaling)."""
    return np.rint(samples.astype(np.float64) * 255 / 65535).astype(np.uint8)


# What is kept


@pytest.mark.parametrize(
    ("file_format", "suffix", "options"),
    [
        ("JPEG", "jpg", {"quality": 90}),
        ("JPEG", "jpg", {"quality": 90, "progressive": True}),
        ("JPEG", "jpg", {"quality": 90, "subsampling": 0}),
        ("JPEG", "jpg", {"quality": 90, "exif": exif_of(1)}),
        ("JPEG", "jpg", {"quality": 90, "comment": b"a comment", "dpi": (300, 300)}),
        ("PNG", "png", {}),
        ("PNG", "png", {"compress_level": 0}),
        ("PNG", "png", {"exif": exif_of(1)}),
    ],
)
def test_upright_rgb_is_kept_byte_for_byte(
    photograph: Any, encoded: Any, file_format: str, suffix: str, options: dict[str, Any]
) -> None:
    pixels = photograph(1)
    data = encoded(pixels, file_format, **options)
    normal = load_normal(data)
    assert normal.data == data
    assert (normal.suffix, normal.converted) == (suffix, "")
    check_is_a_normal(normal)
    assert difference(normal.pixels, pixels) <= (0 if suffix == "png" else 8)


def test_pixels_of_a_kept_jpeg_are_those_that_other_decoders_see(
    photograph: Any, encoded: Any
) -> None:
    data = encoded(photograph(2), "JPEG", quality=92, subsampling=0)
    with Image.open(io.BytesIO(data)) as image:
        theirs = np.asarray(image)
    assert np.abs(load_normal(data).pixels.astype(int) - theirs).max() <= 1


@pytest.mark.parametrize("tail", [bytes(100), b"what a camera left there" * 9, b"\xff\xd8\xff\xd9"])
def test_bytes_behind_the_end_of_a_jpeg_are_kept_with_it(
    photograph: Any, encoded: Any, tail: bytes
) -> None:
    data = encoded(photograph(1), "JPEG", restart_marker_rows=1)
    normal = load_normal(data + tail)
    assert (normal.data, normal.converted) == (data + tail, "")
    assert np.array_equal(normal.pixels, load_normal(data).pixels)


def test_of_a_jpeg_with_several_pictures_the_first_counts(photograph: Any, encoded: Any) -> None:
    """Phones write them, with a preview or a depth map behind the photograph (MPO)."""
    first, second = photograph(1), photograph(2)
    out = io.BytesIO()
    Image.fromarray(first).save(
        out,
        "MPO",
        save_all=True,
        append_images=[Image.fromarray(second)],
        quality=95,
        subsampling=0,
    )
    normal = load_normal(out.getvalue())
    assert (normal.data, normal.suffix, normal.converted) == (out.getvalue(), "jpg", "")
    assert difference(normal.pixels, first) < 3


@pytest.mark.parametrize("name", ["chelsea.png", "coffee.png", "astronaut.png", "retina.jpg"])
def test_real_photographs_are_kept_byte_for_byte(skimage_data: Any, name: str) -> None:
    data = (skimage_data / name).read_bytes()
    normal = load_normal(data)
    assert (normal.data, normal.converted) == (data, "")
    check_is_a_normal(normal)


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_an_orientation_that_does_not_exist_rotates_nothing(
    photograph: Any, encoded: Any, value: int
) -> None:
    data = encoded(photograph(1), "JPEG", exif=exif_of(value))
    assert load_normal(data).data == data


def test_damaged_exif_says_nothing_about_the_pixels(photograph: Any, encoded: Any) -> None:
    data = encoded(photograph(1), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xffgarbage")
    assert load_normal(data).data == data


# What is converted


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_rotated_jpeg_comes_out_upright(photograph: Any, encoded: Any, orientation: int) -> None:
    upright = photograph(3, 64, 40)
    stored = np.ascontiguousarray(STORED_FROM_UPRIGHT[orientation](upright))
    data = encoded(stored, "JPEG", quality=98, subsampling=0, exif=exif_of(orientation))
    normal = load_normal(data)
    assert normal.converted == ("" if orientation == 1 else "rotated")
    assert normal.suffix == "jpg"
    assert difference(normal.pixels, upright) < 3
    check_is_a_normal(normal)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize(
    ("file_format", "options"), [("PNG", {}), ("TIFF", {}), ("WEBP", {"lossless": True})]
)
def test_rotated_lossless_files_come_out_upright_and_exact(
    photograph: Any, encoded: Any, orientation: int, file_format: str, options: dict[str, Any]
) -> None:
    upright = photograph(3, 64, 40)
    stored = np.ascontiguousarray(STORED_FROM_UPRIGHT[orientation](upright))
    normal = load_normal(encoded(stored, file_format, exif=exif_of(orientation), **options))
    assert np.array_equal(normal.pixels, upright)
    check_is_a_normal(normal)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_rotated_16_bit_tiff_comes_out_upright(photograph: Any, orientation: int) -> None:
    upright = photograph(3, 64, 40)
    stored = STORED_FROM_UPRIGHT[orientation](upright).astype(np.uint16) * 257
    normal = load_normal(tiff_of(stored, extratags=[(ORIENTATION_TAG, "H", 1, orientation, True)]))
    assert np.array_equal(normal.pixels, upright)


def test_greyscale_jpeg_becomes_three_equal_channels(photograph: Any, encoded: Any) -> None:
    grey = photograph(4)[:, :, 1]
    normal = load_normal(encoded(grey, "JPEG", quality=98))
    assert (normal.suffix, normal.converted) == ("jpg", "greyscale")
    assert np.abs(normal.pixels.astype(int) - normal.pixels[:, :, :1]).max() <= 1
    assert difference(normal.pixels, np.repeat(grey[:, :, None], 3, axis=2)) < 2
    check_is_a_normal(normal)


def test_cmyk_jpeg_becomes_the_colours_it_stands_for(photograph: Any, encoded: Any) -> None:
    pixels = photograph(4)
    pixels[:20, :20] = (255, 0, 0)
    pixels[:20, 20:40] = (0, 0, 255)
    normal = load_normal(encoded(pixels, "JPEG", "CMYK", quality=98))
    assert (normal.suffix, normal.converted) == ("jpg", "cmyk")
    assert difference(normal.pixels, pixels) < 4
    assert normal.pixels[10, 10].tolist() == pytest.approx([255, 0, 0], abs=6)
    assert normal.pixels[10, 30].tolist() == pytest.approx([0, 0, 255], abs=6)
    check_is_a_normal(normal)


def test_palette_png_becomes_the_colours_of_its_palette(photograph: Any) -> None:
    palette = Image.fromarray(photograph(5)).quantize(37)
    out = io.BytesIO()
    palette.save(out, "PNG")
    normal = load_normal(out.getvalue())
    assert (normal.suffix, normal.converted) == ("png", "palette")
    assert np.array_equal(normal.pixels, np.asarray(palette.convert("RGB")))
    check_is_a_normal(normal)


def test_greyscale_png_becomes_three_equal_channels(photograph: Any, encoded: Any) -> None:
    grey = photograph(5)[:, :, 0]
    normal = load_normal(encoded(grey, "PNG"))
    assert (normal.suffix, normal.converted) == ("png", "greyscale")
    assert np.array_equal(normal.pixels, np.repeat(grey[:, :, None], 3, axis=2))
    check_is_a_normal(normal)


def test_black_and_white_png_keeps_its_two_values(photograph: Any, encoded: Any) -> None:
    mask = (photograph(5)[:, :, 0] > 128).astype(np.uint8) * 255
    normal = load_normal(encoded(mask, "PNG", "1"))
    assert normal.converted == "greyscale"
    assert np.array_equal(normal.pixels, np.repeat(mask[:, :, None], 3, axis=2))


def test_transparency_is_shown_over_white(photograph: Any, encoded: Any) -> None:
    pixels = photograph(6)
    alpha = np.tile(np.linspace(0, 255, pixels.shape[1]).astype(np.uint8), (pixels.shape[0], 1))
    normal = load_normal(encoded(np.dstack([pixels, alpha]), "PNG"))
    share = alpha[:, :, None] / 255
    expected = pixels * share + 255 * (1 - share)
    assert np.abs(normal.pixels - expected).max() <= 1
    assert normal.suffix == "png"
    check_is_a_normal(normal)


def test_opaque_alpha_leaves_the_colours_as_they_are(photograph: Any, encoded: Any) -> None:
    pixels = photograph(6)
    normal = load_normal(
        encoded(np.dstack([pixels, np.full(pixels.shape[:2], 255, np.uint8)]), "PNG")
    )
    assert normal.converted
    assert np.array_equal(normal.pixels, pixels)


def test_a_colour_named_transparent_becomes_white(photograph: Any, encoded: Any) -> None:
    pixels = photograph(6)
    pixels[10:20, 10:20] = (1, 2, 3)
    pixels[40:50, 40:50] = (1, 2, 4)
    normal = load_normal(encoded(pixels, "PNG", transparency=(1, 2, 3)))
    assert normal.converted == "alpha"
    expected = pixels.copy()
    expected[10:20, 10:20] = 255
    assert np.array_equal(normal.pixels, expected)
    check_is_a_normal(normal)


def test_transparent_palette_png_is_shown_over_white(photograph: Any) -> None:
    palette = Image.fromarray(photograph(5)).quantize(16)
    out = io.BytesIO()
    palette.save(out, "PNG", transparency=3)
    expected = np.asarray(palette.convert("RGB")).copy()
    expected[np.asarray(palette) == 3] = 255
    assert np.array_equal(load_normal(out.getvalue()).pixels, expected)


@pytest.mark.parametrize("make", ["png", "tiff", "big-endian tiff"])
def test_16_bit_grey_becomes_the_nearest_8_bit_levels(make: str) -> None:
    samples = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    if make == "png":
        out = io.BytesIO()
        Image.fromarray(samples).save(out, "PNG")
        data = out.getvalue()
    else:
        data = tiff_of(samples, byteorder="<" if make == "tiff" else ">")
    normal = load_normal(data)
    assert normal.suffix == "png"
    assert normal.converted
    assert np.array_equal(normal.pixels, np.repeat(nearest_8_bit(samples)[:, :, None], 3, axis=2))
    check_is_a_normal(normal)


def sixteen_bit_rgb() -> npt.NDArray[np.uint16]:
    ramp = np.arange(0, 65536, 16, dtype=np.uint16).reshape(64, 64)
    return np.dstack([ramp, ramp[::-1], ramp.T])


@pytest.mark.parametrize("make", [sixteen_bit_png, tiff_of], ids=["png", "tiff"])
def test_16_bit_rgb_becomes_8_bit_within_one_level(
    make: Callable[[npt.NDArray[np.uint16]], bytes],
) -> None:
    samples = sixteen_bit_rgb()
    normal = load_normal(make(samples))
    assert normal.converted
    assert np.abs(normal.pixels.astype(int) - nearest_8_bit(samples)).max() <= 1
    check_is_a_normal(normal)


@pytest.mark.parametrize("make", [sixteen_bit_png, tiff_of], ids=["png", "tiff"])
def test_16_bit_rgb_becomes_the_nearest_8_bit_levels(
    make: Callable[[npt.NDArray[np.uint16]], bytes],
) -> None:
    """16-bit grey does so too: no photograph may get other levels for being stored in colour."""
    samples = sixteen_bit_rgb()
    assert np.array_equal(load_normal(make(samples)).pixels, nearest_8_bit(samples))


def test_16_bit_rgb_tiff_in_separate_planes_is_read(photograph: Any) -> None:
    pixels = photograph(7)
    data = tiff_of(pixels.astype(np.uint16).transpose(2, 0, 1) * 257, planarconfig="separate")
    assert np.array_equal(load_normal(data).pixels, pixels)


@pytest.mark.parametrize(
    ("file_format", "options"),
    [
        ("BMP", {}),
        ("WEBP", {"lossless": True}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("TIFF", {"compression": "tiff_adobe_deflate"}),
    ],
)
def test_other_lossless_formats_become_png_with_the_same_pixels(
    photograph: Any, encoded: Any, file_format: str, options: dict[str, Any]
) -> None:
    pixels = photograph(7)
    normal = load_normal(encoded(pixels, file_format, **options))
    assert np.array_equal(normal.pixels, pixels)
    assert (normal.suffix, normal.converted) == ("png", f"{file_format.lower()} file")
    check_is_a_normal(normal)


def test_lossy_webp_becomes_png_with_the_pixels_it_shows(photograph: Any, encoded: Any) -> None:
    data = encoded(photograph(7), "WEBP", quality=80)
    with Image.open(io.BytesIO(data)) as image:
        shown = np.asarray(image.convert("RGB"))
    normal = load_normal(data)
    assert normal.suffix == "png"
    assert np.array_equal(normal.pixels, shown)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("grey jpeg", "greyscale"),
        ("cmyk jpeg", "cmyk"),
        ("palette png", "palette"),
        ("png with alpha", "alpha"),
        ("grey png with alpha", "alpha"),
        ("16-bit grey png", "16 bit"),
        ("16-bit rgb png", "16 bit"),
        ("rotated jpeg", "rotated"),
    ],
)
def test_converted_says_why_in_the_words_of_the_readme(
    photograph: Any, encoded: Any, kind: str, reason: str
) -> None:
    pixels = photograph(8)
    data = {
        "grey jpeg": lambda: encoded(pixels, "JPEG", "L"),
        "cmyk jpeg": lambda: encoded(pixels, "JPEG", "CMYK"),
        "palette png": lambda: encoded(pixels, "PNG", "P"),
        "png with alpha": lambda: encoded(pixels, "PNG", "RGBA"),
        "grey png with alpha": lambda: encoded(pixels, "PNG", "LA"),
        "16-bit grey png": lambda: encoded(pixels[:, :, 0].astype(np.uint16) * 257, "PNG"),
        "16-bit rgb png": lambda: sixteen_bit_png(pixels.astype(np.uint16) * 257),
        "rotated jpeg": lambda: encoded(pixels, "JPEG", exif=exif_of(6)),
    }[kind]()
    assert load_normal(data).converted == reason


def test_a_jpeg_encoded_anew_keeps_all_its_colour_resolution(photograph: Any, encoded: Any) -> None:
    normal = load_normal(encoded(photograph(8), "JPEG", quality=98, subsampling=0, exif=exif_of(3)))
    with Image.open(io.BytesIO(normal.data)) as image:
        assert image.layer == [(1, 1, 1, 0), (2, 1, 1, 1), (3, 1, 1, 1)]
    assert NORMAL_QUALITY >= 90


# Size


@pytest.mark.parametrize(
    ("file_format", "suffix"), [("JPEG", "jpg"), ("PNG", "png"), ("BMP", "png")]
)
def test_max_side_shrinks_the_longer_side_and_keeps_the_shape(
    photograph: Any, encoded: Any, file_format: str, suffix: str
) -> None:
    pixels = photograph(9, 120, 90)
    normal = load_normal(encoded(pixels, file_format), max_side=40)
    assert normal.pixels.shape == (30, 40, 3)
    assert normal.suffix == suffix
    assert normal.converted == ("bmp file" if file_format == "BMP" else "resized")
    boxes = pixels.reshape(30, 3, 40, 3, 3).mean(axis=(1, 3))
    assert np.abs(normal.pixels - boxes).mean() < 8
    check_is_a_normal(normal)


def test_max_side_counts_after_the_rotation(photograph: Any, encoded: Any) -> None:
    upright = photograph(9, 60, 120)
    stored = np.ascontiguousarray(STORED_FROM_UPRIGHT[6](upright))
    normal = load_normal(encoded(stored, "JPEG", quality=95, exif=exif_of(6)), max_side=60)
    assert normal.pixels.shape == (60, 30, 3)
    assert normal.converted == "rotated"


@pytest.mark.parametrize("max_side", [96, 97, 10_000])
def test_max_side_leaves_what_is_not_larger(photograph: Any, encoded: Any, max_side: int) -> None:
    data = encoded(photograph(9, 96, 72), "JPEG")
    normal = load_normal(data, max_side=max_side)
    assert (normal.data, normal.converted) == (data, "")


def test_max_side_leaves_at_least_one_pixel(photograph: Any, encoded: Any) -> None:
    assert load_normal(encoded(photograph(9, 300, 2), "PNG"), max_side=20).pixels.shape == (
        1,
        20,
        3,
    )


def test_loading_twice_gives_the_same_bytes(photograph: Any, encoded: Any) -> None:
    for data in (
        encoded(photograph(9), "BMP"),
        encoded(photograph(9), "JPEG", "L"),
        encoded(photograph(9), "PNG"),
    ):
        assert load_normal(data, max_side=50).data == load_normal(data, max_side=50).data


def test_max_pixels_is_the_last_number_that_is_taken(photograph: Any, encoded: Any) -> None:
    data = encoded(photograph(9, 50, 40), "PNG")
    assert load_normal(data, max_pixels=2000).converted == ""
    with pytest.raises(ImageRefused, match=r"50 x 40 pixels, the limit is 1,999") as refused:
        load_normal(data, max_pixels=1999)
    assert refused.value.reason == "too large"


# What is refused


@pytest.mark.parametrize("kind", ["jpeg", "progressive jpeg"])
def test_a_jpeg_cut_short_anywhere_is_refused(every_format: dict[str, bytes], kind: str) -> None:
    whole = every_format[kind]
    load_normal(whole)
    pixels_begin = whole.index(b"\xff\xda") + 14
    for length in range(len(whole)):
        with pytest.raises(ImageRefused) as refused:
            load_normal(whole[:length])
        assert refused.value.reason in ("empty", "not an image", "damaged")
        if length >= pixels_begin:
            assert refused.value.reason == "damaged"


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_short_never_gives_other_pixels(
    every_format: dict[str, bytes], kind: str
) -> None:
    """The last bytes of some formats carry no pixels; a cut there may pass, as long as the picture
    is whole."""
    whole = every_format[kind]
    pixels = load_normal(whole).pixels
    cuts = sorted(
        {
            *range(0, len(whole), max(1, len(whole) // 150)),
            *range(max(0, len(whole) - 20), len(whole)),
        }
    )
    refused = 0
    for length in cuts:
        try:
            normal = load_normal(whole[:length])
        except ImageRefused as error:
            assert error.reason in ("empty", "not an image", "damaged")  # noqa: PT017
            refused += 1
        else:
            assert np.array_equal(normal.pixels, pixels), (
                f"{length} of {len(whole)} bytes pass with other pixels"
            )
    assert refused > len(cuts) // 2


@pytest.mark.parametrize(
    "kind", ["jpeg", "rotated jpeg", "grey jpeg", "cmyk jpeg", "png", "palette png", "deflate tiff"]
)
def test_garbage_inside_the_compressed_pixels_is_refused_as_damaged(
    every_format: dict[str, bytes], kind: str
) -> None:
    """Each of these formats can tell: a JPEG by its markers and codes, PNG and Deflate by their
    checksums."""
    whole = every_format[kind]
    rng = np.random.default_rng(0)
    middle = len(whole) // 2
    data = whole[:middle] + rng.bytes(120) + whole[middle + 120 :]
    with pytest.raises(ImageRefused) as refused:
        load_normal(data)
    assert refused.value.reason == "damaged"


@pytest.mark.parametrize("kind", ["png", "palette png", "png with alpha"])
def test_a_flipped_bit_in_the_pixels_of_a_png_is_always_found(
    every_format: dict[str, bytes], kind: str
) -> None:
    whole = every_format[kind]
    begin = whole.index(b"IDAT") + 4
    (size,) = struct.unpack(">I", whole[begin - 8 : begin - 4])
    for place in {
        *range(begin, begin + size, max(1, size // 300)),
        *range(begin + size - 60, begin + size),
    }:
        data = bytearray(whole)
        data[place] ^= 1 << (place % 8)
        with pytest.raises(ImageRefused) as refused:
            load_normal(bytes(data))
        assert refused.value.reason == "damaged"


def test_a_png_that_was_cut_is_only_kept_if_opencv_reads_it_too(
    every_format: dict[str, bytes],
) -> None:
    """A kept normal is stored as it is, and training decodes it by other libraries, which are
    stricter than Pillow."""
    whole = every_format["png"]
    pixels = load_normal(whole).pixels
    for cut in range(1, 17):
        data = whole[:-cut]
        try:
            load_normal(data)
        except ImageRefused as refusal:
            assert refusal.reason == "damaged"  # noqa: PT017
            continue
        theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
        assert theirs is not None, f"kept without its last {cut} bytes, and OpenCV refuses it"
        assert np.array_equal(theirs, pixels)


@pytest.mark.parametrize("kind", KINDS)
def test_bit_noise_ends_as_a_refusal_or_an_image_and_never_as_a_crash(
    every_format: dict[str, bytes], kind: str
) -> None:
    whole = every_format[kind]
    rng = np.random.default_rng(1)
    refused = 0
    for trial in range(60):
        data = np.frombuffer(whole, np.uint8).copy()
        reach = (
            len(data) if trial % 2 else min(len(data), 400)
        )  # every second time all the noise is near the header
        places = rng.integers(0, reach, 12)
        data[places] ^= rng.integers(1, 256, 12).astype(np.uint8)
        try:
            normal = load_normal(data.tobytes(), max_pixels=200_000)
        except ImageRefused as error:
            known = ("not an image", "damaged", "too large", "unsupported")
            assert error.reason in known  # noqa: PT017
            refused += 1
        else:
            assert normal.pixels.dtype == np.uint8
            assert normal.pixels.shape[2:] == (3,)
    assert refused > 0


@relaxed
@given(data=st.data())
def test_any_bytes_behind_any_beginning_end_as_a_refusal_or_an_image(
    every_format: dict[str, bytes], data: Any
) -> None:
    whole = every_format[data.draw(st.sampled_from(KINDS))]
    kept = data.draw(st.integers(0, len(whole)))
    tail = data.draw(st.binary(max_size=300))
    try:
        normal = load_normal(whole[:kept] + tail, max_pixels=200_000)
    except ImageRefused as error:
        assert error.reason  # noqa: PT017
    else:
        assert normal.pixels.shape[2:] == (3,)


def test_samples_outside_16_bit_are_unsupported() -> None:
    with pytest.raises(ImageRefused) as refused:
        load_normal(tiff_of(np.full((8, 8), 70_000, np.int32)))
    assert refused.value.reason == "unsupported"
    with pytest.raises(ImageRefused) as refused:
        load_normal(tiff_of(np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)))
    assert refused.value.reason == "unsupported"
