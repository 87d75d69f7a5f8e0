"""One crop: every loader cuts the same window of a pair, and flips it alike."""

from __future__ import annotations

import struct
from collections import Counter
from hashlib import blake2b

import numpy as np
import pytest

import gloam
from gloam.loaders.augment import crop_numbers, crops_of
from gloam.loaders.options import Options
from gloam.loaders.order import epoch_seed
from gloam.synth.parameters.keyed_random import Keys

from .numbered import numbered

pytest.importorskip("nvidia.dali")
pytest.importorskip("torch")

LOADERS = {
    "webdataset": ("PairLoader", "shards", {}),
    "file": ("PairLoader", "files", {}),
    "lows only": ("PairLoader", "shard_lows", {}),
    "resident": ("PairLoader", "shards", {"resident": True}),
    "live": ("PairLoader", "shards", {"live": True}),
    "live resident": ("PairLoader", "files", {"live": True, "resident": True}),
    "torch": ("TorchLoader", "shards", {"workers": 0}),
    "torch live": ("TorchLoader", "files", {"live": True, "workers": 0}),
    "images": ("ImageLoader", "shards", {}),
}
CROPS = {
    "cut": {"crop": "random", "size": (24, 32), "augment": True},
    "square": {"crop": "random", "size": 32, "augment": True},
    "enlarged": {"crop": "random", "size": (64, 48), "augment": True},
    "random-resized": {"crop": "random-resized", "size": 32, "augment": True},
    "flips": {"crop": "resize", "size": (40, 56), "augment": True},
    "whole": {"size": None, "crop": "resize", "augment": True, "batch_size": 1},
}


def test_numbers_are_those_of_hashlib_for_texts_and_for_keys():
    keys = ["a", "\u00e9t\u00e9", "k" * 300, ""]
    options = Options(batch_size=4, crop="random-resized", size=(32, 32), augment=True, seed=7)
    drawn, same = crop_numbers(options, 3, keys), crop_numbers(options, 3, Keys(keys))
    assert drawn.tobytes() == same.tobytes()
    assert len(np.unique(drawn[:, :4])) == 16
    seed = epoch_seed(7, 3, "forms")
    for key, top in zip(keys, drawn[:, 2], strict=True):
        message = f"{seed}\0{key}\0top\0{0}".encode()
        (bits,) = struct.unpack("<Q", blake2b(message, person=b"gloam draw").digest()[:8])
        assert top == ((bits >> 12) + 0.5) * 2.0**-52


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("crop", CROPS)
def test_every_loader_cuts_the_same_window_of_a_pair(crop, loader, request):
    name, fixture, options = LOADERS[loader]
    root, more = request.getfixturevalue(fixture), {}
    if fixture == "shard_lows":
        more = {"normals": request.getfixturevalue("shards")}
    common = {"batch_size": 4, "device": "cpu", "dtype": "uint8", "layout": "HWC", "seed": 5}
    how = {**common, "keys": True, **CROPS[crop]}
    seen = Counter()
    with getattr(gloam, name)(root, **how, **options, **more) as batches:
        for epoch in range(2):
            for batch in batches:
                for normal, key in zip(
                    batch[-3 if name == "ImageLoader" else 1], batch[-1], strict=True
                ):
                    wanted, flips = expected(key, epoch, batches.options)
                    assert normal.shape == wanted.shape
                    assert np.abs(normal.numpy().astype(int) - wanted).max() <= 2
                    seen[flips] += 1
    assert len(seen) >= 4


def expected(key: str, epoch: int, options: Options):
    """Cut, resize and flip a pair's picture as its key says; colours run evenly over it."""
    picture = numbered(int(key.rpartition("n")[2]))
    height, width = picture.shape[:2]
    (crop,) = crops_of(crop_numbers(options, epoch, [key]), options, [(height, width)])
    top, left, h, w, across, down, turned = crop.tolist()
    rows, columns = options.size or (h, w)
    y = np.clip((np.arange(rows) + 0.5) * h / rows - 0.5, 0, h - 1) + top
    x = np.clip((np.arange(columns) + 0.5) * w / columns - 0.5, 0, w - 1) + left
    made = np.empty((rows, columns, 3))
    made[..., 0] = picture[0, 0, 0]
    made[..., 1], made[..., 2] = (y * 255 / height)[:, None], x * 255 / width
    made = made[:: -1 if down else 1, :: -1 if across else 1]
    return made.swapaxes(0, 1) if turned else made, (across, down, turned)


@pytest.mark.parametrize("crop", ["random", "random-resized"])
def test_windows_lie_within_images_of_all_sizes(crop):
    random = np.random.default_rng(1)
    sizes = random.integers(1, 3000, (4096, 2)).astype(np.float64)
    numbers = random.uniform(0, 1, (4096, 7))
    numbers[:, 0], numbers[:, 1] = 0.35 + 0.65 * numbers[:, 0], 0.75 + 0.58 * numbers[:, 1]
    numbers[:, 4:] = 0
    wanted = crops_of(numbers, Options(batch_size=4096, size=(225, 317), crop=crop), sizes)
    assert (wanted[:, :2] >= 0).all()
    assert (wanted[:, 2:4] >= 1).all()
    assert (wanted[:, :2] + wanted[:, 2:4] <= sizes).all()


def test_crops_are_drawn_by_seed_epoch_and_key_alone():
    options, keys = Options(batch_size=4, size=(64, 64), crop="random", augment=True), ["a", "b"]
    sizes = [(100, 140)] * 2
    other = options.model_copy(update={"seed": 1})
    drawn, turned, *others = (
        crops_of(crop_numbers(how, epoch, own), how, sizes)
        for how, epoch, own in (
            (options, 3, keys),
            (options, 3, keys[::-1]),
            (options, 4, keys),
            (other, 3, keys),
        )
    )
    assert drawn.tolist() == turned[::-1].tolist()
    assert all((drawn[:, :2] != other[:, :2]).any() for other in others)
