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
