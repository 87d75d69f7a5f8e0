"""Measures of a candidate, against formulas written out again and against pictures whose
measures are known."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageFilter
from scipy import fft, ndimage
from skimage.segmentation import slic

from gloam.errors import ImageRefused
from gloam.manifests.images.header import MAX_PIXELS
from gloam.manifests.images.normals import load_normal
from gloam.manifests.selection.measures import BRIGHT, FIELDS, SIDE, Measures, measure

Pixels = npt.NDArray[np.uint8]


def measured(pixels: Pixels) -> Measures:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return measure(out.getvalue(), MAX_PIXELS)


def flat(colour: tuple[int, int, int], width: int = 64, height: int = 64) -> Pixels:
    return np.full((height, width, 3), colour, dtype=np.uint8)


def luma_of(pixels: Pixels) -> npt.NDArray[np.float64]:
    """ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B."""
    return pixels @ np.array([0.299, 0.587, 0.114])


def differing_bits(a: int, b: int) -> int:
    return (a ^ b).bit_count()


@pytest.mark.parametrize(
    "colour", [(0, 0, 0), (255, 255, 255), (128, 128, 128), (255, 0, 0), (10, 200, 60)]
)
def test_mean_of_a_flat_picture_is_its_luma(colour: tuple[int, int, int]) -> None:
    assert measured(flat(colour)).mean == pytest.approx(
        luma_of(np.array(colour, np.uint8)) / 255, abs=0.003
    )


def test_measures_of_a_small_picture_follow_their_definitions(photograph: Any) -> None:
    """No side exceeds SIDE, so nothing is reduced and the definitions can be applied to the pixels
    themselves."""
    pixels = photograph(1, SIDE, 90)
    luma = np.rint(luma_of(pixels))
    found = measured(pixels)
    assert (found.width, found.height) == (SIDE, 90)
    assert found.mean == pytest.approx(luma.mean() / 255, abs=0.002)
    assert found.clipped == pytest.approx((luma >= 250).mean(), abs=0.002)
    assert found.dark == pytest.approx((luma < 25.5).mean(), abs=0.002)
    # The Laplacian with neighbours at the border taken from inside, as OpenCV's default does.
    assert found.laplacian == pytest.approx(ndimage.laplace(luma, mode="mirror").var(), rel=0.01)


def test_colourfulness_is_hasler_and_suesstrunks_m3(photograph: Any) -> None:
    pixels = photograph(2, 100, 80)
    red, green, blue = pixels.astype(float).transpose(2, 0, 1)
    rg, yb = red - green, (red + green) / 2 - blue
    expected = np.hypot(rg.std(), yb.std()) + 0.3 * np.hypot(rg.mean(), yb.mean())
    assert measured(pixels).colourfulness == pytest.approx(expected, rel=1e-6)


def test_a_grey_picture_has_no_colour_and_a_garish_one_much(photograph: Any) -> None:
    grey = np.repeat(photograph(3)[:, :, :1], 3, axis=2)
    assert measured(grey).colourfulness == 0
    garish = np.zeros((60, 60, 3), np.uint8)
    garish[:20, :, 0] = garish[20:40, :, 1] = garish[40:, :, 2] = 255
    assert measured(garish).colourfulness > 109


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_clipped_and_dark_are_shares_of_the_area(share: float) -> None:
    pixels = flat((128, 128, 128), 80, 80)
    edge = round(80 * share)
    pixels[:edge] = 250
    assert measured(pixels).clipped == pytest.approx(share)
    pixels[:edge] = 25
    assert measured(pixels).dark == pytest.approx(share)


@pytest.mark.parametrize(
    ("level", "clipped", "dark"), [(249, 0, 0), (250, 1, 0), (25, 0, 1), (26, 0, 0)]
)
def test_clipped_and_dark_begin_at_their_levels(level: int, clipped: float, dark: float) -> None:
    found = measured(flat((level, level, level)))
    assert (found.clipped, found.dark) == (clipped, dark)


def test_a_blurred_picture_has_a_lower_laplacian(photograph: Any) -> None:
    sharp = photograph(4, 150, 110)
    variances = [
        measured(
            np.asarray(Image.fromarray(sharp).filter(ImageFilter.GaussianBlur(radius)))
        ).laplacian
        for radius in (0, 0.7, 2, 5)
    ]
    assert variances == sorted(variances, reverse=True)
    assert variances[0] > 20 * variances[2]
    assert measured(flat((90, 120, 60))).laplacian == 0


def test_large_pictures_are_measured_on_a_small_copy(photograph: Any) -> None:
    small = photograph(5, SIDE, SIDE * 3 // 4)
    large = np.kron(small, np.ones((4, 4, 1), np.uint8))
    one, other = measured(small), measured(large)
    assert (other.width, other.height) == (4 * SIDE, 4 * (SIDE * 3 // 4))
    assert other[2:] == pytest.approx(one[2:])


def test_a_jpeg_is_measured_much_like_the_same_picture_as_png(
    skimage_data: Any, encoded: Any
) -> None:
    with Image.open(skimage_data / "chelsea.png") as image:
        pixels = np.asarray(image.convert("RGB"))
    exact, lossy = measured(pixels), measure(encoded(pixels, "JPEG", quality=95), MAX_PIXELS)
    assert (lossy.width, lossy.height) == (exact.width, exact.height) == (451, 300)
    assert lossy.mean == pytest.approx(exact.mean, abs=0.005)
    assert lossy.colourfulness == pytest.approx(exact.colourfulness, rel=0.05)
    assert lossy.laplacian == pytest.approx(exact.laplacian, rel=0.25)
    assert lossy.bright == pytest.approx(exact.bright, abs=0.05)
    assert differing_bits(lossy.perceptual_hash, exact.perceptual_hash) <= 3


def test_values_are_in_the_order_of_the_fields(photograph: Any) -> None:
    found = measured(photograph(6))
    assert found == tuple(getattr(found, name) for name in FIELDS)


# The perceptual hash


def test_hash_survives_scaling_recompression_and_brightening(
    skimage_data: Any, encoded: Any
) -> None:
    for name in ("chelsea.png", "coffee.png", "astronaut.png"):
        with Image.open(skimage_data / name) as image:
            original = image.convert("RGB")
        own = measured(np.asarray(original)).perceptual_hash
        half = np.asarray(
            original.resize((original.width // 2, original.height // 2), Image.Resampling.LANCZOS)
        )
        assert differing_bits(own, measured(half).perceptual_hash) <= 3
        assert (
            differing_bits(
                own, measure(encoded(half, "JPEG", quality=60), MAX_PIXELS).perceptual_hash
            )
            <= 4
        )
        brighter = np.clip(half.astype(float) * 1.1, 0, 255).astype(np.uint8)
        assert differing_bits(own, measured(brighter).perceptual_hash) <= 8


def test_hashes_of_different_pictures_are_far_apart(photograph: Any) -> None:
    hashes = [measured(photograph(seed, 64, 48)).perceptual_hash for seed in range(25)]
    distances = [differing_bits(a, b) for i, a in enumerate(hashes) for b in hashes[:i]]
    assert min(distances) > 6
    assert 26 < np.mean(distances) < 37


def test_a_mirrored_picture_has_another_hash(photograph: Any) -> None:
    pixels = photograph(7)
    assert (
        differing_bits(
            measured(pixels).perceptual_hash, measured(pixels[:, ::-1].copy()).perceptual_hash
        )
        > 6
    )


def test_hash_is_the_signs_of_the_lowest_frequencies_against_their_median(photograph: Any) -> None:
    """On a grey picture of 32 x 32 pixels, which needs no resizing; by SciPy's transform instead of
    OpenCV's."""
    for seed in range(5):
        grey = np.repeat(photograph(seed, 32, 32)[:, :, :1], 3, axis=2)
        low = fft.dctn(grey[:, :, 0].astype(float), norm="ortho")[:8, :8].ravel()[1:]
        expected = int("".join("1" if value > np.median(low) else "0" for value in low), 2)
        assert measured(grey).perceptual_hash == expected


