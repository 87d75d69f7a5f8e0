"""What DALI's pipelines are asked for."""

from __future__ import annotations

import pytest

from gloam.loaders import PairLoader
from gloam.loaders.index import contents_of

pytest.importorskip("nvidia.dali")
pytest.importorskip("torch")

PLAIN = {"device": "cpu", "threads": 2, "size": (40, 56)}


def test_jpegs_are_decoded_on_a_gpu_as_libjpeg_turbo_does(shards):
    """With fancy upsampling: seen in the pipeline's own description, as there is no GPU here."""
    from gloam.loaders.dali import pipelines

    asked = {}
    real = pipelines.fn

    class Recording:
        def __getattr__(self, name):
            return getattr(real, name)

        class decoders:  # noqa: N801
            @staticmethod
            def image(images, **arguments):
                asked.update(arguments)
                return real.decoders.image(images, **arguments | {"device": "cpu"})

    pipelines.fn = Recording()
    try:
        options = PairLoader(shards, batch_size=2, **PLAIN).options.model_copy(
            update={"device": "gpu"}
        )
        paths = contents_of(shards, "train").shards()
        pipelines.webdataset_pairs(
            *paths, options, batch_size=2, num_threads=1, device_id=None
        ).build()
    finally:
        pipelines.fn = real
    assert asked["device"] == "mixed"
    assert asked["jpeg_fancy_upsampling"] is True


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
