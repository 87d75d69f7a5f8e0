"""Options of loaders: spelt alike, and named where they are wrong."""

from __future__ import annotations

import inspect
import pickle
import re

import numpy as np
import pytest

import gloam
from gloam.errors import GloamWarning, LoaderError
from gloam.loaders import PairLoader, TorchLoader, backend
from gloam.loaders.options import (
    ClipOptions,
    ImageOptions,
    LoaderOptions,
    Options,
    PairOptions,
    make_options,
)

from .numbered import TRAIN

pytest.importorskip("nvidia.dali")
torch = pytest.importorskip("torch")


@pytest.mark.parametrize("value", [True, 4.0, 4.5, "4", np.True_, np.float32(4)])
@pytest.mark.parametrize("name", ["batch_size", "size", "seed", "workers", "prefetch"])
def test_what_is_no_whole_number_is_refused(name, value):
    with pytest.raises(LoaderError, match=name):
        make_options({"batch_size": 2, name: value}, training=False)
    assert make_options({"batch_size": 2, name: np.int64(4)}, training=False) == make_options(
        {"batch_size": 2, name: 4}, training=False
    )


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 4, "crop": "center"}, "crop"),
        ({"batch_size": 4, "crop": "random"}, "needs a size"),
        ({"batch_size": 4, "value_range": (0, 255)}, "value_range"),
        ({"batch_size": 99}, "no full batch"),
        ({"batch_size": 1, "rank": 0, "world_size": 99}, "fewer than 99 ranks"),
        ({"batch_size": 1, "rank": 5, "world_size": 2}, "rank 5 of 2"),
        ({"batch_size": 1, "rank": 0}, "both"),
        ({"batch_size": 1, "split": "dev"}, "must be one of train, val, test"),
        ({"batch_size": 1, "split": "test"}, r"has no pairs in test; it has train 37, val 11$"),
        ({"batch_size": 1, "speed": 9}, "speed: no such option"),
        ({"batch_size": 1, "live": "no"}, "live = 'no': must be True or False"),
        ({"batch_size": 1, "shuffle": "False"}, "shuffle = 'False': must be True or False"),
        ({"patch_size": 64}, "size=128 is meant"),
        ({"gt_size": 64}, "size=128 is meant"),
        ({"crop_size": 64}, 'size=128, crop="random" is meant'),
        ({"num_workers": 4}, "workers=4 is meant"),
        ({"numWorkers": 4}, "workers=4 is meant"),
        ({"pin_memory": True}, "the loader sees to it, leave it out"),
        ({"persistent_workers": True}, "the loader sees to it, leave it out"),
        ({"drop_last": True}, 'last_batch="drop" or "partial" is meant'),
        ({"transform": None}, "augment=True, or crop=, .* is meant"),
        ({"bs": 4}, "batch_size=16 is meant"),
        ({"batchsize": 4}, "batch_size is meant"),
        ({"hflip": True}, "augment=True, which flips and turns is meant"),
        ({"horizontal_flip": True}, "augment=True, which flips and turns is meant"),
        ({"num_worker_per_gpu": 4}, "workers=4 is meant"),
        ({"window_size": 64}, "size=128 is meant"),
        ({"dataset_enlarge_ratio": 2}, "repeat= of a component of gloam.mix is meant"),
        ({"scale": 1}, "value_range=.* images keep their size"),
        ({"frames": 8}, "frames: no such option; ClipLoader takes it"),
        ({"batch_size": 4, "size": "64"}, "size = '64': must be a whole number"),
        ({"batch_size": 4, "size": (64, "64")}, "size.1 = '64': must be a whole number"),
    ],
)
def test_wrong_options_are_named(shards, options, word):
    with pytest.raises(LoaderError, match=word):
        PairLoader(shards, **{"device": "cpu"} | options)


