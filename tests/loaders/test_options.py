"""Options of loaders: spelt alike, and named where they are wrong."""

from __future__ import annotations

import inspect

import pytest

import gloam
from gloam.errors import LoaderError
from gloam.loaders import PairLoader, TorchLoader
from gloam.loaders.options import Options

pytest.importorskip("nvidia.dali")
torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 4, "crop": "center"}, "crop"),
        ({"batch_size": 4, "crop": "random"}, "needs a size"),
        ({"batch_size": 4, "value_range": (0, 255)}, "value_range"),
        ({"batch_size": 99}, "no whole batch"),
        ({"batch_size": 1, "rank": 0, "world_size": 99}, "fewer than 99 ranks"),
        ({"batch_size": 1, "rank": 5, "world_size": 2}, "rank 5 of 2"),
        ({"batch_size": 1, "rank": 0}, "both"),
        ({"batch_size": 1, "reader": "file"}, "cannot read"),
        ({"batch_size": 1, "reader": "tape"}, "must be auto"),
        ({"batch_size": 1, "split": "dev"}, "must be one of train, val, test"),
        ({"batch_size": 1, "split": "test"}, r"has no pairs in test; it has train 37, val 11$"),
        ({"batch_size": 1, "speed": 9}, "speed: no such option"),
    ],
)
def test_wrong_options_are_named(shards, options, word):
    with pytest.raises(LoaderError, match=word):
        PairLoader(shards, **{"device": "cpu"} | options)


def test_options_are_spelt_alike(shards):
    ours, theirs = (
        inspect.signature(loader.__init__).parameters for loader in (PairLoader, TorchLoader)
    )
    assert set(ours) - set(theirs) == {"reader", "resident", "resident_side"}
    assert set(theirs) - set(ours) == {"decoder"}
    for name, field in Options.model_fields.items():
        assert name in ours, name
        if name == "resident_side":
            continue  # pools are of PairLoader alone
        assert ours[name].kind == theirs[name].kind == inspect.Parameter.KEYWORD_ONLY
        if name not in (
            "batch_size",
            "device",
            "threads",
            "hw_decoder_load",
            "shuffle",
            "last_batch",
            "crop",
            "exact",
        ):
            assert ours[name].default == theirs[name].default == field.default, name
    for loader in (PairLoader, TorchLoader):
        for device in ("cpu", torch.device("cpu")):
            loader(shards, batch_size=2, device=device, threads=1).close()
            loader(shards, batch_size=2, device=device, workers=1).close()
        for device, word in (
            ("tpu", "must be 'auto'"),
            ("cuda:x", "must be 'auto'"),
            ("auto:1", "must be 'auto'"),
        ):
            with pytest.raises(LoaderError, match=word):
                loader(shards, batch_size=2, device=device)
        with pytest.raises(LoaderError, match="two different GPUs"):
            loader(shards, batch_size=2, device="cuda:1", device_id=2)
        with pytest.raises(LoaderError, match="two names of one number"):
            loader(shards, batch_size=2, threads=1, workers=2)
        for name in ("workers", "threads"):
            with pytest.raises(LoaderError, match=f"{name} = -1: must be 0 or more"):
                loader(shards, batch_size=2, **{name: -1})
        with pytest.raises(LoaderError, match="batchsize: no such option; batch_size is meant"):
            loader(shards, batchsize=4)
        with pytest.raises(LoaderError, match="batch_size is missing"):
            loader(shards)
        with pytest.raises(
            LoaderError, match="gamma_ray: no such option; there are batch_size, size"
        ):
            loader(shards, batch_size=2, gamma_ray=9)


@pytest.mark.parametrize("loader", [PairLoader, TorchLoader])
def test_training_cuts_windows_and_validation_takes_the_whole(shards, loader):
    """Pictures made smaller lose their noise: those are to be asked for."""
    options = {"batch_size": 2, "device": "cpu", "workers": 0}
    for split, given, expected in (
        ("train", {"size": 24}, "random"),
        ("train", {}, "resize"),
        ("train", {"size": 24, "crop": "resize"}, "resize"),
        ("val", {"size": 24}, "resize"),
        ("val", {"size": 24, "crop": "random"}, "random"),
    ):
        with loader(shards, split, **options, **given) as made:
            assert made.options.crop == expected


def test_images_are_made_smaller(shards):
    with gloam.ImageLoader(shards, batch_size=2, device="cpu", size=24) as loader:
        assert loader.options.crop == "resize"


def test_the_file_readers_buffer_holds_no_more_than_a_rank_has(files, photos):
    for world in (1, 17):
        options = {"batch_size": 1, "device": "cpu", "rank": 0, "world_size": world}
        for loader in (PairLoader(files, **options), gloam.ImageLoader(photos, **options)):
            with loader:
                common = loader._builder.common(0, None)
                assert common["options"].shuffle_buffer == loader.contents.count // world
