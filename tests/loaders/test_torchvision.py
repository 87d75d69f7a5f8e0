"""Darkening among torchvision's transforms."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from PIL import Image

import gloam

pytest.importorskip("torchvision", exc_type=(ImportError, RuntimeError))
from torchvision import tv_tensors
from torchvision.transforms import v2

from gloam.loaders.torchvision import Darken, MakePair

PIXELS = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
TENSOR = torch.from_numpy(PIXELS).permute(2, 0, 1)


def lows_of(transform, image):
    transform.darken._calls = 0
    low = transform(image)
    return np.asarray(low) if isinstance(low, Image.Image) else low.permute(1, 2, 0).numpy()


def test_every_kind_of_image_has_the_low_of_its_key():
    transform = Darken("even", seed=3)
    key = gloam.Darken("even", seed=3).next_key()
    wanted = gloam.darken(PIXELS, "even", seed=3, key=key)
    for image in (Image.fromarray(PIXELS), TENSOR, tv_tensors.Image(TENSOR)):
        assert (lows_of(transform, image) == wanted).all()
        assert type(transform(image)) is type(image)
    for other in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
        assert (lows_of(other, TENSOR) == wanted).all()
    assert (transform(TENSOR) != transform(TENSOR)).any()


def test_boxes_masks_and_labels_stay():
    boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(40, 60))
    mask = tv_tensors.Mask(torch.ones(40, 60, dtype=torch.uint8))
    image, target = Darken("even")(
        tv_tensors.Image(TENSOR), {"boxes": boxes, "mask": mask, "label": 7}
    )
    assert isinstance(image, tv_tensors.Image)
    assert (image != TENSOR).any()
    assert torch.equal(target["boxes"], boxes)
    assert torch.equal(target["mask"], mask)
    assert target["label"] == 7


def test_pairs_are_cropped_alike():
    pairs = v2.Compose([MakePair("even", overrides=["exposure.ev=0"]), v2.RandomCrop(16)])
    low, normal = pairs(TENSOR)
    assert low.shape == normal.shape == (3, 16, 16)
    same = v2.Compose([MakePair("even"), v2.RandomHorizontalFlip(1.0)])
    low, normal = same(tv_tensors.Image(TENSOR))
    assert torch.equal(normal, TENSOR.flip(-1))
