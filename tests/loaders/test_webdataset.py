"""`PairSet.webdataset`: a pipeline of webdataset over sets of every layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import webdataset

import gloam
from gloam.errors import SetError

pytestmark = pytest.mark.filterwarnings("ignore")  # of webdataset and of forks


def keys(pipeline) -> list[str]:
    return [pair["__key__"] for pair in pipeline]


@pytest.mark.parametrize("kind", ["shards", "files", "shard_lows", "file_lows"])
def test_every_set_gives_its_pairs_decoded_and_named(kind, request):
    root = request.getfixturevalue(kind)
    normals = request.getfixturevalue(kind[:-5] + "s") if kind.endswith("_lows") else None
    pairs = gloam.open_set(root, normals)
    found = list(pairs.webdataset("train"))
    assert len(found) == pairs.counts["train"]
    for item, pair in zip(found, pairs.pairs("train"), strict=True):
        low, normal = pair.pixels()
        assert item["__key__"] == pair.key
        assert item["json"] == pair.record
        assert np.array_equal(item["low"], low)
        assert np.array_equal(item["normal"], normal)


def test_each_epoch_is_shuffled_anew_and_alike_for_a_seed(shards):
    pairs = gloam.open_set(shards)
    stored = keys(pairs.webdataset())
    pipelines = [pairs.webdataset(shuffle=100, seed=seed) for seed in (1, 1, 9)]
    first, same, other = map(keys, pipelines)
    assert first == same
    assert sorted(first) == sorted(stored)
    assert len({tuple(order) for order in (stored, first, other, keys(pipelines[0]))}) == 4


def test_workers_and_ranks_share_the_shards(shards, monkeypatch):
    pairs = gloam.open_set(shards)
    assert len(pairs.units("train")) >= 4
    loader = torch.utils.data.DataLoader(pairs.webdataset(), batch_size=None, num_workers=2)
    assert sorted(keys(loader)) == sorted(keys(pairs.webdataset()))
    shares = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        shares.append(set(keys(pairs.webdataset(shuffle=100, seed=3))))
    assert not shares[0] & shares[1]
    assert len(shares[0] | shares[1]) == pairs.counts["train"]


def test_it_goes_on_as_pipelines_of_webdataset_do(shards):
    with gloam.open_set(shards).webdataset("val").map(lambda pair: pair["low"].shape) as pipeline:
        assert isinstance(pipeline, webdataset.DataPipeline)
        assert all(shape[2] == 3 for shape in pipeline)


def test_mistakes_and_damage_are_told(shards, shard_lows, photos, tmp_path):
    with pytest.raises(SetError, match=r"split 'test': must be one of train, val"):
        gloam.open_set(shards).webdataset("test")
    with pytest.raises(SetError, match="normals"):
        gloam.open_set(shard_lows).webdataset()
    live = tmp_path / "live"
    gloam.build(live, f"folder={photos}:4", val=1, select=False, low_codec="none", workers=1)
    with pytest.raises(SetError, match="gloam export SET NEW --low-codec png"):
        gloam.open_set(live).webdataset()
    stored = tmp_path / "stored"
    gloam.build(stored, f"folder={photos}:4", val=1, select=False, workers=1, layout="files")
    pairs = gloam.open_set(stored)
    low = next(Path(stored).glob("**/low/**/*.png"))
    data = low.read_bytes()
    low.write_bytes(data[:60] + bytes(len(data) - 60))
    split = low.relative_to(stored).parts[0]
    with pytest.raises(SetError, match=low.stem):
        list(pairs.webdataset(split))
