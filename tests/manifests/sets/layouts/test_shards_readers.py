"""Finished shards as other libraries read them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from gloam.manifests.images.decode import decode
from gloam.manifests.selection.bounds import EVERYTHING
from gloam.manifests.selection.plan import PlanOptions
from gloam.manifests.sets.info import read_set
from gloam.manifests.sets.layouts.shard_tar import shard_path
from gloam.manifests.sets.layouts.shards import read_samples
from gloam.manifests.sources import Source
from gloam.synth.building.build import build_request
from gloam.synth.building.request import OutputOptions, Request
from gloam.synth.recipes.load import load_recipe


@pytest.fixture(scope="module", params=["png", "jpg"])
def shards(request, photographs, tmp_path_factory):
    root = tmp_path_factory.mktemp("read") / "set"
    build_request(
        Request(
            sources=(Source(kind="folder", path=str(photographs), name="folder"),),
            profile=EVERYTHING,
            plan=PlanOptions(shard_size=7),
            recipe=load_recipe("even"),
            output=OutputOptions(low_codec=request.param),
        ),
        root,
    )
    return root


def expected(root):
    return {
        pair.key: pair
        for unit in read_set(root).units
        for pair in read_samples(shard_path(root, unit))
    }


def paths(root, kind):
    return [
        str(root / line) for line in (root / "lists" / f"train-{kind}.txt").read_text().splitlines()
    ]


@pytest.mark.filterwarnings("ignore")
def test_webdataset_reads_every_pair(shards):
    import webdataset

    samples = list(webdataset.WebDataset(paths(shards, "shards"), shardshuffle=False))
    pairs = expected(shards)
    assert [sample["__key__"] for sample in samples] == list(pairs)
    for sample in samples:
        pair = pairs[sample["__key__"]]
        assert sample[f"low.{pair.low.suffix}"] == pair.low.data
        assert sample[f"normal.{pair.normal.suffix}"] == pair.normal.data
        assert b'"draw"' in sample["json"]


@pytest.mark.filterwarnings("ignore")
def test_dali_reads_every_pair_through_the_index(shards):
    fn = pytest.importorskip("nvidia.dali.fn")
    from nvidia.dali import pipeline_def, types

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, prefetch_queue_depth=1)
    def pipeline():
        low, normal, record = fn.readers.webdataset(
            paths=paths(shards, "shards"),
            index_paths=paths(shards, "indexes"),
            ext=["low.png;low.jpg", "normal.jpg;normal.png", "json"],
            missing_component_behavior="error",
            name="reader",
            pad_last_batch=True,
        )
        decoded = fn.decoders.image([low, normal], device="cpu", output_type=types.RGB)
        return decoded[0], decoded[1], record

    pipe = pipeline()
    pipe.build()
    pairs = expected(shards)
    assert (
        pipe.reader_meta("reader")["epoch_size"]
        == len(pairs)
        == sum(read_set(shards).units.values())
    )
    seen = set()
    for _ in range(-(-len(pairs) // 4)):
        lows, normals, records = pipe.run()
        for i in range(4):
            import json

            key = json.loads(bytes(np.array(records[i])))["key"]
            pair = pairs[key]
            seen.add(key)
            # DALI's decoder is not libjpeg-turbo's; a few levels apart is the same picture.
            for shown, member in ((lows[i], pair.low), (normals[i], pair.normal)):
                stored = decode(member.data, member.suffix)
                difference = np.abs(np.array(shown).astype(int) - stored)
                assert difference.mean() < (0 if member.suffix == "png" else 2) + 1e-9
    assert seen == set(pairs)


@pytest.mark.filterwarnings("ignore")
def test_hugging_face_datasets_reads_every_pair(shards, tmp_path):
    datasets = pytest.importorskip("datasets")
    os.environ["HF_HUB_OFFLINE"] = "1"
    only_png = [p for p in expected(shards).values() if p.normal.suffix == "jpg"]
    assert only_png
    loaded = datasets.load_dataset(
        "webdataset",
        data_files={"train": paths(shards, "shards")},
        split="train",
        streaming=True,
        cache_dir=str(tmp_path),
    )
    keys = [row["__key__"] for row in loaded]
    assert keys == list(expected(shards))
