"""Loaders on a GPU give what they give on a CPU: live, resident, over ranks, and clips."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

import gloam
from gloam.manifests.images.encode import encode
from gloam.synth.clips import frames_of

from ..clips import panned, write_frames
from ..conftest import picture

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]
PLAIN = {"batch_size": 1, "dtype": "uint8", "layout": "HWC", "keys": True, "device": "gpu"}
RANKED = """
import sys, torch, torch.distributed as dist, gloam
dist.init_process_group("gloo")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
loader = gloam.PairLoader(sys.argv[1], live=True, batch_size=2, size=32, keys=True, device="gpu",
                          last_batch="partial")
keys = [key for low, normal, names in loader for key in names]
assert low.is_cuda and low.device.index == torch.cuda.current_device()
found = [None] * dist.get_world_size()
dist.all_gather_object(found, keys)
if dist.get_rank() == 0:
    print(*sorted(key for one in found for key in one))
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> gloam.manifests.sets.pair_set.PairSet:
    """A set whose normals are PNGs, which every decoder reads alike."""
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "photos").mkdir()
    for i in range(12):
        data = encode(picture(i, 120 + 8 * i, 100 + 4 * i), "png")
        (folder / "photos" / f"photo-{i}.png").write_bytes(data)
    options = {"val": 2, "select": False, "shard_size": 3, "recipe": "uneven"}
    gloam.build(folder / "set", [f"folder={folder / 'photos'}"], **options)
    return gloam.open_set(folder / "set")


def by_key(loader) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found = {}
    for lows, normals, keys in loader:
        assert lows.is_cuda
        assert normals.is_cuda
        for low, normal, key in zip(lows.cpu(), normals.cpu(), keys, strict=True):
            found[key] = low.numpy(), normal.numpy()
    return found


WAYS = {
    "stored": {},
    "live": {"live": True, "draws": "set", "exact": True},
    "external": {"live": True, "draws": "set", "exact": True, "reader": "external"},
    "resident": {"resident": True},
    "resident, live": {"resident": True, "live": True, "draws": "set"},
}


@pytest.mark.parametrize("way", WAYS)
def test_pairs_are_those_of_the_set(pairs, way):
    found = by_key(gloam.PairLoader(pairs, **PLAIN, **WAYS[way]))
    wanted = {pair.key: pair.pixels() for pair in pairs.pairs("train")}
    assert found.keys() == wanted.keys()
    for key, (low, normal) in wanted.items():
        np.testing.assert_array_equal(found[key][0], low, key)
        np.testing.assert_array_equal(found[key][1], normal, key)


def test_fresh_lows_are_those_of_the_cpu(pairs):
    options = {**PLAIN, "live": True, "recipe": "train", "seed": 4, "exact": True}
    on_gpu = by_key(gloam.PairLoader(pairs, **options))
    with gloam.PairLoader(pairs, **{**options, "device": "cpu"}) as loader:
        for low, _, keys in loader:
            np.testing.assert_array_equal(on_gpu[keys[0]][0], low[0].numpy(), keys[0])


def test_batches_are_cropped_and_turned_alike(pairs):
    recipe = gloam.load_recipe("gamma", [f"curve.{name}=1" for name in ("alpha", "beta", "gamma")])
    options = {**PLAIN, "batch_size": 4, "size": 40, "augment": True, "crop": "random"}
    for low, normal, _ in gloam.PairLoader(pairs, live=True, recipe=recipe, **options):
        assert torch.equal(low, normal)


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
    made = {**PLAIN, "batch_size": 8, "size": 40, "augment": True, "seed": 3, "exact": True}
    made |= {"give": ["component"], "last_batch": "partial", "backend": "dali"}
    return gloam.PairLoader(data, **{**made, **options, "device": device})


def batches(loaders, epochs=1):
    """What ranks give, in the order of steps: names, keys, lows and normals as arrays of levels."""
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


def test_ranks_share_the_pairs(pairs):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    count = ["--nproc-per-node", str(min(torch.cuda.device_count(), 4)), "--no-python"]
    done = subprocess.run(
        [*command, *count, sys.executable, "-c", RANKED, str(pairs.root)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == sorted(pair.key for pair in pairs.pairs("train"))


@pytest.mark.parametrize("more", [{}, {"live": True, "draws": "set"}])
def test_clips_are_those_of_the_set(tmp_path: Path, more):
    for number in range(3):
        write_frames(tmp_path / "clips" / f"s{number}", panned(number, 6))
    made = {"frames": 3, "val": 1, "select": False, "recipe": "even"}
    gloam.build(tmp_path / "set", f"clips={tmp_path / 'clips'}", **made)
    clips = gloam.open_set(tmp_path / "set")
    found = by_key(gloam.ClipLoader(clips.root, **PLAIN, **more))
    wanted = {clip.key: frames_of(clip) for clip in clips.pairs("train")}
    assert found.keys() == wanted.keys()
    for key, (lows, normals) in wanted.items():
        np.testing.assert_array_equal(found[key][0], lows, key)
        np.testing.assert_array_equal(found[key][1], normals, key)


def test_the_self_test_passes_on_the_gpu():
    findings = {one.subject: one for one in gloam.doctor().findings}
    assert findings["GPU"].state == "ok"
    assert findings["lows of the GPU"].state == "ok", findings["lows of the GPU"].found
