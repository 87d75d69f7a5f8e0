"""Mixtures on a GPU give what they give on a CPU, in the order that all have."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import pytest

import gloam
from gloam.manifests.images.normals import encode

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]
PLAIN = {"batch_size": 8, "size": 40, "dtype": "uint8", "layout": "HWC", "keys": True}


@pytest.fixture(scope="module")
def mixture(pairs):
    """Components of every kind that a GPU makes otherwise than a CPU, all of PNGs."""
    stored = [pair.pixels() for pair in pairs.pairs("train")]
    few = [tuple(encode(image, "png") for image in pair) for pair in stored[:3]]
    live = {"data": pairs.root, "weight": 3, "live": True}
    return gloam.mix(
        {
            "live": {**live, "recipe": {0: "train", 5: "uneven"}},
            "curve": {**live, "weight": 1, "recipe": "gamma"},
            "stored": (pairs.root, 2),
            "list": (few, 1),
            "lit": {"data": pairs.root, "weight": 1, "identity": True},
        },
        epoch=70,
    )


def mixed(data, device, **options):
    made = {**PLAIN, "augment": True, "seed": 3, "exact": True, "extras": ["component"]}
    made |= {"last_batch": "partial", "backend": "dali"}
    return gloam.PairLoader(data, **{**made, **options, "device": device})


def batches(loaders, epochs=1):
    """Return what ranks give, in the order of steps: names, keys, arrays of lows and normals."""
    found = []
    for _ in range(epochs):
        for row in itertools.zip_longest(*map(iter, loaders)):
            for low, normal, keys, given in filter(None, row):
                images = low.cpu().numpy(), normal.cpu().numpy()
                found += zip(given["component"], keys, *images, strict=True)
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"size": {0: 32, 3: (24, 40)}, "layout": "CHW"},
        {"crop": "random-resized"},
        {"size": None, "pad": True},
        {"dtype": "float16", "value_range": (-1, 1)},
    ],
    ids=["windows", "sizes", "resized", "padded", "halves"],
)
def test_mixtures_are_those_of_the_cpu(mixture, options):
    with mixed(mixture, "gpu", **options) as loader:
        assert next(iter(loader))[0].is_cuda
    with mixed(mixture, "gpu", **options) as one, mixed(mixture, "cpu", **options) as other:
        made, wanted = batches([one], 2), batches([other], 2)
    for (name, key, *images), (name2, key2, *images2) in zip(made, wanted, strict=True):
        assert (name, key) == (name2, key2)
        scale = 127.5 if images[0].dtype == np.float16 else 1
        exact = name == "live" or "crop" not in options  # DALI resizes the others
        for image, image2 in zip(images, images2, strict=True):
            far = np.abs(image.astype(float) - image2.astype(float)).max() * scale
            assert far <= (0.2 if scale > 1 else 0 if exact else 1), name


def test_unpaired_pictures_are_those_of_the_cpu(pairs):
    stored = [pair.pixels() for pair in pairs.pairs("train")]
    lists = [encode(low, "png") for low, _ in stored], [encode(n, "png") for _, n in stored[:7]]
    data = gloam.mix(
        {
            "apart": {
                "data": {"dark": lists[0], "bright": lists[1]},
                "weight": 1,
                "unpaired": True,
            },
            "set": {"data": pairs.root, "weight": 1, "live": True},
        }
    )
    made, wanted = (batches([mixed(data, device)], 2) for device in ("gpu", "cpu"))
    for (*one, low, normal), (*other, low2, normal2) in zip(made, wanted, strict=True):
        assert one == other
        np.testing.assert_array_equal(low, low2)
        np.testing.assert_array_equal(normal, normal2)


def test_mixtures_go_on_elsewhere_with_exact_shares(mixture):
    loader = mixed(mixture, "gpu")
    whole = batches([mixed(mixture, "gpu")], 2)
    counts = Counter(name for name, *_ in whole)
    for name, component in mixture.components.items():
        assert counts[name] == pytest.approx(component.weight[0] / 8 * len(whole), abs=1)
    run = iter(loader)
    begun = batches([itertools.islice(run, 3)])
    state = json.loads(json.dumps(loader.state_dict()))
    left = {}
    for device, world in (("gpu", 1), ("gpu", 2), ("cpu", 3)):
        on = [mixed(mixture, device, rank=rank, world_size=world) for rank in range(world)]
        for one in on:
            one.load_state_dict(state)
        left[device, world] = batches(on)
    torch_one = mixed(mixture, "cpu", backend="torch", workers=0, exact=None)
    torch_one.load_state_dict(state)
    left["torch"] = batches([torch_one])
    order = [(name, key) for name, key, *_ in begun + left["gpu", 1]]
    assert order == [(name, key) for name, key, *_ in whole[: len(order)]]
    assert all([one[:2] for one in part] == order[len(begun) :] for part in left.values())