def test_hash_has_63_bits_of_which_half_are_set(photograph: Any) -> None:
    for seed in range(8):
        value = measured(photograph(seed)).perceptual_hash
        assert 0 <= value < 2**63
        assert value.bit_count() == 31


# What cannot be measured


@pytest.mark.parametrize(("data", "reason"), [(b"", "empty"), (b"text", "not an image")])
def test_what_is_no_image_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ImageRefused) as refused:
        measure(data, MAX_PIXELS)
    assert refused.value.reason == reason


def test_more_pixels_than_allowed_are_refused(photograph: Any, encoded: Any) -> None:
    data = encoded(photograph(1, 40, 30), "JPEG")
    assert measure(data, 1200).width == 40
    with pytest.raises(ImageRefused) as refused:
        measure(data, 1199)
    assert refused.value.reason == "too large"


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"mode": "L"}])
def test_a_jpeg_that_is_cut_short_is_refused_already_when_measured(
    photograph: Any, encoded: Any, options: Any
) -> None:
    """Else it would be planned, and be missing in the end."""
    data = encoded(photograph(1, 300, 200), "JPEG", **options)
    for share in (0.3, 0.6, 0.9, 0.99):
        short = data[: int(len(data) * share)]
        for refuse in (lambda d: measure(d, MAX_PIXELS), load_normal):
            with pytest.raises(ImageRefused) as refused:
                refuse(short)
            assert refused.value.reason == "damaged"


