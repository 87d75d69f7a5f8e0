"""Arguments of DALI's pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gloam.loaders import PairLoader
from gloam.loaders.contents import Contents
from gloam.loaders.read import lengths
from gloam.manifests.sets.pair_set import open_set
from gloam.manifests.sets.split_files import open_files

pytest.importorskip("nvidia.dali")
pytest.importorskip("torch")

PLAIN = {"device": "cpu", "workers": 2, "size": (40, 56)}


@pytest.fixture
def decoders(monkeypatch) -> list[dict[str, Any]]:
    """Return what decoders are asked for, by pipelines of a GPU too: decoding stays on the CPU."""
    from gloam.loaders.dali import pipelines

    asked = []
    real = pipelines.fn

    class Recording:
        def __getattr__(self, name):
            return getattr(real, name)

        class decoders:  # noqa: N801
            @staticmethod
            def image(images, **arguments):
                asked.append(arguments)
                return real.decoders.image(images, **arguments | {"device": "cpu"})

    monkeypatch.setattr(pipelines, "fn", Recording())
    return asked


def decoded_on(shards, device):
    from gloam.loaders.dali import pipelines

    options = PairLoader(shards, batch_size=2, **PLAIN, crop="resize").options
    pairs = Contents(**vars(open_files(open_set(shards), "train"))).pairs
    data = [np.frombuffer(pairs[i].normals[0].read(), np.uint8) for i in range(12)]
    batches = [data[i : i + 4] for i in range(8, -1, -4)] * 9

    def source():
        batch = batches.pop()
        # What DALI converts for its conditionals knows no `strict`; this is to run as it is here.
        halves = [half for half, _ in zip((0, 1, 1, 0), batch, strict=True)]
        return batch, lengths(batch).astype(np.int32), np.array(halves)

    pipeline = pipelines.encoded_images(
        source,
        options.model_copy(update={"device": device}),
        batch_size=4,
        num_threads=2,
        device_id=None,
    )
    pipeline.build()
    return [np.array(batch[i]) for (batch,) in [pipeline.run() for _ in range(3)] for i in range(4)]


def test_jpegs_are_decoded_on_a_gpu_as_libjpeg_turbo_does(shards, decoders):
    """With fancy upsampling: seen in the pipeline's own description."""
    decoded_on(shards, "gpu")
    assert {asked["device"] for asked in decoders} == {"mixed"}
    assert all(asked["jpeg_fancy_upsampling"] for asked in decoders)


def test_two_decoders_of_a_gpu_share_the_images(shards, decoders):
    made = []
    for device, count in (("gpu", 2), ("cpu", 1)):
        decoders.clear()
        made.append(decoded_on(shards, device))
        assert len(decoders) == count
    for one, other in zip(*made, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("variable", "local", "share"),
    [("LOCAL_WORLD_SIZE", "2", 0.9), ("SLURM_TASKS_PER_NODE", "4(x2),3", 1.0)],
)
def test_where_many_train_together_the_hardware_decodes_everything(
    shards, monkeypatch, variable, local, share
):
    assert PairLoader(shards, batch_size=2, **PLAIN).options.hw_decoder_load == 0.9
    monkeypatch.setenv(variable, local)
    assert PairLoader(shards, batch_size=2, **PLAIN).options.hw_decoder_load == share
    assert (
        PairLoader(shards, batch_size=2, hw_decoder_load=0.5, **PLAIN).options.hw_decoder_load
        == 0.5
    )
