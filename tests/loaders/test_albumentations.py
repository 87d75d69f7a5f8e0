"""Darkening among albumentations' own transforms."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("albumentations", reason="albumentations is not installed")
import albumentations as A

import gloam
from gloam.loaders.albumentations import Darken

IMAGE = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)


def test_it_darkens_images_and_leaves_boxes_and_masks_alone():
    pipeline = A.Compose(
        [A.HorizontalFlip(p=1), Darken("even", seed=3)],
        bbox_params=A.BboxParams(format="pascal_voc", label_fields=["classes"]),
    )
    mask = np.arange(48 * 64, dtype=np.uint8).reshape(48, 64)
    made = pipeline(image=IMAGE, mask=mask, bboxes=[[4, 5, 20, 30]], classes=[1])
    assert (made["mask"] == mask[:, ::-1]).all()
    assert np.allclose(made["bboxes"], [[44, 5, 60, 30]])
    assert made["image"].shape == IMAGE.shape
    assert made["image"].mean() < IMAGE.mean()
    assert (made["image"] != pipeline(image=IMAGE, bboxes=[], classes=[])["image"]).any()


def test_a_key_gives_the_low_of_darken():
    wanted = gloam.darken(IMAGE, "even", seed=3, key="k", overrides=["camera.iso=3200"])
    for overrides in ("camera.iso=3200", ("camera.iso=3200",), iter(["camera.iso=3200"])):
        transform = Darken("even", seed=3, overrides=overrides)
        assert transform.overrides == ("camera.iso=3200",)
        assert (transform.apply(IMAGE, key="k") == wanted).all()


def test_it_is_stored_and_made_again():
    transform = A.Compose([Darken("extreme", seed=5, p=1.0)])
    again = A.from_dict(A.to_dict(transform))
    assert (again.transforms[0].recipe, again.transforms[0].low_seed) == ("extreme", 5)
    assert again(image=IMAGE)["image"].shape == IMAGE.shape