@pytest.mark.parametrize(
    "size", [(1, 1), (1, 300), (300, 1), (2, 2), (7, 5), (8, 8), (65, 63), (640, 3)]
)
def test_pictures_of_any_shape_can_be_measured(photograph: Any, size: tuple[int, int]) -> None:
    found = measured(photograph(1, *size))
    assert (found.width, found.height) == size
    assert all(np.isfinite(value) for value in found)
    assert 0 <= found.bright <= 1


# Bright cells


def share_of(pixels: Pixels) -> float:
    return measured(pixels).bright


@pytest.mark.parametrize(("level", "share"), [(0, 0), (62, 0), (63, 0), (64, 1), (65, 1), (255, 1)])
def test_a_flat_picture_is_bright_from_a_quarter_of_the_scale_on(level: int, share: float) -> None:
    assert pytest.approx(63.75) == BRIGHT * 255
    assert share_of(flat((level, level, level))) == share


@pytest.mark.parametrize("columns", [0, 8, 16, 32, 56, 64])
def test_the_bright_part_of_a_picture_is_counted_in_cells(columns: int) -> None:
    pixels = flat((10, 10, 10))
    pixels[:, :columns] = 200
    assert share_of(pixels) == columns / 64
    assert share_of(pixels.transpose(1, 0, 2).copy()) == columns / 64


@pytest.mark.parametrize(
    "name",
    [
        "chelsea.png",
        "coffee.png",
        "astronaut.png",
        "rocket.jpg",
        "retina.jpg",
        "motorcycle_left.png",
        "color.png",
    ],
)
def test_share_is_near_that_of_superpixels(skimage_data: Any, name: str) -> None:
    """AGLLNet judges superpixels; cells of a grid say nearly the same, in a tenth of the time and
    in whole numbers."""
    with Image.open(skimage_data / name) as image:
        whole = image.convert("RGB")
    small = whole.copy()
    small.thumbnail((64, 64), Image.Resampling.BOX)
    cells = (small.width // 8) * (small.height // 8)
    labels = slic(
        np.asarray(small),
        n_segments=cells,
        compactness=10,
        enforce_connectivity=False,
        start_label=0,
    )
    luma = luma_of(np.asarray(small))
    means = ndimage.mean(luma, labels, np.unique(labels))
    assert share_of(np.asarray(whole)) == pytest.approx(np.mean(means >= 0.25 * 255), abs=0.16)


def test_share_does_not_depend_on_the_size_of_a_picture() -> None:
    pixels = flat((10, 10, 10))
    pixels[:24] = 200
    pixels[40:48, 8:24] = 150
    large = np.kron(pixels, np.ones((5, 5, 1), np.uint8))
    assert share_of(large) == share_of(pixels)


@pytest.mark.parametrize("size", [(1, 1), (64, 1), (1, 64), (15, 64), (64, 9), (3, 200), (500, 4)])
def test_narrow_pictures_have_cells_too(size: tuple[int, int]) -> None:
    width, height = size
    assert share_of(flat((200, 200, 200), width, height)) == 1
    assert share_of(flat((20, 20, 20), width, height)) == 0


# Other machines

MEASURE = """
import hashlib, pathlib, sys
import numpy as np
from gloam.manifests.selection.measures import measure

digest = hashlib.sha256()
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    digest.update(repr(tuple(measure(path.read_bytes(), 10**9))).encode())
print(digest.hexdigest())
"""
OTHER_CPUS = [
    {},
    {"OPENCV_CPU_DISABLE": "AVX512-SKX,AVX2,FMA3,AVX,FP16", "JSIMD_FORCENONE": "1"},
    {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX", "JSIMD_FORCESSE2": "1"},
    {"OPENBLAS_CORETYPE": "Prescott"},
    {"OPENBLAS_CORETYPE": "Sandybridge", "OPENBLAS_NUM_THREADS": "2"},
]


@pytest.mark.slow
def test_measures_do_not_depend_on_the_instructions_of_a_cpu(
    photograph: Any, encoded: Any, tmp_path: Any
) -> None:
    for seed, (width, height) in enumerate(
        [(500, 375), (331, 500), (1200, 801), (119, 90), (241, 361), (640, 37)]
    ):
        pixels = photograph(seed, width, height)
        (tmp_path / f"{seed}.jpg").write_bytes(encoded(pixels, "JPEG", quality=88))
        (tmp_path / f"{seed}.png").write_bytes(encoded(pixels, "PNG"))
    command = [sys.executable, "-W", "ignore", "-c", MEASURE, str(tmp_path)]
    runs = [
        subprocess.run(
            command, env={**os.environ, **changes}, capture_output=True, text=True, check=True
        )
        for changes in OTHER_CPUS
    ]
    assert len({run.stdout for run in runs}) == 1
