"""Arguments of DALI's pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gloam.loaders import PairLoader
from gloam.loaders.index import contents_of

pytest.importorskip("nvidia.dali")
pytest.importorskip("torch")

PLAIN = {"device": "cpu", "workers": 2, "size": (40, 56)}


@pytest.fixture
def decoders(monkeypatch) -> list[dict[str, Any]]:
    """Return what decoders are asked for, by pipelines of a GPU too: decoding stays on the CPU."""
    from gloam.loaders.dali.transforms import operators

    asked = []
    real = operators.fn

    class Recording:
        def __getattr__(self, name):
            return getattr(real, name)

        class decoders:  # noqa: N801
            @staticmethod
            def image(images, **arguments):
                asked.append(arguments)
                return real.decoders.image(images, **arguments | {"device": "cpu"})

    monkeypatch.setattr(operators, "fn", Recording())
    return asked


def on_gpu(shards):
    options = PairLoader(shards, batch_size=2, **PLAIN, crop="resize").options
    return options.model_copy(update={"device": "gpu"})


def test_jpegs_are_decoded_on_a_gpu_as_libjpeg_turbo_does(shards, decoders):
    """With fancy upsampling: seen in the pipeline's own description."""
    from gloam.loaders.dali import pipelines

    paths = contents_of(shards, "train").shards()
    pipelines.webdataset_pairs(
        *paths, on_gpu(shards), batch_size=2, num_threads=1, device_id=None
    ).build()
    assert {asked["device"] for asked in decoders} == {"mixed"}
    assert all(asked["jpeg_fancy_upsampling"] for asked in decoders)


def test_two_decoders_of_a_gpu_share_what_becomes_lows(shards, decoders):
    from gloam.loaders.dali import pipelines

    paths = contents_of(shards, "train").shards("normal")
    made = []
    for options, count in (
        (on_gpu(shards), 2),
        (on_gpu(shards).model_copy(update={"device": "cpu"}), 1),
    ):
        decoders.clear()
        pipeline = pipelines.webdataset_normals(
            *paths, options, batch_size=4, num_threads=2, device_id=None
        )
        pipeline.build()
        assert len(decoders) == count
        images = [pipeline.run()[0] for _ in range(3)]
        made.append([np.array(batch.at(i)) for batch in images for i in range(4)])
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


@pytest.mark.parametrize("layout", ["shards", "files"])
def test_numbers_go_on_from_the_beginning_of_an_epoch(layout, request):
    """Found again from the first batch on, the place of a long training would take minutes."""
    with PairLoader(request.getfixturevalue(layout), batch_size=4, backend="dali", **PLAIN) as one:
        builder, batches = one._builder, one._builder.epoch_batches()
        first = builder.source_numbers(0)
        numbers = [first(done) for done in range(3 * batches)]
        start = first.start(2 * batches + 1)
        assert start[0] == 2 * batches
        assert first.start(batches - 1) is None
        other = builder.source_numbers(0, start)
        assert [other(done) for done in range(2 * batches + 1, 3 * batches)] == numbers[
            2 * batches + 1 :
        ]
        assert other(0) == numbers[0]
        assert sorted(n for batch in numbers[:batches] for n in batch[:4])[0] == 0
