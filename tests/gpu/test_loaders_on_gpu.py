"""Loaders on a GPU give what they give on a CPU: live, resident, over ranks, and clips."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import gloam
from gloam.loaders.options import EXTRAS
from gloam.manifests.images.normals import encode
from gloam.synth.clips import frames_of

from ..clips import panned

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]
PLAIN = {"batch_size": 1, "dtype": "uint8", "layout": "HWC", "keys": True, "device": "gpu"}
RANKED = """
import sys, torch, torch.distributed as dist, gloam
dist.init_process_group("gloo")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
loader = gloam.PairLoader(sys.argv[1], live=True, batch_size=2, size=32, keys=True, device="gpu",
                          last_batch="partial")
keys = []
for low, normal, names in loader:
    keys += names
assert low.is_cuda and low.device.index == torch.cuda.current_device()
found = [None] * dist.get_world_size()
dist.all_gather_object(found, keys)
if dist.get_rank() == 0:
    print(*sorted(key for one in found for key in one))
dist.destroy_process_group()
"""


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


def test_others_may_wait_for_the_gpu_while_lows_are_made(pairs):
    options = {"live": True, "recipe": "uneven", "batch_size": 2, "size": 48, "device": "gpu"}
    with gloam.PairLoader(pairs, **options) as loader:
        for _ in range(20):
            for low, _ in loader:
                torch.cuda.synchronize()
                assert low.is_cuda


def test_batches_are_cropped_and_turned_alike(pairs):
    recipe = gloam.load_recipe("gamma", [f"curve.{name}=1" for name in ("alpha", "beta", "gamma")])
    options = {**PLAIN, "batch_size": 4, "size": 40, "augment": True, "crop": "random"}
    for low, normal, _ in gloam.PairLoader(pairs, live=True, recipe=recipe, **options):
        assert torch.equal(low, normal)


KNOWN = {
    "fresh": {"live": True, "exact": True, "size": 48, "augment": True},
    "train": {"live": True, "exact": True, "recipe": "train", "size": (40, 64), "crop": "resize"},
    "lamps": {"live": True, "exact": True, "recipe": "night-lights", "pad": True, "augment": True},
    "curves": {"live": True, "exact": True, "recipe": "gamma", "size": 48},
    "stored": {"size": 48, "augment": True, "layout": "HWC"},
    "stored, external": {"size": 48, "crop": "random-resized", "reader": "external"},
    "resident": {"resident": True, "size": 48, "augment": True},
    "resident, live": {"resident": True, "live": True, "size": 48, "dtype": "float16"},
}


@pytest.mark.parametrize("way", KNOWN)
def test_draws_know_on_a_gpu_what_they_know_on_a_cpu(pairs, way):
    more = {"value_range": (-1, 1), "last_batch": "partial", "keys": True, "extras": EXTRAS}
    options = {"batch_size": 4, "seed": 3, **more, **KNOWN[way]}
    found = known_by_key(gloam.PairLoader(pairs, device="gpu", backend="dali", **options), "cuda")
    for name in ("resident", "reader"):
        options.pop(name, None)
    wanted = known_by_key(gloam.TorchLoader(pairs, device="cpu", workers=0, **options), "cpu")
    assert found.keys() == wanted.keys()
    half = options.get("dtype") == "float16"
    near = {"rtol": 2e-3, "atol": 2e-3} if half else {"rtol": 1e-3, "atol": 1e-3 / 128}
    for key, given in wanted.items():
        for name, value in given.items():
            own = found[key][name]
            if not isinstance(value, torch.Tensor):
                assert own == value, f"{name} of {key}"
                continue
            own, value = own.float().cpu(), value.float()
            if value.ndim:  # rooms are as large as the largest of a batch
                value = value[: own.shape[0], : own.shape[1], : own.shape[2]]
                own = own[: value.shape[0], : value.shape[1], : value.shape[2]]
            message = f"{way}: {name} of {key}"
            torch.testing.assert_close(own, value, equal_nan=True, **near, msg=message)


def known_by_key(loader, device):
    found = {}
    for _, _, keys, given in loader:
        maps = [one for one in given.values() if isinstance(one, torch.Tensor)]
        assert {one.device.type for one in maps} == {device}
        for i, key in enumerate(keys):
            found[key] = {
                name: value["records"][i] if name == "draw" else value[i]
                for name, value in given.items()
            }
    return found


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
        folder = tmp_path / "clips" / f"s{number}"
        folder.mkdir(parents=True)
        for i, frame in enumerate(panned(number, 6)):  # PNGs, which every decoder reads alike
            (folder / f"{i:05d}.png").write_bytes(encode(frame, "png"))
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
