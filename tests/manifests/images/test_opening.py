"""Which formats are opened, and what is said of others."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest
from PIL import Image, features

from gloam.errors import ImageRefused
from gloam.manifests.images.normals import load_normal


@pytest.mark.parametrize("file_format", ["GIF", "PPM", "ICO"])
def test_formats_that_gloam_does_not_read_are_not_images(
    photograph: Any, encoded: Any, file_format: str
) -> None:
    with pytest.raises(ImageRefused) as refused:
        load_normal(encoded(photograph(1, 32, 32), file_format))
    assert refused.value.reason == "not an image"


def test_avif_is_read_where_pillow_can(photograph: Any, encoded: Any) -> None:
    if not features.check("avif"):
        pytest.skip("this Pillow reads no AVIF")
    pixels = photograph(1, 64, 48)
    normal = load_normal(encoded(pixels, "AVIF", quality=100))
    assert (normal.suffix, normal.converted) == ("png", "avif file")
    assert np.abs(normal.pixels.astype(int) - pixels).mean() < 6


def test_heic_is_read_where_pillow_heif_is_installed(photograph: Any) -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    pixels = photograph(1, 64, 48)
    out = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(pixels)).save(out, quality=100)
    normal = load_normal(out.getvalue())
    assert (normal.suffix, normal.converted) == ("png", "heif file")
    assert np.abs(normal.pixels.astype(int) - pixels).mean() < 6


def test_heic_without_a_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(ImageRefused) as refused:
        load_normal(b"\0\0\0\x18ftypheic\0\0\0\0heicmif1" + bytes(64))
    assert refused.value.reason == "unsupported"
    assert "pip install pillow-heif" in refused.value.detail


def test_a_limit_of_pixels_that_the_program_set_in_pillow_is_neither_used_nor_changed(
    monkeypatch: pytest.MonkeyPatch, photograph: Any, encoded: Any
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert load_normal(encoded(photograph(1, 64, 48), "PNG")).pixels.shape == (48, 64, 3)
    assert Image.MAX_IMAGE_PIXELS == 100
