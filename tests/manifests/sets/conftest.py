"""Samples of real images: pairs, and some with further members."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gloam.manifests.sets.sample import Encoded, Origin, Sample, make_sample

FORMATS = {"png": "PNG", "jpg": "JPEG"}


@pytest.fixture(scope="session")
def make_test_pair(photograph: Any, encoded: Any) -> Callable[..., Sample]:
    """make_test_pair(number, low_suffix="png", normal_suffix="jpg", **further members): a pair of
    real images."""

    def make(
        number: int, low_suffix: str = "png", normal_suffix: str = "jpg", **further: Encoded
    ) -> Sample:
        normal, low = photograph(number, 40, 30), photograph(number, 40, 30) // 6
        origin = Origin(
            "voc",
            f"JPEGImages/{number:04d}.jpg",
            40,
            30,
            "" if number % 2 else "greyscale",
        )
        draw = {
            "exposure": {"ev": 2.5 + number},
            "illumination": {"lights": {"ev": [0.5, 1.0]}},
            "camera": {"name": "S7", "iso": 100 * number},
        }
        members = {
            "low": Encoded(encoded(low, FORMATS[low_suffix]), low_suffix),
            "normal": Encoded(encoded(normal, FORMATS[normal_suffix]), normal_suffix),
        }
        return make_sample(f"voc-{number:04d}", origin, draw, members | further)

    return make


@pytest.fixture(scope="session")
def pairs(make_test_pair: Callable[..., Sample]) -> list[Sample]:
    """Seven pairs of real images, in every combination of the suffixes."""
    suffixes = [("png", "jpg"), ("png", "png"), ("jpg", "jpg"), ("jpg", "png")]
    return [make_test_pair(i, *suffixes[i % 4]) for i in range(7)]


@pytest.fixture(scope="session")
def rich(make_test_pair: Callable[..., Sample], photograph: Any, encoded: Any) -> list[Sample]:
    """Three samples with members besides the pair: an array, an image of a numbered series, and one
    whose name has no suffix, as webdataset has `cls`."""
    found = []
    for i in range(3):
        boxes = io.BytesIO()
        np.save(boxes, np.arange(4 * i, dtype=np.int32).reshape(i, 4))
        further = {
            "boxes": Encoded(boxes.getvalue(), "npy"),
            "normal.000": Encoded(encoded(photograph(50 + i, 40, 30), "JPEG"), "jpg"),
            "cls": Encoded(str(i).encode(), ""),
        }
        found.append(make_test_pair(i, **further))
    return found