def test_every_checked_option_has_a_typed_name():
    names = set(PairOptions.__annotations__)
    assert set(Options.model_fields) <= names
    for kind in (ImageOptions, ClipOptions):
        assert set(LoaderOptions.__annotations__) <= set(kind.__annotations__)
    common, images = inspect.getdoc(LoaderOptions) or "", inspect.getdoc(ImageOptions) or ""
    for kind, inherited in (
        (LoaderOptions, ""),
        (ImageOptions, common),
        (PairOptions, common + "\n" + images),
        (ClipOptions, common),
    ):
        about = f"{inherited}\n{inspect.getdoc(kind)}"
        for name in kind.__annotations__:
            assert re.search(rf"^([a-z_]+, )*{name}\b", about, re.MULTILINE), name


def test_options_are_spelt_alike(shards):
    for loader in (PairLoader, TorchLoader, gloam.ImageLoader):
        for device in ("cpu", torch.device("cpu")):
            loader(shards, batch_size=2, device=device, workers=1).close()
        for wrong, word in (
            ({"device": "tpu"}, "must be 'auto'"),
            ({"device": "cuda:x"}, "must be 'auto'"),
            ({"device": "auto:1"}, "must be 'auto'"),
            ({"device": "cpu", "device_id": 2}, 'device_id: no such option; device="cuda:1" is'),
            ({"threads": 2}, "threads: no such option; workers=4 is meant"),
            ({"workers": -1}, "workers = -1: Input should be greater than or equal to 0"),
            ({"batchsize": 4}, "batchsize: no such option; batch_size is meant"),
            ({"gamma_ray": 9}, "gamma_ray: no such option; there are batch_size, size"),
            ({"backend": "tensorflow"}, "must be one of auto, dali, torch"),
        ):
            with pytest.raises(LoaderError, match=word):
                loader(shards, batch_size=2, **wrong)
        with pytest.raises(LoaderError, match="batch_size is missing"):
            loader(shards)


def test_a_backend_is_chosen_by_its_name(shards, monkeypatch):
    options = {"batch_size": 4, "device": "cpu", "workers": 0, "size": 24, "keys": True}
    for front in (PairLoader, gloam.ImageLoader):
        with (
            front(shards, backend="torch", **options) as one,
            front(shards, backend="dali", **options) as other,
            front(shards, **options) as auto,
        ):
            assert "by torch (as asked)" in repr(one)
            assert "by dali (as asked)" in repr(other)
            assert "by dali (installed, on the CPU)" in repr(auto)
            assert pickle.loads(pickle.dumps(one)).contents.count == TRAIN
            whole = {
                key: image for batch in one for image, key in zip(batch[0], batch[-1], strict=True)
            }
            others = {
                key: image
                for batch in other
                for image, key in zip(batch[0], batch[-1], strict=True)
            }
            both = set(whole) & set(others)
            assert len(both) > TRAIN // 2
            assert max((whole[key] - others[key]).abs().max() for key in both) < 2 / 255
    monkeypatch.setattr(backend, "is_installed", lambda: False)
    for front in (PairLoader, gloam.ImageLoader):
        assert "by torch (DALI is not installed)" in repr(front(shards, **options))
    with pytest.raises(LoaderError, match="goes with backend='dali'"):
        PairLoader(shards, backend="torch", **options, resident=True)
    with pytest.raises(LoaderError, match="this loader's is 'torch'"):
        TorchLoader(shards, backend="dali", **options)


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


def test_options_of_earlier_states_are_taken_with_a_line(shards):
    with pytest.warns(GloamWarning, match="give= is called extras= now"):
        loader = TorchLoader(shards, batch_size=1, workers=0, device="cpu", give=["ev"])
    assert loader.options.extras == ("ev",)
    for name, value in (("reader", "external"), ("shuffle_buffer", 8)):
        with pytest.warns(GloamWarning, match=f"{name}= has no effect: leave it out"):
            PairLoader(shards, batch_size=1, device="cpu", **{name: value})
